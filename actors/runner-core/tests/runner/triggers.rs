//! What `check` finds under `on`.

use config_core::Colours;
use runner_core::report::{FileStatus, check};

use crate::findings::{findings, found_on, on};

/// Page "Events that trigger workflows", `schedule`.
#[test]
fn schedules_that_start_nothing_are_found() {
    found_on(&[
        (
            "schedule: []",
            &["error 2:13: schedule has no `cron` entries"],
        ),
        (
            "schedule: [{cron: '0 4 * * *', timezone: Mars/Olympus}]",
            &["error 2:44: unknown time zone `Mars/Olympus`"],
        ),
        (
            "schedule: [{cron: '0 4 * * *', timezone: ''}]",
            &["error 2:44: unknown time zone ``"],
        ),
        (
            "schedule: [{cron: '0 4 * * *', timezone: Europe/Berlin}]",
            &[],
        ),
        (
            "schedule: [{cron: '*/2 * * * *'}]",
            &["warning 2:21: this schedule comes every 2 min"],
        ),
        ("schedule: [{cron: '*/5 * * * *'}]", &[]),
        (
            "schedule: [{cron: '0 0 31 2,4 *'}]",
            &["warning 2:21: no date matches this schedule: it starts nothing"],
        ),
        ("schedule: [{cron: '0 0 29 2 *'}]", &[]),
    ]);
}

/// Page "Workflow syntax", `on.workflow_dispatch.inputs`, `on.workflow_call.inputs`.
#[test]
fn inputs_whose_default_cannot_be_given_are_found() {
    found_on(&[
        (
            "workflow_dispatch: {inputs: {a: {type: boolean, default: maybe}}}",
            &["error 2:60: the input `a` is `maybe`, expected true or false"],
        ),
        (
            "workflow_dispatch: {inputs: {a: {type: boolean, default: 'true'}}}",
            &[],
        ),
        (
            "workflow_dispatch: {inputs: {a: {type: number, default: ten}}}",
            &["error 2:59: the input `a` is `ten`, expected a number"],
        ),
        (
            "workflow_dispatch: {inputs: {a: {type: number, default: 10}}}",
            &[],
        ),
        (
            "workflow_call: {inputs: {a: {type: boolean, default: 7}}}",
            &["error 2:56: the input `a` is `7`, expected true or false"],
        ),
        (
            "workflow_call: {inputs: {a: {type: string, default: '${{ github.ref }}'}}}",
            &[],
        ),
        (
            "workflow_call: {inputs: {a: {type: string, required: true, default: x}}}",
            &["warning 2:71: `a` must be given: its default is never used"],
        ),
        (
            "workflow_call: {inputs: {a: }}",
            &["error 2:28: the input `a` has no `type`"],
        ),
        (
            "workflow_dispatch: {inputs: {a: {type: choice}}}",
            &["error 2:32: the choice `a` has no `options`"],
        ),
        (
            "workflow_dispatch: {inputs: {a: {type: choice, options: []}}}",
            &["error 2:32: the choice `a` has no `options`"],
        ),
        (
            "workflow_dispatch: {inputs: {a: {type: choice, options: [b, c, b]}}}",
            &["warning 2:66: the option `b` is there twice"],
        ),
        (
            "workflow_dispatch: {inputs: {a: {type: choice, options: [b], default: c}}}",
            &["warning 2:73: the input `a` is `c`, expected b"],
        ),
        (
            "workflow_dispatch: {inputs: {a: {type: string, options: [b]}}}",
            &["warning 2:50: the input `a` has `options`, but is no choice"],
        ),
        (
            "workflow_call: {inputs: {a: {type: string, options: [b]}}}",
            &["error 2:46: the input `a` has `options`, but is no choice"],
        ),
    ]);
}

/// Page "Workflow syntax", `on.workflow_dispatch`: GitHub looks at the names of what it knows only.
#[test]
fn what_github_ignores_of_workflow_dispatch_is_a_warning() {
    found_on(&[
        (
            "workflow_dispatch: {branches: [main]}",
            &["warning 2:23: workflow_dispatch has no option `branches`"],
        ),
        (
            "workflow_dispatch: {inputs: {a: {tags: x, type: string}}}",
            &["warning 2:36: an input has no option `tags`"],
        ),
        (
            "workflow_call: {branches: [main]}",
            &["error 2:19: unknown key `branches` in workflow_call"],
        ),
    ]);
    let report = check(
        "ci.yml",
        on("workflow_dispatch: {branches: [main], input: {}}").as_bytes(),
        &|_| None,
    );
    assert_eq!(report.status(), FileStatus::Good);
    let text = report.render(Colours::Off);
    assert!(
        text.contains("GitHub ignores it; there are: inputs")
            && text.contains("did you mean `inputs`?"),
        "{text}"
    );
}

