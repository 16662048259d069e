//! i17: caches and artifacts of the runner's own actions hold and find what those of the originals
//! do; by `workflow-runner exec` in a real namespace sandbox.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::stage::{Stage, in_order};

#[test]
fn i17_a_cache_holds_what_tar_would_hold() {
    let stage = Stage::new();
    let (code, said) = stage.exec(
        r##"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - run: |
          mkdir -p kept/empty kept/real kept/tight; echo one > kept/real/one; chmod 700 kept/tight
          ln -s real kept/folder; ln -s nowhere kept/broken; echo su > kept/su; chmod 4755 kept/su
          python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('kept/socket')"
      - {uses: actions/cache/save@v5, with: {key: k-1, path: "# ours\nkept"}}
      - {id: none, uses: actions/cache/save@v5, with: {key: k-2, path: absent}}
      - run: echo "none ${{ steps.none.outcome }}"
  b:
    needs: a
    runs-on: x
    steps:
      - {id: other, uses: actions/cache@v5, with: {key: k-1, path: elsewhere}}
      - {id: begin, uses: actions/cache/restore@v5, with: {key: k-, path: "# ours\nkept"}}
      - run: |
          echo "other<${{ steps.other.outputs.cache-hit }}> begin<${{ steps.begin.outputs.cache-hit }}> ${{ steps.begin.outputs.cache-matched-key }}"
          cat kept/folder/one; readlink kept/folder kept/broken; ls -d kept/empty; stat -c %a kept/tight kept/su; ls kept/socket || echo no socket
          mkdir elsewhere; echo own > elsewhere/own
  c:
    needs: b
    runs-on: x
    steps:
      - {id: own, uses: actions/cache@v5, with: {key: k-1, path: elsewhere}}
      - run: echo "own<${{ steps.own.outputs.cache-hit }}> $(cat elsewhere/own) $(ls kept || echo apart)"
"##,
    );
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "kept/socket is left out: a device, a pipe or a socket",
            "none success",
            "other<> begin<false> k-1",
            "] one\n",
            "] real\n",
            "] nowhere\n",
            "kept/empty",
            "] 700\n",
            "] 755\n",
            "no socket",
            "own<true> own apart",
        ],
    );
}

#[test]
fn i17_an_artifact_hides_what_is_hidden_from_where_it_begins() {
    let stage = Stage::new();
    let (code, said) = stage.exec(
        r##"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - run: |
          mkdir -p .build/release out/.inner; echo app > .build/release/app
          echo shown > out/shown; echo not > out/.hidden; echo not > out/.inner/deep
      - {uses: actions/upload-artifact@v7, with: {name: app, path: .build/release/app}}
      - {uses: actions/upload-artifact@v7, with: {name: folder, path: .build/release}}
      - {uses: actions/upload-artifact@v7, with: {name: out, path: "# built\nout"}}
      - {uses: actions/upload-artifact@v7, with: {name: all-of-out, path: out, include-hidden-files: true}}
      - {uses: actions/upload-artifact@v7, with: {name: build, path: .build}}
      - {uses: actions/upload-artifact@v7, with: {name: cov-1, path: out}}
      - {uses: actions/upload-artifact@v7, with: {name: cov-2, path: out}}
      - {uses: actions/download-artifact@v8, with: {pattern: "{app,folder,out,all-of-out}", path: got}}
      - {uses: actions/download-artifact@v8, with: {pattern: "cov-?", path: cov}}
      - {uses: actions/download-artifact@v8, with: {pattern: "!*o*", path: rest}}
      - run: find got -type f | sort; ls cov; ls -a rest
"##,
    );
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "warning: no files were found for .build",
            "] got/all-of-out/.hidden\n",
            "] got/all-of-out/.inner/deep\n",
            "] got/all-of-out/shown\n",
            "] got/app/app\n",
            "] got/folder/app\n",
            "] got/out/shown\n",
            "] cov-1\n",
            "] cov-2\n",
            "] app\n",
        ],
    );
}

