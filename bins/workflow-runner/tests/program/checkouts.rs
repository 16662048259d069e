//! `actions/checkout` with its inputs, in a real namespace sandbox, against real git: the tree's
//! own history, and a forge that serves other repositories.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::os::unix::fs::PermissionsExt;

use crate::stage::{Stage, in_order};
use scripted_peers::{GitForge, GitRepository};

/// A tree with two branches, an annotated tag and three commits.
fn with_history(stage: &Stage) -> [String; 3] {
    let tree = GitRepository::new(stage.path("tree"));
    tree.write("file", "one\n");
    tree.write(
        ".github/workflows/ci.yml",
        "on: workflow_dispatch\njobs: {a: {runs-on: x, steps: [{run: y}]}}\n",
    );
    let first = tree.commit("first");
    tree.git(&["tag", "-a", "v1", "-m", "version 1"]);
    tree.git(&["checkout", "--quiet", "-b", "side"]);
    tree.write("file", "side\n");
    tree.write("docs/page", "a page\n");
    let side = tree.commit("on the side");
    tree.git(&["checkout", "--quiet", "main"]);
    tree.write("file", "two\n");
    tree.write("src/deep/code", "code\n");
    let second = tree.commit("second");
    [first, side, second]
}

#[test]
fn i17_branches_tags_commits_and_history_are_what_the_step_asks_for() {
    let stage = Stage::new();
    let [first, side, _] = with_history(&stage);
    let (code, said) = stage.exec(&format!(
        r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - id: usual
        uses: actions/checkout@v4
      - run: echo "usual $(cat file) $(git branch --show-current) $(git rev-parse --abbrev-ref '@{{u}}') $(git rev-list --count HEAD) out ${{{{ steps.usual.outputs.ref }}}}"
      - id: side
        uses: actions/checkout@v4
        with: {{ref: side, path: there}}
      - run: echo "side $(cat there/file) $(git -C there branch --show-current) ${{{{ steps.side.outputs.commit }}}} ${{{{ hashFiles('there/file') != hashFiles('file') }}}}"
      - uses: actions/checkout@v4
        with: {{ref: v1, clean: true}}
      - run: echo "tag $(cat file) [$(git branch --show-current)] $(git rev-parse HEAD) $(ls -d there || echo gone)"; echo "annotated $(git describe) $(git tag -l --format='%(contents:subject)' v1)"
      - id: commit
        uses: actions/checkout@v4
        with: {{ref: {first}, path: by-commit}}
      - run: echo "commit $(cat by-commit/file) [${{{{ steps.commit.outputs.ref }}}}]"
      - uses: actions/checkout@v4
        with: {{fetch-depth: 0}}
      - run: echo "all $(git rev-list --count HEAD) $(git describe --tags --abbrev=0) $(git log -1 --format=%s origin/side) $(git rev-parse --is-shallow-repository)"
      - uses: actions/checkout@v4
        with: {{fetch-depth: 2, path: two}}
      - run: cd two; echo "two $(git rev-list --count HEAD) $(git rev-parse --is-shallow-repository) [$(git tag)]"
      - uses: actions/checkout@v4
        with: {{fetch-tags: true, path: tags}}
      - run: cd tags; echo "tags $(git tag) $(git cat-file -t v1)"
      - id: none
        continue-on-error: true
        uses: actions/checkout@v4
        with: {{ref: absent, path: absent}}
      - run: echo "absent ${{{{ steps.none.outcome }}}} $(ls absent || echo nothing)"
"#
    ));
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            // The workflow itself is not committed: one more commit on top.
            "[a] usual two main origin/main 1 out refs/heads/main",
            &format!("[a] side side side {side} true"),
            &format!("[a] tag one [] {first} gone"),
            "[a] annotated v1 version 1",
            "[a] commit one []",
            "[a] all 3 v1 on the side false",
            "[a] two 2 true []",
            "[a] tags v1 tag",
            "has no branch or tag `absent`",
            "[a] absent failure nothing",
        ],
    );
}

