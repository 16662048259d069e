//! i17: what a job that is cancelled still does, and how what runs is ended; by `workflow-runner
//! exec` in a real namespace sandbox. Jobs are cancelled by their `timeout-minutes`.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::stage::{Stage, in_order, write};

const SAYS: &str = "console.log(`${process.env.INPUT_WHEN} ${process.env.INPUT_STATUS}`);\n";
const NODE: &str = "inputs: {when: {}, status: {default: '${{ job.status }}'}}\nruns: {using: node20, main: says.js, post: post.js}\n";

#[test]
fn i17_everything_works_in_a_step_that_runs_after_a_cancellation() {
    let stage = Stage::new();
    stage.make_tree();
    write(
        &stage.path("tree"),
        &[
            ("js/action.yml", NODE),
            ("js/says.js", SAYS),
            (
                "js/post.js",
                "console.log(`post ${process.env.INPUT_STATUS}`);\n",
            ),
        ],
    );
    let text = r#"on: push
jobs:
  a:
    runs-on: x
    timeout-minutes: 0.05
    steps:
      - run: mkdir logs; echo kept > logs/a.txt; echo 1 > made.lock
      - run: while true; do sleep 0.1; done
      - {if: always(), run: "echo hash [${{ hashFiles('made.lock') != '' }}]"}
      - {id: js, if: always(), uses: ./js, with: {when: first}}
      - {id: up, if: always(), uses: actions/upload-artifact@v4, with: {name: logs, path: logs/}}
      - {if: always(), run: "echo came ${{ steps.js.outcome }} ${{ steps.up.outcome }}"}
"#;
    let (code, said) = stage.exec(text);
    assert_eq!(code, Some(1), "{said}");
    in_order(
        &said,
        &[
            "hash [true]",
            "first cancelled",
            "came success success",
            "post cancelled",
        ],
    );
}

#[test]
fn i17_what_runs_goes_on_where_its_condition_holds_after_the_cancellation() {
    let stage = Stage::new();
    stage.make_tree();
    let inner = "runs:\n  using: composite\n  steps:\n    - {shell: sh, run: sleep 6; echo unreached inner}\n    - {if: always(), shell: sh, run: echo inner always}\n";
    let held = "runs:\n  using: composite\n  steps:\n    - {if: always(), shell: sh, run: sleep 6; echo inner held}\n";
    let node = "runs: {using: node20, main: main.js, post: post.js}\n";
    let slow = "setTimeout(() => console.log('post at its end'), 6000)\n";
    write(
        &stage.path("tree"),
        &[
            ("inner/action.yml", inner),
            ("held/action.yml", held),
            ("late/action.yml", node),
            ("late/main.js", ""),
            ("late/post.js", slow),
        ],
    );
    let step = |name: &str, step: &str| {
        format!(
            "  {name}:\n    runs-on: x\n    timeout-minutes: 0.05\n    steps:\n      - {{{step}}}\n"
        )
    };
    let jobs = [
        step("held", "if: always(), run: sleep 6; echo at its end"),
        step("not", "if: '!cancelled()', run: sleep 6; echo unreached"),
        step("inner", "if: always(), uses: ./inner"),
        step("within", "if: always(), uses: ./held"),
        step("around", "uses: ./held"),
        step("post", "uses: ./late"),
    ];
    let (code, said) = stage.exec(&format!("on: push\njobs:\n{}", jobs.concat()));
    assert_eq!(code, Some(1), "{said}");
    for line in [
        "[held] at its end",
        "[inner] inner always",
        "[within] inner held",
        "[post] post at its end",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    for line in ["] unreached", "[around] inner held"] {
        assert!(!said.contains(line), "{line}: {said}");
    }
}

#[test]
fn i17_a_step_whose_time_is_over_can_clean_up() {
    let stage = Stage::new();
    let text = r#"on: push
jobs:
  a:
    runs-on: x
    steps:
      - id: slow
        timeout-minutes: 0.02
        continue-on-error: true
        run: |
          trap 'echo cleans up; exit 0' INT
          while true; do sleep 0.1; done
      - run: echo "it was ${{ steps.slow.outcome }}"
"#;
    let (code, said) = stage.exec(text);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &["[a] cleans up\n", "longer than it may", "it was failure"],
    );
}

#[test]
fn i17_what_a_step_leaves_printing_does_not_hold_it() {
    let stage = Stage::new();
    let text = r#"on: push
jobs:
  a:
    runs-on: x
    timeout-minutes: 1
    steps:
      - run: |
          (while true; do echo noise; sleep 0.1; done) &
          echo started
      - run: echo goes on
"#;
    let (code, said) = stage.exec(text);
    assert_eq!(code, Some(0), "{said}");
    in_order(&said, &["started", "goes on"]);
}
