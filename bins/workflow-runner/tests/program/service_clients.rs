//! The clients of npm for artifacts and caches, unmodified, in a job: they and the native actions
//! see the same things.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::path::Path;

use crate::stage::{Stage, copy_modules, in_order};

const CLIENT: &str = r#"
import fs from 'node:fs';
import * as core from '@actions/core';
import {DefaultArtifactClient} from '@actions/artifact';
import * as cache from '@actions/cache';
import {createRequire} from 'node:module';
const cacheOfV4 = createRequire(import.meta.url)('cache-4');
const artifacts = new DefaultArtifactClient();

const works = {
  async upload() {
    fs.mkdirSync('out/deep', {recursive: true});
    fs.writeFileSync('out/deep/a.txt', 'packed by the client\n');
    fs.writeFileSync('out/big.bin', Buffer.alloc(20 << 20, 7));
    const made = await artifacts.uploadArtifact('client', ['out/deep/a.txt', 'out/big.bin'], 'out');
    core.info(`uploaded ${made.id > 0} ${made.size > 0}`);
    await artifacts.uploadArtifact('gone', ['out/deep/a.txt'], 'out');
    await artifacts.deleteArtifact('gone');
    const again = await artifacts.uploadArtifact('client', ['out/deep/a.txt'], 'out').catch((e) => e.message);
    core.info(`again: ${again}`);
  },
  async download() {
    const {artifacts: all} = await artifacts.listArtifacts();
    core.info(`listed ${all.map((one) => one.name).sort().join()}`);
    for (const name of ['native', 'client']) {
      const {artifact} = await artifacts.getArtifact(name);
      const {downloadPath, digestMismatch} = await artifacts.downloadArtifact(artifact.id, {path: `got-${name}`, expectedHash: artifact.digest});
      core.info(`digest ${/^sha256:[0-9a-f]{64}$/.test(artifact.digest)} mismatch ${digestMismatch}`);
      core.info(`${name} in ${downloadPath}: ${fs.readdirSync(downloadPath).sort().join()}`);
    }
    core.info(`same ${fs.readFileSync('got-client/big.bin').equals(Buffer.alloc(20 << 20, 7))}`);
    core.info(fs.readFileSync('got-native/n.txt', 'utf8'));
  },
  async cache() {
    const client = core.getInput('client') === 'old' ? cacheOfV4 : cache;
    const [paths, key] = [['kept'], core.getInput('key')];
    const missed = await client.restoreCache([...paths], key);
    core.info(`before ${missed}`);
    fs.mkdirSync('kept', {recursive: true});
    fs.writeFileSync('kept/file', `of ${key}`);
    fs.writeFileSync('kept/big', Buffer.alloc(5 << 20, 1));
    core.info(`saved ${await client.saveCache([...paths], key) !== -1}`);
    fs.rmSync('kept', {recursive: true});
    core.info(`found ${await client.restoreCache([...paths], 'none', [key.slice(0, -1)])}`);
    core.info(fs.readFileSync('kept/file', 'utf8'));
    const other = await client.restoreCache(['other'], key);
    core.info(`other paths ${other}`);
  },
  async identity() {
    const token = await core.getIDToken('sts.example');
    const claims = JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));
    core.info(`sub ${claims.sub}`);
    core.info(`aud ${claims.aud}`);
    core.info(`file ${claims.job_workflow_ref}`);
  },
  async leak() {
    fs.writeFileSync('token', process.env.ACTIONS_RUNTIME_TOKEN);
    core.info(`token ${process.env.ACTIONS_RUNTIME_TOKEN}`);
    const {request} = await import('node:http');
    const ask = (token, path, body) => new Promise((done) => {
      const headers = {authorization: `Bearer ${token}`};
      const asked = request(`${process.env.ACTIONS_RESULTS_URL}${path}`, {method: 'POST', headers}, (answer) => {
        answer.resume();
        done(answer.statusCode);
      });
      asked.end(JSON.stringify(body));
    });
    const list = 'twirp/github.actions.results.api.v1.ArtifactService/ListArtifacts';
    core.info(`own ${await ask(process.env.ACTIONS_RUNTIME_TOKEN, list, {})}`);
    const of = {workflow_run_backend_id: 'another'};
    core.info(`another ${await ask(process.env.ACTIONS_RUNTIME_TOKEN, list, of)}`);
    core.info(`nobody ${await ask('x', list, {})}`);
    core.info(`runs ${await ask(process.env.ACTIONS_RUNTIME_TOKEN, 'runs/dispatch', {})}`);
    if (core.getInput('token') !== '') core.info(`former ${await ask(core.getInput('token'), list, {})}`);
  },
};
await works[core.getInput('do')]();
"#;

const ACTION: &str =
    "inputs: {do: {}, key: {}, client: {}, token: {}}\nruns: {using: node20, main: main.mjs}\n";

fn stage() -> Stage {
    let toolkit = std::env::var_os("ORRERY_ACTIONS_TOOLKIT").expect(
        "ORRERY_ACTIONS_TOOLKIT names the toolkit of npm: run the tests by `cargo xtask test`",
    );
    let stage = Stage::new();
    copy_modules(Path::new(&toolkit), &stage.path("upstream/node_modules"));
    stage.add(&[("action.yml", ACTION), ("main.mjs", CLIENT)]);
    stage
}

