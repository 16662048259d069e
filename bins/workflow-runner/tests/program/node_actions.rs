//! JavaScript and composite actions of other repositories, from the store, with a real Node in a
//! real namespace sandbox, by `workflow-runner exec`.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::path::Path;

use crate::stage::{Stage, copy_modules, in_order, text};

const GREET: &str = r#"
name: greet
description: says hello
author: somebody
unknown-key: is nobody's mistake
inputs:
  who: {description: whom, required: true}
  how to say: {default: "hello at ${{ github.job }}"}
  token: {default: "${{ github.token }}"}
outputs:
  said: {description: what it said}
runs:
  using: node16
  pre: lib/stage.js
  main: lib/stage.js
  post: lib/stage.js
  post-if: always() && github.job == 'build'
"#;

const STAGE: &str = r#"
const fs = require('fs');
const add = (name, line) => fs.appendFileSync(process.env[name], line + '\n');
const who = process.env['INPUT_WHO'];
const stage = process.env['STATE_stage'] || 'pre';
const next = {pre: 'main', main: 'post'}[stage];
console.log(`${stage} ${who} of ${process.env['STATE_by'] || 'nobody'}`);
if (next) add('GITHUB_STATE', `stage=${next}`);
add('GITHUB_STATE', `by=${who}-${stage}`);
if (stage === 'main') {
  add('GITHUB_OUTPUT', `said=${process.env.INPUT_HOW_TO_SAY}, ${who}`);
  add('GITHUB_ENV', 'FROM_ACTION=yes');
  add('GITHUB_PATH', `${process.env.GITHUB_ACTION_PATH}/bin`);
  console.log(`::save-state name=by::${who}-by-command`);
  for (const name of ['ACTION', 'ACTION_PATH', 'ACTION_REPOSITORY', 'ACTION_REF', 'WORKSPACE'])
    console.log(`${name}=${process.env['GITHUB_' + name]}`);
  console.log(`token=[${process.env.INPUT_TOKEN}] extra=${process.env.INPUT_EXTRA} cwd=${process.cwd()}`);
}
"#;

const WRAP: &str = r#"
inputs: {name: {default: nobody}}
outputs: {said: {value: "${{ steps.inner.outputs.said }}"}}
runs:
  using: composite
  steps:
    - id: inner
      uses: $/greet
      with: {who: "wrapped ${{ inputs.name }}"}
    - shell: sh
      run: echo "in ${{ github.action_repository }} at $GITHUB_ACTION_REF"; cat "$GITHUB_ACTION_PATH/note.txt"
"#;

fn actions() -> [(&'static str, &'static str); 5] {
    [
        ("greet/action.yml", GREET),
        ("greet/lib/stage.js", STAGE),
        (
            "greet/bin/greet-tool",
            "#!/bin/sh\necho tool of the action\n",
        ),
        ("wrap/action.yaml", WRAP),
        ("wrap/note.txt", "a note beside the action\n"),
    ]
}

const WORKFLOW: &str = r#"
on: push
jobs:
  build:
    runs-on: x
    steps:
      - run: echo first step
      - id: one
        uses: acme/actions/greet@v1
        with: {who: one, extra: given}
      - if: false
        uses: acme/actions/greet@v1
        with: {who: two}
      - id: wrapped
        uses: acme/actions/wrap@v1
        with: {name: three}
      - run: echo "got ${{ steps.one.outputs.said }}; ${{ steps.wrapped.outputs.said }}; $FROM_ACTION"; sh "$(command -v greet-tool || echo /none)"
      - run: exit 3
      - uses: acme/actions/greet@v1
        with: {who: never}
  other:
    runs-on: x
    needs: build
    if: always()
    steps:
      - uses: acme/actions/greet@v1
        with: {who: four}
"#;

#[test]
fn stages_run_in_github_s_order_with_state_outputs_and_inputs() {
    let stage = Stage::new();
    let commit = stage.add(&actions());
    let (code, said) = stage.exec(WORKFLOW);
    assert_eq!(code, Some(1), "{said}");
    in_order(
        &said,
        &[
            &format!("[build] action acme/actions@v1 is {commit}"),
            "its input `token` is the forge's token: where the runner has none to give it is empty",
            "[build] pre one of nobody",
            "[build] pre two of nobody",
            "[build] pre wrapped three of nobody",
            "[build] pre never of nobody",
            "[build] first step",
            "[build] main one of one-pre",
            "[build] ACTION=one",
            &format!("[build] ACTION_PATH=/tmp/.runner/actions/acme/actions/{commit}/greet"),
            "[build] ACTION_REPOSITORY=acme/actions",
            "[build] ACTION_REF=v1",
            "[build] WORKSPACE=/workspace",
            "[build] token=[] extra=given cwd=/workspace",
            "[build] main wrapped three of wrapped three-pre",
            "[build] in acme/actions at v1",
            "[build] a note beside the action",
            "[build] got hello at build, one; hello at build, wrapped three; yes",
            "[build] tool of the action",
            "exit code 3",
            // Main did not run, but `pre` did: what is in reverse order is the order of `pre`.
            "[build] main never of never-pre",
            "[build] post wrapped three of wrapped three-main",
            "[build] main two of two-pre",
            "[build] post one of one-main",
        ],
    );
    let other = &said[said.find("[other]").unwrap()..];
    in_order(other, &["pre four of nobody", "main four of four-pre"]);
    assert!(
        !other.contains("post four"),
        "its `post-if` does not hold: {other}"
    );
}

