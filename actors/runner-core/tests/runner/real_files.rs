//! What real workflow files of others have shown.

use runner_core::expr::{ContextName, Contexts, ExprValue};
use runner_core::plan::expand;
use runner_core::report::{FileReport, FileStatus, check};

fn checked(text: &str) -> FileReport {
    check("ci.yml", text.as_bytes(), &|_| None)
}

#[test]
fn i17_a_step_for_windows_that_is_left_out_refuses_no_job() {
    let refused = |rest: &str, shell: &str| {
        let text = format!(
            "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    strategy: {{matrix: {{os: [linux, bsd]}}}}\n    steps:\n      - run: dir\n        shell: {shell}\n{rest}"
        );
        let report = checked(&text);
        assert!(!report.diagnostics.has_errors(), "{:?}", report.diagnostics);
        let notes = report.jobs[0].notes.join("; ");
        (!report.refused.is_empty(), notes.contains("fails by that"))
    };
    for (rest, expected) in [
        ("", (true, false)),
        ("        if: runner.os == 'Linux'\n", (true, false)),
        ("        if: matrix.os == 'bsd'\n", (true, false)),
        ("        if: always()\n", (true, false)),
        ("        if: runner.os == 'Windows'\n", (false, false)),
        ("        if: ${{ matrix.os == 'win' }}\n", (false, false)),
        ("        if: inputs.platform == 'win'\n", (false, true)),
    ] {
        for shell in ["cmd", "powershell", "fish"] {
            assert_eq!(refused(rest, shell), expected, "{shell}: {rest}");
        }
    }
}

