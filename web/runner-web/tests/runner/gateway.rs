//! The token of a job: the client of npm, unmodified, calls the forge through the gateway, and what
//! the job may not do is refused.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use runner_actors::RunnerSettings;
use scripted_peers::{Play, Pull, ScriptedForge};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Runner, Setup, Site, TOKEN};

const CLIENT: &str = r#"
import {getOctokit, context} from '@actions/github';
import {request} from 'node:http';
const octokit = getOctokit(process.env.TOKEN);
const {repo} = context;
const tried = async (name, work) => {
  const answer = await work().catch((error) => error);
  console.log(`${name}: ${answer.status ?? answer.response?.status ?? ''} ${answer.message ?? ''}`);
};
const issues = octokit.rest.issues;
await tried('issue', () => issues.get({...repo, issue_number: 7}));
await tried('comment', () => issues.createComment({...repo, issue_number: 7, body: 'by a job'}));
await tried('pull comment', () => issues.createComment({...repo, issue_number: 8, body: 'by a job'}));
await tried('pull', () => octokit.rest.pulls.get({...repo, pull_number: 8}));
await tried('other', () => issues.get({owner: 'acme', repo: 'secret', issue_number: 1}));
await tried('hooks', () => octokit.rest.repos.listWebhooks(repo));
await tried('user', () => octokit.rest.users.getAuthenticated());
await tried('graphql', () => octokit.graphql('query { repository(owner: "acme", name: "secret") { name } }'));
const raw = (path, headers = {}) => new Promise((done) => {
  const at = new URL(process.env.GITHUB_API_URL);
  const own = {authorization: `token ${process.env.TOKEN}`};
  const asked = request({host: at.hostname, port: at.port, path: at.pathname + path, headers: {...own, ...headers}}, (answer) => {
    answer.resume();
    done({status: answer.statusCode});
  });
  asked.end();
});
for (const path of [
  '/repos/acme/rocket/../secret/issues/1',
  '/repos/acme/rocket/%2e%2e/secret/issues/1',
  '/repos/acme/rocket/contents/..%2f..%2fsecret',
  '/repos/acme/rocket//../secret/issues/1',
  '//repos/acme/secret/issues/1',
  '/repos/acme/rocket/issues/7?sudo=root',
  '/repos/acme/rocket/issues/7?access%5Ftoken=x',
]) await tried(`raw ${path}`, () => raw(path));
await tried('plain', () => raw('/repos/acme/rocket/issues/7'));
await tried('nobody', () => raw('/repos/acme/rocket/issues/7', {authorization: 'token guessed'}));
await tried('none', () => raw('/repos/acme/rocket/issues/7', {authorization: ''}));
console.log(`token ${process.env.TOKEN}`);
"#;

/// A folder in which the client finds its packages.
fn client(text: &str) -> (TempDir, PathBuf) {
    let toolkit = std::env::var_os("ORRERY_ACTIONS_TOOLKIT").expect(
        "ORRERY_ACTIONS_TOOLKIT names the toolkit of npm: run the tests by `cargo xtask test`",
    );
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(toolkit, folder.path().join("node_modules")).unwrap();
    let script = folder.path().join("main.mjs");
    std::fs::write(&script, text).unwrap();
    (folder, script)
}

