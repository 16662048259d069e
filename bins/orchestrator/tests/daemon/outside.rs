//! What others do behind the orchestrator's back: deletions, kills, and a forge with a mind of its
//! own.

use serde_json::json;

use crate::forge::Forge;
use crate::harness::{Site, comment, pull, run_of, wait_until};

const AGENTS: &str = r#"
[pr_dispatch]
project = "main"
agents = [{ agent = "checker", context = "orch/check" }]
[[agents]]
project = "main"
name = "checker"
cli = "sh"
script = "echo checked"
max_parallel = 8
[[agents]]
project = "main"
name = "worker"
cli = "sh"
script = "echo going; sleep 600"
worktree = "base"
grace_seconds = 1
max_parallel = 8
[[agents]]
project = "main"
name = "quick"
cli = "sh"
script = "echo done > note.txt"
worktree = "base"
"#;

/// F14: whatever is deleted or killed from outside is seen and repaired.
#[test]
fn f14_processes_worktrees_and_logs_that_somebody_removes() {
    let site = Site::new("tick_interval_secs = 1", &format!("[mentions]\n{AGENTS}"));
    let daemon = site.start();
    let running = |run: &serde_json::Value| run["state"] == "running";
    let start = |id: u64, agent: &str| {
        let event = comment(0, id, &format!("@orch:{agent}"));
        run_of(&daemon.hook(&event).json(), agent)
    };
    // A process.
    let first = start(1, "worker");
    let pid = daemon.wait_for_run(&first, running)["pid"].to_string();
    let killed = std::process::Command::new("kill")
        .args(["-9", &pid])
        .status();
    assert!(killed.expect("kill is installed").success());
    let ended = daemon.ended(&first);
    assert_eq!(ended["exit"]["class"], "killed_by_signal", "{ended}");
    assert_eq!(ended["exit"]["signal"], 9);
    // The worktree of a run under way, and of one that has ended.
    let second = start(2, "worker");
    let tree = daemon.wait_for_run(&second, running)["worktree"].clone();
    std::fs::remove_dir_all(tree.as_str().expect("a folder")).expect("it is there");
    daemon.post(&format!("/admin/runs/{second}/cancel"));
    daemon.ended(&second);
    let third = start(3, "quick");
    let tree = daemon.ended(&third)["worktree"].clone();
    std::fs::remove_dir_all(tree.as_str().expect("a folder")).expect("it is there");
    for run in [&second, &third] {
        daemon.wait_for_run(run, |run| run["worktree"].is_null());
    }
    let listed = crate::harness::git(&site.path("repo"), &["worktree", "list", "--porcelain"]);
    assert!(!listed.contains("prunable"), "git knows it, too: {listed}");
    // The log of an ended run: it is said, and nothing else breaks.
    let runs = site.path("data/runs");
    std::fs::remove_dir_all(runs.join(&third)).expect("its folder");
    let log = daemon.admin("GET", &format!("/admin/runs/{third}/log"));
    assert!(matches!(log.status, 200 | 404 | 503), "{}", log.status);
    let fourth = start(4, "quick");
    assert_eq!(daemon.ended(&fourth)["exit"]["class"], "empty_success");
}

#[test]
fn o20_a_forge_that_refuses_is_given_time_or_parked_where_it_shows() {
    let forge = Forge::start();
    let site = Site::new("", &format!("{}[mentions]\n{AGENTS}", forge.table()));
    let daemon = site.start();
    let check = |number: u64, sha: &str| daemon.hook(&pull("opened", number, sha));
    let passed = |sha: &str| forge.state(sha, "orch/check").as_deref() == Some("success");
    // Too fast: it says when to come again.
    let first = site.commit("one");
    forge.plan(429, "Retry-After: 1\r\n");
    forge.plan(502, "");
    check(1, &first);
    wait_until("the status after 429 and 502", || passed(&first));
    // It does not let us: it is said, and tried again later.
    let denied = site.commit("denied");
    for _ in 0..2 {
        forge.plan(401, "");
    }
    check(2, &denied);
    wait_until("the refusal is said", || {
        daemon.journal().contains(&"forge.post.failed".to_owned())
    });
    assert!(daemon.get("/admin/status")["outbox"].as_u64() > Some(0));
    // It finds nothing right about it: parked, told, and posted once somebody has put it right.
    let refused = site.commit("refused");
    for _ in 0..4 {
        forge.plan(422, "");
    }
    check(3, &refused);
    let parked = || daemon.get("/admin/status")["parked"].as_u64() > Some(0);
    wait_until("it is parked", parked);
    wait_until("the status after a reload", || {
        // What is left of the refusals goes first.
        daemon.post("/admin/reload");
        passed(&refused)
    });
    wait_until("nothing is parked", || !parked());
    // O19: a commit that the forge does not know is not asked for for ever.
    let gone = site.commit("gone");
    for _ in 0..8 {
        forge.plan(422, "");
    }
    check(4, &gone);
    wait_until("the unknown commit is given up", || {
        let status = daemon.get("/admin/status");
        status["statuses"] == json!([]) && status["parked"].as_u64() > Some(0)
    });
}
