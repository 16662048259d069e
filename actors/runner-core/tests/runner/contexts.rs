//! Contexts of commit statuses: no two of a run are the same, whatever its jobs are called.

use std::collections::HashSet;

use forge_core::StatusContext;
use runner_core::actions::NoActions;
use runner_core::context::{RunFacts, default_variables, github};
use runner_core::env_file::is_reserved;
use runner_core::event::{EventContext, EventKind};
use runner_core::expr::{Contexts, ExprValue};
use runner_core::plan::{Instances, Plan, PlanInput, StatusContexts, plan, run_context};
use runner_core::workflow::parse;

fn files(path: &str) -> Option<Vec<u8>> {
    let text = "on: {workflow_call: }\njobs:\n  build: {runs-on: x, steps: [{run: y}]}\n  named: {name: build, runs-on: x, steps: [{run: y}]}\n";
    (path == ".github/workflows/called.yml").then(|| text.as_bytes().to_vec())
}

fn planned(jobs: &str) -> Plan {
    let text = format!("name: CI\non: push\njobs:\n{jobs}");
    let workflow = parse("ci.yml", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let input = PlanInput {
        contexts: &Contexts::default(),
        files: &files,
        actions: &NoActions,
    };
    plan(workflow.value, input).expect("it can be planned")
}

/// The contexts of all jobs and their copies.
fn contexts(plan: &Plan) -> Vec<String> {
    let mut contexts = StatusContexts::new(plan, "CI", "push");
    let mut all = Vec::new();
    for (index, job) in plan.jobs.iter().enumerate() {
        match &job.instances {
            Instances::Known(copies) if !copies.is_empty() => {
                all.extend((0..copies.len()).map(|copy| contexts.of_copy(index, copies, copy)));
            }
            _ => all.push(contexts.of_job(index)),
        }
    }
    all
}

const STEPS: &str = "runs-on: x, steps: [{run: y}]";

#[test]
fn x1_jobs_of_one_name_have_contexts_of_their_own() {
    let long = "n".repeat(300);
    let wide = "\u{1F680}".repeat(90);
    for (jobs, wanted) in [
        (
            format!(
                "  a: {{name: test, {STEPS}}}\n  b: {{name: test, {STEPS}}}\n  c: {{{STEPS}}}\n"
            ),
            vec![
                "CI / test [a] (push)",
                "CI / test [b] (push)",
                "CI / c (push)",
            ],
        ),
        // A name that is another job's id, in other letters.
        (
            format!("  a: {{name: B, {STEPS}}}\n  b: {{{STEPS}}}\n"),
            vec!["CI / B [a] (push)", "CI / b [b] (push)"],
        ),
        // A name that looks like a copy of a matrix.
        (
            format!(
                "  a: {{strategy: {{matrix: {{v: [1, 2]}}}}, {STEPS}}}\n  b: {{name: a (1), {STEPS}}}\n"
            ),
            vec![
                "CI / a (1) [a] (push)",
                "CI / a (2) (push)",
                "CI / a (1) [b] (push)",
            ],
        ),
        // Every copy is called the same.
        (
            format!(
                "  a: {{name: \"${{{{ format('{{0}}', github.actor) }}}}\", strategy: {{matrix: {{v: [1, 2]}}}}, {STEPS}}}\n"
            ),
            vec!["CI / a [a #1] (push)", "CI / a [a #2] (push)"],
        ),
        (
            format!("  a: {{name: {long}a, {STEPS}}}\n  b: {{name: {long}b, {STEPS}}}\n"),
            vec![],
        ),
        (
            format!("  a: {{name: {wide}a, {STEPS}}}\n  b: {{name: {wide}b, {STEPS}}}\n"),
            vec![],
        ),
        (
            format!("  a: {{name: \" \", {STEPS}}}\n"),
            vec!["CI / a (push)"],
        ),
    ] {
        let found = contexts(&planned(&jobs));
        if !wanted.is_empty() {
            assert_eq!(found, wanted, "{jobs}");
        }
        let distinct: HashSet<String> =
            found.iter().map(|context| context.to_lowercase()).collect();
        assert_eq!(distinct.len(), found.len(), "{found:?}");
        for context in &found {
            assert!(
                context.parse::<StatusContext>().is_ok(),
                "a forge does not take {context}"
            );
        }
    }
}

#[test]
fn x1_jobs_of_called_workflows_name_their_caller() {
    let jobs = format!(
        "  call: {{name: Outer, uses: ./.github/workflows/called.yml}}\n  build: {{{STEPS}}}\n"
    );
    let found = contexts(&planned(&jobs));
    assert_eq!(
        found,
        [
            "CI / Outer (push)",
            "CI / Outer / build [call/build] (push)",
            "CI / Outer / build [call/named] (push)",
            "CI / build (push)",
        ]
    );
    // A job that is called like an inner one.
    let jobs = format!("{jobs}  c: {{name: Outer / build, {STEPS}}}\n");
    let found = contexts(&planned(&jobs));
    let distinct: HashSet<&String> = found.iter().collect();
    assert_eq!(distinct.len(), found.len(), "{found:?}");
}

#[test]
fn x1_a_skipped_job_is_called_by_its_name() {
    let plan = planned(&format!(
        "  a: {{name: Tests on Linux, if: false, {STEPS}}}\n"
    ));
    let mut contexts = StatusContexts::new(&plan, "CI", "pull_request");
    assert_eq!(contexts.of_job(0), "CI / Tests on Linux (pull_request)");
    assert_eq!(contexts.name(0), "Tests on Linux");
    assert_eq!(
        contexts.of_job(0),
        "CI / Tests on Linux (pull_request)",
        "asked again"
    );
}

#[test]
fn v1_what_is_said_of_a_whole_run_has_a_context_too() {
    assert_eq!(run_context(None, "push"), "workflow-runner / commit (push)");
    let file = Some(".github/workflows/ci.yml");
    assert_eq!(
        run_context(file, "push"),
        ".github/workflows/ci.yml / workflow (push)"
    );
}

#[test]
fn x6_only_pull_requests_have_a_head_ref() {
    for (kind, wanted) in [
        (EventKind::PullRequest, "topic"),
        (EventKind::Push, ""),
        (EventKind::WorkflowDispatch, ""),
        (EventKind::Schedule, ""),
    ] {
        let event = EventContext {
            kind,
            action: None,
            reference: "refs/heads/topic".to_owned(),
            sha: "1".repeat(40),
            repository: "o/r".to_owned(),
            actor: String::new(),
            base_branch: None,
            head_branch: Some("topic".to_owned()),
            untrusted: false,
            changed_paths: None,
            message: None,
            inputs: Vec::new(),
            payload: ExprValue::Null,
        };
        let github = github(&event, &RunFacts::default(), None);
        let found = github
            .get("head_ref")
            .map(|value| value.as_text().to_string());
        assert_eq!(found.as_deref(), Some(wanted), "{kind:?}");
        for (name, _) in default_variables(&event, &RunFacts::default(), "a") {
            let is_own = name.starts_with("GITHUB_") || name.starts_with("RUNNER_");
            assert_eq!(is_reserved(&name), is_own, "{name}: no step changes it");
        }
    }
}

#[test]
fn the_api_s_address_is_that_of_the_kind_of_forge_or_none() {
    use forge_core::Forge;
    for (forge, server, expected) in [
        (
            Forge::GitHub,
            "https://github.com",
            "https://api.github.com",
        ),
        (
            Forge::GitHub,
            "https://code.example",
            "https://code.example/api/v3",
        ),
        (
            Forge::Forgejo,
            "https://code.example",
            "https://code.example/api/v1",
        ),
        (Forge::Gitea, "", ""),
    ] {
        let found = runner_core::context::api_url(forge, server);
        assert_eq!(found, expected, "{forge:?} {server}");
    }
}

#[test]
fn i17_a_run_s_number_is_one_that_javascript_holds() {
    use runner_core::context::run_number_id;
    let first = run_number_id("01a20cdd-63d0-7244-aa39-1628c30399c4");
    let later = run_number_id("01a20cdd-63d1-7000-aa39-1628c30399c4");
    let (first, later): (u64, u64) = (first.parse().unwrap(), later.parse().unwrap());
    assert!(first < later && later < 1 << 53);
    // 2026-11-24T09:32:48.720Z, and 0x244.
    assert_eq!(first, (0x01a2_0cdd_63d0 - 1_577_836_800_000) << 12 | 0x244);
    assert_eq!(run_number_id("7"), "7");
}

#[test]
fn i17_a_number_leads_to_the_run_that_has_it() {
    use runner_core::context::{run_id_prefix, run_number_id};
    let id = "01a20cdd-63d0-7244-aa39-1628c30399c4";
    let prefix = run_id_prefix(&run_number_id(id)).unwrap();
    assert_eq!(prefix, "01a20cdd-63d0-7244-");
    for none in ["", "x", "-1", "18446744073709551616", id] {
        assert_eq!(run_id_prefix(none), None, "{none}");
    }
}