/// Page "Workflow syntax", "Filter pattern cheat sheet": `!` negates the patterns before it.
#[test]
fn negative_patterns_of_an_ignore_filter_are_a_warning() {
    let takes = |key: &str| {
        format!(
            "warning 2:10: a `!` pattern of `{key}` takes away from what is ignored: that starts runs"
        )
    };
    for (filter, key) in [
        ("paths-ignore: ['docs/**', '!docs/a']", "paths-ignore"),
        ("branches-ignore: ['x/**', '!x/y']", "branches-ignore"),
        ("tags-ignore: ['v*', '!v1']", "tags-ignore"),
    ] {
        assert_eq!(findings(&on(&format!("push: {{{filter}}}"))), [takes(key)]);
    }
    found_on(&[
        (
            "push: {paths-ignore: ['!docs/**']}",
            &["warning 2:10: `paths-ignore` has only `!` patterns, so nothing is ignored"],
        ),
        (
            "pull_request: {paths-ignore: ['!docs/a', 'docs/**']}",
            &[
                "warning 2:18: a `!` pattern of `paths-ignore` stands before what it would take away",
            ],
        ),
    ]);
}

/// Page "Events that trigger workflows".
#[test]
fn options_that_an_event_does_not_have_are_found() {
    found_on(&[
        (
            "pull_request: {tags: [v1]}",
            &["warning 2:18: pull requests have no tags: this filter does nothing"],
        ),
        (
            "issues: {branches: [x]}",
            &["warning 2:12: issues has no option `branches`"],
        ),
        (
            "issues: {types: [opend]}",
            &["warning 2:20: issues has no type `opend`"],
        ),
        (
            "create: {branches: [x]}",
            &["warning 2:12: create has no option `branches`"],
        ),
        (
            "merge_group: {types: opened, paths: [x], branches: [a], branches-ignore: [b]}",
            &[
                "warning 2:24: merge_group has no type `opened`",
                "warning 2:32: merge_group has no option `paths`",
                "warning 2:59: `branches` and `branches-ignore` exclude each other",
            ],
        ),
        (
            "workflow_run:",
            &["warning 2:3: workflow_run names no `workflows`"],
        ),
        (
            "workflow_run: {workflows: []}",
            &["warning 2:29: workflows is empty"],
        ),
        ("workflow_run: {workflows: [CI], types: [completed]}", &[]),
        ("repository_dispatch: {types: [anything]}", &[]),
        (
            "image_version: {names: [a], versions: [1.*], types: [ready]}",
            &[],
        ),
    ]);
}

/// Page "Workflow syntax", "Filter pattern cheat sheet".
#[test]
fn patterns_that_match_nothing_are_found() {
    for (filter, expected) in [
        (
            "branches: ['^main$']",
            "no name of a branch or tag holds `^`",
        ),
        ("branches: ['a b']", "no name of a branch or tag holds ` `"),
        (
            "tags: ['/v\\d+/']",
            "no name of a branch or tag begins or ends with `/`",
        ),
        (
            "branches: ['v*+']",
            "`+` stands after `*`, which it cannot repeat",
        ),
        (
            "branches: ['[^ ]*', 'v[0-9]+', '**', 'a/**/b', '*.*.*', 'a\\+?']",
            "",
        ),
        (
            "paths: [./docs/**]",
            "no path begins with `/`, or holds `.` or `..` as a folder",
        ),
        (
            "paths: ['docs ']",
            "the pattern begins or ends with a space",
        ),
        ("paths: ['**/a b.md', .github/**, '!docs/**']", ""),
    ] {
        let found = findings(&on(&format!("push: {{{filter}}}")));
        let said: Vec<&str> = found
            .iter()
            .filter_map(|found| Some(found.strip_prefix("warning ")?.split_once(": ")?.1))
            .collect();
        let expected: Vec<&str> = [expected]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect();
        assert_eq!(said, expected, "{filter}");
        assert_eq!(said.len(), found.len(), "{found:?}");
    }
}
