//! i17: what expressions and later steps see of a step, what a job that takes too long still does,
//! and other things that workflows count on; by `workflow-runner exec` in a real namespace sandbox.
//! Each was other than on GitHub before.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::stage::{Stage, in_order, write};

fn job(keys: &str, steps: &str) -> String {
    format!("on: push\njobs:\n  a:\n    runs-on: x\n{keys}    steps:\n{steps}")
}

#[test]
fn i17_a_step_s_own_variables_are_seen_by_its_name_condition_and_continue_on_error() {
    let stage = Stage::new();
    stage.make_tree();
    let action = "name: own\nruns:\n  using: composite\n  steps:\n    - {if: \"env.IN == 'y'\", env: {IN: y}, shell: sh, run: 'echo inside $GITHUB_ACTION ${{ github.action_status }}'}\n";
    write(&stage.path("tree"), &[("own/action.yml", action)]);
    let (code, said) = stage.exec(&job(
        "    env: {W: job}\n",
        r#"
      - {if: "env.TOKEN != ''", env: {TOKEN: x}, run: echo with a token}
      - {if: "env.TOKEN != ''", run: echo never}
      - {name: "name ${{ env.W }}", env: {W: own}, run: "true"}
      - {env: {C: y}, continue-on-error: "${{ env.C == 'y' }}", run: exit 3}
      - {uses: ./own}
"#,
    ));
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "with a token",
            "--- name own",
            "exit code 3",
            "inside __run success",
        ],
    );
    assert!(!said.contains("] never"), "{said}");
}

/// `GITHUB_ARTIFACTS` of GitHub's runner: the file is there where it is not switched on, too.
#[test]
fn i17_artifacts_that_a_step_declares_are_taken_and_not_kept() {
    let stage = Stage::new();
    let (code, said) = stage.exec(&job(
        "",
        r#"
      - {run: 'echo out/a.bin >> "$GITHUB_ARTIFACTS" && test "$GITHUB_ARTIFACTS" = "${{ github.artifacts }}" && echo same'}
      - {run: 'cat "$GITHUB_ARTIFACTS_LIST"; test -z "$(cat "$GITHUB_ARTIFACTS")" && echo anew'}
"#,
    ));
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "same",
            "what GITHUB_ARTIFACTS declares is not kept",
            r#"{"version":1,"subjects":[]}"#,
            "anew",
        ],
    );
    assert_eq!(said.matches("is not kept").count(), 1, "{said}");
}

#[test]
fn i17_a_step_knows_its_files_and_what_it_is_called() {
    let stage = Stage::new();
    let (code, said) = stage.exec(&job(
        "",
        r#"
      - {run: "echo ONE=1 >> ${{ github.env }}; echo $GITHUB_ACTION ${{ github.action }}"}
      - {id: two, run: "echo said=2 >> ${{ github.output }}; echo $GITHUB_ACTION; echo hi >> ${{ github.step_summary }}"}
      - {run: "echo $ONE ${{ steps.two.outputs.said }} ${{ github.action }}"}
      - {uses: actions/checkout@v6}
      - {run: "echo ${{ job.workflow_file_path }} ${{ job.workflow_repository == github.repository }} ${{ job.workflow_sha == github.sha }} ${{ job.workflow_ref == github.workflow_ref }} ${{ github.secret_source }}"}
"#,
    ));
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "__run __run",
            "two",
            "1 2 __run_2",
            ".github/workflows/",
            "true true true Actions",
        ],
    );
}

#[test]
fn i17_variables_of_the_runner_stay_and_a_large_summary_is_cut_off() {
    let stage = Stage::new();
    let (code, said) = stage.exec(&job(
        "",
        r#"
      - run: |
          printenv | grep -e ^GITHUB_ -e ^RUNNER_ >> "$GITHUB_ENV"
          echo GITHUB_SHA=other >> "$GITHUB_ENV"; echo NODE_OPTIONS=--x >> "$GITHUB_ENV"; echo RUNNER_OF_MINE=1 >> "$GITHUB_ENV"
      - run: echo "sha ${#GITHUB_SHA} $RUNNER_OF_MINE [$NODE_OPTIONS]"
      - run: head -c 1100000 /dev/zero | tr '\0' x >> "$GITHUB_STEP_SUMMARY"
      - {id: huge, run: "head -c 9000000 /dev/zero | tr '\\0' x >> $GITHUB_STEP_SUMMARY; echo OUT=kept >> $GITHUB_OUTPUT"}
      - run: echo "after ${{ steps.huge.outputs.OUT }}"
      - {id: wrong, continue-on-error: true, run: "head -c 9000000 /dev/zero | tr '\\0' x >> $GITHUB_OUTPUT"}
      - run: echo "wrong ${{ steps.wrong.outcome }}"
"#,
    ));
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "NODE_OPTIONS cannot be set",
            "sha 40 1 []",
            "the rest is cut off",
            "it is left out",
            "after kept",
            "wrong failure",
        ],
    );
}

