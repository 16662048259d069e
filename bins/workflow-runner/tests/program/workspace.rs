//! What steps find in their workspace and what they know of their run, in a real namespace
//! sandbox: actions that an earlier step has put there, `hashFiles` of files that were made, the
//! repository and the variables.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::stage::{Stage, in_order};
use scripted_peers::GitRepository;

const GREET: &str = "runs: {using: node16, main: greet.js, post: bye.js}\ninputs: {who: {default: nobody}}\noutputs: {said: {}}\n";

#[test]
fn i17_actions_that_a_step_has_put_into_the_workspace_are_run() {
    let stage = Stage::new();
    stage.add(&[
        ("greet/action.yml", GREET),
        ("greet/greet.js", "require('fs').appendFileSync(process.env.GITHUB_OUTPUT, `said=hello ${process.env.INPUT_WHO}\\n`)"),
        ("greet/bye.js", "console.log(`bye ${process.env.INPUT_WHO}`)"),
    ]);
    let (code, said) = stage.exec(
        r#"
on: push
jobs:
  a:
    runs-on: x
    env: {WORD: job}
    steps:
      - run: |
          mkdir -p made/inner
          cat > made/action.yml <<'EOF'
          inputs: {who: {default: world}}
          outputs: {said: {value: "%{{ steps.in.outputs.said }} and %{{ steps.js.outputs.said }}"}}
          runs:
            using: composite
            steps:
              - id: in
                uses: ./made/inner
                with: {who: "%{{ inputs.who }}"}
              - id: js
                uses: acme/actions/greet@v1
                with: {who: "%{{ inputs.who }}"}
          EOF
          cat > made/inner/action.yaml <<'EOF'
          inputs: {who: {required: true}}
          outputs: {said: {value: "%{{ steps.one.outputs.said }}"}}
          runs:
            using: composite
            steps: [{id: one, run: 'echo "said=inner $WHO $WORD" >> "$GITHUB_OUTPUT"', shell: bash, env: {WHO: "%{{ inputs.who }}"}}]
          EOF
          sed -i 's/%/$/g' made/action.yml made/inner/action.yaml
      - id: it
        uses: ./made
        env: {WORD: step}
        with: {who: you}
      - run: echo "got ${{ steps.it.outputs.said }}"
      - run: sed -i 's/inner \$WHO/changed $WHO/' made/inner/action.yaml
      - id: again
        uses: ./made
      - run: echo "then ${{ steps.again.outputs.said }}"
      - uses: ./absent
        continue-on-error: true
      - run: |
          echo "runs: {using: composite, steps: [{uses: acme/unknown@v1}]}" > made/action.yml
      - uses: ./made
"#,
    );
    assert_eq!(code, Some(1), "{said}");
    in_order(
        &said,
        &[
            "warning: ./made: the commit has no such action; it is looked for in the workspace when its step runs",
            "[a] got inner you step and hello you",
            "[a] then changed world job and hello world",
            "there is no action.yml (or action.yaml) in ./absent of the workspace",
            "uses: acme/unknown@v1: it is not in the runner's store of actions",
            "[a] bye world",
            "[a] bye you",
        ],
    );
}

#[test]
fn i17_an_action_of_another_checkout_is_the_one_that_runs() {
    let stage = Stage::new();
    let tree = GitRepository::new(stage.path("tree"));
    let action = |word: &str| {
        format!("runs: {{using: composite, steps: [{{run: echo this is {word}, shell: sh}}]}}\n")
    };
    tree.write("tool/action.yml", &action("main"));
    tree.write("only/README", "nothing here\n");
    tree.commit("first");
    tree.git(&["checkout", "--quiet", "-b", "side"]);
    tree.write("tool/action.yml", &action("the side"));
    tree.write("only/action.yml", &action("only there"));
    tree.commit("on the side");
    tree.git(&["checkout", "--quiet", "main"]);
    let (code, said) = stage.exec(
        r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - uses: actions/checkout@v4
      - uses: ./tool
      - uses: actions/checkout@v4
        with: {ref: side, path: there}
      - uses: ./there/only
      - uses: actions/checkout@v4
        with: {ref: side}
      - uses: ./tool
"#,
    );
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "[a] this is main",
            "[a] this is only there",
            "[a] this is the side",
        ],
    );
    let (code, said) = stage.exec(
        "on: push\njobs: {a: {runs-on: x, steps: [{uses: actions/checkout@v4}, {uses: ./only}]}}\n",
    );
    assert_eq!(code, Some(3), "nothing can have put it there: {said}");
}

