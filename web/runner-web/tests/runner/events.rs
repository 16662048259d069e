//! Events beside pushes and new commits of pull requests: which of them start runs, at which
//! commit.

use scripted_peers::Play;
use serde_json::{Value, json};

use crate::harness::{Runner, Site, within};

const CI: &str = "name: CI
on: [push]
jobs: {build: {runs-on: x, steps: [{run: echo built}]}}
";
const BOT: &str = "name: Bot
on:
  issue_comment: {types: [created]}
  release:
  pull_request_target: {types: [opened, closed]}
  pull_request: {types: [closed]}
  workflow_run: {workflows: [CI], types: [completed]}
jobs:
  answer:
    runs-on: x
    steps:
      - run: echo answer
        env:
          WHO: ${{ github.event.comment.user.login || github.event.workflow_run.conclusion }}
          FOLLOWED: ${{ toJSON(github.event.workflow_run.id) }} ${{ github.event.workflow_run.head_commit.id }} ${{ github.event.workflow_run.run_started_at }} ${{ github.event.workflow_run.html_url }} ${{ github.event.workflow_run.artifacts_url }}
";

fn site() -> Site {
    Site::playing(|_| Play::exit(0))
}

/// A repository whose default branch was pushed and run; gives its commit.
fn pushed(site: &Site, runner: &Runner) -> String {
    site.git_init();
    site.write(".github/workflows/bot.yml", BOT);
    let sha = site.commit(CI);
    let run = runner.run("push", "d-push", &site.push(&sha));
    assert_eq!(runner.ended(&run)["state"], "succeeded");
    sha
}

fn comment(site: &Site, action: &str) -> Value {
    json!({"action": action, "issue": {"number": 7, "title": "t", "state": "open", "user": {"login": "ada"}},
        "comment": {"id": 5, "body": "/deploy", "user": {"login": "eve"}}, "sender": {"login": "eve"},
        "repository": {"full_name": "acme/rocket", "clone_url": site.clone_url(), "default_branch": "main"}})
}

#[test]
fn i17_a_comment_starts_the_default_branch_s_workflow_and_no_other_event_is_stored() {
    let site = site();
    let runner = site.start();
    // Before the first push nothing is known of the repository.
    let early = runner.deliver("issue_comment", "d-0", &comment(&site, "created"));
    assert_eq!(early.json()["status"], "ignored");
    let sha = pushed(&site, &runner);
    let run = runner.run("issue_comment", "d-1", &comment(&site, "created"));
    let record = runner.ended(&run);
    assert_eq!(record["state"], "succeeded", "{record:#}");
    for (field, expected) in [
        ("event", "issue_comment"),
        ("reference", "refs/heads/main"),
        ("sha", sha.as_str()),
        ("actor", "eve"),
        ("workflow_file", ".github/workflows/bot.yml"),
    ] {
        assert_eq!(record[field], expected, "{record:#}");
    }
    // The action is not among its types: looked at, and no run.
    let edited = runner.run("issue_comment", "d-2", &comment(&site, "edited"));
    assert_eq!(runner.ended(&edited)["state"], "ignored");
    let opened = json!({"action": "opened", "issue": {"number": 8}, "sender": {"login": "eve"},
        "repository": {"full_name": "acme/rocket", "clone_url": site.clone_url()}});
    let ignored = runner.deliver("issues", "d-3", &opened).json();
    assert_eq!(ignored["status"], "ignored", "{ignored:#}");
    let reason = ignored["reason"].as_str().unwrap();
    assert!(reason.contains("issues opened"), "{reason}");
}

