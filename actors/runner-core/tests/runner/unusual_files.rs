//! What public workflow files have that was taken for a mistake, or was not noticed.

use runner_core::actions::NoActions;
use runner_core::expr::{ContextName, Contexts, ExprValue};
use runner_core::plan::{Instances, PlanInput, plan};
use runner_core::report::{FileReport, FileStatus, RunnerFacts, check, check_for};
use runner_core::workflow::parse;

fn checked(file: &str, text: &str) -> FileReport {
    check(file, text.as_bytes(), &|_| None)
}

fn notes(text: &str) -> String {
    let report = checked("ci.yml", text);
    assert!(!report.diagnostics.has_errors(), "{}", report.diagnostics);
    let notes = report.jobs.iter().flat_map(|job| job.notes.clone());
    notes.collect::<Vec<String>>().join("\n")
}

/// The version ended with a line break, and was no name of a tag.
#[test]
fn i17_what_is_used_may_stand_in_a_block() {
    let text = "
on: push
jobs:
  call:
    uses: |  # pinned by nobody
      acme/tools/.github/workflows/ci.yml@main
  build:
    runs-on: ubuntu-latest
    steps:
      - uses: >
          actions/checkout@v4
      - uses: |
          acme/lint@v1
";
    let report = checked("ci.yml", text);
    assert!(!report.diagnostics.has_errors(), "{}", report.diagnostics);
    assert_eq!(report.jobs[1].steps[0], "Run actions/checkout@v4");
    let refused: Vec<String> = report.refused.iter().map(ToString::to_string).collect();
    assert_eq!(refused.len(), 2, "{refused:?}");
    for (refusal, added) in refused.iter().zip(["acme/tools/.github", "acme/lint@v1`"]) {
        assert!(
            refusal.contains(&format!("actions add {added}")),
            "{refusal}"
        );
    }
}

#[test]
fn i17_a_pattern_that_begins_with_a_mark_is_a_warning() {
    let of = |pattern: &str| {
        let text = format!(
            "on: {{push: {{branches: ['{pattern}']}}}}\njobs: {{a: {{runs-on: x, steps: [{{run: a}}]}}}}\n"
        );
        let report = checked("ci.yml", &text);
        (report.status(), report.diagnostics.to_string())
    };
    for (pattern, expected) in [
        ("?.*.x", "`?` stands first"),
        ("!?.x", "`?` stands first"),
        ("+x", "`+` stands first"),
    ] {
        let (status, said) = of(pattern);
        assert_eq!(status, FileStatus::Good, "{pattern}: {said}");
        assert!(said.contains(expected), "{pattern}: {said}");
    }
    let (_, said) = of("v?.*.x");
    assert!(!said.contains("stands first"), "{said}");
}

/// `:latest` was taken for the image where variables are not known.
#[test]
fn i17_an_image_made_of_variables_is_looked_at_once_they_are_known() {
    let text = "
on: push
jobs:
  a:
    runs-on: x
    container: {image: '${{ vars.IMAGE }}:${{ vars.TAG }}'}
    steps: [{run: make}]
";
    assert_eq!(checked("ci.yml", text).refused, []);
    let vars = ExprValue::object([("IMAGE", "acme/tools"), ("TAG", "7")]);
    let contexts = Contexts::default().with(ContextName::Vars, vars);
    let input = PlanInput {
        contexts: &contexts,
        files: &|_| None,
        actions: &runner_core::actions::NoActions,
    };
    let workflow = parse("ci.yml", text.as_bytes()).expect("a workflow").value;
    let plan = plan(workflow, input).expect("a plan");
    assert!(matches!(plan.jobs[0].instances, Instances::Known(_)));
    let refused = plan.jobs[0].refusals[0].to_string();
    assert!(refused.contains("acme/tools:7"), "{refused}");
}

/// What an action would put there that is in no store is not known: one reason is enough.
#[test]
fn i17_files_that_an_unknown_action_may_bring_are_no_reason_to_refuse() {
    let job = |first: &str| {
        let text = format!(
            "on: push\njobs: {{a: {{runs-on: x, steps: [{first}{{uses: ./tools/pack}}]}}}}\n"
        );
        let report = checked("ci.yml", &text);
        let refused: Vec<String> = report.refused.iter().map(ToString::to_string).collect();
        (refused, report.jobs[0].notes.join("\n"))
    };
    let (refused, notes) = job("{uses: acme/checkout@v1}, ");
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].contains("acme/checkout@v1"), "{refused:?}");
    assert!(notes.contains("looked for in the workspace"), "{notes}");
    let (refused, _) = job("{uses: actions/checkout@v4}, ");
    assert!(refused[0].contains("no action.yml"), "{refused:?}");
}

#[test]
fn i17_programs_of_steps_that_linux_leaves_out_are_not_noted() {
    let job = |condition: &str, script: &str| {
        let text = format!(
            "on: push\njobs:\n  a:\n    runs-on: ${{{{ matrix.os }}}}\n    strategy: {{matrix: {{os: [ubuntu-latest, macos-14]}}}}\n    steps:\n      - if: {condition}\n        run: {script}\n"
        );
        notes(&text)
    };
    for condition in ["runner.os == 'macOS'", "matrix.os == 'macos-14'"] {
        let said = job(condition, "brew install x && sudo sysctl -w a=1");
        assert_eq!(said, "", "{condition}");
    }
    for condition in ["runner.os == 'Linux'", "matrix.os != 'macos-14'", "env.A"] {
        let said = job(condition, "brew install x && sudo sysctl -w a=1");
        for wanted in ["`brew`", "`sysctl`", "needs a network"] {
            assert!(said.contains(wanted), "{condition}: {said}");
        }
    }
}

