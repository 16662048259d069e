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

/// Page "Workflow syntax", "Exit codes and error action preference".
#[test]
fn i17_scripts_of_powershell_are_framed() {
    let framed = |shell: &str| resolve(Some(shell)).unwrap().framed("foo".to_owned());
    let text = framed("pwsh");
    assert!(
        text.starts_with("$ErrorActionPreference = 'stop'\nfoo\n"),
        "{text}"
    );
    assert!(text.ends_with("{ exit $LASTEXITCODE }"), "{text}");
    // A command line of one's own has what it says.
    assert!(framed("pwsh -File {0}").starts_with("$ErrorActionPreference"));
    assert_eq!(framed("node {0}"), "foo");
    for (shell, extension) in [
        ("pwsh -NoProfile -File {0}", ".ps1"),
        ("Bash -x {0}", ".sh"),
        ("python -u {0}", ".py"),
        ("node {0}", ""),
        ("script -q -e -c 'bash {0}'", ""),
    ] {
        assert_eq!(
            resolve(Some(shell)).unwrap().extension,
            extension,
            "{shell}"
        );
    }
    assert_eq!(framed("bash"), "foo");
}

#[test]
fn i17_the_usual_shell_is_that_of_the_forge() {
    use forge_core::Forge;
    use runner_core::shell::{check, default_shell};
    let argv = |forge, in_container| resolve(default_shell(forge, in_container)).unwrap().argv;
    assert_eq!(argv(Some(Forge::GitHub), false), ["bash", "-e", "{0}"]);
    assert_eq!(argv(Some(Forge::GitHub), true), ["sh", "-e", "{0}"]);
    for forge in [Forge::Gitea, Forge::Forgejo] {
        assert!(argv(Some(forge), false).contains(&"pipefail".to_owned()));
    }
    assert_eq!(argv(Some(Forge::Gitea), true), ["sh", "-e", "{0}"]);
    let either = argv(Some(Forge::Forgejo), true);
    assert_eq!((either.len(), &*either[0], &*either[3]), (4, "sh", "{0}"));
    assert!(either[2].contains("exec bash") && either[2].ends_with("exec sh -e \"$0\""));
    assert!(check("node", true).is_ok() && check("node", false).is_err());
}
