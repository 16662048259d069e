//! Jobs whose copies are made of inputs, of what other jobs give, or of variables: what `check`
//! says of their machines before the run.

use runner_core::actions::NoActions;
use runner_core::label_notes::LabelMachine;
use runner_core::report::{FileReport, RunnerFacts, check, check_for};
use runner_core::summary::summarise;

/// A job that gives a matrix, and one that has it.
fn after(matrix: &str, runs_on: &str) -> String {
    format!(
        "on: push\njobs:\n  first:\n    runs-on: ubuntu-latest\n    outputs: {{m: x}}\n    steps: [{{run: y}}]\n  job:\n    needs: first\n    strategy: {{matrix: {matrix}}}\n    runs-on: {runs_on}\n    steps: [{{run: y}}]\n"
    )
}

fn job_of(report: &FileReport) -> (Vec<String>, bool, String) {
    assert!(!report.diagnostics.has_errors(), "{:?}", report.diagnostics);
    let refused = report.refused.iter();
    let refused = refused.map(|refusal| format!("{}: {}", refusal.feature, refusal.reason));
    let job = report.jobs.last().expect("a job");
    let text = report.render(config_core::Colours::Off);
    (refused.collect(), job.refused, text)
}

/// Which labels are refused, with what is said behind the reason, and whether all of the job is.
#[track_caller]
fn assert_refused(matrix: &str, runs_on: &str, refused: &[(&str, &str)], all: bool) {
    let linux = "this runner has Linux machines only";
    let text = after(matrix, runs_on);
    let report = check("ci.yml", text.as_bytes(), &|_| None);
    let (found, is_refused, shown) = job_of(&report);
    let refused = refused.iter();
    let refused = refused.map(|(label, rest)| format!("runs-on: {label}: {linux}{rest}"));
    assert_eq!(found, refused.collect::<Vec<_>>(), "{text}");
    assert_eq!(is_refused, all, "{text}");
    let when = "its copies are known once the jobs it needs have ended";
    assert!(shown.contains(when), "{shown}");
    let summary = summarise(&[report], 0);
    assert_eq!(summary.linux_only, usize::from(found.is_empty()), "{text}");
}

/// They were looked at by nobody: the file was accepted, and failed.
#[test]
fn i17_constant_labels_of_a_matrix_that_is_not_known_are_looked_at() {
    let dynamic = "v: '${{ fromJSON(needs.first.outputs.m) }}'";
    for (matrix, runs_on, refused, all) in [
        (
            format!("{{{dynamic}}}"),
            "windows-2022",
            vec![("windows-2022", "")],
            true,
        ),
        (
            format!("{{{dynamic}}}"),
            "macos-14",
            vec![("macos-14", "")],
            true,
        ),
        (format!("{{{dynamic}}}"), "ubuntu-latest", vec![], false),
        (
            format!("{{os: [macos-14, windows-2022], {dynamic}}}"),
            "${{ matrix.os }}",
            vec![
                (
                    "macos-14",
                    " (1 of 2 machines that are known before it starts)",
                ),
                (
                    "windows-2022",
                    " (1 of 2 machines that are known before it starts)",
                ),
            ],
            true,
        ),
        (
            format!("{{os: [ubuntu-latest, windows-2022], {dynamic}}}"),
            "${{ matrix.os }}",
            vec![(
                "windows-2022",
                " (1 of 2 machines that are known before it starts)",
            )],
            false,
        ),
        (
            "{p: [{os: windows-2022, v: '${{ needs.first.outputs.m }}'}]}".to_owned(),
            "${{ matrix.p.os }}",
            vec![("windows-2022", "")],
            true,
        ),
        (
            "{include: [{os: macos-14, v: '${{ needs.first.outputs.m }}'}, {os: x, v: 1}]}"
                .to_owned(),
            "${{ matrix.os }}",
            vec![(
                "macos-14",
                " (1 of 2 machines that are known before it starts)",
            )],
            false,
        ),
        (
            "{v: '${{ fromJSON(needs.first.outputs.m) }}'}".to_owned(),
            "[self-hosted, macos, '${{ matrix.v }}']",
            vec![("macos", "")],
            false,
        ),
    ] {
        assert_refused(&matrix, runs_on, &refused, all);
    }
}

/// What may not run is not refused.
#[test]
fn i17_labels_that_are_no_constants_refuse_nothing() {
    let dynamic = "v: '${{ fromJSON(needs.first.outputs.m) }}'";
    for (matrix, runs_on) in [
        (
            format!("{{os: [windows-2022, x], {dynamic}, exclude: [{{os: windows-2022, v: a}}]}}"),
            "${{ matrix.os }}",
        ),
        (
            format!("{{{dynamic}, include: '${{{{ fromJSON(needs.first.outputs.m) }}}}'}}"),
            "${{ matrix.os || 'windows-2022' }}",
        ),
        (
            "{os: '${{ fromJSON(needs.first.outputs.m) }}'}".to_owned(),
            "${{ matrix.os }}",
        ),
        (
            format!("{{{dynamic}}}"),
            "${{ needs.first.outputs.m == 'a' && 'windows-2022' || 'x' }}",
        ),
    ] {
        assert_refused(&matrix, runs_on, &[], false);
    }
}