const ARTIFACTS: &str = r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - uses: acme/actions@v1
        with: {do: upload}
      - run: echo "runtime token [$ACTIONS_RUNTIME_TOKEN$ACTIONS_ID_TOKEN_REQUEST_TOKEN] proxy [$HTTP_PROXY$https_proxy]"; echo made by a step > n.txt
      - uses: actions/upload-artifact@v4
        with: {name: native, path: n.txt}
  b:
    runs-on: x
    needs: a
    steps:
      - uses: acme/actions@v1
        with: {do: download}
      - uses: actions/download-artifact@v4
        with: {name: client, path: by-native}
      - run: cat by-native/deep/a.txt; stat -c %s by-native/big.bin
"#;

#[test]
fn artifacts_of_the_client_and_of_native_actions_are_the_same() {
    let (code, said) = stage().exec(ARTIFACTS);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "[a] uploaded true true",
            "[a] again: Failed to CreateArtifact: Received non-retryable error: Failed request: (409)",
            "[a] runtime token [] proxy []",
            "[b] listed client,native",
            "[b] digest true mismatch false",
            "[b] native in ",
            ": n.txt",
            "[b] digest true mismatch false",
            "[b] client in ",
            ": big.bin,deep",
            "[b] same true",
            "[b] made by a step",
            "[b] packed by the client",
            "[b] 20971520",
        ],
    );
}

#[test]
fn caches_of_both_versions_of_the_service_are_saved_and_found() {
    let workflow = |server: &str, client: &str, key: &str| {
        format!(
            "
      - uses: acme/actions@v1
        env: {{GITHUB_SERVER_URL: '{server}'}}
        with: {{do: cache, client: {client}, key: {key}}}
"
        )
    };
    // A forge that is not GitHub gets the first version of the service.
    let steps = [
        workflow("https://github.com", "new", "key-new-2"),
        workflow("https://forge.example", "new", "key-new-1"),
        workflow("https://github.com", "old", "key-old-2"),
        workflow("https://forge.example", "old", "key-old-1"),
    ];
    let workflow = format!(
        "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n{}",
        steps.concat()
    );
    let (code, said) = stage().exec(&workflow);
    assert_eq!(code, Some(0), "{said}");
    for key in ["key-new-2", "key-new-1", "key-old-2", "key-old-1"] {
        let expected = [
            "[a] before undefined".to_owned(),
            "[a] saved true".to_owned(),
            format!("[a] found {key}"),
            format!("[a] of {key}"),
            "[a] other paths undefined".to_owned(),
        ];
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        in_order(&said, &expected);
    }
}

#[test]
fn the_token_is_masked_and_is_nothing_in_another_job() {
    let workflow = r#"
on: push
jobs:
  a:
    runs-on: x
    outputs: {token: "${{ steps.kept.outputs.token }}"}
    steps:
      - uses: acme/actions@v1
        with: {do: leak}
      - id: kept
        run: echo "token=$(base64 -w0 token | rev)" >> "$GITHUB_OUTPUT"
  b:
    runs-on: x
    needs: a
    steps:
      - id: former
        run: echo "token=$(echo "${{ needs.a.outputs.token }}" | rev | base64 -d)" >> "$GITHUB_OUTPUT"
      - uses: acme/actions@v1
        with: {do: leak, token: "${{ steps.former.outputs.token }}"}
"#;
    let (code, said) = stage().exec(workflow);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &[
            "[a] token ***",
            "[a] own 200",
            "[a] another 403",
            "[a] nobody 401",
            "[a] runs 404",
            "[b] own 200",
            "[b] former 401",
        ],
    );
}

#[test]
fn identity_tokens_are_had_by_the_toolkit_and_by_steps_of_jobs_that_may() {
    let workflow = r#"
on: push
jobs:
  a:
    runs-on: x
    permissions: {id-token: write}
    steps:
      - uses: acme/actions@v1
        with: {do: identity}
      - run: |
          curl -sS -H "Authorization: bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=by-hand" | cut -c -13
  b:
    runs-on: x
    needs: a
    steps:
      - uses: acme/actions@v1
        with: {do: identity}
"#;
    let (code, said) = stage().exec(workflow);
    assert_eq!(code, Some(1), "{said}");
    in_order(
        &said,
        &[
            "[a] sub repo:local/tree:ref:refs/heads/main",
            "[a] aud sts.example",
            "[a] file local/tree/.github/workflows/ci.yml@refs/heads/main",
            "[a] {\"value\":\"eyJ",
            "[b] ",
            "Unable to get ACTIONS_ID_TOKEN_REQUEST_URL env variable",
        ],
    );
}

#[test]
fn i17_exec_has_the_token_that_it_is_given_and_refuses_without() {
    let workflow = "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: echo \"$T\" | rev\n        env: {T: '${{ github.token }}'}\n";
    let stage = Stage::new();
    let (code, said) = stage.exec_with(workflow, &["--secret", "GITHUB_TOKEN=0123456789abc"]);
    assert_eq!(code, Some(0), "{said}");
    in_order(&said, &["[a] cba9876543210"]);
    let (code, said) = stage.exec(workflow);
    assert_eq!(code, Some(3), "{said}");
    in_order(
        &said,
        &["GITHUB_TOKEN is not supported", "--secret GITHUB_TOKEN"],
    );
}