#[test]
fn i17_sparse_checkouts_and_what_earlier_steps_left() {
    let stage = Stage::new();
    with_history(&stage);
    let (code, said) = stage.exec(
        r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - run: echo made > made
      - uses: actions/checkout@v4
      - run: echo "clean $(ls made || echo gone)"; echo made > made; echo changed > file
      - uses: actions/checkout@v4
        with: {clean: false, ref: side}
      - run: echo "kept $(cat made) $(cat file) $(ls src || echo no src) [$(git status --porcelain)]"
      - uses: actions/checkout@v4
        with: {path: cone, sparse-checkout: src/deep}
      - run: cd cone; echo "cone $(find . -path ./.git -prune -o -type f -print | sort | xargs) [$(git status --porcelain)]"
      - uses: actions/checkout@v4
        with: {path: patterns, sparse-checkout: "/src/**/code\n!/file", sparse-checkout-cone-mode: false, filter: 'blob:none'}
      - run: cd patterns; echo "patterns $(find . -path ./.git -prune -o -type f -print | xargs) [$(git status --porcelain)]"
      - uses: actions/checkout@v4
        with: {path: ../out}
"#,
    );
    assert_eq!(code, Some(1), "{said}");
    in_order(
        &said,
        &[
            "[a] clean gone",
            "[a] kept made side no src [?? made]",
            "[a] cone ./file ./src/deep/code []",
            "[a] patterns ./src/deep/code []",
            "which is not below /workspace",
        ],
    );
}

/// A forge with a public repository, one that wants a token, and one with submodules.
fn forge() -> GitForge {
    let forge = GitForge::start();
    for (name, private) in [
        ("acme/lib", false),
        ("acme/secret", true),
        ("other/part", false),
    ] {
        let repository = forge.repository(name, private);
        repository.write("name", &format!("{name}\n"));
        repository.commit("first");
    }
    let parts = forge.repository("acme/parts", false);
    parts.add_submodule("lib", "../lib.git");
    parts.add_submodule("deep/part", &format!("{}/other/part.git", forge.url()));
    parts.commit("with submodules");
    forge
}

const OTHERS: &str = r#"
on: [push, pull_request]
jobs:
  a:
    runs-on: x
    steps:
      - id: lib
        uses: actions/checkout@v4
        with: {repository: acme/lib, path: lib}
      - run: echo "lib $(cat lib/name) $(git -C lib branch --show-current) ${{ steps.lib.outputs.ref }}"
      - uses: actions/checkout@v4
        with: {repository: acme/parts, path: parts, submodules: true}
      - run: cd parts; echo "parts $(cat lib/name) $(cat deep/part/name) [$(git status --porcelain)] $(git submodule status | wc -l) $(git -C lib remote get-url origin)"
      - uses: actions/checkout@v4
        with: {repository: acme/parts, path: none}
      - run: echo "none [$(ls none/lib)]"
      - id: secret
        continue-on-error: true
        uses: actions/checkout@v4
        with: {repository: acme/secret, path: secret}
      - run: echo "without a token ${{ steps.secret.outcome }}"
      - uses: actions/checkout@v4
        with: {repository: acme/secret, path: secret, token: "${{ secrets.PAT }}"}
      - run: echo "with a token $(cat secret/name)"; grep -c "AUTHORIZATION" secret/.git/config; git -C secret config --get-regexp extraheader
      - uses: actions/checkout@v4
        with: {repository: acme/secret, path: unkept, token: "${{ secrets.PAT }}", persist-credentials: false}
      - run: echo "not kept $(grep -c AUTHORIZATION unkept/.git/config)"
"#;

#[test]
fn i17_other_repositories_are_read_with_the_rights_that_the_step_has() {
    let stage = Stage::new();
    let forge = forge();
    stage.add_settings(&format!(
        "forge_url = {:?}\nallow_http = true\n",
        forge.url()
    ));
    let token = format!("PAT={}", forge.token());
    let (code, said) = stage.exec_with(OTHERS, &["--secret", &token]);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "[a] lib acme/lib main refs/heads/main",
            "[a] parts acme/lib other/part [] 2 ",
            "/acme/lib.git",
            "[a] none []",
            "acme/secret cannot be fetched",
            "give the step a `token`",
            "[a] without a token failure",
            "[a] with a token acme/secret",
            "[a] 1",
            "AUTHORIZATION: basic ***",
            "[a] not kept 0",
        ],
    );
    assert!(!said.contains(forge.token()), "{said}");
    let asked = forge.asked();
    let tokens: Vec<&(String, bool)> = asked.iter().filter(|(_, token)| *token).collect();
    assert!(
        tokens
            .iter()
            .all(|(path, _)| path.starts_with("/acme/secret")),
        "the step's token goes where it was given for: {tokens:?}"
    );
}