/// A job `call` that calls a workflow with `with`, whose job is `job`.
fn called(with: &str, job: &str) -> FileReport {
    let caller = format!(
        "on: push\njobs:\n  call:\n    strategy: {{matrix: {{os: [ubuntu-latest, windows-2022]}}}}\n    uses: ./.github/workflows/c.yml\n    with: {{{with}}}\n"
    );
    let callee = format!(
        "on:\n  workflow_call:\n    inputs:\n      label: {{type: string, default: ubuntu-latest}}\n      windows: {{type: boolean}}\njobs:\n  job:\n{job}    steps: [{{run: y}}]\n"
    );
    let files =
        |path: &str| (path == ".github/workflows/c.yml").then(|| callee.clone().into_bytes());
    check(".github/workflows/a.yml", caller.as_bytes(), &files)
}

#[test]
fn i17_what_a_caller_gives_as_a_constant_makes_the_copies() {
    let plain = "    runs-on: ${{ inputs.label }}\n";
    let list = "    runs-on: ${{ fromJSON(inputs.label) }}\n";
    let literal =
        "    if: inputs.windows\n    name: a ${{ inputs.label }}\n    runs-on: windows-2022\n";
    let known =
        "    if: inputs.windows && github.event_name == 'push'\n    runs-on: windows-2022\n";
    for (with, job, features) in [
        ("", plain, &[][..]),
        ("label: windows-2022", plain, &["runs-on: windows-2022"]),
        (
            "label: \"['ubuntu-24.04-riscv64']\"",
            list,
            &["runs-on: ubuntu-24.04-riscv64"],
        ),
        (
            "label: '${{ matrix.os }}'",
            plain,
            &["runs-on: windows-2022"],
        ),
        ("label: '${{ vars.L }}'", plain, &[]),
        (
            "label: \"${{ github.event_name == 'push' && 'windows-2022' }}\"",
            plain,
            &[],
        ),
        ("windows: true", literal, &["runs-on: windows-2022"]),
        ("", literal, &[]),
        ("windows: true", known, &["runs-on: windows-2022"]),
        ("", known, &[]),
        ("", "    if: ${{ false }}\n    runs-on: macos-14\n", &[]),
        (
            "",
            "    if: '!success()'\n    runs-on: windows-2022\n",
            &["runs-on: windows-2022"],
        ),
    ] {
        let report = called(with, job);
        let (found, ..) = job_of(&report);
        let found: Vec<&str> = found
            .iter()
            .filter_map(|it| Some(it.split_once(": t")?.0))
            .collect();
        let found: Vec<&str> = found
            .into_iter()
            .chain(report.refused.iter().filter_map(|it| {
                it.reason
                    .starts_with("machines are")
                    .then_some(it.feature.as_str())
            }))
            .collect();
        assert_eq!(found, features, "{with}: {job}");
    }
    // The copies of each are known.
    let report = called("label: ubuntu-22.04", plain);
    assert_eq!(report.jobs[1].runs_on, ["ubuntu-22.04"]);
    assert_eq!(report.jobs[1].copies_known, None);
}

/// Of a file by itself the defaults of inputs are likely: notes, no refusals.
#[test]
fn i17_defaults_of_inputs_are_likely_and_refuse_nothing() {
    let text = |default: &str, on: &str| {
        format!(
            "on:\n  {on}:\n    inputs:\n      os: {{type: string, default: {default}}}\njobs:\n  a:\n    runs-on: ${{{{ inputs.os }}}}\n    steps: [{{run: kubectl get pods}}]\n"
        )
    };
    // What the inputs do not decide is sure.
    let text_of_windows = "on:\n  workflow_call:\n    inputs:\n      v: {type: string, default: '[1]'}\njobs:\n  a:\n    strategy: {matrix: {v: '${{ fromJSON(inputs.v) }}'}}\n    runs-on: windows-2022\n    steps: [{run: y}]\n";
    let report = check("ci.yml", text_of_windows.as_bytes(), &|_| None);
    assert_eq!(report.refused[0].feature, "runs-on: windows-2022");
    for (default, on, note, when) in [
        (
            "ubuntu-latest",
            "workflow_call",
            "its scripts call `kubectl`",
            "when its workflow is called",
        ),
        (
            "windows-2022",
            "workflow_dispatch",
            "by the defaults of its inputs it runs on `windows-2022`",
            "when its workflow is started",
        ),
    ] {
        let report = check("ci.yml", text(default, on).as_bytes(), &|_| None);
        let (refused, is_refused, shown) = job_of(&report);
        assert_eq!((refused.len(), is_refused), (0, false), "{shown}");
        assert!(shown.contains(note), "{shown}");
        assert!(shown.contains(when), "{shown}");
    }
    let vars = "on: push\njobs:\n  a:\n    runs-on: ${{ vars.LABEL }}\n    steps: [{run: y}]\n";
    let report = check("ci.yml", vars.as_bytes(), &|_| None);
    let (.., shown) = job_of(&report);
    assert!(
        shown.contains("known with the runner's variables"),
        "{shown}"
    );
}

