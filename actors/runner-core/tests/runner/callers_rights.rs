//! What callers let the workflows do that they call: `permissions`, `cache-mode`.

use runner_core::actions::NoActions;
use runner_core::expr::Contexts;
use runner_core::plan::{Plan, PlanError, PlanInput, plan};
use runner_core::workflow::parse;

fn files(path: &str) -> Option<Vec<u8>> {
    let text = match path {
        ".github/workflows/asks.yml" => ASKS,
        ".github/workflows/asks-by-another.yml" => ASKS_BY_ANOTHER,
        _ => return None,
    };
    Some(text.as_bytes().to_vec())
}

fn planned(text: &str, files: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<Plan, PlanError> {
    let workflow = parse("ci.yml", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let input = PlanInput {
        contexts: &Contexts::default(),
        files,
        actions: &NoActions,
    };
    plan(workflow.value, input)
}

const ASKS: &str = "on: workflow_call
jobs:
  less: {runs-on: x, permissions: {contents: read}, steps: [{run: y}]}
  more: {runs-on: x, permissions: {contents: write, issues: write}, steps: [{run: y}]}
";
const ASKS_BY_ANOTHER: &str = "on: workflow_call
jobs: {in: {uses: ./.github/workflows/asks.yml}}
";

/// Page "Reuse workflows": permissions can only be kept or taken away. Before, they were taken away
/// without a word.
#[test]
fn i17_a_called_workflow_that_asks_for_more_than_its_caller_has_is_refused() {
    let beyond = "the job `more` of .github/workflows/asks.yml asks for `contents: write, issues: write`, and is allowed `contents: read, issues: none`";
    for called in ["asks", "asks-by-another"] {
        let call = format!("uses: ./.github/workflows/{called}.yml");
        for (of_workflow, of_job, expected) in [
            ("", "permissions: {contents: read}, ", Some(beyond)),
            ("permissions: {contents: read}\n", "", Some(beyond)),
            (
                "permissions: write-all\n",
                "permissions: {contents: read}, ",
                Some(beyond),
            ),
            ("", "permissions: {contents: write, issues: write}, ", None),
            ("permissions: write-all\n", "", None),
            // The defaults of a repository, which this runner does not know.
            ("", "", None),
        ] {
            let text = format!("on: push\n{of_workflow}jobs:\n  c: {{{of_job}{call}}}\n");
            let plan = planned(&text, &files);
            let error = plan.as_ref().err().map(ToString::to_string);
            let line = text.lines().count();
            let file = match called {
                "asks" => format!("ci.yml:{line}:3"),
                _ => ".github/workflows/asks-by-another.yml:2:8".to_owned(),
            };
            let expected = expected.map(|message| format!("{file}: {message}"));
            assert_eq!(error, expected, "{text}");
            let Ok(plan) = plan else { continue };
            let found = plan.jobs.iter().flat_map(|job| &job.findings);
            let found: Vec<&str> = found.map(|found| found.message.as_str()).collect();
            let narrowed = of_workflow.is_empty() && of_job.is_empty();
            assert_eq!(found, vec![beyond; usize::from(narrowed)], "{text}");
        }
    }
}

/// Page "Workflow syntax", `cache-mode`: the job's counts before the workflow's, and a called
/// workflow has no more than its caller. Before, a file with it was wrong.
#[test]
fn i17_a_cache_mode_is_the_job_s_or_the_workflow_s_and_no_more_than_the_caller_s() {
    let line = |mode: &str, end: &str| match mode {
        "" => String::new(),
        mode => format!("cache-mode: {mode}{end}"),
    };
    // The caller's workflow and job, the called one's; what the called job has.
    for (outer, outer_job, inner, inner_job, expected) in [
        ("", "", "", "", Ok("write")),
        ("read", "", "", "", Ok("read")),
        ("write", "none", "", "", Ok("none")),
        ("none", "write", "write-only", "", Ok("write-only")),
        ("read", "", "write", "read", Ok("read")),
        ("", "", "write", "none", Ok("none")),
        (
            "read",
            "",
            "write",
            "",
            Err("`write`, and is allowed `read`"),
        ),
        (
            "write",
            "write-only",
            "read",
            "",
            Err("`read`, and is allowed `write-only`"),
        ),
        (
            "none",
            "",
            "read",
            "write-only",
            Err("`write-only`, and is allowed `none`"),
        ),
    ] {
        let called = format!(
            "on: workflow_call\n{}jobs: {{in: {{{}runs-on: x, steps: [{{run: y}}]}}}}\n",
            line(inner, "\n"),
            line(inner_job, ", ")
        );
        let files = |_: &str| Some(called.clone().into_bytes());
        let text = format!(
            "on: push\n{}jobs: {{c: {{{}uses: ./.github/workflows/called.yml}}}}\n",
            line(outer, "\n"),
            line(outer_job, ", ")
        );
        let found = planned(&text, &files).map(|plan| plan.jobs[1].cache_mode);
        match (found, expected) {
            (Ok(found), Ok(expected)) => {
                assert_eq!(found.name(), expected, "{text}{called}");
            }
            (Err(error), Err(expected)) => {
                assert!(error.to_string().ends_with(expected), "{error}");
            }
            (found, _) => panic!("{text}{called}{found:?}"),
        }
    }
    let wrong = parse("ci.yml", b"on: push\ncache-mode: readonly\njobs: {}\n").unwrap_err();
    let wrong = wrong.to_string();
    assert!(wrong.contains("cache-mode is `readonly`"), "{wrong}");
}

/// Found in a project's release: `env: {ACTIONS_CACHE_MODE: none}` was overwritten by the runner's
/// own value.
#[test]
fn i17_a_variable_takes_away_from_the_cache_mode() {
    for (workflow, job, expected) in [
        ("env: {ACTIONS_CACHE_MODE: none}", "", "none"),
        (
            "env: {ACTIONS_CACHE_MODE: none}",
            "env: {ACTIONS_CACHE_MODE: read}, ",
            "read",
        ),
        (
            "cache-mode: read\nenv: {ACTIONS_CACHE_MODE: write}",
            "",
            "read",
        ),
        (
            "cache-mode: read\nenv: {ACTIONS_CACHE_MODE: write-only}",
            "",
            "none",
        ),
        ("env: {ACTIONS_CACHE_MODE: sometimes}", "", "write"),
        (
            "env: {ACTIONS_CACHE_MODE: '${{ vars.X }}', OTHER: none}",
            "",
            "write",
        ),
    ] {
        let text = format!(
            "on: push\n{workflow}\njobs: {{a: {{{job}runs-on: x, steps: [{{run: y}}]}}}}\n"
        );
        let plan = planned(&text, &|_| None).expect("a plan");
        assert_eq!(plan.jobs[0].cache_mode.name(), expected, "{text}");
    }
    // Variables of a caller are not those of what it calls.
    let called = "on: workflow_call\njobs: {in: {runs-on: x, steps: [{run: y}]}}\n";
    let text = "on: push\nenv: {ACTIONS_CACHE_MODE: none}\njobs: {c: {uses: ./.github/workflows/called.yml}}\n";
    let plan = planned(text, &|_| Some(called.as_bytes().to_vec())).expect("a plan");
    assert_eq!(plan.jobs[1].cache_mode.name(), "write");
}