#[test]
fn i17_native_caches_keep_to_the_cache_mode() {
    let stage = Stage::new();
    let step = "{uses: actions/cache@v5, id: c, with: {key: k, path: kept}}";
    let text = format!(
        r##"
on: push
cache-mode: none
jobs:
  nothing:
    runs-on: x
    steps: [{{run: mkdir kept; touch kept/nothing}}, {step}]
  save:
    needs: nothing
    cache-mode: write-only
    runs-on: x
    steps: [{{run: mkdir kept; touch kept/saved}}, {step}]
  again:
    needs: save
    cache-mode: write-only
    runs-on: x
    steps: [{step}, {{run: 'echo "again<${{{{ steps.c.outputs.cache-hit }}}}> $(ls kept || true)"'}}]
  read:
    needs: save
    cache-mode: read
    runs-on: x
    steps: [{step}, {{run: 'echo "read<${{{{ steps.c.outputs.cache-hit }}}}> $(ls kept)"'}}, {{uses: actions/cache/save@v5, with: {{key: new, path: kept}}}}]
"##
    );
    let (code, said) = stage.exec(&text);
    assert_eq!(code, Some(0), "{said}");
    for line in [
        "no cache is restored: the cache-mode is none",
        "the cache k is not saved: the cache-mode is none",
        "again<>",
        "read<true> saved",
        "the cache new is not saved: the cache-mode is read",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn i17_artifacts_have_numbers_digests_and_single_files() {
    let stage = Stage::new();
    let (code, said) = stage.exec(
        r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - run: mkdir out; echo one > out/one.txt; echo two > out/two.txt
      - {id: folder, uses: actions/upload-artifact@v7, with: {name: folder, path: out}}
      - {id: single, uses: actions/upload-artifact@v7, with: {name: other, path: out/one.txt, archive: false}}
      - {id: many, continue-on-error: true, uses: actions/upload-artifact@v7, with: {path: out, archive: false}}
      - run: |
          echo '${{ steps.folder.outputs.artifact-digest }} x' | grep -cE '^[0-9a-f]{64} x$'
          echo '${{ steps.folder.outputs.artifact-id }}' | grep -cE '^[0-9]+$'
      - uses: actions/download-artifact@v5
        with: {artifact-ids: "${{ steps.single.outputs.artifact-id }}", path: by-number}
      - uses: actions/download-artifact@v5
        with: {artifact-ids: "${{ steps.single.outputs.artifact-id }}, ${{ steps.folder.outputs.artifact-id }}", path: both}
      - uses: actions/download-artifact@v8
        with: {path: packed, skip-decompress: true}
      - run: find by-number both packed -type f | sort; python3 -m zipfile -l packed/folder/folder.zip | cut -d' ' -f1
      - continue-on-error: true
        uses: actions/download-artifact@v5
        with: {artifact-ids: "12"}
      - continue-on-error: true
        uses: actions/download-artifact@v5
        with: {artifact-ids: "12", name: folder}
"#,
    );
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "artifact folder:",
            "artifact one.txt:",
            "2 files were found for out; with `archive: false` an artifact is one file",
            "] 1\n",
            "] 1\n",
            "both/folder/one.txt",
            "both/folder/two.txt",
            "both/one.txt/one.txt",
            "by-number/one.txt",
            "packed/folder/folder.zip",
            "packed/one.txt/one.txt",
            "one.txt",
            "two.txt",
            "the run has no artifact with the number 12",
            "`name` and `artifact-ids` cannot be given both",
        ],
    );
}

