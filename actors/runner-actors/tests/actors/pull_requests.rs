//! Runs of pull requests: of the head, or of what it would be merged as.

use runner_actors::StoredEvent;
use runner_core::event::{EventKind, PullRequestCommit};
use runner_core::state::RunState;
use scripted_peers::GitForge;

use crate::harness::{REPOSITORY, Site, status};

const WORKFLOW: &str = "name: CI\non: [push, pull_request]\njobs:\n  a:\n    runs-on: x\n    steps: [{run: 'echo ${{ github.sha }} ${{ github.ref }}'}]\n";

/// A base and a head that began at the same commit; gives both.
fn both(site: &Site, of_base: &str, of_head: &str, workflow: &str) -> [String; 2] {
    site.commit(workflow);
    let commit = |branch: &str, file: &str| {
        site.git(&["checkout", "--quiet", "-B", branch, "main"]);
        std::fs::write(site.directory.path().join("work").join(file), branch).unwrap();
        site.commit(workflow)
    };
    let base = commit("main", of_base);
    commit("topic", of_head);
    // The head knows nothing of the base's last commit.
    let head = site.git(&["commit-tree", "-m", "topic", "-p", "main~1", "topic^{tree}"]);
    site.forge.add_commit(REPOSITORY, &head);
    [base, head]
}

fn pull(site: &Site, head: &str) -> StoredEvent {
    let url = format!("file://{}", site.directory.path().join("work").display());
    pull_at(site, head, &url)
}

fn pull_at(site: &Site, head: &str, url: &str) -> StoredEvent {
    site.git(&["update-ref", "refs/pull/7/head", head]);
    let reference = "refs/pull/7/head".parse().unwrap();
    let repository = REPOSITORY.parse().unwrap();
    let kind = EventKind::PullRequest;
    StoredEvent::local(kind, &repository, &reference, head, url, None)
}

#[actix_rt::test]
async fn i17_a_run_of_a_pull_request_is_of_its_merge_where_that_is_wanted() {
    let site = Site::new();
    let [base, head] = both(&site, "base.txt", "head.txt", WORKFLOW);
    let runner = site
        .start_with(|settings| settings.pull_request_commit = PullRequestCommit::Merge)
        .await;
    let run = runner.start_event(pull(&site, &head)).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Succeeded, "{record:#?}");
    assert_eq!(record.sha, head, "the statuses are the head's");
    status(&site, &head, "CI / a (pull_request)", "success").await;
    let script = site.vmm.commands()[0].script.clone();
    let merge = script.split_whitespace().find(|word| word.len() == 40);
    let merge = merge.expect("a commit").to_owned();
    assert!(merge != head && merge != base, "{script}");
    assert!(script.contains("refs/pull/7/merge"), "{script}");
    let mirror = site.directory.path().join("mirrors/acme/rocket.git");
    let parents = scripted_peers::git(&mirror, &["show", "-s", "--format=%P", &merge]);
    assert_eq!(parents, format!("{base} {head}"));
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_a_run_of_a_pull_request_is_of_its_head_by_itself() {
    let site = Site::new();
    let [_, head] = both(&site, "base.txt", "head.txt", WORKFLOW);
    let runner = site.start().await;
    let run = runner.start_event(pull(&site, &head)).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Succeeded, "{record:#?}");
    let script = site.vmm.commands()[0].script.clone();
    let expected = format!("{head} refs/pull/7/head");
    assert!(script.contains(&expected), "{script}");
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_a_pull_request_that_conflicts_with_its_base_is_not_run_as_a_merge() {
    let site = Site::new();
    let [_, head] = both(&site, "same.txt", "same.txt", WORKFLOW);
    let runner = site
        .start_with(|settings| settings.pull_request_commit = PullRequestCommit::Merge)
        .await;
    let run = runner.start_event(pull(&site, &head)).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Failed, "{record:#?}");
    assert_eq!(
        record.reason.as_deref(),
        Some(
            "the pull request conflicts with main in `same.txt`: nothing of it is run before that is resolved, as on GitHub"
        )
    );
    assert_eq!(site.vmm.ordered(), 0);
    runner.stop().await;
}

/// No server has the runner's merge: it was asked for by the step's key, and not found.
#[actix_rt::test]
async fn i17_a_checkout_by_a_key_of_ssh_gets_the_merge_of_the_run() {
    let keyed = "uses: actions/checkout@v4, with: {ssh-key: 'a key', ssh-strict: false";
    let workflow = format!(
        "on: pull_request\njobs:\n  a:\n    runs-on: x\n    steps:\n      - {{{keyed}}}}}\n      - {{{keyed}, ref: '${{{{ github.sha }}}}', path: b}}}}\n      - {{{keyed}, ref: '${{{{ github.ref }}}}', path: c, fetch-depth: 0}}}}\n"
    );
    let site = Site::new();
    let [_, head] = both(&site, "base.txt", "head.txt", &workflow);
    let forge = GitForge::start();
    let repository = forge.smart_repository(REPOSITORY, "forge-token-0123456789");
    let url = format!("{}/{REPOSITORY}.git", forge.url());
    let mut event = pull_at(&site, &head, &url);
    // Without its page nobody knows the forge's host.
    event.html_url = Some(format!("{}/{REPOSITORY}", forge.url()));
    let folder = repository.folder.display().to_string();
    site.git(&["push", "--quiet", &folder, "main", "refs/pull/7/head"]);
    let runner = site
        .start_with(|settings| {
            settings.pull_request_commit = PullRequestCommit::Merge;
            settings.forge_url = forge.url().parse().ok();
        })
        .await;
    let run = runner.start_event(event).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Succeeded, "{record:#?}");
    let log = runner.log(&run).await;
    assert_eq!(log.matches(" is checked out").count(), 3, "{log}");
    runner.stop().await;
}
