//! Graphs of runs, and what of them runs again.

use super::*;
use serde_json::json;

fn planned(key: &str, needs: &[&str], caller: Option<&str>, calls: bool) -> PlannedJobRecord {
    PlannedJobRecord {
        key: key.to_owned(),
        name: key.to_owned(),
        needs: needs.iter().map(|&need| need.to_owned()).collect(),
        caller: caller.map(str::to_owned),
        calls: calls.then(|| "x.yml".to_owned()),
        matrix: false,
    }
}

fn run(plan: Vec<PlannedJobRecord>, jobs: &[(&str, usize, Option<&str>)]) -> RunRecord {
    let jobs: Vec<_> = jobs
        .iter()
        .map(|(key, instance, conclusion)| {
            json!({"key": key, "instance": instance, "name": key, "context": "", "conclusion": conclusion,
                "queued_at": 1, "steps": []})
        })
        .collect();
    let record = json!({"id": "1", "state": "failed", "repository": "a/b", "event": "push", "reference": "refs/heads/main",
        "sha": "1", "actor": "", "delivery": "", "number": 1, "attempt": 1, "created_at": 1, "jobs": jobs});
    let mut record: RunRecord = serde_json::from_value(record).unwrap();
    record.plan = plan;
    record
}

fn kept(run: &RunRecord) -> Vec<(&str, usize)> {
    let repeated = RepeatedJobs::from_run(run);
    let jobs = run.jobs.iter().filter(|job| repeated.keeps(job));
    jobs.map(|job| (job.key.as_str(), job.instance)).collect()
}

const GOOD: Option<&str> = Some("success");
const BAD: Option<&str> = Some("failure");
const SKIPPED: Option<&str> = Some("skipped");

#[test]
fn what_failed_and_what_needs_it_runs_again() {
    let plan = vec![
        planned("build", &[], None, false),
        planned("lint", &[], None, false),
        planned("test", &["build"], None, false),
        // Always: it succeeded although `test` had not.
        planned("report", &["test"], None, false),
        planned("deploy", &["test", "lint"], None, false),
    ];
    let failed = run(
        plan.clone(),
        &[
            ("build", 0, GOOD),
            ("lint", 0, GOOD),
            ("test", 0, BAD),
            ("report", 0, GOOD),
            ("deploy", 0, SKIPPED),
        ],
    );
    assert_eq!(kept(&failed), [("build", 0), ("lint", 0)]);
    let well = run(
        plan.clone(),
        &[
            ("build", 0, GOOD),
            ("lint", 0, GOOD),
            ("test", 0, GOOD),
            ("report", 0, GOOD),
            ("deploy", 0, SKIPPED),
        ],
    );
    assert!(RepeatedJobs::from_run(&well).is_empty());
    let cancelled = run(plan, &[("build", 0, GOOD), ("lint", 0, Some("cancelled"))]);
    assert!(
        !RepeatedJobs::from_run(&cancelled).is_empty(),
        "jobs that never began are run"
    );
    assert_eq!(kept(&cancelled), [("build", 0)]);
}

#[test]
fn the_failed_copies_of_a_matrix_run_again_alone_unless_what_they_need_does() {
    let plan = vec![
        planned("a", &[], None, false),
        planned("m", &["a"], None, false),
    ];
    let jobs = [
        ("a", 0, GOOD),
        ("m", 0, GOOD),
        ("m", 1, BAD),
        ("m", 2, Some("cancelled")),
    ];
    assert_eq!(kept(&run(plan.clone(), &jobs)), [("a", 0), ("m", 0)]);
    let jobs = [("a", 0, BAD), ("m", 0, GOOD), ("m", 1, BAD)];
    assert_eq!(kept(&run(plan, &jobs)), []);
}

#[test]
fn a_called_workflow_is_left_and_entered_again_where_it_must_be() {
    let plan = vec![
        planned("first", &[], None, false),
        planned("call", &["first"], None, true),
        planned("call/x", &[], Some("call"), false),
        planned("call/y", &["call/x"], Some("call"), false),
        planned("call/z", &[], Some("call"), false),
        planned("last", &["call"], None, false),
    ];
    let inner = [
        ("first", 0, GOOD),
        ("call/x", 0, GOOD),
        ("call/y", 0, BAD),
        ("call/z", 0, GOOD),
        ("last", 0, GOOD),
    ];
    assert_eq!(
        kept(&run(plan.clone(), &inner)),
        [("first", 0), ("call/x", 0), ("call/z", 0)]
    );
    let outer = [
        ("first", 0, BAD),
        ("call/x", 0, GOOD),
        ("call/y", 0, GOOD),
        ("call/z", 0, GOOD),
        ("last", 0, GOOD),
    ];
    assert_eq!(kept(&run(plan.clone(), &outer)), []);
    let graph = JobGraph::from_run(&run(plan, &inner));
    let states: Vec<_> = graph.jobs.iter().map(|job| job.state).collect();
    use GraphState::{Failure, Success};
    assert_eq!(
        states,
        [Success, Failure, Success, Failure, Success, Success]
    );
}

#[test]
fn a_run_without_a_plan_shows_its_jobs_and_says_that_it_knows_no_more() {
    let mut old = run(Vec::new(), &[("b", 0, GOOD), ("b", 1, None)]);
    old.job_order = vec!["a".to_owned(), "b".to_owned()];
    let graph = JobGraph::from_run(&old);
    assert!(!graph.complete);
    let keys: Vec<_> = graph
        .jobs
        .iter()
        .map(|job| (job.job.key.as_str(), job.copies.len(), job.state))
        .collect();
    assert_eq!(
        keys,
        [("a", 0, GraphState::Skipped), ("b", 2, GraphState::Waiting)]
    );
}

/// What runs again when this job does.
fn again(run: &RunRecord, job: &str) -> Option<Vec<(String, usize)>> {
    let repeated = RepeatedJobs::with_job(run, job)?;
    let jobs = run.jobs.iter().filter(|job| !repeated.keeps(job));
    Some(jobs.map(|job| (job.key.clone(), job.instance)).collect())
}

#[test]
fn i17_a_job_that_somebody_chose_runs_again_with_what_needs_it_and_nothing_else() {
    let plan = vec![
        planned("build", &[], None, false),
        planned("lint", &[], None, false),
        planned("test", &["build"], None, false),
        planned("call", &["test"], None, true),
        planned("call/x", &[], Some("call"), false),
        planned("call/y", &[], Some("call"), false),
        planned("last", &["call"], None, false),
    ];
    let mut run = run(
        plan,
        &[
            ("build", 0, GOOD),
            ("lint", 0, BAD),
            ("test", 0, GOOD),
            ("test", 1, BAD),
            ("call/x", 0, GOOD),
            ("call/y", 0, SKIPPED),
            ("last", 0, GOOD),
        ],
    );
    run.jobs[2].name = "test (1)".to_owned();
    run.jobs[3].name = "test (2)".to_owned();
    let keys = |job: &str| {
        let all = again(&run, job)?.into_iter();
        let all = all.map(|(key, instance)| format!("{key}.{instance}"));
        Some(all.collect::<Vec<_>>().join(" "))
    };
    for (job, expected) in [
        ("lint", Some("lint.0")),
        ("test (1)", Some("test.0 call/x.0 call/y.0 last.0")),
        ("test", Some("test.0 test.1 call/x.0 call/y.0 last.0")),
        ("call", Some("call/x.0 call/y.0 last.0")),
        ("call/x", Some("call/x.0 last.0")),
        ("last", Some("last.0")),
        ("deploy", None),
    ] {
        assert_eq!(keys(job).as_deref(), expected, "{job}");
    }
}