#[test]
fn i17_a_job_that_takes_too_long_is_cancelled_and_cleans_up() {
    let stage = Stage::new();
    let text = r#"on: push
jobs:
  slow:
    runs-on: x
    timeout-minutes: 0.05
    outputs: {said: "${{ steps.first.outputs.said }}"}
    steps:
      - {id: first, run: "echo said=early >> $GITHUB_OUTPUT"}
      - run: |
          trap 'echo stopped; exit 0' INT
          while true; do sleep 0.1; done
      - {name: skipped, run: echo unreached}
      - {if: always(), run: "echo cleans up ${{ job.status }}"}
      - {if: cancelled(), run: "echo was cancelled"}
      - {if: failure(), name: failed, run: echo unreached}
  after:
    needs: slow
    if: always()
    runs-on: x
    steps:
      - run: echo "result ${{ needs.slow.result }} ${{ needs.slow.outputs.said }}"
  failed:
    needs: slow
    if: failure()
    runs-on: x
    steps: [{name: other, run: echo unreached}]
"#;
    let (code, said) = stage.exec(text);
    assert_eq!(code, Some(1), "{said}");
    in_order(
        &said,
        &[
            "longer than its 0.05 minutes",
            "stopped",
            "cleans up cancelled",
            "was cancelled",
            "result cancelled early",
        ],
    );
    assert!(!said.contains("] unreached"), "{said}");
}

#[test]
fn i17_what_somebody_started_knows_its_repository_and_all_inputs() {
    let stage = Stage::new();
    let text = r#"on:
  workflow_dispatch:
    inputs: {where: {default: moon}, many: {type: number, default: 3}, dry: {type: boolean}}
jobs:
  a:
    runs-on: x
    steps:
      - run: echo "${{ github.event.inputs.where }} ${{ github.event.inputs.many }} ${{ github.event.inputs.dry }} ${{ inputs.dry }}"
      - run: echo "${{ github.event.repository.full_name == github.repository }} ${{ github.event.repository.default_branch }} ${{ github.event.sender.login }} ${{ github.event.workflow == job.workflow_file_path }}"
      - run: grep -o 'where.*moon' "$GITHUB_EVENT_PATH"
"#;
    let more = ["--event", "workflow_dispatch", "--input", "dry=true"];
    let (code, said) = stage.exec_with(text, &more);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "moon 3 true true",
            "true main local true",
            "where\": \"moon",
        ],
    );
}

#[test]
fn i17_files_that_are_links_are_hashed_and_caches_are_saved_before_later_stages() {
    let stage = Stage::new();
    stage.make_tree();
    let action = "name: post\nruns: {using: node20, main: main.js, post: post.js}\n";
    write(
        &stage.path("tree"),
        &[
            ("late/action.yml", action),
            ("late/main.js", ""),
            (
                "late/post.js",
                "require('fs').rmSync('data', {recursive: true})\n",
            ),
            ("real.lock", "1\n"),
        ],
    );
    std::os::unix::fs::symlink("real.lock", stage.path("tree").join("link.lock")).unwrap();
    let steps = r#"
      - run: "true"
      - run: echo "same ${{ hashFiles('link.lock') == hashFiles('real.lock') }} [${{ hashFiles('../*', '../etc/passwd') }}]"
      - {uses: ./late}
      - {id: cache, uses: actions/cache@v5, with: {path: data, key: one}}
      - run: mkdir -p data; echo kept > data/file
"#;
    let (code, said) = stage.exec(&job("", steps));
    assert_eq!(code, Some(0), "{said}");
    in_order(&said, &["same true []", "cache one: ", "Post ./late"]);
}