/// The commit lay there already, so git refused to clone.
#[test]
fn i17_a_job_that_clones_into_its_workspace_finds_it_empty() {
    let stage = Stage::new();
    let tree = GitRepository::new(stage.path("tree"));
    tree.write("README", "of the commit\n");
    tree.commit("first");
    let (code, said) = stage.exec(
        r#"
on: push
jobs:
  a:
    runs-on: rack-7
    steps:
      - run: |
          git init -q "$RUNNER_TEMP/there"
          git -C "$RUNNER_TEMP/there" -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
      - run: git clone -q "$RUNNER_TEMP/there" . && echo "has $(ls -A)"
"#,
    );
    assert_eq!(code, Some(0), "{said}");
    // Nobody has configured a machine for the label, and the log said nothing of it.
    let label = "no machine has the label `rack-7`: this one is the machine `default`";
    in_order(&said, &[label, "[a] has .git"]);
}

/// All commits were taken for old releases, which put it into a folder of its name.
#[test]
fn i17_the_comment_behind_a_commit_tells_where_an_artifact_lies() {
    let stage = Stage::new();
    let (code, said) = stage.exec(
        r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - run: echo hi > x
      - uses: actions/upload-artifact@v4
        with: {name: only, path: x}
      - uses: actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1
        with: {path: new}
      - uses: actions/download-artifact@d3f86a106a0bac45b974a628896c90dbdf5c8093 # v4.3.0
        with: {path: old}
      - run: echo "new $(cat new/x) old $(cat old/only/x)"
"#,
    );
    assert_eq!(code, Some(0), "{said}");
    in_order(&said, &["[a] new hi old hi"]);
}

#[test]
fn i17_hash_files_sees_what_steps_have_made() {
    let stage = Stage::new();
    let tree = GitRepository::new(stage.path("tree"));
    tree.write("a.lock", "1");
    tree.write("sub/b.lock", "2");
    tree.commit("first");
    let (code, said) = stage.exec(
        r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - uses: actions/checkout@v4
      - id: before
        run: echo "h=${{ hashFiles('**/*.lock') }}" >> "$GITHUB_OUTPUT"
      - if: hashFiles('report.xml') != ''
        run: echo too early
      - run: mkdir -p out/deep && echo x > report.xml && echo y > 'out/deep/with space.txt' && echo z > out/.hidden
      - id: same
        run: echo "same ${{ hashFiles('**/*.lock') == steps.before.outputs.h }} ${{ hashFiles('*.none') == '' }}"
      - if: hashFiles('report.xml') != ''
        run: echo it is there
      - run: echo "folder ${{ hashFiles('out') == hashFiles('out/**') }} ${{ hashFiles('out', '!out/.hidden') != hashFiles('out') }}"
      - run: echo more >> sub/b.lock
      - run: echo "changed ${{ hashFiles('**/*.lock') != steps.before.outputs.h }}"
      - env: {KEY: "${{ hashFiles(matrix.none || 'report.xml') }}"}
        run: test "$KEY" = "$(sha256sum report.xml | cut -d' ' -f1 | xxd -r -p 2>/dev/null | sha256sum | cut -d' ' -f1)" || python3 -c "import hashlib,os,sys; sys.exit(os.environ['KEY'] != hashlib.sha256(hashlib.sha256(open('report.xml','rb').read()).digest()).hexdigest())"
      - run: echo end
"#,
    );
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("[a] too early"), "{said}");
    in_order(
        &said,
        &[
            "[a] same true true",
            "[a] it is there",
            "[a] folder true true",
            "[a] changed true",
            "[a] end",
        ],
    );
}

#[test]
fn i17_steps_know_the_forge_s_repository_a_number_of_the_run_and_whether_to_say_more() {
    let stage = Stage::new();
    let tree = GitRepository::new(stage.path("tree"));
    tree.write("file", "one\n");
    tree.commit("first");
    tree.git(&[
        "remote",
        "add",
        "origin",
        "https://somebody:secret@github.com/acme/rocket.git",
    ]);
    let workflow = r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - run: |
          echo "$GITHUB_REPOSITORY $GITHUB_SERVER_URL $GITHUB_API_URL ${{ github.event.repository.name }} ${{ github.event.after == github.sha }}"
          echo "::debug::only for those who ask"
          case "$GITHUB_RUN_ID" in *[!0-9]*) echo "no number";; *) echo "a number";; esac
          (cd "${{ runner.workspace }}/rocket" && echo "beside $(pwd -P) $(mkdir "$RUNNER_WORKSPACE/build" && cd "$RUNNER_WORKSPACE/build" && pwd)")
          echo "$GITHUB_REF_PROTECTED $GITHUB_RETENTION_DAYS ${GITHUB_ACTOR_ID-unset} debug=[${RUNNER_DEBUG}${{ runner.debug }}]"
"#;
    let (code, said) = stage.exec(workflow);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "[a] acme/rocket https://github.com https://api.github.com rocket true",
            "[a] a number",
            "[a] beside /workspace /tmp/work/build",
            "[a] false 90  debug=[]",
        ],
    );
    assert!(!said.contains("only for those"), "{said}");
    let (_, said) = stage.exec_with(workflow, &["--secret", "ACTIONS_STEP_DEBUG=true"]);
    in_order(&said, &["[a] debug: only for those who ask", "debug=[11]"]);
}
