//! Environments and pull requests from forks: who has what, who waits for whom, and that a restart
//! changes nothing of it.

use std::path::Path;

use config_core::Environment;
use runner_actors::{EnvironmentSettings, RunnerSettings, ScopeSettings};
use runner_core::protection::ForkApproval;
use runner_web::config::{RunnerConfig, RunnerFlags};
use scripted_peers::Play;
use serde_json::{Value, json};

use crate::client::Answer;
use crate::harness::{Runner, SECRET, Setup, Site, status, within};

const API_TOKEN: &str = "an-api-token-0123456789";
const BEARER: &str = "Bearer an-api-token-0123456789";
const DEPLOY: &str = "name: Ship
on: [push, pull_request]
env: {WIDE: '${{ vars.WIDE }}'}
jobs:
  build:
    runs-on: x
    steps:
      - run: make build
        env: {KEY: '[${{ secrets.DEPLOY_KEY }}]', VAR: '[${{ vars.WHERE }}]'}
  ship:
    needs: build
    runs-on: x
    environment: {name: '${{ github.ref_name }}-stage', url: 'https://ship.example/${{ steps.s.outputs.at }}'}
    steps:
      - id: s
        run: make ship
        env: {KEY: '[${{ secrets.DEPLOY_KEY }}]', VAR: '[${{ vars.WHERE }}]', OWN: '[${{ secrets.OWN }}]'}
";

/// What a configuration file says of repositories.
fn scopes(text: &str) -> ScopeSettings {
    let pairs = [("FORGE_WEBHOOK_SECRET", SECRET)];
    let pairs = pairs.map(|(name, value)| (name.into(), value.into()));
    let file = ("runner.toml", text.as_bytes(), Path::new("/"));
    let config = RunnerConfig::parse(
        Some(file),
        &RunnerFlags::default(),
        &Environment::from_os(pairs),
    );
    config.unwrap().runner.scopes
}

