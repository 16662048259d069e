//! Shells, and which default holds.

use runner_core::shell::resolve;

const PAGE: &str = "Workflow syntax: jobs.<job_id>.steps[*].shell";

/// Page, shell (`-` is none), command line or `!` and a part of the error.
pub(crate) const CASES: &[(&str, &str, &str)] = &[
    (PAGE, "-", "bash|-e|F"),
    (PAGE, "bash", "bash|--noprofile|--norc|-e|-o|pipefail|F"),
    (PAGE, "sh", "sh|-e|F"),
    (PAGE, "python", "python|F"),
    (PAGE, "pwsh", "pwsh|-command|. 'F'"),
    (PAGE, "Bash", "bash|--noprofile|--norc|-e|-o|pipefail|F"),
    (PAGE, "perl {0}", "perl|F"),
    (PAGE, "bash -c 'source \"{0}\" x'", "bash|-c|source \"F\" x"),
    (PAGE, "cmd", "!Windows"),
    (PAGE, "powershell", "!Windows"),
    (PAGE, "zsh", "!unknown shell `zsh`"),
    (PAGE, "perl", "!{0}"),
];

#[test]
fn shells_are_run_as_documented() {
    for (page, shell, expected) in CASES {
        let shell = (*shell != "-").then_some(*shell);
        let said = match resolve(shell) {
            Ok(command) => command.with_script("F").join("|"),
            Err(error) => format!("!{error}"),
        };
        let same = match expected.strip_prefix('!') {
            Some(part) => said.starts_with('!') && said.contains(part),
            None => said == *expected,
        };
        assert!(same, "{page}: {shell:?}: {said}");
    }
}
