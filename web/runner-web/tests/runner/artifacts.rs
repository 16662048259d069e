//! Artifacts of other runs: by `actions/download-artifact`, and by the client of npm, unmodified,
//! with the REST API that it uses for them.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;

use runner_core::context::run_number_id;
use scripted_peers::Play;
use serde_json::Value;

use crate::harness::{Runner, Setup, Site};

/// Only where the services are is changed: in a machine they are at port 3128.
const CLIENT: &str = r#"
import http from 'node:http';
import fs from 'node:fs';
import {syncBuiltinESMExports} from 'node:module';
const {request} = http;
const services = new URL(process.env.GITHUB_API_URL);
http.request = (options, ...rest) => {
  if (Number(options.port) === 3128) options.port = services.port;
  return request(options, ...rest);
};
syncBuiltinESMExports();
const {DefaultArtifactClient} = await import('@actions/artifact');
const client = new DefaultArtifactClient();
const [repositoryOwner, repositoryName] = process.env.GITHUB_REPOSITORY.split('/');
const findBy = {token: process.env.TOKEN, workflowRunId: Number(process.env.RUN), repositoryOwner, repositoryName};
const tried = async (name, work) => {
  const answer = await work().catch((error) => `${error.status ?? ''} ${error.message}`);
  console.log(`${name}: ${answer}`);
};
await tried('list', async () => {
  const {artifacts} = await client.listArtifacts({findBy});
  return artifacts.map((one) => `${one.name} ${one.size}`).join();
});
await tried('get', async () => {
  const {artifact} = await client.getArtifact('built', {findBy});
  const {downloadPath} = await client.downloadArtifact(artifact.id, {path: process.env.OUT, findBy});
  return fs.readFileSync(`${downloadPath}/thing.txt`, 'utf8').trim();
});
await tried('absent', () => client.getArtifact('absent', {findBy}));
const rest = async (path) => {
  const headers = {authorization: `token ${process.env.TOKEN}`};
  const answer = await fetch(`${process.env.GITHUB_API_URL}/repos/${process.env.GITHUB_REPOSITORY}/actions/${path}`, {headers});
  return answer.json();
};
await tried('all', async () => {
  const all = await rest('artifacts?name=built');
  const one = await rest(`artifacts/${all.artifacts[0].id}`);
  const none = await rest('artifacts?name=none');
  return [all.total_count, all.artifacts[0].workflow_run.id === Number(process.env.RUN), one.name, none.total_count];
});
await tried('delete', () => client.deleteArtifact('built', {findBy}).then(({id}) => id > 0));
"#;

/// Runs the client as a machine would, with the step's variables.
fn run(folder: &Path, services: SocketAddr, env: &[(String, String)]) -> String {
    let toolkit = std::env::var_os("ORRERY_ACTIONS_TOOLKIT").expect(
        "ORRERY_ACTIONS_TOOLKIT names the toolkit of npm: run the tests by `cargo xtask test`",
    );
    let modules = folder.join("node_modules");
    if !modules.exists() {
        std::os::unix::fs::symlink(toolkit, modules).unwrap();
    }
    std::fs::write(folder.join("main.mjs"), CLIENT).unwrap();
    let mut node = Command::new("node");
    node.arg(folder.join("main.mjs")).env_clear();
    node.env("PATH", std::env::var_os("PATH").unwrap());
    for (name, value) in env {
        let here = value.replace("http://127.0.0.1:3128", &format!("http://{services}"));
        if name.starts_with("GITHUB_") || ["TOKEN", "RUN"].contains(&name.as_str()) {
            node.env(name, here);
        }
    }
    // The client refuses to work for any other server.
    node.env("GITHUB_SERVER_URL", "https://github.com");
    node.env("OUT", folder.join("out"));
    let output = node
        .output()
        .expect("node is installed (Debian package nodejs)");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Stores an artifact of a run that has ended.
fn store_artifact(site: &Site, run: &str) {
    let hashed = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();
    let folder = site.folder.path().join("runs/artifacts").join(hashed(run));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("thing.txt"), "made by another run\n").unwrap();
    let tar = folder.join(hashed("built")).with_extension("tar");
    let mut pack = Command::new("tar");
    pack.arg("-cf").arg(&tar).arg("-C").arg(&folder);
    assert!(pack.arg("thing.txt").status().unwrap().success());
    std::fs::remove_file(folder.join("thing.txt")).unwrap();
    let bytes = std::fs::metadata(&tar).unwrap().len();
    let described = format!(r#"{{"name":"built","bytes":{bytes},"at":1}}"#);
    std::fs::write(tar.with_extension("json"), described).unwrap();
}

fn lines(runner: &Runner, run: &str) -> Vec<String> {
    let log = runner.log(run);
    let lines = log.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        Some(line["text"].as_str()?.to_owned())
    });
    lines.collect()
}

