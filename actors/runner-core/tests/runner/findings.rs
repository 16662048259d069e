//! What `check` finds: for each mistake its place and what is said; for what is right, nothing.
//!
//! The pages named are GitHub's. What GitHub refuses is an error, what it takes and what then does
//! something else than it says is a warning.

use config_core::Severity;
use runner_core::report::check;

const JOB: &str = "jobs:\n  a:\n    runs-on: x\n    steps: [{run: y}]\n";

/// `error 3:5: what` for every finding.
pub(crate) fn findings(text: &str) -> Vec<String> {
    let report = check("ci.yml", text.as_bytes(), &|_| None);
    let shown = report.diagnostics.iter().map(|found| {
        let severity = match found.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let (line, col) = (found.line.unwrap_or(0), found.col.unwrap_or(0));
        format!("{severity} {line}:{col}: {}", found.message)
    });
    shown.collect()
}

/// Every text with what is found in it: all of it, in order.
#[track_caller]
pub(crate) fn found(cases: &[(&str, &[&str])]) {
    for (text, expected) in cases {
        assert_eq!(findings(text), *expected, "{text}");
    }
}

/// At most one finding, at the `¦` of the text.
#[track_caller]
pub(crate) fn found_at(text: &str, expected: Option<&str>) {
    let Some(at) = text.find('¦') else {
        assert_eq!(findings(text), [] as [&str; 0], "{text}");
        assert_eq!(expected, None, "{text}");
        return;
    };
    let line = text[..at].matches('\n').count() + 1;
    let col = at - text[..at].rfind('\n').map_or(0, |found| found + 1) + 1;
    let (severity, message) = expected
        .and_then(|expected| expected.split_once(' '))
        .expect("what is found at the mark");
    let shown = format!("{severity} {line}:{col}: {message}");
    assert_eq!(findings(&text.replace('¦', "")), [shown], "{text}");
}

pub(crate) fn on(event: &str) -> String {
    format!("on:\n  {event}\n{JOB}")
}

#[track_caller]
pub(crate) fn found_on(cases: &[(&str, &[&str])]) {
    for (event, expected) in cases {
        let text = on(event);
        assert_eq!(findings(&text), *expected, "{text}");
    }
}

fn steps(steps: &str) -> String {
    format!("on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - {steps}\n")
}

#[track_caller]
fn found_in_step(cases: &[(&str, &[&str])]) {
    for (step, expected) in cases {
        let text = steps(step);
        assert_eq!(findings(&text), *expected, "{text}");
    }
}

/// Page "Workflow syntax", `jobs.<job_id>.runs-on`.
#[test]
fn a_job_without_a_label_is_found() {
    for (labels, place) in [
        ("[]", "4:14"),
        ("''", "4:14"),
        ("[x, '']", "4:18"),
        ("{labels: []}", "4:23"),
        ("{}", "4:14"),
    ] {
        let text =
            format!("on: push\njobs:\n  a:\n    runs-on: {labels}\n    steps: [{{run: y}}]\n");
        let expected = format!("error {place}: runs-on gives no label");
        assert_eq!(findings(&text), [expected], "{text}");
    }
}

/// Page "Control the concurrency of workflows and jobs".
#[test]
fn i17_a_queue_that_ends_what_runs_is_found() {
    let job = "jobs: {a: {runs-on: x, steps: [{run: y}]}}\n";
    for (group, expected) in [
        ("{group: g, queue: max, cancel-in-progress: false}", None),
        (
            "{group: g, queue: max, cancel-in-progress: true}",
            Some("error 2:25: `queue: max` and `cancel-in-progress: true` exclude each other"),
        ),
        (
            "{group: g, queue: all}",
            Some("error 2:32: queue is `all`, expected single or max"),
        ),
    ] {
        let text = format!("on: push\nconcurrency: {group}\n{job}");
        let expected: Vec<&str> = expected.into_iter().collect();
        assert_eq!(findings(&text), expected, "{text}");
    }
}