/// Jobs of a call whose copies other jobs make were not looked at either.
#[test]
fn i17_jobs_of_calls_that_come_later_are_looked_at() {
    let caller = "on: push\njobs:\n  first:\n    runs-on: x\n    outputs: {m: x}\n    steps: [{run: y}]\n  call:\n    needs: first\n    strategy: {matrix: {v: '${{ fromJSON(needs.first.outputs.m) }}'}}\n    uses: ./.github/workflows/c.yml\n    with: {v: '${{ matrix.v }}'}\n";
    let callee = "on:\n  workflow_call:\n    inputs:\n      v: {type: string}\njobs:\n  job:\n    runs-on: windows-2022\n    steps: [{uses: nobody/knows@v1}]\n";
    let files =
        |path: &str| (path == ".github/workflows/c.yml").then(|| callee.as_bytes().to_vec());
    let report = check(".github/workflows/a.yml", caller.as_bytes(), &files);
    let features: Vec<&str> = report
        .refused
        .iter()
        .map(|it| it.feature.as_str())
        .collect();
    assert_eq!(features, ["uses: nobody/knows@v1", "runs-on: windows-2022"]);
    let keys: Vec<&str> = report.jobs.iter().map(|job| job.key.as_str()).collect();
    assert_eq!(keys, ["first", "call", "call/job"]);
}

/// Such a label got the machine `default`, and nothing said so.
#[test]
fn i17_a_label_that_nobody_has_configured_is_named() {
    let unsaid = "no machine is said to have the label";
    let unlisted = "no machine of the configuration has the label";
    let refused = "it is refused when it runs";
    for (file, labels, machine, note, warning) in [
        ("ci.yml", "golang", None, Some(unsaid), None),
        ("ci.yml", "'ubuntu-latest-16-cores'", None, None, None),
        ("ci.yml", "self-hosted", None, None, None),
        ("ci.yml", "[self-hosted, Linux, X64]", None, None, None),
        ("ci.yml", "[self-hosted, rack-7]", None, None, Some(unsaid)),
        ("ci.yml", "{group: large}", None, None, None),
        ("ci.yml", "windows-2022", None, None, None),
        (".forgejo/workflows/a.yml", "docker", None, None, None),
        (
            ".forgejo/workflows/a.yml",
            "debian-go",
            None,
            Some(unsaid),
            None,
        ),
        ("ci.yml", "golang", Some(LabelMachine::Own), None, None),
        (
            "ci.yml",
            "golang",
            Some(LabelMachine::Default),
            Some(unlisted),
            None,
        ),
        (
            "ci.yml",
            "golang",
            Some(LabelMachine::Nothing),
            Some(refused),
            None,
        ),
        (
            "ci.yml",
            "ubuntu-20.04",
            None,
            Some("GitHub has no machines of `ubuntu-20.04` any more"),
            None,
        ),
        (
            "ci.yml",
            "[self-hosted, rack-7]",
            Some(LabelMachine::Default),
            None,
            Some(unlisted),
        ),
    ] {
        let text =
            format!("on: push\njobs:\n  a:\n    runs-on: {labels}\n    steps: [{{run: y}}]\n");
        let of_labels = |_: &[String], _: Option<&str>| machine.unwrap_or(LabelMachine::Own);
        let facts = RunnerFacts {
            machine: machine.is_some().then_some(&of_labels),
            ..RunnerFacts::USUAL
        };
        let report = check_for(file, text.as_bytes(), &|_| None, &NoActions, facts);
        let notes = report.jobs[0].notes.join("\n");
        let warnings: Vec<&str> = report
            .diagnostics
            .iter()
            .map(|it| it.message.as_str())
            .collect();
        let warnings = warnings.join("\n");
        for (found, expected) in [(&notes, note), (&warnings, warning)] {
            match expected {
                Some(expected) => assert!(found.contains(expected), "{file} {labels}: {found}"),
                None => assert_eq!(found, "", "{file} {labels}"),
            }
        }
    }
}