/// The fields of the interface hold no reference and no commit.
#[test]
fn contract_a_push_that_says_only_where_runs_the_default_branch() {
    let site = site();
    let runner = site.start();
    site.git_init();
    let sha = site.commit(CI);
    let push = json!({"repository": {"full_name": "acme/rocket", "clone_url": site.clone_url()}});
    let record = runner.ended(&runner.run("push", "d-1", &push));
    assert_eq!(record["state"], "succeeded", "{record:#}");
    assert_eq!(record["sha"], *sha, "{record:#}");
    assert_eq!(record["reference"], "refs/heads/main", "{record:#}");
    let nameless = runner.deliver("", "d-2", &push);
    assert_eq!(nameless.code, 400, "{nameless:?}");
}

#[test]
fn i17_a_release_runs_the_commit_of_its_tag() {
    let site = site();
    let runner = site.start();
    let sha = pushed(&site, &runner);
    site.git(&["tag", "v1", &sha]);
    site.git(&["commit", "--quiet", "--allow-empty", "-m", "later"]);
    let release = json!({"action": "published", "release": {"tag_name": "v1"}, "sender": {"login": "ada"},
        "repository": {"full_name": "acme/rocket", "clone_url": site.clone_url(), "default_branch": "main"}});
    let run = runner.run("release", "d-1", &release);
    let record = runner.ended(&run);
    assert_eq!(record["state"], "succeeded", "{record:#}");
    assert_eq!(
        (record["sha"].as_str(), record["reference"].as_str()),
        (Some(sha.as_str()), Some("refs/tags/v1"))
    );
}

#[test]
fn i17_a_stranger_s_pull_request_starts_the_target_workflow_of_the_default_branch() {
    let site = site();
    let runner = site.start();
    let base = pushed(&site, &runner);
    site.git(&["commit", "--quiet", "--allow-empty", "-m", "theirs"]);
    let head = site.git(&["rev-parse", "HEAD"]);
    site.git(&["update-ref", "refs/pull/7/head", &head]);
    site.git(&["reset", "--quiet", "--hard", &base]);
    site.forge.add_commit("acme/rocket", &head);
    runner.deliver("pull_request", "d-1", &site.fork(&head, &base));
    let target = || {
        let mut runs = runner.runs().into_iter();
        runs.find(|run| run["event"] == "pull_request_target")
    };
    assert!(within(|| target().is_some()));
    let run = target().unwrap()["id"].as_str().unwrap().to_owned();
    let record = runner.ended(&run);
    assert_eq!(record["state"], "succeeded", "{record:#}");
    assert_eq!(
        record["sha"],
        base.as_str(),
        "nothing of the stranger's is run"
    );
    assert_eq!(record["reference"], "refs/heads/main");
}

#[test]
fn i17_a_workflow_follows_the_run_of_another_and_chains_end() {
    let site = site();
    let runner = site.start();
    pushed(&site, &runner);
    let follower = || {
        let mut runs = runner.runs().into_iter();
        runs.find(|run| run["event"] == "workflow_run")
    };
    assert!(within(|| follower().is_some()));
    let run = follower().unwrap()["id"].as_str().unwrap().to_owned();
    let record = runner.ended(&run);
    assert_eq!(record["state"], "succeeded", "{record:#}");
    assert_eq!(record["workflow_file"], ".github/workflows/bot.yml");
    assert_eq!(record["action"], "completed");
    let commands = site.vmm.commands();
    let mut answers = commands.iter().filter(|it| it.script.contains("answer"));
    let said = answers.next_back().and_then(|it| it.env.get("FOLLOWED"));
    let said: Vec<&str> = said.expect("it is set").split(' ').collect();
    let first = runner.runs().into_iter().find(|run| run["event"] == "push");
    let first = first.unwrap();
    let id = runner_core::context::run_number_id(first["id"].as_str().unwrap());
    // A number, without quotes.
    assert_eq!(said[..2], [id.as_str(), first["sha"].as_str().unwrap()]);
    assert!(
        said[2].starts_with("20") && said[2].ends_with('Z'),
        "{said:?}"
    );
    assert!(
        said[3].ends_with(&format!("runs/{}", first["id"].as_str().unwrap())),
        "{said:?}"
    );
    let artifacts = format!("/repos/acme/rocket/actions/runs/{id}/artifacts");
    assert!(
        said[4].starts_with("http://127.0.0.1:3128/api/v") && said[4].ends_with(&artifacts),
        "{said:?}"
    );
}

