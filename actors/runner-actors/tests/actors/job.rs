//! The job actor: a VM from its first step to its last, outputs, ends.

use runner_core::state::{Conclusion, RunState, StepEnd};
use scripted_peers::Play;

use crate::harness::{REPOSITORY, Site, job, status, wait_until};

fn workflow(steps: &str) -> String {
    format!("name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps:\n{steps}")
}

#[actix_rt::test]
async fn steps_run_in_order_on_one_vm_and_a_failure_skips_the_rest() {
    let site = Site::playing(|command| {
        Play::exit(i32::from(command.script.contains("second"))).out("a line\n")
    });
    let runner = site.start().await;
    let steps = "    - run: first\n    - run: second\n    - run: third\n    - run: last\n      if: always()\n";
    let run = runner.run(&site, &workflow(steps)).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Failed, "{record:#?}");
    let ends: Vec<Option<StepEnd>> = record.jobs[0].steps.iter().map(|step| step.end).collect();
    let expected = [
        StepEnd::Exited(0),
        StepEnd::Exited(1),
        StepEnd::Skipped,
        StepEnd::Exited(0),
    ];
    assert_eq!(ends, expected.map(Some));
    assert_eq!(site.vmm.ordered(), 1, "one VM for the job");
    assert_eq!(runner.log(&run).await.matches("a line").count(), 3);
    runner.stop().await;
}

#[actix_rt::test]
async fn outputs_of_a_job_reach_those_that_need_it() {
    let site = Site::playing(|_| Play::exit(0).file("output", "v=rocket\n"));
    let runner = site.start().await;
    let run = runner
        .run(
            &site,
            "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    outputs: {v: \"${{ steps.s.outputs.v }}\"}\n    steps: [{id: s, run: first}]\n  b:\n    needs: a\n    runs-on: x\n    steps: [{run: \"second ${{ needs.a.outputs.v }}\"}]\n",
        )
        .await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Succeeded, "{record:#?}");
    let commands = site.vmm.commands();
    let reached = |text: &str| commands.iter().any(|command| command.script.contains(text));
    assert!(reached("second rocket"));
    runner.stop().await;
}

#[actix_rt::test]
async fn a_machine_that_goes_away_loses_the_job_and_no_code_is_made_up() {
    let site = Site::playing(|_| Play::hang().out("begun\n"));
    let runner = site.start().await;
    let run = runner
        .run(&site, &workflow("    - run: make\n    - run: never\n"))
        .await;
    let record = runner
        .reached(&run, |record| record.state == RunState::Running)
        .await;
    wait_until("the step has begun", || site.vmm.commands().len() == 1).await;
    site.vmm.remove_vm(record.jobs[0].vm.as_deref().unwrap());
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Lost, "{record:#?}");
    assert_eq!(job(&record, "a").conclusion, Some(Conclusion::Failure));
    assert_eq!(job(&record, "a").steps[0].end, Some(StepEnd::Lost));
    assert_eq!(site.vmm.commands().len(), 1);
    runner.stop().await;
}