/// Runs the client as a machine would, with the step's variables; the services are elsewhere.
fn run(script: &Path, services: SocketAddr, env: &[(String, String)]) -> String {
    let mut node = Command::new("node");
    node.arg(script).env_clear();
    node.env("PATH", std::env::var_os("PATH").unwrap());
    for (name, value) in env {
        let here = value.replace("http://127.0.0.1:3128", &format!("http://{services}"));
        if name.starts_with("GITHUB_") || name == "TOKEN" || name == "OTHER" {
            node.env(name, here);
        }
    }
    let output = node
        .output()
        .expect("node is installed (Debian package nodejs)");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

pub(crate) struct Stage {
    pub(crate) site: Site,
    pub(crate) runner: Runner,
    services: SocketAddr,
    script: PathBuf,
    _client: TempDir,
}

fn stage(change: fn(&mut RunnerSettings)) -> Stage {
    stage_of(CLIENT, change)
}

/// The same with another program for the client.
pub(crate) fn stage_of(program: &str, change: fn(&mut RunnerSettings)) -> Stage {
    let (client, script) = client(program);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let services = listener.local_addr().unwrap();
    let asked = Arc::new(script.clone());
    let site = Site::playing(move |command| {
        if !command.script.contains("call the forge") {
            return Play::exit(0);
        }
        let env: Vec<(String, String)> = command.env.clone().into_iter().collect();
        Play::exit(0).out(run(&asked, services, &env))
    });
    site.forge.add_repo("acme/secret");
    site.forge.add_issue("acme/rocket", 7, "an issue");
    site.forge.add_issue("acme/secret", 1, "a secret");
    let runner = site.start_with(Setup {
        services: Some(listener),
        change,
        ..Setup::default()
    });
    Stage {
        site,
        runner,
        services,
        script,
        _client: client,
    }
}

pub(crate) fn workflow(permissions: &str) -> String {
    format!(
        "name: CI\non: [push, pull_request]\n{permissions}\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: call the forge\n        env: {{TOKEN: '${{{{ github.token }}}}', SAME: '${{{{ secrets.GITHUB_TOKEN }}}}'}}\n"
    )
}

fn add_pull(forge: &ScriptedForge, sha: &str) {
    forge.add_pull("acme/rocket", Pull::new(8, "ada", sha, sha));
}

/// The lines of a run's output.
pub(crate) fn lines(runner: &Runner, run: &str) -> Vec<String> {
    let log = runner.log(run);
    let lines = log.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        Some(line["text"].as_str()?.to_owned())
    });
    lines.collect()
}

pub(crate) fn has(lines: &[String], start: &str) {
    let found = lines.iter().any(|line| line.starts_with(start));
    assert!(found, "{start:?} in {lines:#?}");
}

/// What never works, whatever the job may.
fn is_closed(lines: &[String]) {
    for line in [
        "other: 403 the token is of acme/rocket, not of `acme/secret`",
        "hooks: 403 ",
        "user: 403 the token is of acme/rocket only",
        "graphql:  Request failed due to following response errors:",
        "raw /repos/acme/rocket/../secret/issues/1: 403",
        "raw /repos/acme/rocket/%2e%2e/secret/issues/1: 403",
        "raw /repos/acme/rocket/contents/..%2f..%2fsecret: 403",
        "raw /repos/acme/rocket//../secret/issues/1: 403",
        "raw //repos/acme/secret/issues/1: 40",
        "raw /repos/acme/rocket/issues/7?sudo=root: 403",
        "raw /repos/acme/rocket/issues/7?access%5Ftoken=x: 403",
        "nobody: 401",
        "none: 401",
        "token ***",
    ] {
        has(lines, line);
    }
}

#[test]
fn i17_the_client_of_npm_calls_the_forge_with_what_the_job_may() {
    let stage = stage(|_| {});
    let Stage { site, runner, .. } = &stage;
    let sha = site.commit(&workflow(
        "permissions: {issues: write, pull-requests: read}",
    ));
    add_pull(&site.forge, &sha);
    let run_id = runner.run("push", "d-1", &site.push(&sha));
    let record = runner.ended(&run_id);
    assert_eq!(
        record["state"],
        "succeeded",
        "{record:#} {}",
        runner.log(&run_id)
    );
    let said = lines(runner, &run_id);
    for line in [
        "issue: 200",
        "comment: 201",
        "pull comment: 201",
        "pull: 200",
        "plain: 200",
    ] {
        has(&said, line);
    }
    is_closed(&said);
    let comments = site.forge.comments("acme/rocket", 7);
    assert_eq!(comments.len(), 1);
    assert_eq!(
        comments[0].author, "runner",
        "the runner's own token was used"
    );
    let command = site.vmm.commands().pop().unwrap();
    assert_eq!(command.env["TOKEN"], command.env["SAME"]);
    assert_eq!(
        command.env["GITHUB_API_URL"],
        "http://127.0.0.1:3128/api/v1"
    );
    assert_ne!(command.env["TOKEN"], TOKEN);
    assert!(
        !site
            .vmm
            .everything()
            .windows(TOKEN.len())
            .any(|part| part == TOKEN.as_bytes())
    );
    let secret = site
        .forge
        .requests()
        .into_iter()
        .any(|asked| asked.path.contains("secret"));
    assert!(!secret, "nothing of another repository was asked for");
    // The job has ended, and its token with it.
    let env: Vec<(String, String)> = command.env.into_iter().collect();
    let after = run(&stage.script, stage.services, &env);
    let after: Vec<String> = after.lines().map(str::to_owned).collect();
    has(&after, "issue: 401");
    has(&after, "plain: 401");
}

