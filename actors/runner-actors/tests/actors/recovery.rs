//! The runner ends and starts again in the middle of runs.

use runner_actors::{JobEnd, RunnerSettings, VmHostSettings};
use runner_core::state::{Conclusion, RunState};
use scripted_peers::{Failure, Misbehaviour, PlannedFailure, Play, ScriptedVmm};
use serde_json::Value;
use store::{ReadRows as _, Row, Store, StoreError, StoreOptions, Table};

use crate::harness::{Site, entries, job, status, wait_until};

const GRAPH: &str = "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    outputs: {v: \"${{ steps.s.outputs.v }}\"}\n    steps: [{id: s, run: first}]\n  b:\n    needs: a\n    runs-on: x\n    steps: [{run: second}]\n  c:\n    needs: [a, b]\n    if: always()\n    runs-on: x\n    steps: [{run: \"third ${{ needs.a.outputs.v }} ${{ needs.b.result }}\"}]\n  d:\n    needs: b\n    runs-on: x\n    steps: [{run: fourth}]\n";

fn plays(command: &scripted_peers::Command) -> Play {
    if command.script.contains("second") {
        Play::hang().out("second began\n")
    } else {
        Play::exit(0).file("output", "v=rocket\n")
    }
}

/// Another host has the name by the time the runner starts again: what it has is not a lost job's.
#[actix_rt::test]
async fn i18_a_lost_job_s_vm_is_not_looked_for_at_another_address_of_its_host() {
    let (site, moved) = (Site::playing(plays), ScriptedVmm::start(plays));
    let runner = site.start().await;
    let run = runner.run(&site, &GRAPH.replace("first", "second")).await;
    let record = runner
        .reached(&run, |record| {
            record.jobs.first().is_some_and(|job| !job.steps.is_empty())
        })
        .await;
    let vm = record.jobs[0].vm.clone().unwrap();
    runner.stop().await;
    moved.number_behind(100);
    moved.add_vm(&vm, "somebody");
    let at_another_address = |settings: &mut RunnerSettings| {
        let url = moved.url().parse().unwrap();
        settings.vm_hosts = vec![VmHostSettings::single(url, None)];
    };
    let runner = site.start_with(at_another_address).await;
    let record = runner.ended(&run).await;
    assert_eq!(job(&record, "a").end, JobEnd::Lost);
    // What follows was run there, and the machines of that are given back.
    wait_until("no other is left", || moved.vms() == [vm.as_str()]).await;
    runner.stop().await;
    let deleted = format!("/vms/{vm}");
    let asked = moved.requests();
    let asked = asked.iter().filter(|one| one.path == deleted);
    assert_eq!(asked.count(), 0);
}

#[actix_rt::test]
async fn a_run_is_taken_up_at_its_jobs_what_had_begun_is_lost_and_the_rest_is_run() {
    let site = Site::playing(plays);
    let runner = site.start().await;
    let run = runner.run(&site, GRAPH).await;
    wait_until("the second job has begun", || {
        site.vmm.commands().len() == 2
    })
    .await;
    runner
        .reached(&run, |record| {
            record.jobs.len() == 2 && !record.jobs[1].steps.is_empty()
        })
        .await;
    runner.stop().await;
    let runner = site.start().await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Lost, "{record:#?}");
    assert_eq!(record.attempt, 1, "v9: only re-runs are attempts");
    assert_eq!(job(&record, "a").conclusion, Some(Conclusion::Success));
    let lost = job(&record, "b");
    assert_eq!(
        (lost.conclusion, lost.end),
        (Some(Conclusion::Failure), JobEnd::Lost)
    );
    assert_eq!(
        lost.reason.as_deref(),
        Some("the runner was restarted while it ran")
    );
    assert_eq!(job(&record, "c").conclusion, Some(Conclusion::Success));
    assert_eq!(job(&record, "d").conclusion, Some(Conclusion::Skipped));
    let commands = site.vmm.commands();
    let count = |text: &str| {
        let of_it = commands.iter().filter(|one| one.script.contains(text));
        of_it.count()
    };
    assert_eq!(
        count("first"),
        1,
        "what ended is not run again: {commands:?}"
    );
    assert_eq!(
        count("third rocket failure"),
        1,
        "outputs of the previous incarnation are there: {commands:?}"
    );
    for (context, state) in [
        ("a", "success"),
        ("b", "failure"),
        ("c", "success"),
        ("d", "success"),
    ] {
        let context = format!("CI / {context} (push)");
        status(&site, &record.sha, &context, state).await;
    }
    wait_until("all VMs are back", || site.vmm.vms().is_empty()).await;
    wait_until("the checkout is removed", || {
        entries(&site.data().join("checkouts")) == 0
    })
    .await;
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_a_job_whose_command_was_sent_is_lost_and_not_run_again_in_silence() {
    const ONE: &str =
        "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: deploy}]\n";
    let site = Site::playing(|_| Play::hang());
    for round in 1..=6 {
        let runner = site.start().await;
        let run = runner.run(&site, ONE).await;
        wait_until("the command is sent", || site.vmm.commands().len() == round).await;
        // Who sends a command has stored before that its step begins.
        let record = runner.record(&run).await.unwrap();
        assert_eq!(record.jobs[0].steps.len(), 1, "round {round}: {record:#?}");
        runner.stop().await;
        let runner = site.start().await;
        let record = runner.ended(&run).await;
        assert_eq!(record.state, RunState::Lost, "round {round}: {record:#?}");
        runner.stop().await;
    }
    assert_eq!(site.vmm.commands().len(), 6, "none was sent twice");
}