/// A variable of this runner's own.
#[test]
fn i17_a_wrong_number_of_reruns_is_found() {
    let text = |value: &str| {
        format!(
            "on: push\nenv: {{ORRERY_RERUN_LOST: {value}}}\njobs: {{a: {{runs-on: x, steps: [{{run: y}}]}}}}\n"
        )
    };
    for right in ["0", "5", "'3'", "'${{ vars.RERUNS }}'"] {
        assert_eq!(findings(&text(right)), [""; 0], "{right}");
    }
    for (wrong, said) in [
        ("6", "6"),
        ("true", "true"),
        ("-1", "-1"),
        ("twice", "twice"),
    ] {
        let found = findings(&text(wrong));
        let expected = format!("warning 2:26: ORRERY_RERUN_LOST is `{said}`; it says how often");
        assert!(found[0].starts_with(&expected), "{found:?}");
    }
}

/// Page "Workflow syntax", `jobs.<job_id>.steps[*].uses`, `.run`; the actions' own pages.
#[test]
fn steps_that_could_only_fail_are_found() {
    found_in_step(&[
        ("run: ''", &["warning 6:9: the script is empty"]),
        ("uses: ''", &["error 6:15: `uses` is empty"]),
        (
            "uses: actions/checkout",
            &["error 6:15: `actions/checkout` names no version"],
        ),
        (
            "uses: checkout@v4",
            &["error 6:15: `checkout@v4` is no action"],
        ),
        ("uses: https://code.forgejo.org/actions/checkout@v4", &[]),
        (
            "uses: actions/cache@v4\n        with: {path: x}",
            &["warning 6:15: actions/cache@v4 needs the input `key`: the step would fail"],
        ),
        (
            "uses: actions/upload-artifact@v4",
            &[
                "warning 6:15: actions/upload-artifact@v4 needs the input `path`: the step would fail",
            ],
        ),
        (
            "uses: actions/cache@v4\n        with: {path: x, key: y}",
            &[],
        ),
    ]);
    found(&[(
        "on: push\njobs:\n  a:\n    uses: ./.github/workflows/x.yml@main\n",
        &["error 4:11: a workflow of the same repository has no version: it is that of the commit"],
    )]);
}

/// Page "Workflow syntax", `permissions`.
#[test]
fn levels_that_a_permission_does_not_have_are_found() {
    for (permission, expected) in [
        ("id-token: read", Some("id-token has no level `read`")),
        ("models: write", Some("models has no level `write`")),
        ("models: read", None),
        ("contents: write", None),
    ] {
        let text = format!("on: push\npermissions: {{{permission}}}\n{JOB}");
        let found = findings(&text);
        assert_eq!(found.len(), usize::from(expected.is_some()), "{found:?}");
        if let Some(expected) = expected {
            assert!(found[0].ends_with(expected), "{found:?}");
        }
    }
}

/// Page "Running variations of jobs in a workflow", "Excluding matrix configurations".
#[test]
fn an_exclude_that_takes_nothing_away_is_found() {
    let text = |exclude: &str| {
        format!(
            "on: push\njobs:\n  a:\n    runs-on: x\n    steps: [{{run: y}}]\n    strategy:\n      matrix:\n        os: [a, {{name: b, v: 1}}]\n        v: ['${{{{ github.ref }}}}']\n        exclude: [{{{exclude}}}]\n"
        )
    };
    for (exclude, expected) in [
        ("os: a", None),
        ("os: {name: b}", None),
        ("v: 7", None),
        (
            "os: ¦c",
            Some("warning no value of `os` in the matrix is excluded by this"),
        ),
        (
            "os: ¦{name: c}",
            Some("warning no value of `os` in the matrix is excluded by this"),
        ),
        (
            "¦so: a",
            Some("error the matrix has no key `so` to exclude"),
        ),
        (
            "v: 7}, ¦{",
            Some("error a mapping without a key excludes nothing"),
        ),
    ] {
        found_at(&text(exclude), expected);
    }
}