#[test]
fn what_is_not_in_the_store_or_was_changed_there_is_refused_with_what_to_do() {
    let stage = Stage::new();
    let workflow = "on: push\njobs:\n  a:\n    runs-on: x\n    steps: [{uses: acme/actions/greet@v1, with: {who: me}}]\n";
    let (code, said) = stage.exec(workflow);
    assert!(
        said.contains("workflow-runner actions add acme/actions/greet@v1"),
        "{said}"
    );
    assert_ne!(code, Some(0), "{said}");
    let checked = stage.run(&["check", "tree"]);
    assert_eq!(checked.status.code(), Some(3), "{}", text(&checked.stdout));
    let commit = stage.add(&actions());
    let checked = stage.run(&["check", "tree"]);
    let shown = text(&checked.stdout);
    assert_eq!(checked.status.code(), Some(0), "{shown}");
    assert!(
        shown.contains("note: acme/actions/greet@v1: the default of its input `token`"),
        "{shown}"
    );
    let absent = workflow.replace("greet", "absent");
    let (code, said) = stage.exec(&absent);
    assert_ne!(code, Some(0), "{said}");
    assert!(said.contains("has no action.yml in that folder"), "{said}");

    let file = format!("runner/actions/trees/{commit}/greet/lib/stage.js");
    std::fs::write(stage.path(&file), "console.log('poison')").unwrap();
    let (code, said) = stage.exec(workflow);
    assert_ne!(code, Some(0), "{said}");
    assert!(
        said.contains("not those that were locked") && !said.contains("poison\n"),
        "{said}"
    );
}

#[test]
fn a_node_that_the_machine_does_not_have_is_named() {
    let stage = Stage::new();
    stage.add(&[
        ("action.yml", "runs: {using: node99, main: x.js}\n"),
        ("x.js", "console.log('ran')"),
    ]);
    let (code, said) =
        stage.exec("on: push\njobs: {a: {runs-on: x, steps: [{uses: acme/actions@v1}]}}\n");
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("it needs Node 99 or newer, and the machine's image has v"),
        "{said}"
    );
    assert!(!said.contains("[a] ran"), "{said}");
}

const TOOLKIT: &str = r#"
module.exports = async (core) => {
  if (core.getState('begun') === '') {
    core.saveState('begun', {at: 'main', lines: 'a\nb'});
    core.info(`who=${core.getInput('who', {required: true})} loud=${core.getBooleanInput('loud')}`);
    core.info(`lines=${core.getMultilineInput('lines').join('+')}`);
    core.setSecret('classified-0123');
    core.info('the secret is classified-0123');
    core.exportVariable('FROM_TOOLKIT', 'two\nlines');
    core.addPath('/opt/of the toolkit/bin');
    core.setOutput('answer', {n: 42});
    core.setOutput('text', 'one\ntwo');
    core.notice('look here', {file: 'hello.txt', startLine: 3});
    await core.group('a group', async () => core.info('inside'));
    await core.summary.addHeading('Done').addRaw('by the toolkit').write();
    if (core.getInput('fail') === 'yes') core.setFailed('it was asked to fail');
  } else {
    core.info(`post with ${core.getState('begun')}`);
  }
};
"#;

/// The action made with one version of the toolkit.
fn toolkit_action(main: &str) -> String {
    format!(
        "name: toolkit\ninputs: {{who: {{required: true}}, loud: {{default: 'TRUE'}}, lines: {{}}, fail: {{}}}}\nruns: {{using: node20, main: {main}, post: {main}}}\n"
    )
}

