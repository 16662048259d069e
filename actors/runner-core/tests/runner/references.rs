//! References to what is not there (page "Contexts reference"): GitHub takes them and gives
//! nothing, so they are warnings.

use super::findings::{found, found_at};

/// `needs`, `jobs`.
#[test]
fn jobs_and_outputs_that_are_not_there_are_found() {
    let a = "on: push\njobs:\n  a:\n    runs-on: x\n    outputs: {v: x}\n    steps: [{run: y}]\n";
    let b = |needs: &str, run: &str| {
        format!("{a}  b:\n    runs-on: x\n{needs}    steps:\n      - run: echo ${{{{ {run} }}}}\n")
    };
    let needs = "    needs: [a]\n";
    for (text, expected) in [
        (b(needs, "needs.a.outputs.v"), None),
        (b(needs, "NEEDS.A.RESULT"), None),
        (b(needs, "toJSON(needs)"), None),
        (
            b("", "needs.¦a.result"),
            Some("warning `b` does not need `a`"),
        ),
        (
            b(needs, "needs.¦c.result"),
            Some("warning `b` does not need `c`"),
        ),
        (
            b(needs, "needs.a.¦output"),
            Some("warning the job `a` has no property `output`"),
        ),
        (
            b(needs, "needs.a.outputs.¦w"),
            Some("warning the job `a` has no output `w`"),
        ),
        (
            b(needs, "needs['a'].outputs.¦w"),
            Some("warning the job `a` has no output `w`"),
        ),
    ] {
        found_at(&text, expected);
    }
    let called = |value: &str| {
        format!(
            "on:\n  workflow_call:\n    outputs:\n      o: {{value: '${{{{ {value} }}}}'}}\n{}",
            a.trim_start_matches("on: push\n")
        )
    };
    found_at(&called("jobs.a.outputs.v"), None);
    found_at(
        &called("jobs.¦c.outputs.v"),
        Some("warning the workflow has no job `c`"),
    );
    found_at(
        &called("jobs.a.outputs.¦w"),
        Some("warning the job `a` has no output `w`"),
    );
}

/// `steps`.
#[test]
fn steps_that_have_not_run_are_found() {
    let text = |run: &str| {
        format!(
            "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - {{id: one, uses: actions/cache@v4, with: {{path: p, key: k}}}}\n      - {{run: '${{{{ {run} }}}}'}}\n      - {{id: late, run: y}}\n  b:\n    runs-on: x\n    steps: [{{id: other, run: y}}]\n"
        )
    };
    for (run, expected) in [
        ("steps.one.outputs.cache-hit", None),
        ("steps.one.outcome", None),
        (
            "steps.one.outputs.¦cache_hit",
            Some("warning actions/cache@v4 has no output `cache_hit`"),
        ),
        (
            "steps.one.¦output.x",
            Some("warning the step `one` has no property `output`"),
        ),
        (
            "steps.¦late.outcome",
            Some("warning the step `late` has not run by then"),
        ),
        (
            "steps.¦none.outcome",
            Some("warning no step before has the id `none`"),
        ),
        (
            "steps.¦other.outcome",
            Some("warning the step `other` is one of the job `b`"),
        ),
    ] {
        found_at(&text(run), expected);
    }
    // The step was written, but is wrong itself: only that is said.
    let wrong = text("steps.one.outcome").replace("uses: actions/cache@v4, ", "");
    found(&[(&wrong, &["error 6:9: a step has neither `run` nor `uses`"])]);
}

/// `matrix` (page "Running variations of jobs in a workflow").
#[test]
fn keys_no_matrix_gives_are_found() {
    let text = |strategy: &str, os: &str| {
        format!(
            "on: push\njobs:\n  a:\n    runs-on: x-${{{{ matrix.{os} }}}}\n{strategy}    steps: [{{run: y}}]\n"
        )
    };
    for (strategy, expected) in [
        ("", Some("warning `a` has no matrix")),
        (
            "    strategy: {matrix: {so: [x]}}\n",
            Some("warning the matrix of `a` has no key `os`"),
        ),
        ("    strategy: {matrix: {os: [x]}}\n", None),
        ("    strategy: {matrix: {include: [{os: x}]}}\n", None),
        ("    strategy: {matrix: '${{ fromJSON(vars.M) }}'}\n", None),
        (
            "    strategy: {matrix: {v: [1], include: '${{ fromJSON(vars.M) }}'}}\n",
            None,
        ),
    ] {
        let os = if expected.is_some() { "¦os" } else { "os" };
        found_at(&text(strategy, os), expected);
    }
}

/// `inputs`, `secrets`.
#[test]
fn inputs_and_secrets_nobody_gives_are_found() {
    let text = |on: &str, run: &str| {
        format!(
            "on: {on}\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: echo ${{{{ {run} }}}}\n"
        )
    };
    let dispatch = "{workflow_dispatch: {inputs: {a: }}}";
    let call = "{workflow_call: {secrets: {a: }}}";
    for (on, run, expected) in [
        (dispatch, "inputs.A", None),
        (
            dispatch,
            "inputs.¦b",
            Some("warning the workflow has no input `b`"),
        ),
        (
            "push",
            "inputs.¦b",
            Some("warning the workflow has no input `b`"),
        ),
        (call, "secrets.a", None),
        (
            call,
            "secrets.¦b",
            Some("warning workflow_call has no secret `b`"),
        ),
        (
            "{push: , workflow_call: {secrets: {a: }}}",
            "secrets.b",
            None,
        ),
        ("push", "secrets.b", None),
    ] {
        found_at(&text(on, run), expected);
    }
}

/// `github`, `runner`, `job`, `strategy`.
#[test]
fn properties_a_context_does_not_have_are_found() {
    for (run, expected) in [
        (
            "github.¦shaa",
            Some("warning the context `github` has no property `shaa`"),
        ),
        (
            "runner.¦arc",
            Some("warning the context `runner` has no property `arc`"),
        ),
        (
            "job.¦state",
            Some("warning the context `job` has no property `state`"),
        ),
        (
            "strategy.¦job_total",
            Some("warning the context `strategy` has no property `job_total`"),
        ),
        ("github.sha", None),
        ("github.event.anything.at_all", None),
        ("github['repositoryUrl']", None),
        ("env.ANYTHING", None),
    ] {
        let text = format!(
            "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: echo ${{{{ {run} }}}}\n"
        );
        found_at(&text, expected);
    }
}