/// Page "Workflow syntax", `concurrency`, `timeout-minutes`, `jobs.<job_id>`, `on.push.branches`.
#[test]
fn what_github_refuses_or_never_starts_is_found() {
    let job = "runs-on: x, steps: [{run: y}]";
    for (text, expected) in [
        (
            format!("on: push\nconcurrency: ¦''\njobs: {{a: {{{job}}}}}\n"),
            "error the group of concurrency has no name",
        ),
        (
            format!("on: push\njobs: {{a: {{{job}, timeout-minutes: ¦true}}}}\n"),
            "error timeout-minutes is `true`, expected a number above 0",
        ),
        (
            format!("on: push\njobs: {{¦__a: {{{job}}}}}\n"),
            "error `__a` is not an id of a job",
        ),
        (
            format!("on: {{push: {{¦branches: []}}}}\njobs: {{a: {{{job}}}}}\n"),
            "warning `branches` names nothing, so nothing passes",
        ),
        (
            "on: push\njobs:\n  ¦a:\n    runs-on: '${{ matrix.x }}'\n    steps: [{run: y}]\n    strategy: {matrix: {x: [{a: b}]}}\n".to_owned(),
            "warning the job `a` would fail: runs-on gives no label",
        ),
        (
            "on: push\njobs:\n  ¦a:\n    runs-on: x\n    steps: [{run: y}]\n    strategy: {matrix: {x: [b], exclude: [{x: b}]}}\n".to_owned(),
            "warning the job `a` has one copy without a matrix: `exclude` leaves none of the combinations",
        ),
    ] {
        found_at(&text, Some(expected));
    }
}

/// Page "Workflow syntax", `concurrency`, `jobs.<job_id>.steps[*].background`, `.wait`,
/// `.parallel`.
#[test]
fn mistakes_in_newer_keys_are_found() {
    for (text, expected) in [
        (
            format!("on: push\nconcurrency: {{group: g, queue: ¦all}}\n{JOB}"),
            "error queue is `all`, expected single or max",
        ),
        (
            steps("{run: x, background: ¦maybe}"),
            "error background is a text, expected true or false",
        ),
        (
            steps("{wait-all: , ¦run: y}"),
            "error a step with `wait-all` has no `run`",
        ),
        (
            steps("{parallel: [{run: x}], ¦name: y}"),
            "error unknown key `name` in a group of steps",
        ),
        (
            steps("{parallel: [{¦rnu: x, run: x}]}"),
            "error unknown key `rnu` in a step",
        ),
        (
            format!(
                "{}      - ¦{{run: y, id: a}}\n",
                steps("{parallel: [{run: x, id: a}]}")
            ),
            "error two steps have the id `a`",
        ),
        (
            steps("{wait: ¦server}"),
            "error no step in the background before has the id `server`",
        ),
        (
            format!("{}      - cancel: ¦a\n", steps("{run: x, id: a}")),
            "error no step in the background before has the id `a`",
        ),
        (
            steps("{wait-all: , ¦if: always()}"),
            "error a step with `wait-all` has no `if`",
        ),
        (steps("{wait: ¦[]}"), "error `wait` names no step"),
        (
            steps("{wait-all: ¦a}"),
            "error wait-all is a text, expected nothing",
        ),
        (
            steps("{cancel: ¦[a]}"),
            "error cancel is a list, expected a text",
        ),
        (
            steps("{parallel: [{run: x, ¦background: true}]}"),
            "error a step of `parallel` has no `background`",
        ),
        (
            steps("{parallel: [{¦wait-all: }]}"),
            "error a step of `parallel` has no `wait-all`",
        ),
        (
            steps("{parallel: [{¦parallel: [{run: x}]}]}"),
            "error a step of `parallel` has no `parallel`",
        ),
        (
            format!(
                "{}      - run: echo ${{{{ steps.¦a.outputs.b }}}}\n      - wait: a\n",
                steps("{run: x, id: a, background: true}")
            ),
            "warning nothing has waited for the step `a` by then",
        ),
    ] {
        found_at(&text, Some(expected));
    }
}