#[test]
fn i17_inputs_that_no_release_has_are_a_warning_and_wrong_names_of_artifacts_an_error() {
    let stage = Stage::new();
    stage.make_tree();
    let (code, said) = stage.exec(&job(
        "",
        r#"
      - {uses: actions/checkout@v6, with: {fetch_depth: 0}}
      - {id: name, continue-on-error: true, uses: actions/upload-artifact@v7, with: {name: a/b, path: .}}
      - {id: level, continue-on-error: true, uses: actions/upload-artifact@v7, with: {name: ab, path: ., compression-level: 12}}
      - {id: comma, continue-on-error: true, uses: actions/cache@v5, with: {key: "a,b", path: x}}
      - run: echo "${{ steps.name.outcome }} ${{ steps.level.outcome }} ${{ steps.comma.outcome }}"
"#,
    ));
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "unexpected input `fetch_depth`",
            "the name of an artifact has no /",
            "it takes 0 to 9",
            "has a comma",
            "failure failure failure",
        ],
    );
}

#[test]
fn i17_the_workspace_is_empty_until_something_is_checked_out() {
    let stage = Stage::new();
    stage.make_tree();
    write(&stage.path("tree"), &[("a.lock", "1\n")]);
    let text = r#"on: push
jobs:
  later:
    runs-on: x
    steps:
      - run: echo "before [$(ls)] [${{ hashFiles('**') }}]"
      - uses: actions/checkout@v6
      - run: echo "after $(ls) ${{ hashFiles('a.lock') != '' }} $(umask) $(ulimit -n)"
  below:
    needs: later
    runs-on: x
    steps:
      - {uses: actions/checkout@v6, with: {path: sub}}
      - run: echo "below [$(ls)] [${{ hashFiles('*.lock') }}] ${{ hashFiles('**/*.lock') != '' }}"
  none:
    needs: below
    runs-on: x
    steps: [{run: "echo none $(ls)"}]
"#;
    let (code, said) = stage.exec(text);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "before [] []",
            "after a.lock true 0022",
            "below [sub] [] true",
            "none a.lock",
        ],
    );
}

#[test]
fn i17_the_operator_says_what_a_job_without_a_checkout_begins_with() {
    let text = r#"on: push
jobs:
  none:
    runs-on: x
    steps:
      - run: echo "none [$(ls)]"
      - {uses: ./own, continue-on-error: true}
"#;
    for (setting, files, own) in [
        ("commit", "none [a.lock", "own of the commit"),
        ("empty", "none []", "there is no action.yml"),
    ] {
        let stage = Stage::new();
        stage.make_tree();
        let tree = stage.path("tree");
        write(&tree, &[("a.lock", "1\n"), ("own/action.yml", OWN)]);
        stage.add_settings(&format!("workspace = \"{setting}\"\n"));
        let (code, said) = stage.exec(text);
        assert_eq!(code, Some(0), "{said}");
        in_order(&said, &[files, own]);
    }
}

const OWN: &str = "runs: {using: composite, steps: [{run: echo own of the commit, shell: bash}]}\n";