/// It had its share only, and half of the machines stood idle by default.
#[actix_rt::test]
async fn i17_a_repository_alone_uses_all_there_is() {
    let site = Site::playing(|_| Play::hang());
    let runner = site
        .start_with(|settings| (settings.max_jobs, settings.max_jobs_per_repository) = (2, 1))
        .await;
    let jobs: String = (0..3)
        .map(|number| format!("  j{number}:\n    runs-on: x\n    steps: [{{run: make}}]\n"))
        .collect();
    let run = runner
        .run(&site, &format!("name: CI\non: push\njobs:\n{jobs}"))
        .await;
    wait_until("two jobs run", || site.vmm.commands().len() == 2).await;
    assert_eq!(site.vmm.ordered(), 2, "the third waits");
    let first = runner
        .reached(&run, |record| {
            record.jobs.iter().filter(|job| job.vm.is_some()).count() == 2
        })
        .await;
    let mut vms = first.jobs.iter().filter_map(|job| job.vm.as_deref());
    site.vmm.remove_vm(vms.next_back().unwrap());
    wait_until("the third has its turn", || site.vmm.ordered() == 3).await;
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_summaries_of_an_action_s_steps_are_kept_in_order() {
    let site = Site::playing(|command| {
        let code = i32::from(command.script.contains("fails"));
        let said = command.script.lines().last().unwrap_or_default();
        Play::exit(code).file("summary", &format!("## {said}"))
    });
    let runner = site.start().await;
    let action = |steps: &str| format!("runs: {{using: composite, steps: [{steps}]}}\n");
    let run = "{shell: sh, run: one}, {uses: ./inner}, {shell: sh, run: fails}, {if: always(), shell: sh, run: last}";
    site.write_workflow("../../outer/action.yml", &action(run));
    let run = "{shell: sh, run: two}, {shell: sh, run: three}";
    site.write_workflow("../../inner/action.yml", &action(run));
    let run = runner.run(&site, &workflow("    - uses: ./outer\n")).await;
    let record = runner.ended(&run).await;
    let record = runner.view.with_summaries(record).await.unwrap();
    assert_eq!(record.state, RunState::Failed, "{record:#?}");
    assert_eq!(
        record.jobs[0].steps[0].summary.as_deref(),
        Some("## one\n## two\n## three\n## fails\n## last"),
        "{record:#?}"
    );
    runner.stop().await;
}

/// Jobs and steps whose own condition did not hold were said to be skipped for what failed before
/// them, and the other way round; the status of such a job was begun with the text of its end.
#[actix_rt::test]
async fn i17_what_is_left_out_says_why() {
    let site = Site::playing(|command| Play::exit(i32::from(command.script.contains("first"))));
    let runner = site.start().await;
    let steps =
        "    - run: first\n    - run: second\n    - run: third\n      if: always() && false\n";
    let others = "
  own: {needs: a, if: \"always() && github.ref == 'other'\", runs-on: x, steps: [{run: make}]}
  needs: {needs: a, runs-on: x, steps: [{run: make}]}
  both: {needs: a, if: \"github.ref == 'other'\", runs-on: x, steps: [{run: make}]}
  absent: {runs-on: x, steps: [{uses: acme/absent@v1}]}
";
    let sha = site.commit(&(workflow(steps) + others));
    let event = site.push(REPOSITORY, "main", &sha);
    let run = runner.start_event(event).await;
    let record = runner.ended(&run).await;
    let steps = job(&record, "a").steps.iter();
    let reasons: Vec<_> = steps.map(|step| step.reason.as_deref()).collect();
    assert_eq!(
        reasons[1..],
        [
            Some("a step before it failed"),
            Some("its condition does not hold")
        ]
    );
    for (name, expected) in [
        (
            "own",
            "its condition does not hold: always() && github.ref == 'other'",
        ),
        ("needs", "a job it needs did not succeed"),
        ("both", "a job it needs did not succeed"),
        (
            "absent",
            "refused: uses: acme/absent@v1: it is not in the runner's store of actions; ",
        ),
    ] {
        let reason = job(&record, name).reason.as_deref().unwrap_or_default();
        assert!(reason.starts_with(expected), "{name}: {reason}");
    }
    let context = &job(&record, "absent").context;
    let end = status(&site, &sha, context, "failure").await;
    assert!(
        end.starts_with("failed: refused: uses: acme/absent@v1: it is not in"),
        "{end}"
    );
    let all = site.forge.statuses(REPOSITORY, &sha);
    let begun = all.iter().find(|status| status.context == *context);
    let begun = begun.map(|status| (status.state.as_str(), status.description.as_str()));
    assert_eq!(begun, Some(("pending", "waiting or running")));
    runner.stop().await;
}
