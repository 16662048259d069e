//! i17: steps that run beside each other (`background`, `wait`, `wait-all`, `cancel`, `parallel`),
//! by `workflow-runner exec` in a real namespace sandbox. Page "Workflow syntax",
//! `jobs.<job_id>.steps[*].background` and those after it.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::stage::{Stage, in_order};

/// Waits for a file in a script, for a minute at most.
const AWAIT: &str = r#"await() { for i in $(seq 600); do [ -e "/tmp/$1" ] && return; sleep 0.1; done; echo "no $1"; exit 9; }"#;

fn job(steps: &str) -> String {
    let steps = steps.replace("AWAIT", AWAIT);
    format!("on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n{steps}")
}

/// The code of a run of these steps, and what it said.
fn exec(steps: &str) -> (Option<i32>, String) {
    let stage = Stage::new();
    stage.make_tree();
    stage.exec(&job(steps))
}

#[test]
fn i17_steps_run_beside_each_other_and_are_known_after_the_wait() {
    let (code, said) = exec(
        r#"
      - id: one
        name: one
        background: true
        run: |
          AWAIT
          touch /tmp/one; await two
          echo out=1 >> "$GITHUB_OUTPUT"; echo SET=1 >> "$GITHUB_ENV"; echo /one >> "$GITHUB_PATH"
          echo "::add-mask::s3cret-of-one"; echo "a summary" >> "$GITHUB_STEP_SUMMARY"
          touch /tmp/masked
      - id: two
        name: two
        background: true
        run: |
          AWAIT
          touch /tmp/two; await one; echo "two sees $EARLY"; echo EARLY=2 >> "$GITHUB_ENV"
      - run: |
          AWAIT
          await masked; sleep 0.5; echo "before [${{ steps.one.outputs.out }}] [$SET] [${{ steps.one.outcome }}] ${PATH%%:*}"
          echo "masked s3cret-of-one"; echo EARLY=1 >> "$GITHUB_ENV"; echo /here >> "$GITHUB_PATH"
      - run: echo "set $EARLY"
      - {name: both, wait: [two, one]}
      - run: echo "after [${{ steps.one.outputs.out }}] [$SET] [${{ steps.one.outcome }}] $PATH"; echo "then $EARLY"
"#,
    );
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "before [] [] [] /usr",
            "masked ***",
            "set 1",
            "both",
            "two: success",
            "one: success",
            "after [1] [1] [success] /one:/here:/",
            "then 2",
        ],
    );
    assert!(!said.contains("s3cret"), "{said}");
}

#[test]
fn i17_a_failure_in_the_background_fails_the_step_that_waits() {
    let (code, said) = exec(
        r#"
      - {id: bad, run: exit 3, background: true}
      - {id: forgiven, run: exit 4, background: true, continue-on-error: true}
      - run: sleep 1; echo "goes on ${{ job.status }}"
      - {id: patient, wait-all: , continue-on-error: true}
      - run: echo "still ${{ steps.bad.conclusion }} ${{ steps.forgiven.outcome }} ${{ steps.forgiven.conclusion }} ${{ steps.patient.outcome }} ${{ job.status }}"
      - parallel:
          - {name: left, run: echo left}
          - {name: right, run: exit 5}
      - {name: skipped, run: echo "is not said"}
      - if: failure()
        run: echo "cleans up"
"#,
    );
    assert_eq!(code, Some(1), "{said}");
    in_order(
        &said,
        &[
            "goes on success",
            "still failure failure success failure success",
            "Wait for left, right",
            "right: exit code 5",
            "cleans up",
        ],
    );
    assert!(!said.contains("is not said"), "{said}");
}

#[test]
fn i17_nobody_waited_for_is_waited_for_at_the_end() {
    let (code, said) = exec(
        r#"
      - {id: late, background: true, run: "sleep 1; echo said late; exit 6"}
      - {id: skipped, name: another, background: true, if: false, run: echo never}
      - run: echo "first"
"#,
    );
    assert_eq!(code, Some(1), "{said}");
    in_order(
        &said,
        &["first", "said late", "exit code 6", "another: skipped"],
    );
    assert!(!said.contains("never"), "{said}");
}

#[test]
fn i17_cancel_lets_a_step_clean_up_and_is_no_failure() {
    let (code, said) = exec(
        r#"
      - id: server
        name: a server
        background: true
        run: |
          trap 'echo "cleaned up"; exit 0' INT
          touch /tmp/up; while true; do sleep 0.1; done
      - id: deaf
        background: true
        run: |
          trap 'echo "heard TERM"; exit 0' TERM; trap '' INT
          touch /tmp/deaf; while true; do sleep 0.1; done
      - run: |
          AWAIT
          await up; await deaf
      - {id: stop, cancel: Server}
      - {name: and the other, cancel: deaf}
      - run: echo "then ${{ steps.server.outcome }} ${{ steps.stop.outcome }}"; ! pgrep -f /tmp/up
"#,
    );
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "Cancel a server",
            "cleaned up",
            "a server: cancelled",
            "and the other",
            "heard TERM",
            "then cancelled success",
        ],
    );
}

#[test]
fn i17_ten_steps_run_at_once_and_no_more() {
    let members: String = (0..13)
        .map(|number| {
            format!(
                r#"
          - name: member {number}
            run: |
              mkdir -p /tmp/now; touch /tmp/now/{number}
              for i in $(seq 600); do [ -e /tmp/full ] && break; [ "$(ls /tmp/now | wc -l)" -ge 10 ] && touch /tmp/full; sleep 0.1; done
              sleep 0.5; ls /tmp/now | wc -l >> /tmp/counts; rm /tmp/now/{number}"#
            )
        })
        .collect();
    let (code, said) = exec(&format!(
        "      - parallel:{members}\n      - run: echo \"most $(sort -n /tmp/counts | tail -n 1) of $(wc -l < /tmp/counts)\"\n"
    ));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("most 10 of 13"), "{said}");
}

#[test]
fn i17_actions_run_beside_each_other() {
    let stage = Stage::new();
    stage.make_tree();
    let files = [
        (
            ".github/actions/both/action.yml",
            "name: both\ninputs: {word: {}}\noutputs: {said: {value: '${{ steps.in.outputs.said }}'}}\nruns:\n  using: composite\n  steps:\n    - {id: in, shell: sh, run: 'echo \"said=${{ inputs.word }} $OWN\" >> \"$GITHUB_OUTPUT\"'}\n",
        ),
        ("in.txt", "of the commit\n"),
    ];
    crate::stage::write(&stage.path("tree"), &files);
    let (code, said) = stage.exec(&job(
        r#"
      - uses: actions/checkout@v6
      - parallel:
          - {id: one, uses: ./.github/actions/both, with: {word: hello}, env: {OWN: first}}
          - {id: two, uses: ./.github/actions/both, with: {word: good bye}, env: {OWN: second}}
          - {id: kept, uses: actions/upload-artifact@v7, with: {name: one, path: in.txt}}
          - {id: cache, uses: actions/cache@v5, with: {path: kept, key: "k-${{ hashFiles('in.txt') }}"}}
          - {uses: actions/checkout@v6, with: {path: again}}
      - run: mkdir -p kept; echo "${{ steps.one.outputs.said }}, ${{ steps.two.outputs.said }}, [${{ steps.cache.outputs.cache-hit }}]"; cat again/in.txt
      - {id: get, background: true, uses: actions/download-artifact@v8, with: {name: one, path: got}}
      - wait: get
      - run: cat got/in.txt
"#,
    ));
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "hello first, good bye second, []",
            "of the commit",
            "of the commit",
        ],
    );
}
