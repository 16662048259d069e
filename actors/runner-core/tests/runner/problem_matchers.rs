//! Problem matchers: what of a file is taken, which lines become annotations, and those of tools.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use config_core::without_colours;
use runner_core::command::{StepCommand, StepCommandParser};
use runner_core::problem_matcher::{
    LineMatcher, MAX_MATCHERS, MatcherError, ProblemMatchers, of_setup, parse_file,
};

fn matchers(file: &str) -> ProblemMatchers {
    let mut all = ProblemMatchers::default();
    all.add(parse_file(file.as_bytes()).unwrap()).unwrap();
    all
}

/// `level file:line:column title: message` of each line that comes to something.
fn annotations(matchers: &ProblemMatchers, lines: &[&str]) -> Vec<String> {
    let mut matcher = LineMatcher::default();
    matcher.set(matchers);
    let lines = lines
        .iter()
        .filter_map(|line| matcher.line(&without_colours(line)));
    let shown = lines.map(|note| {
        let number = |number: Option<u32>| number.map_or_else(String::new, |it| format!(":{it}"));
        format!(
            "{:?} {}{}{} {}: {}",
            note.level,
            note.file.unwrap_or_default(),
            number(note.lines.0),
            number(note.columns.0),
            note.title.unwrap_or_default(),
            note.message
        )
    });
    shown.collect()
}

const COMPACT: &str = r#"{"problemMatcher": [{
  "owner": "lint", "severity": "Warning", "comment": "is nothing to us",
  "pattern": [{"regexp": "^(.+):(\\d+)(?:-(\\d+))?: (?:(\\w+): )?(.*)$",
    "file": 1, "line": 2, "endLine": 3, "severity": 4, "message": 5}]
}]}"#;

#[test]
fn i17_a_matcher_says_from_where_its_files_are_named() {
    let file = |pattern: &str| {
        format!(
            r#"{{"problemMatcher": [{{"owner": "o", "fromPath": "app/sub/app.csproj", "pattern": [{pattern}]}}]}}"#
        )
    };
    let whole = r#"{"regexp": "^(\\S+): (.*)$", "file": 1, "message": 2}"#;
    let shown = annotations(&matchers(&file(whole)), &["../a.cs: bad"]);
    assert_eq!(shown, ["Error app/a.cs : bad"]);
    // What a line says counts before it.
    let own = r#"{"regexp": "^(\\S+): (.*) \\[(.*)\\]$", "file": 1, "message": 2, "fromPath": 3}"#;
    let shown = annotations(&matchers(&file(own)), &["a.cs: bad [lib/lib.csproj]"]);
    assert_eq!(shown, ["Error lib/a.cs : bad"]);
}

#[test]
fn i17_a_line_that_matches_is_an_annotation() {
    let all = matchers(COMPACT);
    let lines = [
        "a.rs:3: error: bad",
        "\u{1b}[1ma.rs:4\u{1b}[0m: \u{1b}[31mERROR\u{1b}[m: red",
        "a.rs:5: its own severity",
        "a.rs:6: info: is no severity that there is",
        "a.rs:7: notice: known",
        "a.rs:8: error: ",
        "/elsewhere/a.rs:9: error: not of the workspace",
        "nothing of this kind",
    ];
    assert_eq!(
        annotations(&all, &lines),
        [
            "Error a.rs:3 : bad",
            "Error a.rs:4 : red",
            "Warning a.rs:5 : its own severity",
            "Notice a.rs:7 : known",
            "Error  : not of the workspace",
        ]
    );
    let mut matcher = LineMatcher::default();
    matcher.set(&all);
    let note = matcher.line("a.rs:3-5: error: bad").unwrap();
    assert_eq!(note.lines, (Some(3), Some(5)));
    let long = format!("a.rs:3: error: {}", "x".repeat(5000));
    assert_eq!(matcher.line(&long), None);
}

const STYLISH: &str = r#"{"problemMatcher": [{"owner": "stylish", "pattern": [
  {"regexp": "^([^\\s].*)$", "file": 1},
  {"regexp": "^\\s+(\\d+):(\\d+)\\s+(error|warning)\\s+(.*)\\s\\s+(.*)$",
   "line": 1, "column": 2, "severity": 3, "message": 4, "code": 5, "loop": true}
]}]}"#;