#[test]
fn i17_submodules_have_the_token_of_their_checkout() {
    let stage = Stage::new();
    let forge = forge();
    stage.add_settings(&format!(
        "forge_url = {:?}\nallow_http = true\n",
        forge.url()
    ));
    let token = format!("PAT={}", forge.token());
    let (code, said) = stage.exec_with(
        r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - uses: actions/checkout@v7
        with: {repository: acme/parts, submodules: true, token: "${{ secrets.PAT }}"}
      - run: for one in . lib deep/part; do git -C $one config --get-regexp extraheader | wc -l; done
      - uses: actions/checkout@v7
        with: {repository: acme/parts, submodules: true, token: "${{ secrets.PAT }}", persist-credentials: false}
      - run: git -C lib config --get-regexp extraheader || echo none; git status --porcelain
"#,
        &["--secret", &token],
    );
    assert_eq!(code, Some(0), "{said}");
    in_order(&said, &["[a] 1\n", "[a] 1\n", "[a] 1\n", "[a] none\n"]);
}

#[test]
fn i17_submodules_that_lead_elsewhere_are_not_followed() {
    let stage = Stage::new();
    let forge = GitForge::start();
    stage.add_settings(&format!(
        "forge_url = {:?}\nallow_http = true\n",
        forge.url()
    ));
    for (name, url, reason) in [
        ("acme/files", "file:///etc", "is not fetched from"),
        (
            "acme/local",
            "http://127.0.0.1:9/x.git",
            "neither public nor the forge's",
        ),
        ("acme/ext", "ext::sh -c id", "is not fetched from"),
        ("acme/out", "../../../../x", "is not fetched from"),
    ] {
        let repository = forge.repository(name, false);
        repository.add_gitlink("sub", url, &"1".repeat(40));
        repository.commit("with a submodule");
        let (code, said) = stage.exec(&format!(
            "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - uses: actions/checkout@v4\n        with: {{repository: {name}, path: x, submodules: recursive}}\n"
        ));
        assert_eq!(code, Some(1), "{url}: {said}");
        in_order(&said, &["the submodule `sub`", reason]);
    }
}

const LARGE: &str = r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - uses: actions/checkout@v4
        with: {repository: acme/large, path: large, lfs: true, token: "${{ secrets.PAT }}"}
      - run: |
          cd large
          echo "content $(cat data/one.bin) $(cat two.bin) $(stat -c %a two.bin) [$(git status --porcelain)]"
          git lfs ls-files | cut -d ' ' -f 2- | sort | xargs echo list
          rm two.bin && git checkout -- two.bin && echo "again $(cat two.bin)"
          head -n 1 no-pointer.txt
      - uses: actions/checkout@v4
        with: {repository: acme/large, path: pointers, token: "${{ secrets.PAT }}"}
      - run: head -n 1 pointers/two.bin
      - id: missing
        continue-on-error: true
        uses: actions/checkout@v4
        with: {repository: acme/missing, path: missing, lfs: true}
      - id: changed
        continue-on-error: true
        uses: actions/checkout@v4
        with: {repository: acme/changed, path: changed, lfs: true}
      - id: elsewhere
        continue-on-error: true
        uses: actions/checkout@v4
        with: {repository: acme/elsewhere, path: elsewhere, lfs: true}
      - run: echo "${{ steps.missing.outcome }} ${{ steps.changed.outcome }} ${{ steps.elsewhere.outcome }} [$(ls | xargs)]"
"#;