fn has(lines: &[String], part: &str) {
    let found = lines.iter().any(|line| line.contains(part));
    assert!(found, "{part:?} in {lines:#?}");
}

fn workflow(permissions: &str, number: &str) -> String {
    let download = |with: &str| {
        format!(
            "      - uses: actions/download-artifact@v4\n        continue-on-error: true\n        with: {{name: built, path: got, {with}}}\n"
        )
    };
    let own = "${{ github.token }}";
    let steps = [
        download(&format!("run-id: '{number}', github-token: '{own}'")),
        download(&format!("run-id: '{number}'")),
        download(&format!("run-id: '17', github-token: '{own}'")),
        download(&format!(
            "run-id: '{number}', repository: acme/secret, github-token: '{own}'"
        )),
        download(&format!(
            "run-id: '{number}', repository: acme/secret, github-token: wrong"
        )),
        download(&format!(
            "run-id: '{number}', repository: acme/secret, github-token: pat-of-ada"
        )),
    ];
    format!(
        "name: CI\non: push\npermissions: {permissions}\njobs:\n  a:\n    runs-on: x\n    steps:\n{}      - run: ask the client\n        env: {{TOKEN: '{own}', RUN: '{number}'}}\n",
        steps.concat()
    )
}

#[test]
fn i17_artifacts_of_other_runs_are_read_with_a_token_that_may() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let services = listener.local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let client = folder.path().to_owned();
    let site = Site::playing(move |command| {
        if !command.script.contains("ask the client") {
            return Play::exit(0);
        }
        let env: Vec<(String, String)> = command.env.clone().into_iter().collect();
        Play::exit(0).out(run(&client, services, &env))
    });
    site.forge.add_repo("acme/secret");
    site.forge.add_user("runner", crate::harness::TOKEN);
    site.forge.add_user("ada", "pat-of-ada");
    let runner = site.start_with(Setup {
        services: Some(listener),
        ..Setup::default()
    });
    let start = |delivery: &str, workflow: &str| {
        let run = runner.run("push", delivery, &site.push(&site.commit(workflow)));
        let record = runner.ended(&run);
        assert_eq!(
            record["state"],
            "succeeded",
            "{record:#} {}",
            runner.log(&run)
        );
        run
    };
    let first = start(
        "d-1",
        "on: push\njobs: {a: {runs-on: x, steps: [{run: make it}]}}\n",
    );
    store_artifact(&site, &first);
    let number = run_number_id(&first);

    let second = start("d-2", &workflow("{contents: read}", &number));
    let said = lines(&runner, &second);
    for line in [
        "the job's `permissions` lack `actions: read`",
        "are read with a `github-token` only",
        "the token of the job is of acme/rocket only: artifacts of `acme/secret`",
        "the `github-token` does not read acme/secret",
        "acme/secret has no run",
        "list: 403 Resource not accessible by integration",
    ] {
        has(&said, line);
    }
    let content = b"made by another run";
    let arrived = || {
        site.vmm
            .everything()
            .windows(content.len())
            .any(|part| part == content)
    };
    assert!(!arrived(), "nothing of it was given");

    let third = start("d-3", &workflow("{actions: write}", &number));
    let said = lines(&runner, &third);
    for line in [
        "artifact built is in /workspace/got",
        "acme/rocket has no run `17` here",
        "list: built 10240",
        "get: made by another run",
        "absent:  Artifact not found for name: absent",
        "all: 1,true,built,0",
        "delete: true",
    ] {
        has(&said, line);
    }
    assert!(arrived(), "the native action put it into the machine");
    let left = runner.get(&format!("/runs/{first}/artifacts")).json();
    assert_eq!(left, serde_json::json!([]));
}