#[test]
fn i17_the_last_pattern_repeats_and_lines_have_to_follow_each_other() {
    let lines = [
        "test.js",
        "  1:0   error  Missing \"use strict\" statement                 strict",
        "  5:10  warning  'addOne' is defined but never used             no-unused-vars",
        "✖ 2 problems (2 errors, 0 warnings)",
        "  6:1   error  no file before it                 x",
        "other.js",
        "",
        "  7:1   error  a line between                 x",
        "other.js",
        "  8:1   error  again                 y",
    ];
    assert_eq!(
        annotations(&matchers(STYLISH), &lines),
        [
            "Error test.js:1:0 strict: Missing \"use strict\" statement",
            "Warning test.js:5:10 no-unused-vars: 'addOne' is defined but never used",
            // The line of the summary begins a problem like any other: so it is on GitHub.
            "Error ✖ 2 problems (2 errors, 0 warnings):6:1 x: no file before it",
            "Error other.js:8:1 y: again",
        ]
    );
    let three = matchers(
        r#"{"problemMatcher": [{"owner": "t", "pattern": [
            {"regexp": "^at (\\S+)$", "file": 1},
            {"regexp": "^line (\\d+)$", "line": 1},
            {"regexp": "^why (.*)$", "message": 1}]}]}"#,
    );
    let lines = [
        "at a", "line 1", "why x", "why y", "at b", "line 2", "at c", "line 3", "why z", "line 4",
        "why none",
    ];
    assert_eq!(
        annotations(&three, &lines),
        ["Error a:1 : x", "Error c:3 : z"]
    );
}

#[test]
fn i17_a_matcher_replaces_that_of_the_same_owner_and_the_newest_is_asked_first() {
    let of = |owner: &str, mark: &str| {
        format!(
            r#"{{"problemMatcher": [{{"owner": "{owner}", "pattern": [{{"regexp": "^{mark}(.*)$", "message": 1}}]}}]}}"#
        )
    };
    let mut all = matchers(&of("one", "a"));
    all.add(parse_file(of("two", "").as_bytes()).unwrap())
        .unwrap();
    assert_eq!(annotations(&all, &["ab"]), ["Error  : ab"]);
    all.add(parse_file(of("TWO", "c").as_bytes()).unwrap())
        .unwrap();
    assert_eq!(
        annotations(&all, &["ab", "cd", "e"]),
        ["Error  : b", "Error  : d"]
    );
    all.remove("One");
    assert_eq!(annotations(&all, &["ab", "cd"]), ["Error  : d"]);
    all.remove_like(&parse_file(of("two", "x").as_bytes()).unwrap());
    assert!(all.is_empty());
    for number in 0..MAX_MATCHERS {
        let file = of(&number.to_string(), "x");
        all.add(parse_file(file.as_bytes()).unwrap()).unwrap();
    }
    let more = all.add(parse_file(of("more", "x").as_bytes()).unwrap());
    assert!(matches!(more, Err(MatcherError::Unsupported(_))));
}

