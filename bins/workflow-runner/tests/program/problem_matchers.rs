//! Problem matchers that steps register, by `workflow-runner exec` in a real namespace sandbox.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::stage::{Stage, in_order, write};

const MATCHER: &str = r#"{"problemMatcher": [{"owner": "lint", "pattern": [{
  "regexp": "^(.+):(\\d+): (error|warning): (.*)$",
  "file": 1, "line": 2, "severity": 3, "message": 4}]}]}"#;

const AHEAD: &str = r#"{"problemMatcher": [{"owner": "ahead", "pattern": [{
  "regexp": "^(?!x)(.*)$", "message": 1}]}]}"#;

const ACTION: &str = r#"
runs: {using: node20, main: main.js}
"#;

const MAIN: &str = r#"
console.log(`::add-matcher::${__dirname}/action.json`);
console.log('action.rs:1: error: of the action');
"#;

const WORKFLOW: &str = r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - uses: actions/checkout@v4
      - run: |
          echo "a.rs:1: error: nobody listens"
          echo "::add-matcher::.github/lint.json"
          echo "a.rs:2: error: at once"
      - run: |
          printf '\033[1m/workspace/src/b.rs\033[0m:3: warning: in \033[31mcolours\033[0m\n' >&2
      - run: |
          echo "::add-mask::hunter2"
          echo "a.rs:4: error: in the next step, hunter2"
          echo "::remove-matcher owner=LINT::"
          echo "a.rs:5: error: it is gone"
      - run: |
          echo "::add-matcher::.github/ahead.json"
          echo anything
      - uses: acme/actions@v1
      - run: |
          echo "a.rs:6: error: of the matcher of the action"
          echo "::remove-matcher::.github/lint.json"
          echo "a.rs:7: error: it is gone too"
      - run: echo "::add-matcher::.github/absent.json"
"#;

#[test]
fn i17_problem_matchers_of_steps_and_actions_make_annotations() {
    let stage = Stage::new();
    stage.add(&[
        ("action.yml", ACTION),
        ("main.js", MAIN),
        ("action.json", MATCHER),
    ]);
    stage.make_tree();
    write(
        &stage.path("tree"),
        &[
            (".github/lint.json", MATCHER),
            (".github/ahead.json", AHEAD),
        ],
    );
    let (code, said) = stage.exec(WORKFLOW);
    assert_eq!(code, Some(1), "{said}");
    in_order(
        &said,
        &[
            "[a] a.rs:1: error: nobody listens",
            "[a] a.rs:2: error: at once",
            "[a] error: a.rs:2: at once",
        ],
    );
    in_order(
        &said,
        &[
            "[a] warning: src/b.rs:3: in colours",
            "[a] error: a.rs:4: in the next step, ***",
            "[a] a.rs:5: error: it is gone",
            "[a] warning: problem matchers of `.github/ahead.json`: the matcher `ahead`: regexp of pattern 1: lookaheads",
            "[a] anything",
            "[a] error: action.rs:1: of the action",
            "[a] error: a.rs:6: of the matcher of the action",
            "[a] a.rs:7: error: it is gone too",
            "[a] error: problem matchers of `.github/absent.json`:",
        ],
    );
    for gone in [
        "error: a.rs:1:",
        "error: a.rs:5:",
        "error: a.rs:7:",
        "error: anything",
    ] {
        assert!(!said.contains(gone), "{gone}: {said}");
    }
}

#[test]
fn i17_setup_actions_of_the_runner_bring_matchers_of_their_tools() {
    let stage = Stage::new();
    let (code, said) = stage.exec(
        r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - run: "echo 'a.ts(1,2): error TS1: before'"
      - uses: actions/setup-node@v4
      - uses: actions/setup-python@v5
      - run: "echo 'src/a.ts(3,5): error TS2322: after'"
      - run: printf 'def f():\n    raise ValueError("no")\n\nf()\n' > fails.py; python3 fails.py
"#,
    );
    assert_eq!(code, Some(1), "{said}");
    in_order(
        &said,
        &[
            "[a] src/a.ts(3,5): error TS2322: after",
            "[a] error: src/a.ts:3: TS2322: after",
            "[a] error: fails.py:2: ValueError: no",
        ],
    );
    assert!(!said.contains("error: a.ts:1"), "{said}");
}
