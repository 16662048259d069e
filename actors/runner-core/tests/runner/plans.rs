//! Plans: composite actions, called workflows, and everything that is refused with its place.

use runner_core::actions::NoActions;
use runner_core::expr::{ContextName, Contexts, ExprScope, ExprValue};
use runner_core::plan::{
    NativeAction, Plan, PlanAction, PlanError, PlanInput, PlanState, PlannedWork, StepKind, plan,
    plan_deferred,
};
use runner_core::prepare;
use runner_core::state::Conclusion;
use runner_core::workflow::parse;

const ACTION: &str = "name: hello\ninputs:\n  who: {default: world}\n  greeting: {required: true}\noutputs:\n  said: {value: '${{ steps.say.outputs.x }}'}\nruns:\n  using: composite\n  steps:\n    - id: say\n      run: echo ${{ inputs.greeting }} ${{ inputs.who }}\n      shell: bash\n    - uses: ./actions/inner\n";
const INNER: &str = "runs: {using: composite, steps: [{run: echo inner, shell: sh}]}\n";

fn files(path: &str) -> Option<Vec<u8>> {
    let text = match path {
        "actions/hello/action.yml" => ACTION,
        "actions/inner/action.yaml" => INNER,
        "actions/node/action.yml" => "runs: {using: docker, image: Dockerfile}\n",
        "actions/wrong/action.yml" => "runs: {using: composite, steps: [{run: x}]}\n",
        "actions/self/action.yml" => "runs: {using: composite, steps: [{uses: ./actions/self}]}\n",
        ".github/workflows/called.yml" => {
            "on: {workflow_call: {inputs: {n: {type: number, required: true}}, secrets: {S: {required: true}}}}\njobs: {in: {runs-on: x, steps: [{run: y}]}}\n"
        }
        ".github/workflows/loop.yml" => {
            "on: {workflow_call: }\njobs: {in: {uses: ./.github/workflows/loop.yml}}\n"
        }
        ".github/workflows/matrix.yml" => {
            "on: {workflow_call: }\njobs: {in: {runs-on: x, timeout-minutes: 3, strategy: {max-parallel: 1, fail-fast: false, matrix: {v: [1, 2]}}, steps: [{run: y}]}}\n"
        }
        ".github/workflows/no-call.yml" => {
            "on: push\njobs: {in: {runs-on: x, steps: [{run: y}]}}\n"
        }
        _ => return None,
    };
    Some(text.as_bytes().to_vec())
}

fn planned(text: &str) -> Result<Plan, PlanError> {
    let workflow = parse("ci.yml", text.as_bytes())
        .unwrap_or_else(|error| panic!("{error}"))
        .value;
    plan(
        workflow,
        PlanInput {
            contexts: &Contexts::default(),
            files: &files,
            actions: &NoActions,
        },
    )
}

fn job(rest: &str) -> String {
    format!("on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: y\n{rest}")
}

#[test]
fn composite_actions_are_written_out() {
    let plan = planned(&job(
        "      - uses: ./actions/hello\n        with: {greeting: 'hi ${{ github.actor }}'}\n",
    ))
    .unwrap();
    assert!(plan.jobs[0].refusals.is_empty());
    let PlannedWork::Steps(steps) = &plan.jobs[0].work else {
        panic!("steps")
    };
    let StepKind::Composite(action) = &steps[1].work else {
        panic!("composite: {:?}", steps[1])
    };
    assert_eq!(action.directory, "actions/hello");
    let inputs: Vec<(&str, &str)> = action
        .inputs
        .iter()
        .map(|(name, value)| (name.as_str(), &*value.as_ref().unwrap().source))
        .collect();
    assert_eq!(
        inputs,
        [("who", "world"), ("greeting", "hi ${{ github.actor }}")]
    );
    assert_eq!(action.outputs[0].0, "said");
    let StepKind::Run { script, shell, .. } = &action.steps[0].work else {
        panic!("a script")
    };
    let contexts = Contexts::default().with(
        ContextName::Inputs,
        ExprValue::object([("who", "you"), ("greeting", "hi")]),
    );
    let scope = ExprScope::new(&contexts);
    let prepared = |shell, usual| {
        let ready = prepare::run(script, shell, None, (None, None), usual, &scope);
        ready.unwrap()
    };
    let ready = prepared(shell.as_ref(), Some("sh"));
    assert_eq!(ready.script, "echo hi you");
    assert_eq!(ready.shell.argv[0], "bash");
    // In a container it is another one, unless one is named.
    assert_eq!(prepared(None, Some("sh")).shell.argv, ["sh", "-e", "{0}"]);
    assert_eq!(prepared(None, None).shell.argv[0], "bash");
    assert!(matches!(action.steps[1].work, StepKind::Composite(_)));
}