/// `..` of the checkout is the root of the machine, and no folder of the job's, unless its steps
/// are a user.
#[test]
fn i17_scripts_that_reach_beside_the_checkout_are_noted() {
    let job = |label: &str, keys: &str, script: &str| {
        let text = format!(
            "on: push\njobs:\n  a:\n    runs-on: {label}\n{keys}    steps:\n      - run: {script}\n"
        );
        notes(&text).contains("beside the checkout (`../old`)")
    };
    let full = "ubuntu-latest";
    assert!(job(full, "", "make > ../old"));
    assert!(!job(full, "", "cd sub && make > ../old"));
    let folder = "    defaults: {run: {working-directory: sub}}\n";
    assert!(!job(full, folder, "make > ../old"));
    assert!(!job(full, "    container: debian\n", "make > ../old"));
    assert!(!job("small", "", "make > ../old"), "its steps are root");
}

#[test]
fn i17_folders_of_github_s_machines_are_not_noted_where_steps_have_them() {
    let job = |is_user: bool, script: &str| {
        let text = format!(
            "on: push\njobs: {{a: {{runs-on: ubuntu-latest, steps: [{{run: '{script}'}}]}}}}\n"
        );
        let facts = RunnerFacts {
            has_user: &|_| is_user,
            ..RunnerFacts::USUAL
        };
        let file = ".github/workflows/ci.yml";
        let report = check_for(file, text.as_bytes(), &|_| None, &NoActions, facts);
        report.jobs[0].notes.join("\n")
    };
    let path = |rest: &str| format!("cat {}{rest}", concat!("/home/runner", "/work", "/"));
    for (script, is_noted) in [
        ("make > ../old".to_owned(), false),
        (path("a/a/x"), false),
        (path("a/b"), true),
    ] {
        assert_ne!(job(false, &script), "", "{script}");
        assert_eq!(!job(true, &script).is_empty(), is_noted, "{script}");
    }
}

/// The copies for Linux did not run: the job was refused for a shell that they leave out.
#[test]
fn i17_a_shell_of_copies_for_windows_alone_refuses_no_other_copy() {
    let job = |condition: &str| {
        let text = format!(
            "on: push\njobs:\n  a:\n    runs-on: ${{{{ matrix.os }}}}\n    strategy: {{matrix: {{os: [ubuntu-latest, windows-2025]}}}}\n    steps:\n      - run: dir\n        shell: powershell\n        if: {condition}\n"
        );
        let report = checked("ci.yml", &text);
        let refused: Vec<String> = report.refused.iter().map(ToString::to_string).collect();
        (report.jobs[0].refused, refused.join("\n"))
    };
    for condition in ["matrix.os == 'windows-2025'", "runner.os == 'Windows'"] {
        let (is_refused, reasons) = job(condition);
        assert!(!is_refused, "{condition}: {reasons}");
        assert!(reasons.contains("(1 of 2 copies)"), "{reasons}");
        assert!(!reasons.contains("powershell"), "{reasons}");
    }
    let (is_refused, reasons) = job("matrix.os != 'x'");
    assert!(is_refused && reasons.contains("powershell"), "{reasons}");
}

/// What sets a compiler of Windows up was asked for by the copies for Linux as well.
#[test]
fn i17_an_action_of_a_step_that_is_left_out_need_not_be_stored() {
    let job = |condition: &str| {
        let text = format!(
            "on: push\njobs:\n  a:\n    runs-on: ${{{{ matrix.os }}}}\n    strategy: {{matrix: {{os: [ubuntu-latest, windows-2025]}}}}\n    steps:\n      - uses: acme/compiler@v1\n        if: {condition}\n"
        );
        let report = checked("ci.yml", &text);
        (report.jobs[0].refused, report.jobs[0].notes.join("\n"))
    };
    for condition in ["runner.os == 'Windows'", "startsWith(matrix.os, 'windows')"] {
        let (is_refused, notes) = job(condition);
        assert!(!is_refused, "{condition}");
        assert!(
            notes.contains("acme/compiler@v1: its step is left out"),
            "{notes}"
        );
    }
    for condition in ["runner.os != 'Windows'", "env.A == 'b'", "failure()"] {
        let (is_refused, notes) = job(condition);
        assert!(is_refused, "{condition}: {notes}");
    }
}

/// A script failed at a path that only GitHub's machines have.
#[test]
fn i17_the_checkout_by_the_path_that_github_has_is_noted() {
    let path = ["", "home", "runner", "work", "a", "a"].join("/");
    let job = |keys: &str, steps: &str| {
        let text = format!("on: push\njobs:\n  a:\n    runs-on: x\n{keys}    steps:\n{steps}");
        notes(&text).contains(&format!("it names `{path}`"))
    };
    let make = "      - run: make\n";
    assert!(job(&format!("    env: {{SRC: {path}}}\n"), make));
    assert!(job("", &format!("{make}        env: {{SRC: {path}}}\n")));
    assert!(job("", &format!("      - run: ls {path}\n")));
    let cache = "      - uses: actions/cache@v4\n        with: {key: k, path: ";
    assert!(job("", &format!("{cache}{path}}}\n")));
    let left_out = "        if: runner.os == 'Windows'\n";
    assert!(!job("", &format!("      - run: ls {path}\n{left_out}")));
    assert!(!job("", make));
}