#[test]
fn i17_artifacts_are_taken_and_laid_as_the_releases_of_the_actions_do() {
    let stage = Stage::new();
    let (code, said) = stage.exec(
        r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - run: |
          mkdir -p out/deep elsewhere; echo one > out/one.txt; echo far > elsewhere/far.txt
          ln -s one.txt out/link.txt; ln -s nowhere out/broken; ln -s ../elsewhere out/folder; ln -s .. out/deep/up
      - {id: only, uses: actions/upload-artifact@v7, with: {name: only, path: out, retention-days: 3}}
      - {uses: actions/download-artifact@v4, with: {path: four}}
      - {uses: actions/download-artifact@v5, with: {path: five}}
      - {id: home, uses: actions/download-artifact@v8, with: {name: only, path: ~/six}}
      - run: |
          find four five -type f | sort; find four five -type l | wc -l; cat five/link.txt five/folder/far.txt
          ls ~/six; echo '${{ steps.home.outputs.download-path }}'
      - {uses: actions/download-artifact@v8, with: {artifact-ids: "${{ steps.only.outputs.artifact-id }}, 12", path: some}}
      - run: ls some
      - {continue-on-error: true, uses: actions/upload-artifact@v7, with: {path: out, retention-days: soon}}
      - {continue-on-error: true, uses: actions/upload-artifact@v7, with: {path: none, if-no-files-found: fail}}
      - {continue-on-error: true, uses: actions/download-artifact@v8, with: {name: only, digest-mismatch: maybe}}
      - {id: miss, uses: actions/cache@v5, with: {key: one, path: out}}
      - run: echo "hit<${{ steps.miss.outputs.cache-hit }}>"
  b:
    needs: a
    runs-on: x
    steps:
      - {id: hit, uses: actions/cache@v5, with: {key: one, path: out}}
      - {id: other, uses: actions/cache@v5, with: {key: one-more, restore-keys: one, path: out}}
      - run: echo "hit<${{ steps.hit.outputs.cache-hit }}> <${{ steps.other.outputs.cache-hit }}>"
"#,
    );
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "five/folder/far.txt",
            "five/link.txt",
            "five/one.txt",
            "four/only/folder/far.txt",
            "four/only/link.txt",
            "four/only/one.txt",
            "] 0\n",
            "] one\n",
            "] far\n",
            "one.txt",
            "/six",
            "the run has no artifact with the number 12",
            "link.txt",
            "`retention-days` is `soon`",
            "`if-no-files-found` is `fail`",
            "`digest-mismatch` is `maybe`",
            "hit<>",
            "hit<true> <false>",
        ],
    );
}

#[test]
fn i17_what_native_actions_say_is_masked_and_switches_of_debugging_are_not() {
    let stage = Stage::new();
    let (code, said) = stage.exec_with(
        r##"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - run: mkdir out; echo one > out/one
      - {uses: actions/cache@v4, with: {key: "linux-${{ secrets.KEY }}-x", path: out}}
      - {uses: actions/upload-artifact@v4, with: {name: "art-${{ secrets.KEY }}", path: out}}
      - {uses: actions/download-artifact@v4, with: {name: "art-${{ secrets.KEY }}", path: got}}
      - run: |
          echo "always-true-text"
          echo "::add-mask::  "
          printf '{\n    "a": 1 }\n'
      - {id: q, run: "printf 'dup=2\\nDup=3\\n' >> $GITHUB_OUTPUT"}
      - run: echo dup-${{ steps.q.outputs.dup }}-${{ steps.q.outputs.DUP }}
  b:
    needs: a
    runs-on: x
    steps:
      - {uses: actions/cache@v4, with: {key: "linux-${{ secrets.KEY }}-x", path: out}}
"##,
        &[
            "--secret",
            "KEY=hunter2-hunter2",
            "--secret",
            "ACTIONS_STEP_DEBUG=true",
        ],
    );
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
    in_order(
        &said,
        &[
            "there is no cache for linux-***-x",
            "artifact art-***: ",
            "artifact art-*** is in ",
            "always-true-text",
            "masks nothing",
            "    \"a\": 1 }",
            "dup-3-3",
            "cache linux-***-x: ",
            "cache linux-***-x is restored",
        ],
    );
}

#[test]
fn i17_a_folder_and_the_workspace_are_hashed_however_they_are_written() {
    let stage = Stage::new();
    let (code, said) = stage.exec(
        r##"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - run: mkdir -p src linked; echo a > src/a; echo b > b; echo c > linked/c; ln -s linked l
      - run: |
          echo "all ${{ hashFiles('.') != '' }} ${{ hashFiles('.') == hashFiles('./') }} ${{ hashFiles('.') == hashFiles(github.workspace) }} ${{ hashFiles('.') == hashFiles('**') }}"
          echo "src ${{ hashFiles('src') != '' }} ${{ hashFiles('src') == hashFiles('./src/.') }}"
          echo "link <${{ hashFiles('l/*') }}> ${{ hashFiles('--follow-symbolic-links', 'l/*') == hashFiles('linked/*') }}"
      - {run: "echo ${{ hashFiles('--other', 'b') }}"}
"##,
    );
    assert_eq!(code, Some(1), "{said}");
    in_order(
        &said,
        &[
            "all true true true true",
            "src true true",
            "link <> true",
            "--other is no option",
        ],
    );
}