/// After the fourth restart it was lost, although it had not begun.
#[actix_rt::test]
async fn i17_a_run_that_waits_for_its_machine_is_run_after_any_number_of_restarts() {
    let site = Site::new();
    for _ in 0..1000 {
        site.vmm.plan("POST /vms", Misbehaviour::Status(503));
    }
    let asked = || {
        let requests = site.vmm.requests();
        let asked = requests.iter();
        asked
            .filter(|one| one.path == "/vms" && one.method == "POST")
            .count()
    };
    let mut runner = site.start().await;
    let run = runner.run(&site, GRAPH).await;
    for _ in 0..5 {
        let before = asked();
        wait_until("a VM is asked for", || asked() > before).await;
        runner
            .reached(&run, |record| record.state == RunState::Allocating)
            .await;
        runner.stop().await;
        runner = site.start().await;
    }
    site.vmm.forget_plans();
    let record = runner.ended(&run).await;
    assert_eq!(
        (record.state, record.attempt),
        (RunState::Succeeded, 1),
        "{record:#?}"
    );
    status(&site, &record.sha, "CI / d (push)", "success").await;
    wait_until("all VMs are back", || site.vmm.vms().is_empty()).await;
    runner.stop().await;
}

#[actix_rt::test]
async fn statuses_that_could_not_be_posted_are_after_a_restart() {
    let site = Site::new();
    let failure = Failure::Status(503, None);
    site.forge.plan(PlannedFailure::new(
        "POST",
        "/statuses/",
        1_000_000,
        failure,
    ));
    let runner = site.start().await;
    let run = runner.run(&site, GRAPH).await;
    let sha = runner.ended(&run).await.sha;
    runner.stop().await;
    site.forge.plan_nothing();
    let runner = site.start().await;
    status(&site, &sha, "CI / a (push)", "success").await;
    status(&site, &sha, "CI / d (push)", "success").await;
    runner.stop().await;
}

/// A run as it is stored once it has begun.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct StoredRun {
    record: Vec<u8>,
    arrival: Option<()>,
}

impl Row for StoredRun {
    const SCHEMA: u16 = 2;
}

/// The runner was ended three times before, and then while the run was in this state, without jobs.
fn was_ended_in(site: &Site, run: &str, state: &str) {
    let store = Store::open(&site.data(), &StoreOptions::new("workflow-runner")).unwrap();
    let records: Table<String, StoredRun> = Table::new("runner_runs");
    let (key, state) = (run.to_owned(), state.to_owned());
    store
        .write_blocking(move |rows| {
            let mut row = rows.get(&records, &key)?.expect("it is stored");
            let mut record: Value = serde_json::from_slice(&row.record).expect("JSON");
            record["state"] = state.into();
            record["jobs"] = serde_json::json!([]);
            record["taken_up"] = 3.into();
            row.record = record.to_string().into_bytes();
            rows.put(&records, &key, &row)?;
            Ok::<_, StoreError>(())
        })
        .unwrap();
    store.close();
}

/// F01: found by killing the runner often. A run that never came to its plan again was lost without
/// jobs, and what it had begun before stayed pending.
#[actix_rt::test]
async fn f01_a_status_that_was_begun_before_restarts_ends_with_its_run() {
    let site = Site::new();
    site.vmm.plan("POST /vms", Misbehaviour::Hang);
    let runner = site.start().await;
    let run = runner.run(&site, GRAPH).await;
    let record = runner
        .reached(&run, |record| record.state == RunState::Allocating)
        .await;
    status(&site, &record.sha, "CI / a (push)", "pending").await;
    runner.stop().await;
    was_ended_in(&site, &run, "parsing");
    let runner = site.start().await;
    assert_eq!(runner.ended(&run).await.state, RunState::Lost);
    let description = status(&site, &record.sha, "CI / a (push)", "error").await;
    assert_eq!(description, "the runner was restarted while it ran");
    runner.stop().await;
}

/// Hundreds of runs that waited to be started were lost after four restarts in an afternoon.
#[actix_rt::test]
async fn i17_a_run_that_was_never_looked_at_is_not_lost_by_restarts() {
    let site = Site::new();
    site.vmm.plan("POST /vms", Misbehaviour::Hang);
    let runner = site.start().await;
    let run = runner.run(&site, GRAPH).await;
    runner
        .reached(&run, |record| record.state == RunState::Allocating)
        .await;
    runner.stop().await;
    was_ended_in(&site, &run, "received");
    let runner = site.start().await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Succeeded, "{record:#?}");
    runner.stop().await;
}