#[test]
fn i17_a_file_that_is_wrong_says_where() {
    let pattern = |pattern: &str| {
        format!(r#"{{"problemMatcher": [{{"owner": "o", "pattern": [{pattern}]}}]}}"#)
    };
    for (file, said) in [
        ("nothing".to_owned(), "line 1 column"),
        ("{}".to_owned(), "problemMatcher"),
        (
            r#"{"problemMatcher": [{"pattern": []}]}"#.to_owned(),
            "no `owner`",
        ),
        (pattern(""), "1 to 8 patterns"),
        (pattern(r#"{"regexp": "a"}"#), "no pattern gives `message`"),
        (
            pattern(r#"{"regexp": "(a)", "message": 2}"#),
            "no group 2 for `message`",
        ),
        (
            pattern(r#"{"regexp": "(a)", "message": 1, "loop": true}"#),
            "`loop` is for the last",
        ),
        (
            pattern(r#"{"regexp": "(a)", "loop": true}, {"regexp": "(a)", "message": 1}"#),
            "`loop` is for the last",
        ),
        (
            pattern(r#"{"regexp": "(a)", "message": 1}, {"regexp": "(a)", "message": 1}"#),
            "`message` is given by two patterns",
        ),
        (
            pattern(r#"{"regexp": "(a", "message": 1}"#),
            "regexp of pattern 1: unclosed group",
        ),
        (
            r#"{"problemMatcher": [{"owner": "o", "severity": "bad", "pattern": []}]}"#.to_owned(),
            "no such severity: `bad`",
        ),
    ] {
        match parse_file(file.as_bytes()) {
            Err(MatcherError::Wrong(text)) => assert!(text.contains(said), "{text} / {said}"),
            other => panic!("{file}: {other:?}"),
        }
    }
    match parse_file(pattern(r#"{"regexp": "^(?!x)(a)", "message": 1}"#).as_bytes()) {
        Err(MatcherError::Unsupported(text)) => {
            assert!(
                text.contains("`o`") && text.contains("lookaheads"),
                "{text}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn i17_the_commands_name_a_file_or_an_owner() {
    let mut commands = StepCommandParser::default();
    let add = |file: &str| Some(StepCommand::AddMatcher(file.to_owned()));
    assert_eq!(commands.line("::add-matcher::a/b.json"), add("a/b.json"));
    assert_eq!(commands.line("##[add-matcher]a/b.json"), add("a/b.json"));
    let remove = |owner: Option<&str>, file: &str| {
        Some(StepCommand::RemoveMatcher {
            owner: owner.map(str::to_owned),
            file: file.to_owned(),
        })
    };
    assert_eq!(
        commands.line("::remove-matcher owner=tsc::"),
        remove(Some("tsc"), "")
    );
    assert_eq!(
        commands.line("::remove-matcher::m.json"),
        remove(None, "m.json")
    );
}

fn of_tool(command: &str, lines: &[&str]) -> Vec<String> {
    let mut all = ProblemMatchers::default();
    all.add(of_setup(command)).unwrap();
    annotations(&all, lines)
}

#[test]
fn i17_tools_bring_their_matchers() {
    let node = [
        "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.",
        "\u{1b}[96msrc/b.ts\u{1b}[0m:\u{1b}[93m4\u{1b}[0m:\u{1b}[93m7\u{1b}[0m - \u{1b}[91merror\u{1b}[0m\u{1b}[90m TS2304: \u{1b}[0mCannot find name 'x'.",
        "badFile.js: line 50, col 11, Error - 'myVar' is defined but never used. (no-unused-vars)",
        "/workspace/test.js",
        "  1:0  error  Missing \"use strict\" statement  strict",
        "  2:0  error  Parsing error: Unexpected token",
        "",
        "✖ 2 problems (2 errors, 0 warnings)",
    ];
    assert_eq!(
        of_tool("node", &node),
        [
            "Error src/a.ts:3:5 TS2322: Type 'string' is not assignable to type 'number'.",
            "Error src/b.ts:4:7 TS2304: Cannot find name 'x'.",
            "Error badFile.js:50:11 no-unused-vars: 'myVar' is defined but never used.",
            "Error test.js:1:0 strict: Missing \"use strict\" statement",
            "Error test.js:2:0 : Parsing error: Unexpected token",
        ]
    );
    let python = [
        "Traceback (most recent call last):",
        "  File \"/workspace/app/main.py\", line 7, in <module>",
        "    run()",
        "    ~~~^^",
        "  File \"/workspace/app/run.py\", line 3, in run",
        "    raise ValueError(\"no\")",
        "ValueError: no",
        "  File \"/workspace/a.py\", line 1",
        "    def f(:",
        "          ^",
        "SyntaxError: invalid syntax",
        "ValueError: alone",
    ];
    assert_eq!(
        of_tool("python3", &python),
        [
            "Error app/run.py:3 : ValueError: no",
            "Error a.py:1 : SyntaxError: invalid syntax"
        ]
    );
    let go = [
        "# acme/m",
        "./main.go:5:2: undefined: x",
        "vet: ./a.go:3:1: expected",
        "    a_test.go:9: got 1",
    ];
    assert_eq!(
        of_tool("go", &go),
        [
            "Error main.go:5:2 : undefined: x",
            "Error a.go:3:1 : expected",
            "Error a_test.go:9 : got 1"
        ]
    );
    let java = [
        "src/A.java:3: warning: [deprecation] f() is old",
        "src/A.java:4: error: ';' expected",
        "[ERROR] /workspace/src/B.java:[7,12] cannot find symbol",
        "[WARNING] /workspace/src/B.java:[9,1] [unchecked] unchecked cast",
        "[ERROR] Failed to execute goal",
        "Exception in thread \"main\" java.lang.IllegalStateException: no",
    ];
    assert_eq!(
        of_tool("java", &java),
        [
            "Warning src/A.java:3 : [deprecation] f() is old",
            "Error src/A.java:4 : ';' expected",
            "Error src/B.java:7:12 : cannot find symbol",
            "Warning src/B.java:9:1 : [unchecked] unchecked cast",
            "Error  java.lang.IllegalStateException: no",
        ]
    );
    let dotnet =
        ["Program.cs(3,5): error CS0103: The name 'x' does not exist [/workspace/app/app.csproj]"];
    assert_eq!(
        of_tool("dotnet", &dotnet),
        ["Error app/Program.cs:3:5 CS0103: The name 'x' does not exist"]
    );
    assert!(of_setup("rustc").is_empty());
}

#[test]
fn i17_deno_brings_its_matcher() {
    let deno = [
        "\u{1b}[31merror[no-unused-vars]\u{1b}[0m: `x` is never used",
        " \u{1b}[38;5;12m-->\u{1b}[0m \u{1b}[36m/workspace/mod.ts\u{1b}[0m:3:7",
        "error: alone",
        "  | ",
    ];
    assert_eq!(
        of_tool("deno", &deno),
        ["Error mod.ts:3:7 no-unused-vars: `x` is never used"]
    );
}