#[test]
fn i17_a_workflow_follows_how_far_another_is() {
    let site = site();
    let runner = site.start();
    site.git_init();
    site.write(
        ".github/workflows/watch.yml",
        "on: {workflow_run: {workflows: [CI]}}\njobs: {w: {runs-on: x, steps: [{run: echo}]}}\n",
    );
    let sha = site.commit(CI);
    let run = runner.run("push", "d-push", &site.push(&sha));
    assert_eq!(runner.ended(&run)["state"], "succeeded");
    let told = || {
        let runs = runner.runs().into_iter();
        let following = runs.filter(|run| run["event"] == "workflow_run");
        let actions = following.filter_map(|run| Some(run["action"].as_str()?.to_owned()));
        let mut actions: Vec<String> = actions.collect();
        actions.sort();
        actions
    };
    let all = ["completed", "in_progress", "requested"];
    assert!(within(|| told() == all), "{:?}", told());
}

/// Page "Workflow syntax", `paths`, "Git diff comparisons".
#[test]
fn i17_paths_of_a_branch_without_a_before_are_compared_with_the_default_branch() {
    let site = site();
    let runner = site.start();
    site.git_init();
    site.write("src/a", "a");
    site.write("docs/a", "a");
    let main = site.commit(
        "on: {push: {paths: ['src/**', '!src/doc/**']}}
jobs: {build: {runs-on: x, steps: [{run: echo built}]}}
",
    );
    let zeros = "0".repeat(40);
    let gone = "e".repeat(40);
    let state = |branch: &str, sha: &str, before: &str| {
        let mut push = site.push(sha);
        push["ref"] = format!("refs/heads/{branch}").into();
        push["before"] = before.into();
        push["created"] = (before == zeros).into();
        push["forced"] = (before != zeros).into();
        let delivery = format!("d-{branch}-{}", &before[..1]);
        let record = runner.ended(&runner.run("push", &delivery, &push));
        record["state"].as_str().unwrap().to_owned()
    };
    // A first push, of which nothing was there.
    assert_eq!(state("main", &main, &zeros), "succeeded");
    assert_eq!(
        state("main", &main, &gone),
        "succeeded",
        "over a commit that is gone"
    );
    let commit_on = |branch: &str, path: &str| {
        site.git(&["checkout", "--quiet", "-b", branch, &main]);
        site.write(path, "new");
        site.commit_all()
    };
    for (branch, path, expected) in [
        ("code", "src/new", "succeeded"),
        ("docs", "docs/new", "ignored"),
        ("doc", "src/doc/new", "ignored"),
    ] {
        let sha = commit_on(branch, path);
        for before in [&zeros, &gone] {
            assert_eq!(state(branch, &sha, before), expected, "{branch} {before}");
        }
    }
    // At the default branch's own commit nothing is changed.
    site.git(&["branch", "same", &main]);
    assert_eq!(state("same", &main, &zeros), "ignored");
    // With a history of its own every file is new.
    site.git(&["checkout", "--quiet", "--orphan", "pages", &main]);
    let pages = site.commit_all();
    assert_eq!(state("pages", &pages, &zeros), "succeeded");
    // `paths-ignore` by the same comparison.
    site.git(&["checkout", "--quiet", "main"]);
    let main = site.commit(
        "on: {push: {paths-ignore: ['docs/**']}}
jobs: {build: {runs-on: x, steps: [{run: echo built}]}}
",
    );
    site.git(&["checkout", "--quiet", "-b", "page", &main]);
    site.write("docs/page", "new");
    let page = site.commit_all();
    assert_eq!(state("page", &page, &zeros), "ignored");
}
