//! The files steps write, and workflow commands.

use runner_core::command::{Level, StepCommand, StepCommandParser};
use runner_core::env_file::{
    SetVariables, add_summary, parse_env, parse_pairs, parse_path, parse_summary,
};

const FILES: &str = "Workflow commands: Environment files";
const MULTI: &str = "Workflow commands: Multiline strings";
const COMMANDS: &str = "Workflow commands";

/// Page, file, pairs as JSON or `!` and a part of the error.
pub(crate) const CASES: &[(&str, &str, &str)] = &[
    (FILES, "a=1\n", r#"[["a","1"]]"#),
    (FILES, "a=1\nb=x=y\n", r#"[["a","1"],["b","x=y"]]"#),
    (FILES, "a=\n", r#"[["a",""]]"#),
    (FILES, "a=1\na=2\n", r#"[["a","2"]]"#),
    (FILES, "\n\na=1", r#"[["a","1"]]"#),
    (FILES, "a=1\r\nb=2\r\n", r#"[["a","1"],["b","2"]]"#),
    (FILES, "", "[]"),
    (FILES, "a= b <<c\n", r#"[["a"," b <<c"]]"#),
    (
        MULTI,
        "a<<EOF\none\ntwo\nEOF\nb=1\n",
        r#"[["a","one\ntwo"],["b","1"]]"#,
    ),
    (MULTI, "a<<EOF\nEOF\n", r#"[["a",""]]"#),
    (
        MULTI,
        "a<<EOF\nx=EOF\n EOF\nEOF\n",
        r#"[["a","x=EOF\n EOF"]]"#,
    ),
    (MULTI, "a<<E=F\nx\nE=F", r#"[["a","x"]]"#),
    (MULTI, "a<<EOF\none\n", "!line 1 does not come again"),
    (FILES, "no pair\n", "!line 1 is neither"),
    (FILES, "a=1\n=2\n", "!line 2 has no name"),
    (FILES, "a<<\n", "!line 1 is neither"),
];

#[test]
fn files_are_read_as_documented() {
    for (page, file, expected) in CASES {
        let said = match parse_pairs(file.as_bytes()) {
            Ok(pairs) => serde_json::to_string(&pairs).unwrap(),
            Err(error) => format!("!{error}"),
        };
        let same = match expected.strip_prefix('!') {
            Some(part) => said.starts_with('!') && said.contains(part),
            None => said == *expected,
        };
        assert!(same, "{page}: {file:?}: {said}");
    }
}

#[test]
fn a_step_cannot_change_the_runner() {
    // As on GitHub it is no mistake to try (`printenv >> "$GITHUB_ENV"`); one is noted.
    let file = "GITHUB_SHA=x\nRUNNER_OS=x\ngithub_env=x\nNODE_OPTIONS=x\nCI=false\n";
    let set = parse_env(file.as_bytes()).unwrap();
    assert_eq!(set.pairs, [("CI".to_owned(), "false".to_owned())]);
    assert_eq!(set.refused, ["NODE_OPTIONS"]);
    assert!(parse_pairs(b"a=\xff").is_err());
    assert!(parse_pairs(&vec![b'a'; (1 << 20) + 1]).is_err());
    assert_eq!(parse_path(b"/a\n\n/b c\n").unwrap(), ["/a", "/b c"]);
    assert!(parse_summary(&vec![b'x'; (1 << 20) + 1]).ends_with("1 MiB)\n"));
}

#[test]
fn i17_only_the_runner_s_own_variables_are_out_of_reach() {
    // What `actions/configure-pages` sets, and scripts for tools that look for it.
    for name in [
        "GITHUB_PAGES",
        "GITHUB_TOKEN",
        "GITHUB_PATHS",
        "RUNNER_ANYTHING",
    ] {
        let set = parse_env(format!("{name}=x\n").as_bytes()).unwrap();
        assert_eq!(set.pairs, [(name.to_owned(), "x".to_owned())]);
    }
    for name in ["GITHUB_PATH", "GITHUB_ACTION_PATH", "RUNNER_TEMP"] {
        let set = parse_env(format!("{name}=x\n").as_bytes()).unwrap();
        assert_eq!(set, SetVariables::default(), "{name}");
    }
}

#[test]
fn commands_are_read_as_documented() {
    let mut commands = StepCommandParser::default();
    let mut line = |text: &str| commands.line(text);
    assert_eq!(
        line("::group::My title"),
        Some(StepCommand::Group("My title".to_owned())),
        "{COMMANDS}"
    );
    assert_eq!(line("::endgroup::"), Some(StepCommand::EndGroup));
    assert_eq!(
        line("  ::debug::Set the variable"),
        Some(StepCommand::Debug("Set the variable".to_owned()))
    );
    assert_eq!(
        line("::add-mask::Mona The Octocat"),
        Some(StepCommand::AddMask("Mona The Octocat".to_owned()))
    );
    let Some(StepCommand::Annotation(error)) = line(
        "::error file=app.js,line=1,endLine=2,col=5,endColumn=7,title=A%3A B%2C C::Missing %25 semicolon%0Anext",
    ) else {
        panic!("an annotation");
    };
    assert_eq!(
        (error.level, error.file.as_deref()),
        (Level::Error, Some("app.js"))
    );
    assert_eq!(
        (error.lines, error.columns),
        ((Some(1), Some(2)), (Some(5), Some(7)))
    );
    assert_eq!(error.title.as_deref(), Some("A: B, C"));
    assert_eq!(error.message, "Missing % semicolon\nnext");
    for text in [
        "::unknown::x",
        "text ::error::x",
        "::error",
        ":: ::x",
        "::stop-commands::",
        "::echo::maybe",
        "::set-output::x",
    ] {
        assert_eq!(line(text), None, "{text}");
    }
    assert_eq!(
        line("::set-env name=a::b"),
        Some(StepCommand::Disabled("set-env".to_owned()))
    );
    let output = StepCommand::SetOutput {
        name: "a".to_owned(),
        value: "b".to_owned(),
    };
    assert_eq!(line("::set-output name=a::b"), Some(output.clone()));
    // As early versions of the toolkit print them.
    assert_eq!(line("##[set-output name=a;]b"), Some(output));
    let odd = StepCommand::SaveState {
        name: "a;b".to_owned(),
        value: "x]\ny".to_owned(),
    };
    assert_eq!(line("##[save-state name=a%3Bb;other=]x]%0Ay"), Some(odd));
    assert_eq!(
        line("##[group]Title"),
        Some(StepCommand::Group("Title".to_owned()))
    );
    for text in ["##[section]x", "##[set-output]x", "##[group", "# #[group]x"] {
        assert_eq!(line(text), None, "{text}");
    }
    // Between stop-commands and its token nothing is a command.
    assert!(line("::stop-commands::t0ken").is_some());
    assert_eq!(line("::error::not read"), None);
    assert_eq!(line("::t0ken::"), None);
    assert!(line("::warning::read again").is_some());
}

#[test]
fn i17_summaries_of_an_action_stand_behind_each_other() {
    let mut all = None;
    add_summary(&mut all, None);
    assert_eq!(all, None);
    for more in ["## one", "two\n", "three"] {
        add_summary(&mut all, Some(more.to_owned()));
    }
    assert_eq!(all.as_deref(), Some("## one\ntwo\nthree"));
    for _ in 0..10 {
        add_summary(&mut all, Some("ä".repeat(1 << 19)));
    }
    let length = all.unwrap_or_default().len();
    assert!(length <= 4 << 20 && length > 4_000_000, "{length}");
}