#[test]
fn i17_work_of_the_runner_and_composite_actions_take_no_longer_than_they_may() {
    let stage = Stage::new();
    stage.make_tree();
    let slow = r#"runs:
  using: composite
  steps:
    - {run: sleep 60, shell: bash}
    - {run: echo never, shell: bash, if: always()}
"#;
    write(&stage.path("tree"), &[("slow/action.yml", slow)]);
    let text = r#"on: push
jobs:
  a:
    runs-on: x
    steps:
      - uses: actions/checkout@v6
      - run: |
          mkdir -p /opt/node98/bin
          printf '#!/bin/sh\necho v98.0.1\n' > /opt/node98/bin/node
          printf '#!/bin/sh\nsleep 60\n' > /opt/node98/bin/npm
          chmod +x /opt/node98/bin/*; echo '{}' > package-lock.json
      - {id: slow, uses: ./slow, timeout-minutes: 0.02, continue-on-error: true}
      - run: echo "composite ${{ steps.slow.outcome }}"
      - id: setup
        uses: actions/setup-node@v6
        with: {node-version: 98, cache: npm}
        timeout-minutes: 0.02
        continue-on-error: true
      - run: echo "native ${{ steps.setup.outcome }}"
"#;
    let (code, said) = stage.exec(text);
    assert_eq!(code, Some(0), "{said}");
    in_order(&said, &["composite failure", "native failure"]);
    assert!(!said.contains("never"), "{said}");
}

#[test]
fn i17_workflows_of_other_events_are_tried_by_hand() {
    let stage = Stage::new();
    let text = r#"on:
  schedule: [{cron: '0 0 * * 1'}]
  release: {types: [published]}
  issue_comment: {types: [created]}
  repository_dispatch: {types: [deploy]}
jobs:
  a:
    runs-on: x
    steps:
      - run: echo "${{ github.event_name }} ${{ github.event.action }} ${{ github.event.comment.body }}${{ github.event.client_payload.where }} ${{ github.event.repository.full_name == github.repository }}"
"#;
    let said = |event: &str, payload: Option<&str>| {
        let mut more = vec!["--event", event];
        if let Some(payload) = payload {
            write(&stage.path(""), &[("event.json", payload)]);
            more.extend(["--event-path", "event.json"]);
        }
        let (code, said) = stage.exec_with(text, &more);
        assert_eq!(code, Some(0), "{event}: {said}");
        said
    };
    in_order(&said("schedule", None), &["schedule   true"]);
    in_order(&said("release", None), &["release published  true"]);
    let comment = r#"{"action": "created", "comment": {"body": "/test"}, "issue": {"number": 3}, "repository": {"full_name": "local/tree"}}"#;
    in_order(
        &said("issue_comment", Some(comment)),
        &["issue_comment created /test true"],
    );
    let dispatch = r#"{"action": "deploy", "client_payload": {"where": "moon"}, "repository": {"full_name": "local/tree"}}"#;
    in_order(
        &said("repository_dispatch", Some(dispatch)),
        &["repository_dispatch deploy moon true"],
    );
}

#[test]
fn i17_only_true_forgives_and_no_text() {
    let stage = Stage::new();
    stage.make_tree();
    let action = r#"inputs: {soft: {}}
runs:
  using: composite
  steps:
    - {shell: sh, run: exit 1, continue-on-error: "${{ inputs.soft }}"}
"#;
    let json = action.replace("inputs.soft }}", "fromJSON(inputs.soft) }}");
    write(
        &stage.path("tree"),
        &[("text/action.yml", action), ("json/action.yml", &json)],
    );
    let (code, said) = stage.exec(&job(
        "",
        r#"
      - {id: no, continue-on-error: true, uses: ./text, with: {soft: false}}
      - {id: yes, continue-on-error: true, uses: ./text, with: {soft: true}}
      - {id: json, continue-on-error: true, uses: ./json, with: {soft: true}}
      - run: echo "came ${{ steps.no.outcome }} ${{ steps.yes.outcome }} ${{ steps.json.outcome }}"
"#,
    ));
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "continue-on-error is the text `false`, expected true or false: the step has failed",
            "the text `true`, expected",
            "came failure failure success",
        ],
    );
}

#[test]
fn i17_folders_that_steps_add_come_before_any_path() {
    let stage = Stage::new();
    let (code, said) = stage.exec(&job(
        "    env: {PATH: '/of-job:/usr/bin:/bin'}\n",
        r#"
      - run: echo "one $PATH"; echo /added >> "$GITHUB_PATH"
      - run: echo "two $PATH"; echo "PATH=/written:$PATH" >> "$GITHUB_ENV"
      - run: echo "three $PATH"; echo /last >> "$GITHUB_PATH"
      - {env: {PATH: "/own:/usr/bin:/bin"}, run: 'echo "four $PATH"'}
"#,
    ));
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "one /of-job:/usr/bin:/bin\n",
            "two /added:/of-job:/usr/bin:/bin\n",
            "three /added:/written:/added:/of-job:",
            "four /last:/added:/own:/usr/bin:/bin\n",
        ],
    );
}

#[test]
fn i17_no_env_changes_what_the_runner_says_of_itself() {
    let stage = Stage::new();
    let text = r#"on: push
env: {GITHUB_SHA: other, RUNNER_TEMP: /other, CI: mine, GITHUB_OWN: kept}
jobs:
  a:
    runs-on: ubuntu-22.04
    steps:
      - env: {GITHUB_REPOSITORY: other, GITHUB_OUTPUT: /other}
        run: echo "${#GITHUB_SHA} $RUNNER_TEMP $CI $GITHUB_OWN $([ "$GITHUB_REPOSITORY" = other ] || echo own) $(basename "$GITHUB_OUTPUT")"
      - run: echo "$ImageOS $([ "$AGENT_TOOLSDIRECTORY" = "$RUNNER_TOOL_CACHE" ] && echo same)"
      - {env: {ImageOS: mine}, run: echo "image $ImageOS"}
  b:
    needs: a
    runs-on: self-hosted
    steps: [{run: 'echo "none [$ImageOS]"'}]
"#;
    let (code, said) = stage.exec(text);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "40 /tmp mine kept own output",
            "ubuntu22 same",
            "image mine",
            "none []",
        ],
    );
}