#[test]
fn i17_large_files_come_from_the_forge_with_the_step_s_token() {
    let stage = Stage::new();
    let forge = GitForge::start();
    stage.add_settings(&format!(
        "forge_url = {:?}\nallow_http = true\n",
        forge.url()
    ));
    let large = forge.repository("acme/large", true);
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 1\n",
        "0".repeat(64)
    );
    // Not by the attributes of the repository: this one stays.
    large.write("no-pointer.txt", &pointer);
    large.commit_large(
        "*.bin",
        &[("data/one.bin", "the first"), ("two.bin", "the second")],
    );
    let program = large.folder.join("two.bin");
    std::fs::set_permissions(program, PermissionsExt::from_mode(0o755)).unwrap();
    large.commit("a program");
    let object = |repository: &GitRepository| {
        let objects = repository.folder.join(".git/lfs/objects");
        let found = repository.git(&["lfs", "ls-files", "--long", "--name-only"]);
        let oid = repository.git(&["lfs", "ls-files", "--long"]);
        let oid = oid.split(' ').next().unwrap().to_owned();
        assert_eq!(found, "one.bin");
        objects.join(&oid[..2]).join(&oid[2..4]).join(oid)
    };
    let missing = forge.repository("acme/missing", false);
    missing.commit_large("*.bin", &[("one.bin", "missing")]);
    std::fs::remove_file(object(&missing)).unwrap();
    let changed = forge.repository("acme/changed", false);
    changed.commit_large("*.bin", &[("one.bin", "changed")]);
    let file = object(&changed);
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, "CHANGED").unwrap();
    let elsewhere = forge.repository("acme/elsewhere", false);
    elsewhere.commit_large("*.bin", &[("one.bin", "elsewhere")]);
    elsewhere.write(".lfsconfig", "[lfs]\n\turl = http://127.0.0.1:9/x\n");
    elsewhere.commit("a server elsewhere");
    let token = format!("PAT={}", forge.token());
    let (code, said) = stage.exec_with(LARGE, &["--secret", &token]);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "[a] content the first the second 755 []",
            "[a] list * data/one.bin * two.bin - no-pointer.txt",
            "[a] again the second",
            "[a] version https://git-lfs.github.com/spec/v1",
            "[a] version https://git-lfs.github.com/spec/v1",
            "404 Object does not exist",
            "nothing of it is used",
            "`lfs.url` of .lfsconfig is `http://127.0.0.1:9/x`",
            "[a] failure failure failure [large pointers]",
        ],
    );
    assert!(!said.contains(forge.token()), "{said}");
    let asked = forge.asked();
    let of_objects =
        |(path, _): &&(String, bool)| path.contains("/large/") && path.contains("large.git");
    assert_eq!(asked.iter().filter(of_objects).count(), 2, "{asked:?}");
}

#[test]
fn i17_large_files_of_a_working_tree_come_from_its_own_store() {
    let stage = Stage::new();
    let tree = GitRepository::new(stage.path("tree"));
    tree.commit_large("*.bin", &[("one.bin", "of the tree")]);
    let (code, said) = stage.exec(
        r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - uses: actions/checkout@v4
        with: {lfs: true}
      - run: echo "content $(cat one.bin)"
"#,
    );
    assert_eq!(code, Some(0), "{said}");
    in_order(&said, &["[a] content of the tree"]);
}

#[test]
fn i17_code_of_a_fork_is_refused_to_a_run_with_the_repositorys_rights() {
    let stage = Stage::new();
    stage.make_tree();
    let tree = GitRepository::new(stage.path("tree"));
    tree.write("name", "tree");
    let commit = tree.commit("one");
    let event = serde_json::json!({"pull_request": {"number": 7, "head": {
        "sha": commit, "repo": {"full_name": "mallory/tree"},
    }}});
    std::fs::write(stage.path("event.json"), event.to_string()).unwrap();
    let of_fork = r#"
on: [pull_request, pull_request_target]
jobs:
  a:
    runs-on: x
    steps:
      - {id: new, continue-on-error: true, uses: actions/checkout@v7, with: {ref: COMMIT}}
      - {id: usual, uses: actions/checkout@v7}
      - {id: allowed, uses: actions/checkout@v7, with: {ref: COMMIT, allow-unsafe-pr-checkout: true}}
      - {id: old, uses: actions/checkout@v6, with: {ref: COMMIT}}
      - run: echo "${{ steps.new.outcome }} ${{ steps.usual.outcome }} ${{ steps.allowed.outcome }} ${{ steps.old.outcome }}"
"#
    .replace("COMMIT", &commit);
    for (event, expected) in [
        (
            "pull_request_target",
            "this is code of the fork mallory/tree",
        ),
        ("pull_request_target", "failure success success success"),
        ("pull_request", "success success success success"),
    ] {
        let options = ["--event", event, "--event-path", "event.json"];
        let (code, said) = stage.exec_with(&of_fork, &options);
        assert_eq!(code, Some(0), "{said}");
        in_order(&said, &[expected]);
    }
}