const SCOPES: &str = "fork_approval = \"never\"
[owner.acme]
vars.WHERE = \"owner\"
vars.WIDE = \"wide\"
secrets.OWN = \"own-of-the-owner\"
[repository.\"Acme/Rocket\"]
vars.WHERE = \"repository\"
secrets.DEPLOY_KEY = \"key-of-the-repository\"
[repository.\"Acme/Rocket\".environment.MAIN-stage]
approval = true
branches = [\"main\"]
vars.WHERE = \"environment\"
secrets.DEPLOY_KEY = \"key-of-the-environment\"
";

fn protected(settings: &mut RunnerSettings) {
    settings.scopes = scopes(SCOPES);
}

fn start(site: &Site, change: fn(&mut RunnerSettings)) -> Runner {
    site.start_with(Setup {
        change,
        token: Some(API_TOKEN),
        ..Setup::default()
    })
}

trait Operator {
    fn say(&self, run: &str, what: &str, body: &str) -> Answer;
    fn shown(&self, run: &str) -> Value;
    fn waits(&self, run: &str, why: &str) -> Value;
    fn finished(&self, run: &str, state: &str) -> Value;
}

impl Operator for Runner {
    fn say(&self, run: &str, what: &str, body: &str) -> Answer {
        let path = format!("/runs/{run}/{what}");
        let headers = [
            ("Authorization", BEARER),
            ("Content-Type", "application/json"),
        ];
        self.ask("POST", &path, &headers, body.as_bytes())
    }

    fn shown(&self, run: &str) -> Value {
        let headers = [("Authorization", BEARER)];
        let answer = self.ask("GET", &format!("/runs/{run}"), &headers, b"");
        assert_eq!(answer.code, 200, "{answer:?}");
        answer.json()
    }

    fn waits(&self, run: &str, why: &str) -> Value {
        let mut record = Value::Null;
        let waits = within(|| {
            record = self.shown(run);
            record["state"] == "waiting"
        });
        assert!(waits, "it does not wait: {record:#}");
        let reason = record["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(why), "{why} in {record:#}");
        record
    }

    fn finished(&self, run: &str, state: &str) -> Value {
        let mut record = Value::Null;
        let ended = within(|| {
            record = self.shown(run);
            record.get("ended_at").is_some()
        });
        assert!(ended, "it does not end: {record:#}");
        assert_eq!(record["state"], state, "{record:#}");
        record
    }
}

/// The variable of the step with this script.
fn value(site: &Site, script: &str, name: &str) -> Option<String> {
    let commands = site.vmm.commands();
    let mut commands = commands.iter().rev();
    let command = commands.find(|command| command.script.contains(script))?;
    command.env.get(name).cloned()
}

fn shipping() -> Site {
    Site::playing(|command| {
        if command.script.contains("make ship") {
            Play::exit(0)
                .file("output", "at=v7\n")
                .out("key key-of-the-environment\n")
        } else {
            Play::exit(0)
        }
    })
}

#[test]
fn i17_a_job_waits_for_its_environment_over_a_restart_and_alone_has_its_secrets() {
    let site = shipping();
    let runner = start(&site, protected);
    let sha = site.commit(DEPLOY);
    let run = runner.run("push", "d-1", &site.push(&sha));
    let record = runner.waits(&run, "waits for an approval of the environment main-stage");
    assert_eq!(record["jobs"][0]["conclusion"], "success", "{record:#}");
    assert!(record["jobs"][1].get("started_at").is_none(), "{record:#}");
    let text = status(&site, &sha, "Ship / ship (push)", "pending");
    assert!(
        text.contains("waits for an approval of the environment"),
        "{text}"
    );
    assert_eq!(
        value(&site, "make build", "KEY").as_deref(),
        Some("[key-of-the-repository]")
    );
    assert_eq!(
        value(&site, "make build", "VAR").as_deref(),
        Some("[repository]")
    );
    assert_eq!(value(&site, "make build", "WIDE").as_deref(), Some("wide"));
    assert_eq!(value(&site, "make ship", "KEY"), None);
    let page = runner.ask(
        "GET",
        &format!("/runs/{run}"),
        &[("Authorization", BEARER), ("Accept", "text/html")],
        b"",
    );
    assert!(
        page.body.contains(&format!("/runs/{run}/approve")),
        "{page:?}"
    );
    let listed = runner.ask(
        "GET",
        "/runs?state=waiting",
        &[("Authorization", BEARER)],
        b"",
    );
    assert!(listed.body.contains(&run), "{listed:?}");

    runner.stop();
    let runner = start(&site, protected);
    runner.waits(&run, "main-stage");
    assert_eq!(value(&site, "make ship", "KEY"), None);
    let other = runner.say(&run, "approve", r#"{"environments": ["other"]}"#);
    assert_eq!(other.code, 409, "{other:?}");
    assert_eq!(runner.say(&run, "approve", "{\"bye\": 1}").code, 400);
    let said = runner.say(&run, "approve", r#"{"by": "grace", "comment": "go"}"#);
    assert_eq!(
        (said.code, said.json()["environments"][0].as_str()),
        (202, Some("main-stage"))
    );
    has_shipped(&site, &runner, &run, &sha);
    assert_eq!(runner.say(&run, "approve", "").code, 409);
}

/// The approved job ran with what its environment has, and says where it deployed to.
fn has_shipped(site: &Site, runner: &Runner, run: &str, sha: &str) {
    let record = runner.finished(run, "succeeded");
    assert_eq!(
        value(site, "make ship", "KEY").as_deref(),
        Some("[key-of-the-environment]")
    );
    assert_eq!(
        value(site, "make ship", "VAR").as_deref(),
        Some("[environment]")
    );
    assert_eq!(
        value(site, "make ship", "OWN").as_deref(),
        Some("[own-of-the-owner]")
    );
    let builds = site.vmm.commands();
    let builds = builds
        .iter()
        .filter(|one| one.script.contains("make build"));
    assert_eq!(builds.count(), 1, "what ended is not run again");
    let gate = &record["environments"][0];
    assert_eq!(
        (&gate["review"]["by"], &gate["review"]["verdict"]),
        (&json!("grace"), &json!("approved"))
    );
    let environment = &record["jobs"][1]["environment"];
    assert_eq!(environment["url"], "https://ship.example/v7", "{record:#}");
    let text = status(site, sha, "Ship / ship (push)", "success");
    assert!(
        text.contains("deployed to main-stage: https://ship.example/v7"),
        "{text}"
    );
    let log = runner.ask(
        "GET",
        &format!("/runs/{run}/log"),
        &[("Authorization", BEARER)],
        b"",
    );
    assert!(log.body.contains("key ***") && !log.body.contains("key-of-the-environment"));
}

#[test]
fn i17_a_rejected_job_fails_a_wrong_branch_too_and_nobody_without_a_token_approves() {
    let site = shipping();
    let runner = start(&site, protected);
    let sha = site.commit(DEPLOY);
    let run = runner.run("push", "d-1", &site.push(&sha));
    runner.waits(&run, "main-stage");
    let path = format!("/runs/{run}/approve");
    assert_eq!(runner.ask("POST", &path, &[], b"").code, 401);
    assert_eq!(runner.say(&run, "reject", "").code, 202);
    let record = runner.finished(&run, "failed");
    assert!(
        record["reason"]
            .as_str()
            .unwrap()
            .contains("main-stage was not approved")
    );
    // The same environment by another reference: its rules say which branches may.
    let mut push = site.push(&sha);
    push["ref"] = json!("refs/heads/MAIN");
    site.git(&["branch", "MAIN"]);
    let run = runner.run("push", "d-2", &push);
    let record = runner.finished(&run, "failed");
    let reason = record["reason"].as_str().unwrap();
    assert!(
        reason.contains("takes no runs of refs/heads/MAIN"),
        "{reason}"
    );
    assert_eq!(value(&site, "make ship", "KEY"), None);
    // Cancelled while it waits.
    let again = runner.ask(
        "POST",
        &format!("/runs/{run}/rerun"),
        &[("Authorization", BEARER)],
        b"",
    );
    assert_eq!(again.code, 202);
    let sha = site.commit(&DEPLOY.replace("build\n        env", "build2\n        env"));
    let run = runner.run("push", "d-3", &site.push(&sha));
    runner.waits(&run, "main-stage");
    assert_eq!(runner.say(&run, "cancel", "").code, 202);
    let record = runner.finished(&run, "cancelled");
    assert_eq!(record["jobs"][1]["conclusion"], "cancelled", "{record:#}");
    runner.stop();
    let runner = site.start_with(Setup {
        change: protected,
        ..Setup::default()
    });
    let sha = site.commit(DEPLOY);
    let run = runner.run("push", "d-4", &site.push(&sha));
    assert!(within(|| runner.record(&run)["state"] == "waiting"));
    let refused = runner.ask("POST", &format!("/runs/{run}/approve"), &[], b"");
    assert_eq!(refused.code, 403, "{refused:?}");
}

#[test]
fn i17_a_wait_ends_by_itself_and_the_group_is_held_meanwhile() {
    fn waiting(settings: &mut RunnerSettings) {
        settings.scopes = scopes(
            "[repository.\"acme/rocket\".environment.slow]\nwait = \"2s\"\n[repository.\"acme/rocket\".environment.asks]\napproval = true\n",
        );
    }
    let site = Site::new();
    let runner = start(&site, waiting);
    let workflow = "name: W\non: push\nconcurrency: {group: g, cancel-in-progress: true}\njobs:\n  a:\n    runs-on: x\n    environment: NAME\n    steps: [{run: make it}]\n";
    let sha = site.commit(&workflow.replace("NAME", "slow"));
    let run = runner.run("push", "d-1", &site.push(&sha));
    let record = runner.finished(&run, "succeeded");
    let gate = &record["environments"][0];
    assert_eq!(
        gate["until"].as_u64().unwrap() - gate["since"].as_u64().unwrap(),
        2000
    );
    assert!(
        record["jobs"][0]["started_at"].as_u64() >= gate["until"].as_u64(),
        "{record:#}"
    );
    let sha = site.commit(&workflow.replace("NAME", "asks"));
    let waits = runner.run("push", "d-2", &site.push(&sha));
    runner.waits(&waits, "asks");
    let taken_up = |runner: &Runner| runner.shown(&waits)["taken_up"].as_u64();
    // It waits a moment before it is parked.
    assert!(within(|| taken_up(&runner).is_some()));
    let before = taken_up(&runner).unwrap();
    // After a restart it has its place in the group again.
    runner.stop();
    let runner = start(&site, waiting);
    assert!(within(|| taken_up(&runner) == Some(before + 2)));
    runner.waits(&waits, "asks");
    let sha = site.commit(&workflow.replace("environment: NAME", "timeout-minutes: 5"));
    let next = runner.run("push", "d-3", &site.push(&sha));
    let record = runner.finished(&waits, "cancelled");
    assert!(
        record["reason"]
            .as_str()
            .unwrap()
            .contains("takes its place"),
        "{record:#}"
    );
    runner.finished(&next, "succeeded");
}

#[test]
fn i17_nothing_of_a_strangers_pull_request_runs_before_somebody_approves() {
    fn first_time(settings: &mut RunnerSettings) {
        settings.scopes = scopes(SCOPES);
        settings.scopes.fork_approval = ForkApproval::FirstTime;
    }
    let site = shipping();
    let runner = start(&site, first_time);
    let workflow = DEPLOY.replace("${{ github.ref_name }}-stage", "preview");
    let base = site.commit(&workflow);
    site.git(&["checkout", "--quiet", "-b", "theirs"]);
    let head = site.commit(&workflow.replace("make build", "make pwned"));
    site.git(&["update-ref", "refs/pull/7/head", &head]);
    site.git(&["checkout", "--quiet", "main"]);
    let run = runner.run("pull_request", "d-1", &site.fork(&head, &base));
    let record = runner.waits(&run, "a pull request from a fork by stranger");
    assert!(record["jobs"].as_array().unwrap().is_empty(), "{record:#}");
    let text = status(
        &site,
        &head,
        "workflow-runner / commit (pull_request)",
        "pending",
    );
    assert!(text.contains("waits for an approval"), "{text}");
    runner.stop();
    let runner = start(&site, first_time);
    runner.waits(&run, "a pull request from a fork by stranger");
    assert!(site.vmm.commands().is_empty());
    assert!(
        !site.folder.path().join("mirrors/acme").exists(),
        "it was not fetched"
    );
    assert_eq!(
        runner
            .say(&run, "approve", r#"{"environments": ["preview"]}"#)
            .code,
        409
    );
    assert_eq!(runner.say(&run, "approve", r#"{"by": "ada"}"#).code, 202);
    let record = runner.finished(&run, "succeeded");
    assert_eq!(record["approval"]["review"]["by"], "ada", "{record:#}");
    status(
        &site,
        &head,
        "workflow-runner / commit (pull_request)",
        "success",
    );
    // The base's workflow ran, without secrets of any scope.
    assert_eq!(value(&site, "make build", "KEY").as_deref(), Some("[]"));
    assert_eq!(value(&site, "make ship", "KEY").as_deref(), Some("[]"));
    assert_eq!(value(&site, "make ship", "OWN").as_deref(), Some("[]"));
    assert!(
        site.vmm
            .commands()
            .iter()
            .all(|one| !one.script.contains("pwned"))
    );
    // Approved once, they are known here.
    let mut next = site.fork(&head, &base);
    (next["number"], next["pull_request"]["number"]) = (json!(8), json!(8));
    site.git(&["update-ref", "refs/pull/8/head", &head]);
    let known = runner.run("pull_request", "d-2", &next);
    let record = runner.finished(&known, "succeeded");
    assert!(
        record.get("approval").is_none(),
        "it did not wait: {record:#}"
    );
    // Rejected, it is over; run again, it asks again.
    let mut other = site.fork(&base, &base);
    other["pull_request"]["user"]["login"] = json!("somebody");
    (other["number"], other["pull_request"]["number"]) = (json!(9), json!(9));
    let run = runner.run("pull_request", "d-3", &other);
    runner.waits(&run, "a pull request from a fork");
    assert_eq!(runner.say(&run, "reject", "").code, 202);
    runner.finished(&run, "cancelled");
    let again = runner.say(&run, "rerun", "").json()["run"]
        .as_str()
        .unwrap()
        .to_owned();
    runner.waits(&again, "a pull request from a fork");
}

#[test]
fn i17_settings_of_scopes_are_read_and_mistakes_are_named() {
    let found = scopes(SCOPES);
    let (name, repository) = &found.repositories[0];
    assert_eq!(name, "Acme/Rocket");
    let (name, environment): &(String, EnvironmentSettings) = &repository.environments[0];
    assert_eq!(name, "MAIN-stage");
    assert!(environment.rules.approval && environment.rules.allows("refs/heads/main"));
    assert!(!format!("{found:?}").contains("key-of-the"));
    for (text, part) in [
        ("[repository.rocket]\n", "is no repository"),
        ("[owner.\"a/b\"]\n", "is no owner"),
        (
            "[repository.\"a/b\"]\n[repository.\"A/b\"]\n",
            "stands there twice",
        ),
        ("[owner.a.secrets]\nA-B = \"x\"\n", "is no name of a value"),
        (
            "[repository.\"a/b\".environment.x]\nwait = \"31d\"\n",
            "out of bounds",
        ),
        (
            "[repository.\"a/b\".environment.x]\nreviewers = [\"a\"]\n",
            "reviewers",
        ),
        (
            "[repository.\"a/b\"]\nprevious_webhook_secret = \"x\"\n",
            "has no effect",
        ),
        ("fork_approval = \"maybe\"\n", "first-time"),
    ] {
        let pairs = [("FORGE_WEBHOOK_SECRET".into(), SECRET.into())];
        let file = ("runner.toml", text.as_bytes(), Path::new("/"));
        let environment = Environment::from_os(pairs);
        let wrong = RunnerConfig::parse(Some(file), &RunnerFlags::default(), &environment);
        let wrong = wrong.unwrap_err().to_string();
        assert!(wrong.contains(part), "{part} in {wrong}");
    }
    let text = "[repository.\"acme/own\"]\nwebhook_secret = \"a-secret-of-its-own\"\n";
    let pairs = [("FORGE_WEBHOOK_SECRET".into(), SECRET.into())];
    let file = ("runner.toml", text.as_bytes(), Path::new("/"));
    let config = RunnerConfig::parse(
        Some(file),
        &RunnerFlags::default(),
        &Environment::from_os(pairs),
    );
    let site = Site::new();
    let runner = site.start_with(Setup {
        secrets: config.unwrap().secrets,
        ..Setup::default()
    });
    let sha = site.commit("on: push\njobs: {a: {runs-on: x, steps: [{run: x}]}}\n");
    let mut push = site.push(&sha);
    push["repository"]["full_name"] = json!("acme/own");
    assert_eq!(runner.deliver("push", "d-1", &push).code, 403);
    let body = push.to_string();
    let own = forge_core::sign("a-secret-of-its-own", body.as_bytes())
        .unwrap()
        .hub();
    let answer = runner.hook(
        &[("X-Hub-Signature-256", &own)],
        "push",
        "d-2",
        body.as_bytes(),
    );
    assert_eq!(answer.code, 202, "{answer:?}");
}