#[test]
fn i17_permissions_are_what_the_file_says_and_no_more() {
    let stage = stage(|_| {});
    let Stage { site, runner, .. } = &stage;
    for (at, (permissions, expected)) in [
        (
            "",
            [
                "issue: 403",
                "comment: 403",
                "pull comment: 403",
                "pull: 403",
            ],
        ),
        (
            "permissions: {}",
            [
                "issue: 403",
                "comment: 403",
                "pull comment: 403",
                "pull: 403",
            ],
        ),
        (
            "permissions: read-all",
            [
                "issue: 200",
                "comment: 403",
                "pull comment: 403",
                "pull: 200",
            ],
        ),
        (
            "permissions: write-all",
            [
                "issue: 200",
                "comment: 201",
                "pull comment: 201",
                "pull: 200",
            ],
        ),
        // An issue is none of the pull requests that it may change.
        (
            "permissions: {pull-requests: write}",
            [
                "issue: 403",
                "comment: 403",
                "pull comment: 201",
                "pull: 200",
            ],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let sha = site.commit(&workflow(permissions));
        add_pull(&site.forge, &sha);
        let run = runner.run("push", &format!("d-{at}"), &site.push(&sha));
        runner.ended(&run);
        let said = lines(runner, &run);
        for line in expected {
            has(&said, line);
        }
        is_closed(&said);
    }
    let refused = "comment: 403 Resource not accessible by integration";
    let run = runner.run(
        "push",
        "d-last",
        &site.push(&site.commit(&workflow("permissions: {issues: read}"))),
    );
    runner.ended(&run);
    let said = lines(runner, &run);
    has(&said, refused);
    assert!(
        said.iter().any(|line| line.contains("`issues: write`")),
        "{said:#?}"
    );
}

#[test]
fn i17_a_pull_request_from_a_fork_changes_nothing() {
    let stage = stage(|_| {});
    let Stage { site, runner, .. } = &stage;
    let base = site.commit(&workflow("permissions: write-all"));
    site.write("README", "a stranger's\n");
    let head = site.commit_all();
    add_pull(&site.forge, &head);
    let run = runner.run("pull_request", "d-1", &site.fork(&head, &base));
    let record = runner.ended(&run);
    assert_eq!(record["state"], "succeeded", "{record:#}");
    let said = lines(runner, &run);
    for line in [
        "issue: 200",
        "comment: 403",
        "pull comment: 403",
        "pull: 200",
    ] {
        has(&said, line);
    }
    is_closed(&said);
    assert!(site.forge.comments("acme/rocket", 7).is_empty());
}

#[test]
fn i17_a_token_that_a_caller_hands_on_is_the_called_job_s_own() {
    let stage = stage(|_| {});
    let Stage { site, runner, .. } = &stage;
    site.git_init();
    site.write(
        ".github/workflows/called.yml",
        "on: {workflow_call: {secrets: {handed: {}}}}\njobs: {in: {runs-on: x, steps: [{run: look, env: {TOKEN: '${{ github.token }}', HANDED: '${{ secrets.handed }}'}}]}}\n",
    );
    let sha = site.commit("name: CI\non: push\njobs:\n  a:\n    uses: ./.github/workflows/called.yml\n    secrets: {handed: '${{ secrets.GITHUB_TOKEN }}'}\n");
    let run = runner.run("push", "d-1", &site.push(&sha));
    let record = runner.ended(&run);
    assert_eq!(record["state"], "succeeded", "{record:#}");
    let command = site.vmm.commands().pop().unwrap();
    assert!(command.env["TOKEN"].len() > 20, "{:?}", command.env);
    assert_eq!(command.env["TOKEN"], command.env["HANDED"]);
}

#[test]
fn i17_without_a_gateway_a_job_that_asks_for_the_token_is_refused() {
    let stage = stage(|settings| settings.services = None);
    let Stage { site, runner, .. } = &stage;
    let sha = site.commit(&workflow(""));
    let run = runner.run("push", "d-1", &site.push(&sha));
    let record = runner.ended(&run);
    assert_eq!(record["state"], "refused", "{record:#}");
    let reason = record["reason"].as_str().unwrap();
    assert!(
        reason.contains("gives jobs no token of the forge"),
        "{reason}"
    );
    assert_eq!(site.vmm.ordered(), 0);
}
