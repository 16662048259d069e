//! With whose rights steps check out other repositories (ADR 17): a real git forge sees whether it
//! is asked with the runner's token.

use std::sync::OnceLock;

use runner_actors::RunnerSettings;
use runner_core::checkout::RepositoryPattern;
use scripted_peers::GitForge;
use serde_json::Value;

use crate::harness::{Runner, Setup, Site};

static FORGE: OnceLock<GitForge> = OnceLock::new();

/// A forge with two private repositories, which all tests of this file share.
fn forge() -> &'static GitForge {
    FORGE.get_or_init(|| {
        let forge = GitForge::start();
        for name in ["acme/listed", "acme/private", "acme/linked"] {
            let repository = forge.repository(name, true);
            repository.write("name", name);
            if name == "acme/linked" {
                repository.add_submodule("sub", "../private.git");
            }
            repository.commit("first");
        }
        forge
    })
}

fn by_git_forge(settings: &mut RunnerSettings) {
    settings.forge_url = forge().url().parse().ok();
    settings.transports.http = true;
    let listed = ["acme/listed", "acme/linked"].map(RepositoryPattern::parse);
    settings.checkout_repositories = listed.into_iter().flatten().collect();
}

/// How the run ended, and its log; and whether the forge was asked for the repository with a token.
fn run(site: &Site, runner: &Runner, event: (&str, &str, &Value), name: &str) -> (Value, bool) {
    let before = forge().asked().len();
    let (kind, delivery, body) = event;
    let run = runner.run(kind, delivery, body);
    let record = runner.ended(&run);
    let path = format!("/{name}.git/");
    let asked = forge().asked();
    let of: Vec<bool> = asked[before..]
        .iter()
        .filter(|(asked, _)| asked.starts_with(&path))
        .map(|(_, token)| *token)
        .collect();
    assert!(!of.is_empty(), "{name} was asked for: {}", runner.log(&run));
    assert!(site.vmm.vms().is_empty() || record.get("ended_at").is_some());
    (record, of.contains(&true))
}

fn workflow(name: &str, more: &str) -> String {
    format!(
        "name: CI\non: [push, pull_request]\njobs:\n  a:\n    runs-on: x\n    steps:\n      - uses: actions/checkout@v4\n        with: {{repository: {name}, path: other{more}}}\n"
    )
}

// One test: they share the forge's record of what was asked for.
#[test]
fn i17_the_runner_s_token_reads_what_is_listed_and_nothing_for_strangers() {
    let site = Site::new();
    let runner = site.start_with(Setup {
        change: by_git_forge,
        ..Setup::default()
    });
    let sha = site.commit(&workflow("acme/listed", ""));
    let (record, token) = run(
        &site,
        &runner,
        ("push", "d-1", &site.push(&sha)),
        "acme/listed",
    );
    assert_eq!(record["state"], "succeeded", "{record:#}");
    assert!(token, "it is private, and listed");

    let base = sha;
    site.write("README", "a stranger's");
    let head = site.commit_all();
    let event = site.fork(&head, &base);
    let (record, token) = run(
        &site,
        &runner,
        ("pull_request", "d-2", &event),
        "acme/listed",
    );
    assert_eq!(record["state"], "failed", "{record:#}");
    assert!(!token, "a stranger reads what everybody may");
    let reason = record["reason"].as_str().unwrap();
    assert!(
        reason.contains("a pull request from a fork reads what everybody may"),
        "{reason}"
    );

    let sha = site.commit(&workflow("acme/private", ""));
    let (record, token) = run(
        &site,
        &runner,
        ("push", "d-3", &site.push(&sha)),
        "acme/private",
    );
    assert_eq!(record["state"], "failed", "{record:#}");
    assert!(!token, "it is not listed");

    // A listed repository does not open another one by naming it.
    let sha = site.commit(&workflow("acme/linked", ", submodules: true"));
    let (record, token) = run(
        &site,
        &runner,
        ("push", "d-4", &site.push(&sha)),
        "acme/private",
    );
    assert_eq!(record["state"], "failed", "{record:#}");
    assert!(!token, "its submodule is not listed");
}