#[test]
fn i17_a_strategy_may_be_one_expression() {
    let text = |strategy: &str| {
        format!(
            "on: push\njobs:\n  make:\n    runs-on: x\n    outputs: {{strategy: a}}\n    steps: [{{run: y}}]\n  test:\n    needs: make\n    strategy: {strategy}\n    name: ${{{{ matrix.name }}}}\n    runs-on: ${{{{ matrix.os || 'x' }}}}\n    steps: [{{run: y}}]\n"
        )
    };
    let good = text("${{ fromJson(needs.make.outputs.strategy) }}");
    let report = checked(&good);
    assert_eq!(
        report.status(),
        FileStatus::Good,
        "{:?}",
        report.diagnostics
    );
    assert!(report.diagnostics.iter().next().is_none());
    let workflow = runner_core::workflow::parse("ci.yml", good.as_bytes())
        .unwrap()
        .value;
    let copies = |json: &str| {
        let outputs = ExprValue::object([("strategy", json)]);
        let make = ExprValue::object([("outputs", outputs)]);
        let needs = ExprValue::object([("make", make)]);
        expand(
            &workflow.jobs[1],
            &Contexts::default().with(ContextName::Needs, needs),
        )
    };
    let all = copies(
        r#"{"fail-fast": false, "max-parallel": 2, "matrix": {"include": [{"name": "one", "os": "a"}, {"name": "two", "os": "b"}]}}"#,
    )
    .unwrap();
    let names: Vec<&str> = all.iter().map(|copy| copy.name.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    assert_eq!((all[0].fail_fast, all[0].max_parallel), (false, Some(2)));
    assert_eq!(all[1].runs_on, ["b"]);
    let all = copies("{}").unwrap();
    assert_eq!(
        (all.len(), all[0].fail_fast, all[0].max_parallel),
        (1, true, None)
    );
    assert!(copies(r#"{"matrix": 1}"#).is_err());
    let report = checked(&text("one ${{ vars.X }}"));
    assert_eq!(report.status(), FileStatus::Wrong);
}

#[test]
fn i17_that_nothing_is_checked_out_is_noted_where_it_matters() {
    let is_noted = |steps: &str| {
        let text = format!("on: push\njobs: {{a: {{runs-on: x, steps: [{steps}]}}}}\n");
        let notes = checked(&text).jobs.remove(0).notes.join("; ");
        notes.contains("checks nothing out")
    };
    assert!(!is_noted("{run: echo legit | tee out}"));
    assert!(is_noted("{run: 'x && git rev-parse HEAD'}"));
    assert!(is_noted("{uses: actions/download-artifact@v4}"));
    assert!(!is_noted("{uses: actions/checkout@v4}, {run: git status}"));
}

#[test]
fn i17_runs_that_are_followed_tell_how_far_they_are() {
    let report = |types: &str| {
        checked(&format!(
            "on: {{workflow_run: {{workflows: [CI], types: {types}}}}}\njobs: {{a: {{runs-on: x, steps: [{{run: y}}]}}}}\n"
        ))
    };
    let both = report("[requested, completed]");
    assert_eq!(both.started_by, ["workflow_run requested completed of CI"]);
    assert_eq!(both.never_started_by, [] as [&str; 0]);
    let begun = report("[in_progress]");
    assert_eq!(begun.started_by, ["workflow_run in_progress of CI"]);
}

#[test]
fn i17_what_is_always_empty_here_is_said() {
    let warnings = |expression: &str| {
        let text = format!(
            "on: {{workflow_run: {{workflows: [CI]}}}}\njobs: {{a: {{runs-on: x, steps: [{{run: y, env: {{A: '${{{{ {expression} }}}}'}}}}]}}}}\n"
        );
        let report = checked(&text);
        let found = report.diagnostics.iter().map(|it| it.message.clone());
        found.collect::<Vec<_>>().join("; ")
    };
    assert_eq!(
        warnings("github.event.workflow_run.head_commit.message"),
        ""
    );
    assert!(
        warnings("github.event.workflow_run.check_suite_url")
            .contains("no property here `check_suite_url`")
    );
    assert!(warnings("job.check_run_id").contains("is empty here"));
    for name in ["github.artifacts", "github.ARTIFACTS_LIST"] {
        assert!(warnings(name).contains("nothing reads here"), "{name}");
    }
    assert!(warnings("github.artifacts_lists").contains("artifacts_list"));
    assert!(warnings("github.ref_protected").contains("always false here"));
}

#[test]
fn i17_programs_that_the_image_lacks_and_packages_are_noted() {
    let notes = |on: &str, steps: &str| {
        let text = format!("on: push\njobs: {{a: {{runs-on: {on}, steps: [{steps}]}}}}\n");
        checked(&text).jobs.remove(0).notes.join("; ")
    };
    let said = notes("ubuntu-latest", "{run: dotnet test}, {run: x, shell: pwsh}");
    assert!(
        said.contains("its scripts call `dotnet`, `pwsh`, which"),
        "{said}"
    );
    assert!(
        said.contains("its scripts fetch packages (`dotnet`)"),
        "{said}"
    );
    let own = notes("own", "{run: dotnet test}");
    assert!(!own.contains("its scripts call"), "{own}");
    let set_up = "{uses: actions/setup-dotnet@v4}, {run: dotnet format}";
    assert!(!notes("ubuntu-latest", set_up).contains("its scripts"));
}

#[test]
fn i17_copies_for_other_systems_are_said_with_their_number() {
    let report = |labels: &str| {
        checked(&format!(
            "on: push\njobs:\n  a:\n    strategy: {{matrix: {{os: [{labels}]}}}}\n    runs-on: '${{{{ matrix.os }}}}'\n    steps: [{{run: x}}]\n"
        ))
    };
    let said = |report: &FileReport| -> Vec<String> {
        let refused = report.refused.iter();
        refused
            .map(|it| format!("{}: {}", it.feature, it.reason))
            .collect()
    };
    let some = report("ubuntu-latest, macos-14, windows-2022, macos-14-xlarge");
    let linux = "this runner has Linux machines only";
    assert_eq!(
        said(&some),
        [
            format!("runs-on: macos-14: {linux} (1 of 4 copies)"),
            format!("runs-on: macos-14-xlarge: {linux} (1 of 4 copies)"),
            format!("runs-on: windows-2022: {linux} (1 of 4 copies)"),
        ]
    );
    assert!(!some.jobs[0].refused, "the others run");
    let none = report("Windows, macOS");
    assert_eq!(said(&none).len(), 2);
    assert!(none.jobs[0].refused);
    let alone = report("windows-latest");
    assert_eq!(said(&alone), [format!("runs-on: windows-latest: {linux}")]);
}
