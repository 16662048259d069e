//! Values that can be told before anything runs (page "Evaluate expressions in workflows and
//! actions").

use super::findings::{found, found_at};

fn step(run: &str) -> String {
    format!(
        "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: echo ${{{{ {run} }}}}\n"
    )
}

/// `format`, `fromJSON`.
#[test]
fn calls_that_fail_are_found() {
    for (run, expected) in [
        ("format('{0} {1}', 'a', 'b')", None),
        ("format('{{{0}}}', 'a')", None),
        (
            "format('{0} {1}', 'a')",
            Some("error 6:19: format refers to {1}, but has 1 values"),
        ),
        (
            "format('{0', 'a')",
            Some("error 6:19: format cannot read `{0`: braces stand around a number, or twice"),
        ),
        (
            "format('a}', 'a')",
            Some("error 6:19: format cannot read `a}`: braces stand around a number, or twice"),
        ),
        ("fromJSON('7')", None),
        (
            "fromJSON('')",
            Some("warning 6:19: fromJSON cannot read its text: it is empty"),
        ),
        (
            "fromJSON('{a}')",
            Some(
                "warning 6:19: fromJSON cannot read its text: key must be a string at line 1 column 2",
            ),
        ),
    ] {
        found(&[(&step(run), expected.as_slice())]);
    }
}

/// Lists and objects in texts, comparisons (page section "Operators"), properties of texts.
#[test]
fn kinds_that_are_lost_are_found() {
    for (run, expected) in [
        ("toJSON(github)", None),
        (
            "github.event",
            Some("warning 6:19: an object in a text says only `Object`"),
        ),
        (
            "github.event.*",
            Some("warning 6:19: a list in a text says only `Array`"),
        ),
        (
            "null",
            Some("warning 6:19: an empty value leaves nothing in a text"),
        ),
        (
            "env == 'x'",
            Some("warning 6:19: an object compared with a text is always false"),
        ),
        (
            "runner != 'x'",
            Some("warning 6:19: an object compared with a text is always true"),
        ),
        ("env.A == 1", None),
        ("github.event == github.event", None),
        (
            "github.repository.owner",
            Some("warning 6:19: a text has no property `owner`"),
        ),
    ] {
        found(&[(&step(run), expected.as_slice())]);
    }
}

/// Page "Workflow syntax", `env`.
#[test]
fn an_env_that_is_no_mapping_is_found() {
    let text = |env: &str| {
        format!("on: push\njobs:\n  a:\n    runs-on: x\n    env: {env}\n    steps: [{{run: y}}]\n")
    };
    found(&[
        (&text("${{ fromJSON(vars.E) }}"), &[]),
        (&text("${{ fromJSON('{}') }}"), &[]),
        (
            &text("${{ github.ref }}"),
            &["warning 5:10: env is a text, expected an object"],
        ),
    ]);
}

/// `matrix` and `inputs` have the kinds that the file gives them.
#[test]
fn kinds_of_the_file_s_own_names_are_known() {
    let text = |run: &str| {
        format!(
            "on: {{workflow_dispatch: {{inputs: {{flag: {{type: boolean}}}}}}}}\njobs:\n  a:\n    runs-on: x\n    strategy:\n      matrix:\n        o: [{{a: b}}]\n        t: [a]\n        mixed: [a, 1]\n        include: [{{o: {{a: c}}, t: a, more: [1]}}]\n    steps:\n      - run: echo ¦${{{{ {run} }}}}\n"
        )
    };
    for (run, expected) in [
        ("matrix.o", "warning an object in a text says only `Object`"),
        ("matrix.t.x", "warning a text has no property `x`"),
        ("inputs.flag.x", "warning a boolean has no property `x`"),
        (
            "matrix.o == 'x'",
            "warning an object compared with a text is always false",
        ),
    ] {
        found_at(&text(run), Some(expected));
    }
    for run in [
        "matrix.t",
        "matrix.mixed.x",
        "matrix.more",
        "matrix.o == null",
        "matrix.o.a",
    ] {
        found_at(&text(run).replace('¦', ""), None);
    }
}

