//! What real workflow files of others have shown.

use runner_core::report::{FileReport, check};

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