#[test]
fn the_toolkit_of_npm_runs_unmodified() {
    let toolkit = std::env::var_os("ORRERY_ACTIONS_TOOLKIT").expect(
        "ORRERY_ACTIONS_TOOLKIT names the toolkit of npm: run the tests by `cargo xtask test`",
    );
    let stage = Stage::new();
    let (new, old) = (toolkit_action("main.mjs"), toolkit_action("main.cjs"));
    copy_modules(Path::new(&toolkit), &stage.path("upstream/node_modules"));
    stage.add(&[
        ("toolkit.cjs", TOOLKIT),
        ("new/action.yml", &new),
        (
            "new/main.mjs",
            "import * as core from '@actions/core';\nimport run from '../toolkit.cjs';\nawait run(core);\n",
        ),
        ("old/action.yml", &old),
        (
            "old/main.cjs",
            "require('../toolkit.cjs')(require('core-1'));\n",
        ),
    ]);
    for version in ["new", "old"] {
        let workflow = format!(
            r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - id: it
        uses: acme/actions/{version}@v1
        with: {{who: me, lines: "x\ny"}}
      - run: echo "${{{{ fromJSON(steps.it.outputs.answer).n }}}} $FROM_TOOLKIT $PATH"
      - run: echo "${{{{ steps.it.outputs.text }}}}"
      - uses: acme/actions/{version}@v1
        with: {{who: me, fail: "yes"}}
"#
        );
        let (code, said) = stage.exec(&workflow);
        assert_eq!(code, Some(1), "{said}");
        in_order(
            &said,
            &[
                "[a] who=me loud=true",
                "[a] lines=x+y",
                "[a] the secret is ***",
                "hello.txt:3: look here",
                "[a] inside",
                "[a] 42 two",
                "[a] lines /opt/of the toolkit/bin:",
                "[a] one",
                "[a] two",
                "it was asked to fail",
                "[a] post with {\"at\":\"main\",\"lines\":\"a\\nb\"}",
                "[a] post with {\"at\":\"main\"",
            ],
        );
    }
}

#[test]
fn i17_the_operator_can_have_the_original_of_a_native_action() {
    let stage = Stage::new();
    stage.add_settings("original_actions = [\"Actions/Cache\"]\n");
    let workflow = "on: push\njobs: {a: {runs-on: x, steps: [{uses: actions/checkout@v4}, {uses: actions/cache@v1, with: {path: x, key: k, other: y}}]}}\n";
    let (code, said) = stage.exec(workflow);
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("workflow-runner actions add actions/cache@v1"),
        "{said}"
    );
    stage.add_as(
        "actions/cache@v1",
        &[
            (
                "action.yml",
                "inputs: {key: {required: true}}\nruns: {using: node16, main: x.js}\n",
            ),
            (
                "x.js",
                "console.log(`the original ${process.env.INPUT_KEY} ${process.env.INPUT_OTHER}`)",
            ),
        ],
    );
    let (code, said) = stage.exec(workflow);
    assert_eq!(code, Some(0), "{said}");
    in_order(&said, &["is checked out", "[a] the original k y"]);
}

const SEEN: &str = r#"
const seen = ['KEY', 'GIVEN', 'STATUS'].map((name) => process.env[`INPUT_${name}`] || '-');
console.log(`${process.env.STATE_stage || 'main'} ${process.env.OWN} ${seen.join(' ')}`);
require('fs').appendFileSync(process.env.GITHUB_STATE, 'stage=post\n');
"#;

/// Steps in front of it have made one file and changed another.
#[test]
fn i17_inputs_of_an_action_see_files_that_steps_made_and_its_post_how_the_job_ended() {
    let stage = Stage::new();
    stage.add(&[
        (
            "action.yml",
            "inputs: {key: {}, given: {}, status: {default: '${{ job.status }}'}}\nruns: {using: node20, main: seen.js, post: seen.js}\n",
        ),
        ("seen.js", SEEN),
        (
            "wrap/action.yml",
            "inputs: {given: {}}\nruns: {using: composite, steps: [{uses: $/, with: {key: wrapped, given: '${{ inputs.given }}'}}]}\n",
        ),
    ]);
    stage.make_tree();
    std::fs::write(stage.path("tree/old.lock"), "1\n").unwrap();
    let workflow = r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - run: echo 2 > old.lock; echo 1 > new.lock; echo 2 > same.lock
      - uses: acme/actions@v1
        env: {OWN: "${{ hashFiles('new.lock') != '' }}"}
        with:
          key: "${{ hashFiles('new.lock') != '' }}"
          given: "${{ hashFiles('old.lock') == hashFiles('same.lock') }}"
      - {uses: acme/actions/wrap@v1, env: {OWN: own}, with: {given: "${{ github.job }}"}}
      - run: rm new.lock; exit 1
"#;
    let (code, said) = stage.exec(workflow);
    assert_eq!(code, Some(1), "{said}");
    in_order(
        &said,
        &[
            "main true true true success",
            "main own wrapped a success",
            "post own wrapped a failure",
            "post false false true failure",
        ],
    );
}
