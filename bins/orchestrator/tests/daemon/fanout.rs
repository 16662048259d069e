//! Pull requests: every status that was begun ends, exactly once.

use serde_json::json;

use crate::forge::Forge;
use crate::harness::{Site, pull, runs_of, wait_until};

const AGENTS: &str = r#"
[pr_dispatch]
project = "main"
agents = [
    { agent = "build-runner", context = "orch/build" },
    { agent = "reviewer", context = "orch/review" },
    { agent = "slow", context = "orch/slow" },
    { agent = "asleep", context = "orch/asleep" },
]
[[agents]]
project = "main"
name = "build-runner"
cli = "sh"
script = "echo built $ORCH_HEAD_SHA"
max_parallel = 4
[[agents]]
project = "main"
name = "reviewer"
cli = "sh"
verdict = "block"
script = '''
printf '```orch-result\n{"nonce":"%s","agent":"%s","context":"%s","head_sha":"%s","status":"failure","summary":"two things"}\n```\n' \
  "$ORCH_RESULT_NONCE" "$ORCH_AGENT" "$ORCH_STATUS_CONTEXT" "$ORCH_HEAD_SHA"
'''
max_parallel = 4
[[agents]]
project = "main"
name = "slow"
cli = "sh"
script = "echo slow; sleep 600"
grace_seconds = 1
max_parallel = 4
[[agents]]
project = "main"
name = "asleep"
cli = "sh"
script = "true"
enabled = false
"#;

const CONTEXTS: [&str; 4] = ["orch/build", "orch/review", "orch/slow", "orch/asleep"];

fn terminal(state: Option<&String>) -> bool {
    state.is_some_and(|state| state != "pending")
}

/// After everything of a commit has ended: one terminal state each, and nothing after it.
fn assert_settled(forge: &Forge, sha: &str, rounds: usize) {
    for context in CONTEXTS {
        let states = forge.states(sha, context);
        let ends = states.iter().filter(|state| *state != "pending").count();
        assert_eq!(ends, rounds, "{context}: {states:?}");
        assert!(terminal(states.last()), "{context}: {states:?}");
    }
}

#[test]
fn a_pull_request_fans_out_is_superseded_closed_and_reopened() {
    let forge = Forge::start();
    let site = Site::new("", &format!("{}[mentions]\n{AGENTS}", forge.table()));
    let daemon = site.start();
    let (first, second) = (site.commit("one"), site.commit("two"));
    // Gitea sends `synchronized` before `opened`, for the same head.
    let reply = daemon.hook(&pull("synchronized", 3, &first)).json();
    assert_eq!(runs_of(&reply).len(), 3, "{reply}");
    assert_eq!(reply["rejected"][0]["reason"], "disabled");
    let slow = runs_of(&reply)
        .into_iter()
        .find(|(agent, _)| agent == "slow")
        .expect("slow")
        .1;
    assert_eq!(
        daemon.hook(&pull("opened", 3, &first)).json()["outcome"],
        "duplicate"
    );
    wait_until("the quick checks", || {
        forge.state(&first, "orch/build").as_deref() == Some("success")
            && forge.state(&first, "orch/review").as_deref() == Some("failure")
            && forge.state(&first, "orch/asleep").as_deref() == Some("error")
    });
    daemon.wait_for_run(&slow, |run| run["state"] == "running");
    // A push while it runs: the older run ends, its status too.
    let reply = daemon.hook(&pull("synchronize", 3, &second)).json();
    let newer = runs_of(&reply)
        .into_iter()
        .find(|(agent, _)| agent == "slow")
        .expect("slow")
        .1;
    let ended = daemon.ended(&slow);
    assert_eq!(ended["reason"], "superseded", "{ended}");
    wait_until("the older statuses", || {
        terminal(forge.state(&first, "orch/slow").as_ref())
    });
    assert_settled(&forge, &first, 1);
    // Closed while it runs.
    daemon.wait_for_run(&newer, |run| run["state"] == "running");
    daemon.hook(&pull("closed", 3, &second));
    assert_eq!(daemon.ended(&newer)["reason"], "pull_request_closed");
    wait_until("the statuses of the closed one", || {
        CONTEXTS
            .iter()
            .all(|context| terminal(forge.state(&second, context).as_ref()))
    });
    // Opened again with the same head: everything begins anew.
    let reply = daemon.hook(&pull("reopened", 3, &second)).json();
    assert_eq!(runs_of(&reply).len(), 3, "{reply}");
    let again = runs_of(&reply)
        .into_iter()
        .find(|(agent, _)| agent == "slow")
        .expect("slow")
        .1;
    daemon.wait_for_run(&again, |run| run["state"] == "running");
    daemon.post(&format!("/admin/runs/{again}/cancel"));
    daemon.ended(&again);
    wait_until("nothing is owed", || {
        let status = daemon.get("/admin/status");
        status["statuses"] == json!([]) && status["outbox"] == 0
    });
    assert_settled(&forge, &second, 2);
}

#[test]
fn o20_a_forge_that_fails_gets_the_status_in_the_end() {
    let forge = Forge::start();
    let site = Site::new("", &format!("{}[mentions]\n{AGENTS}", forge.table()));
    let daemon = site.start();
    forge.fail(4);
    let sha = site.commit("one");
    let reply = daemon.hook(&pull("opened", 3, &sha)).json();
    let slow = runs_of(&reply)
        .into_iter()
        .find(|(agent, _)| agent == "slow")
        .expect("slow")
        .1;
    wait_until("the quick checks", || {
        let done = |context| terminal(forge.state(&sha, context).as_ref());
        done("orch/build") && done("orch/review") && done("orch/asleep")
    });
    daemon.post(&format!("/admin/runs/{slow}/cancel"));
    wait_until("the last one", || {
        terminal(forge.state(&sha, "orch/slow").as_ref())
    });
}

/// The statuses of a run that a crash cut off end, and so does its process.
#[test]
fn a_crash_leaves_no_process_and_no_pending_status() {
    let forge = Forge::start();
    let site = Site::new("", &format!("{}[mentions]\n{AGENTS}", forge.table()));
    let daemon = site.start();
    let sha = site.commit("one");
    let reply = daemon.hook(&pull("opened", 3, &sha)).json();
    let slow = runs_of(&reply)
        .into_iter()
        .find(|(agent, _)| agent == "slow")
        .expect("slow")
        .1;
    let run = daemon.wait_for_run(&slow, |run| run["state"] == "running");
    let pid = run["pid"].as_u64().expect("a process");
    // In a namespace it ends with the daemon, without one the next start ends it.
    daemon.kill();
    let daemon = site.start();
    let run = daemon.ended(&slow);
    assert_eq!(run["exit"]["class"], "orchestrator_restart", "{run}");
    let gone = || {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .map_or(true, |stat| stat.contains(") Z "))
    };
    wait_until("the leftover's end", gone);
    wait_until("the statuses", || {
        CONTEXTS
            .iter()
            .all(|context| terminal(forge.state(&sha, context).as_ref()))
    });
}

/// F14: a status that somebody removes is posted again within a tick.
#[test]
fn f14_a_removed_status_is_repaired() {
    let forge = Forge::start();
    let top = "tick_interval_secs = 1";
    let site = Site::new(
        top,
        &format!("{}[mentions]\npoll_modulo = 10000\n{AGENTS}", forge.table()),
    );
    let daemon = site.start();
    let sha = site.commit("one");
    daemon.hook(&pull("opened", 3, &sha));
    let built = || forge.state(&sha, "orch/build").as_deref() == Some("success");
    wait_until("the build", built);
    forge.forget(&sha);
    wait_until("the repair", built);
}