/// What never holds, and why.
const NEVER: &[(&str, &str)] = &[
    (
        "inputs.flag == 'true'",
        "a boolean is never equal to `true`",
    ),
    ("inputs.flag == 'yes'", "a boolean is never equal to `yes`"),
    ("inputs.flag == 2", "a boolean is never equal to `2`"),
    ("inputs.count == 'two'", "a number is never equal to `two`"),
    (
        "steps.s.outputs.x == true",
        "a text (but `1`) is never equal to `true`",
    ),
    ("true == env.A", "a text (but `1`) is never equal to `true`"),
    (
        "always() && job.status == 'failed'",
        "`job.status` is never equal to `failed`",
    ),
    (
        "needs.b.result == 'succeeded'",
        "`needs.b.result` is never equal to `succeeded`",
    ),
    (
        "steps.s['outcome'] == 'failed'",
        "`steps.s.outcome` is never equal to `failed`",
    ),
    (
        "runner.os == 'Ubuntu'",
        "`runner.os` is never equal to `Ubuntu`",
    ),
    (
        "runner.arch == 'x86_64'",
        "`runner.arch` is never equal to `x86_64`",
    ),
    (
        "github.ref == 'main'",
        "`github.ref` is never equal to `main`",
    ),
    (
        "github.repository == 'name'",
        "`github.repository` is never equal to `name`",
    ),
    (
        "github.ref_type == 'tags'",
        "`github.ref_type` is never equal to `tags`",
    ),
    (
        "github.event_name == 'pull-request'",
        "`github.event_name` is never equal to `pull-request`",
    ),
    (
        "github.event_name == 'workflow_call'",
        "`github.event_name` is never equal to `workflow_call`",
    ),
    ("inputs.to == 'c'", "`inputs.to` is never equal to `c`"),
];

/// Pages "Contexts reference", "Evaluate expressions in workflows and actions" (Operators).
#[test]
fn i17_comparisons_that_are_the_same_in_every_run_are_found() {
    let text = |run: &str| {
        format!(
            "on: {{push: , workflow_dispatch: {{inputs: {{flag: {{type: boolean}}, count: {{type: number}}, to: {{type: choice, options: [a, b]}}}}}}}}\njobs:\n  b: {{runs-on: x, steps: [{{run: y}}]}}\n  a:\n    runs-on: x\n    needs: b\n    steps:\n      - {{id: s, run: y}}\n      - {{run: y, if: \"¦{run}\"}}\n"
        )
    };
    for (run, expected) in NEVER {
        let expected = format!("warning this comparison never holds: {expected}");
        found_at(&text(run), Some(&expected));
    }
    found_at(
        &text("github.ref != 'main'"),
        Some("warning this comparison always holds: `github.ref` is always other than `main`"),
    );
    for run in [
        "inputs.flag == true",
        "inputs.flag == ''",
        "inputs.flag == '1'",
        "inputs.count == '2'",
        "inputs.to == 'A'",
        "inputs.to == ''",
        "env.A == false",
        "github.event.inputs.flag == 'true'",
        "steps.s.outputs.x == 'true'",
        "job.status == 'Success'",
        "needs.b.result != 'skipped'",
        "runner.os == 'linux'",
        "github.ref == 'refs/heads/main'",
        "github.ref == ''",
        "github.event_name == 'merge_group'",
        "github.event_name == 'pull_request_target'",
        "github.event_name == 'schedule'",
    ] {
        found_at(&text(run).replace('¦', ""), None);
    }
}

/// Before, the first of them was said only.
#[test]
fn i17_every_wrong_expression_of_a_text_is_found() {
    found(&[(
        &step("1 == }} ${{ github.ref }} ${{ nothing.x }} ${{ 'a"),
        &[
            "error 6:28: the expression ends too early",
            "error 6:53: unknown context `nothing`",
            "error 6:66: an expression has no closing `}}`",
        ],
    )]);
}