#[test]
fn r03_expressions_are_replaced_once() {
    let plan = planned(&job(
        "      - run: echo \"${{ github.title }}\"\n        env: {T: '${{ github.title }}'}\n",
    ))
    .unwrap();
    let PlannedWork::Steps(steps) = &plan.jobs[0].work else {
        panic!("steps")
    };
    let hostile = "$(id) ${{ secrets.TOKEN }}\n::add-mask::x";
    let contexts = Contexts::default()
        .with(ContextName::Github, ExprValue::object([("title", hostile)]))
        .with(ContextName::Secrets, ExprValue::object([("TOKEN", "t0p")]));
    let env = prepare::env_values(&steps[1].env, &ExprScope::new(&contexts)).unwrap();
    assert_eq!(env, [("T".to_owned(), hostile.to_owned())]);
}

#[test]
fn what_is_not_done_is_refused_with_its_place() {
    for (text, feature, line) in [
        (job("    services: {db: {image: x}}\n"), "services.db", 7),
        (job("    container: debian\n"), "container", 7),
        (job("    snapshot: x\n"), "snapshot", 7),
        (job("      - uses: docker://alpine\n"), "uses: docker://alpine", 7),
        (job("      - uses: owner/action@v1\n"), "uses: owner/action@v1", 7),
        (job("      - uses: ./actions/node\n"), "uses: ./actions/node", 7),
        (job("      - uses: ./actions/self\n"), "uses: ./actions/self", 1),
        ("on: push\njobs: {a: {runs-on: x, steps: [{uses: actions/checkout@v4},\n      {uses: ./actions/absent}, {run: y}]}}\n".to_owned(), "uses: ./actions/absent", 3),
        (job("      - uses: ./../../etc\n"), "uses: ./../../etc", 7),
        (job("      - uses: ./../\n"), "uses: ./../", 7),
        (job("      - run: x\n        shell: powershell\n"), "shell", 8),
        ("on: push\njobs:\n  a:\n    uses: o/r/.github/workflows/x.yml@v1\n".to_owned(), "uses: o/r/.github/workflows/x.yml@v1", 4),
        ("on: push\njobs:\n  a:\n    uses: ./.github/workflows/no-call.yml\n".to_owned(), "uses: ./.github/workflows/no-call.yml", 4),
        ("on: push\njobs:\n  a:\n    uses: ./.github/workflows/absent.yml\n".to_owned(), "uses: ./.github/workflows/absent.yml", 4),
        ("on: push\njobs:\n  a:\n    uses: ./.github/workflows/loop.yml\n".to_owned(), "uses: ./.github/workflows/loop.yml", 2),
        ("on: push\njobs:\n  a:\n    strategy: {matrix: {v: [1]}}\n    uses: o/r/.github/workflows/called.yml@v1\n".to_owned(), "uses: o/r/.github/workflows/called.yml@v1", 5),
    ] {
        let plan = planned(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let all: Vec<_> = plan.jobs.iter().flat_map(|job| &job.refusals).collect();
        let found = all.iter().find(|refusal| refusal.feature == feature);
        let found = found.unwrap_or_else(|| panic!("{text}: {all:?}"));
        assert_eq!(found.place.line, line, "{text}: {found}");
        assert!(!found.reason.is_empty() && found.to_string().contains("is not supported: "));
    }
}

#[test]
fn i17_a_job_that_asks_for_the_forge_s_token_says_where() {
    for (steps, line) in [
        ("      - run: echo ${{ secrets.GITHUB_TOKEN }}\n", Some(7)),
        (
            "      - run: x\n        env: {T: '${{ github.token }}'}\n",
            Some(8),
        ),
        ("      - run: x\n", None),
    ] {
        let plan = planned(&job(steps)).unwrap();
        let token = plan.jobs[0].token.as_ref();
        assert_eq!(token.map(|refusal| refusal.place.line), line, "{steps}");
        assert!(
            plan.jobs[0].refusals.is_empty(),
            "{steps}: it is known when the job starts"
        );
    }
}

#[test]
fn i17_a_token_may_what_the_file_says_and_a_called_job_s_no_more_than_its_caller_s() {
    use runner_core::workflow::PermissionLevel::{Read, Write};
    for (workflow, of_job, scope, level, expected) in [
        ("", "", "contents", Read, true),
        ("", "", "contents", Write, false),
        ("", "", "issues", Read, false),
        ("{issues: write}", "", "issues", Write, true),
        ("{issues: write}", "", "contents", Read, false),
        (
            "{issues: write}",
            "{contents: write}",
            "issues",
            Read,
            false,
        ),
        ("write-all", "", "checks", Write, true),
        ("write-all", "{}", "contents", Read, false),
        ("read-all", "", "checks", Write, false),
    ] {
        let line = |indent: &str, text: &str| match text {
            "" => String::new(),
            text => format!("{indent}permissions: {text}\n"),
        };
        let text = format!(
            "on: push\n{}jobs:\n  a:\n    runs-on: x\n{}    steps: [{{run: x}}]\n",
            line("", workflow),
            line("    ", of_job)
        );
        let plan = planned(&text).unwrap();
        let found = plan.jobs[0].permissions.allows(scope, level);
        assert_eq!(found, expected, "{text}{scope}");
    }
    let caller = "on: push\njobs:\n  a:\n    permissions: {contents: read}\n    uses: ./.github/workflows/called.yml\n    with: {n: 1}\n    secrets: inherit\n";
    let plan = planned(caller).unwrap();
    let called = &plan.jobs.last().unwrap().permissions;
    assert!(called.allows("contents", Read) && !called.allows("contents", Write));
    assert!(!called.allows("issues", Read));
}

#[test]
fn identity_tokens_are_for_jobs_that_may_have_them_and_called_ones_no_more_than_their_caller() {
    for (workflow, of_job, expected) in [
        ("", "", false),
        ("", "{id-token: write}", true),
        ("", "{contents: write}", false),
        ("", "write-all", true),
        ("", "read-all", false),
        ("{id-token: write}", "", true),
        ("{id-token: write}", "{contents: read}", false),
        ("write-all", "{id-token: none}", false),
    ] {
        let key = |indent: &str, value: &str| match value {
            "" => String::new(),
            value => format!("{indent}permissions: {value}\n"),
        };
        let text = format!(
            "{}on: push\njobs:\n  a:\n    runs-on: x\n{}    steps: [{{run: x}}]\n",
            key("", workflow),
            key("    ", of_job)
        );
        let plan = planned(&text).unwrap();
        assert_eq!(plan.jobs[0].id_token, expected, "{text}");
        assert!(plan.jobs[0].refusals.is_empty());
        let calls = format!(
            "{}on: push\njobs:\n  a:\n    uses: ./.github/workflows/matrix.yml\n{}",
            key("", workflow),
            key("    ", of_job)
        );
        let plan = planned(&calls).unwrap();
        let called: Vec<bool> = plan.jobs[1..].iter().map(|job| job.id_token).collect();
        assert!(
            called.iter().all(|has| *has == expected),
            "{calls}: {called:?}"
        );
    }
}

#[test]
fn newer_keys_that_ask_for_what_is_done_are_not_refused() {
    for text in [
        job("      - {run: x, background: false}\n"),
        job("    concurrency: {group: g, queue: single}\n"),
        job("    concurrency: {group: g, queue: max}\n"),
        job("    concurrency: {group: g, queue: max, cancel-in-progress: false}\n"),
        format!("concurrency: {{group: g, queue: max}}\n{}", job("")),
    ] {
        let plan = planned(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(plan.jobs[0].refusals.is_empty(), "{text}");
    }
}

/// Page "Workflow syntax", `jobs.<job_id>.steps[*].background`, `.wait`, `.wait-all`, `.cancel`,
/// `.parallel`: a group is steps in the background and a wait for them.
#[test]
fn i17_steps_beside_each_other_are_in_the_plan() {
    let text = job("      - {id: Server, run: serve, background: true}
      - parallel:
          - {id: one, run: a}
          - run: b
      - {id: logs, run: tail, background: true}
      - wait: [server, LOGS]
      - {run: last, background: true}
      - {name: all, wait-all: , continue-on-error: true}
      - wait-all: true
      - cancel: server
");
    let plan = planned(&text).unwrap_or_else(|error| panic!("{error}"));
    assert!(plan.jobs[0].refusals.is_empty());
    let PlannedWork::Steps(steps) = &plan.jobs[0].work else {
        panic!("steps")
    };
    // The first is the job's own.
    let steps = &steps[1..];
    let beside: Vec<bool> = steps.iter().map(|step| step.background).collect();
    let (yes, no) = (true, false);
    assert_eq!(beside, [yes, yes, yes, no, yes, no, yes, no, no, no]);
    let work: Vec<&StepKind> = steps.iter().map(|step| &step.work).collect();
    assert_eq!(*work[3], StepKind::Wait(vec![2, 3]));
    assert_eq!(*work[5], StepKind::Wait(vec![1, 5]));
    assert_eq!((work[7], work[8]), (&StepKind::WaitAll, &StepKind::WaitAll));
    assert!(steps[7].continue_on_error.is_some());
    assert_eq!(*work[9], StepKind::Cancel(1));
}

#[test]
fn i17_a_queue_and_a_group_of_machines_are_in_the_plan() {
    let planned_copy = |rest: &str| {
        let text = format!("on: push\njobs:\n  a:\n{rest}    steps: [{{run: x}}]\n");
        let plan = planned(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(plan.jobs[0].refusals.is_empty(), "{text}");
        match &plan.jobs[0].instances {
            runner_core::plan::Instances::Known(copies) => copies[0].clone(),
            runner_core::plan::Instances::Later => panic!("{text}"),
        }
    };
    let copy = planned_copy(
        "    runs-on: x\n    concurrency: {group: g, queue: max, cancel-in-progress: '${{ github.sha != 1 }}'}\n",
    );
    let group = copy.concurrency.unwrap();
    assert_eq!(group.queue, runner_core::workflow::ConcurrencyQueue::Max);
    assert!(!group.cancel_in_progress, "what comes to it ends nothing");
    for (runs_on, labels, group) in [
        ("{group: Large runners}", vec![], Some("Large runners")),
        ("{group: big, labels: gpu}", vec!["gpu"], Some("big")),
        ("{group: big, labels: [a, b]}", vec!["a", "b"], Some("big")),
        ("{labels: [a, b]}", vec!["a", "b"], None),
        (
            "'${{ fromJSON(''{\"group\": \"big\"}'') }}'",
            vec![],
            Some("big"),
        ),
        ("[a]", vec!["a"], None),
    ] {
        let copy = planned_copy(&format!("    runs-on: {runs_on}\n"));
        assert_eq!(copy.runs_on, labels, "{runs_on}");
        assert_eq!(copy.machine_group.as_deref(), group, "{runs_on}");
    }
}

#[test]
fn native_actions_are_known_by_any_address_and_version() {
    for (uses, expected) in [
        ("actions/checkout@v4", "checkout"),
        (
            "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683",
            "checkout",
        ),
        ("https://code.forgejo.org/actions/checkout@v4", "checkout"),
        ("Actions/Checkout@main", "checkout"),
        ("actions/cache@v4", "cache"),
        ("actions/upload-artifact@v4", "upload"),
        ("actions/download-artifact@v4", "download"),
        ("actions/setup-node@v4", "setup"),
    ] {
        let plan = planned(&job(&format!("      - uses: {uses}\n"))).unwrap();
        let PlannedWork::Steps(steps) = &plan.jobs[0].work else {
            panic!("steps")
        };
        let found = match &steps[1].work {
            StepKind::Native { action, .. } => match action {
                NativeAction::Checkout => "checkout",
                NativeAction::Cache => "cache",
                NativeAction::UploadArtifact => "upload",
                NativeAction::DownloadArtifact => "download",
                NativeAction::Setup(_) => "setup",
                _ => "other",
            },
            other => panic!("{uses}: {other:?}"),
        };
        assert_eq!(found, expected, "{uses}");
        assert!(plan.jobs[0].refusals.is_empty());
    }
}

#[test]
fn wrong_files_that_are_called_are_shown_by_their_own_name() {
    let error = planned(&job("      - uses: ./actions/wrong\n"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("actions/wrong/action.yml:1:") && error.contains("no `shell`"),
        "{error}"
    );
    for (with, part) in [
        ("", "input `n`"),
        ("    with: {n: 1}\n", "secret `S`"),
        ("    with: {x: 1}\n", "no input `x`"),
    ] {
        let text =
            format!("on: push\njobs:\n  a:\n    uses: ./.github/workflows/called.yml\n{with}");
        let error = planned(&text).unwrap_err().to_string();
        assert!(
            error.contains(part) && error.starts_with("ci.yml:4:"),
            "{error}"
        );
    }
}

#[test]
fn a_called_workflow_keeps_its_own_max_parallel_fail_fast_and_limits() {
    let plan = planned("on: push\njobs:\n  a:\n    uses: ./.github/workflows/matrix.yml\n  b:\n    needs: a\n    runs-on: x\n    steps: [{run: z}]\n").unwrap();
    let mut state = PlanState::new(std::sync::Arc::new(plan), Contexts::default());
    let start = |actions: Vec<PlanAction>| match actions.as_slice() {
        [PlanAction::Start { job, instance }] => (*job, *instance),
        other => panic!("one copy at a time: {other:?}"),
    };
    let (job, instance) = start(state.advance());
    assert_eq!(instance, 0);
    let limits: Vec<f64> = state
        .instances(job)
        .unwrap()
        .iter()
        .map(|copy| copy.timeout_minutes)
        .collect();
    assert_eq!(limits, [3.0, 3.0]);
    state.finished(job, 0, Conclusion::Failure, &[]);
    assert_eq!(start(state.advance()), (job, 1), "fail-fast is off");
    state.finished(job, 1, Conclusion::Success, &[]);
    let ended = state.advance();
    assert!(
        matches!(
            ended.as_slice(),
            [PlanAction::Ended {
                conclusion: Conclusion::Skipped,
                ..
            }]
        ),
        "what needs the caller does not run: {ended:?}"
    );
    assert_eq!(state.conclusion(), Some(Conclusion::Failure));
}

/// The main test job of every other project had copies for Windows or macOS: none of it ran.
#[test]
fn i17_a_copy_that_cannot_run_here_ends_no_other_copy() {
    let plan = planned("on: push\njobs:\n  a:\n    strategy: {matrix: {os: [ubuntu-latest, windows-latest, macos-13]}}\n    runs-on: '${{ matrix.os }}'\n    steps: [{run: x}]\n").unwrap();
    assert!(plan.jobs[0].refusals.is_empty());
    let mut state = PlanState::new(std::sync::Arc::new(plan), Contexts::default());
    let started = state.advance();
    assert_eq!(started.len(), 3, "{started:?}");
    state.refused(0, 1);
    assert_eq!(state.advance(), [], "nobody is cancelled");
    state.finished(0, 0, Conclusion::Success, &[]);
    assert_eq!(state.advance(), []);
    assert_eq!(state.conclusion(), None);
    state.refused(0, 2);
    state.advance();
    assert_eq!(state.conclusion(), Some(Conclusion::Failure));
}

#[test]
fn i17_an_action_that_a_step_may_put_into_the_workspace_is_planned_when_it_runs() {
    let before = [
        "      - run: make\n",
        "      - uses: actions/checkout@v4\n        with: {repository: o/r, path: actions}\n",
        "      - uses: actions/download-artifact@v4\n",
    ];
    for before in before {
        let text = format!(
            "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n{before}      - uses: ./actions/absent\n        with: {{who: me}}\n"
        );
        let plan = planned(&text).unwrap();
        assert!(plan.jobs[0].refusals.is_empty(), "{before}");
        assert!(
            plan.jobs[0].notes[0].contains("./actions/absent: the commit has no such action"),
            "{before}"
        );
        let PlannedWork::Steps(steps) = &plan.jobs[0].work else {
            panic!("steps")
        };
        let StepKind::Deferred(action) = &steps[1].work else {
            panic!("deferred: {:?}", steps[1])
        };
        let now = |path: &str| {
            let text = match path {
                "actions/absent/action.yml" => {
                    "inputs: {who: {}}\nruns: {using: composite, steps: [{uses: ./other}]}\n"
                }
                "other/action.yaml" => "runs: {using: node20, main: x.js}\n",
                _ => return None,
            };
            Some(text.as_bytes().to_vec())
        };
        let contexts = Contexts::default();
        let input = |files| PlanInput {
            contexts: &contexts,
            files,
            actions: &runner_core::actions::NoActions,
        };
        let slot = |round| {
            let planned = plan_deferred(action, input(&now), round).unwrap();
            let StepKind::Composite(composite) = planned.work else {
                panic!("composite")
            };
            let StepKind::Node(node) = &composite.steps[0].work else {
                panic!("node: {:?}", composite.steps)
            };
            node.slot
        };
        assert_ne!(slot(1), slot(2), "what they keep between stages is apart");
        let error = plan_deferred(action, input(&|_| None), 1).unwrap_err();
        assert!(error.contains("is a checkout missing"), "{error}");
    }
}
