//! From a comment to an agent's answer.

use crate::forge::Forge;
use crate::harness::{Site, comment, git, runs_of, wait_until};

const AGENTS: &str = r#"
[[agents]]
project = "main"
name = "greeter"
cli = "sh"
script = "echo hello from $ORCH_AGENT; echo @orch:greeter again; env | grep -q WEBHOOK && exit 9; pwd; git log --oneline | head -1; echo work > new.txt; git add new.txt; git -c user.name=a -c user.email=a@b commit -qm work"
worktree = "base"

[[agents]]
project = "main"
name = "sleeper"
cli = "sh"
script = "echo going to sleep; sleep 600 & sleep 600"
max_parallel = 4

[[agents]]
project = "main"
name = "broken"
cli = "command"
command = ["/nonexistent/program"]

[[agents]]
project = "main"
name = "hasty"
cli = "sh"
script = "sleep 600"
max_cpu_seconds = 1
grace_seconds = 1
"#;

#[test]
fn a_mention_is_queued_run_in_a_worktree_and_answered() {
    let forge = Forge::start();
    let site = Site::new("", &format!("{}[mentions]\n{AGENTS}", forge.table()));
    let daemon = site.start();
    let reply = daemon.hook(&comment(7, 1, "@orch:greeter please"));
    assert_eq!(reply.status, 202, "{}", reply.body);
    let (_, id) = runs_of(&reply.json()).remove(0);
    let run = daemon.ended(&id);
    assert_eq!(run["exit"]["class"], "success", "{run}");
    assert_eq!(run["branch"], format!("orch/greeter/{id}"));
    // The commit of the agent is on its branch, and nothing was done in the main checkout.
    let branch = run["branch"].as_str().expect("a branch");
    assert_eq!(
        git(&site.path("repo"), &["log", "-1", "--format=%s", branch]),
        "work"
    );
    assert_eq!(git(&site.path("repo"), &["status", "--porcelain"]), "");
    wait_until("the comment", || !forge.comments().is_empty());
    let (path, body) = forge.comments().remove(0);
    assert!(
        path.ends_with("/repos/acme/main/issues/7/comments"),
        "{path}"
    );
    assert!(body.contains("hello from greeter"), "{body}");
    assert!(
        !body.contains("@orch:greeter"),
        "mentions are neutralised: {body}"
    );
    assert!(
        body.contains(&format!("<!-- orch:run={id} depth=1 -->")),
        "{body}"
    );
    let log = daemon.admin("GET", &format!("/admin/runs/{id}/log"));
    assert!(log.body.contains("hello from greeter"), "{}", log.body);
    let followed = daemon.admin("GET", &format!("/admin/runs/{id}/log?follow=1"));
    assert!(
        followed.body.contains("event: log") && followed.body.contains("event: end"),
        "{}",
        followed.body
    );
    let journal = daemon.journal();
    for event in [
        "run.queued",
        "worktree.created",
        "agent.spawned",
        "agent.exited",
    ] {
        assert!(
            journal.iter().any(|name| name == event),
            "{event} in {journal:?}"
        );
    }
}

#[test]
fn what_is_refused_says_why_everywhere() {
    let site = Site::new("", &format!("[mentions]\n{AGENTS}"));
    let daemon = site.start();
    let reply = daemon.hook(&comment(7, 1, "@orch:nobody")).json();
    assert_eq!(reply["outcome"], "rejected");
    assert_eq!(reply["rejected"][0]["reason"], "unknown_agent");
    assert!(daemon.journal().contains(&"run.rejected".to_owned()));
    let reply = daemon.hook(&comment(7, 2, "@orch:broken")).json();
    let (_, id) = runs_of(&reply).remove(0);
    let run = daemon.ended(&id);
    assert_eq!(run["reason"], "start_failed", "{run}");
    assert_eq!(run["exit"]["class"], "config_error", "{run}");
    site.configure("", AGENTS);
    let reloaded = daemon.post("/admin/reload");
    assert_eq!(reloaded["valid"], true, "{reloaded}");
    let reply = daemon.hook(&comment(7, 3, "@orch:greeter")).json();
    assert_eq!(reply["outcome"], "ignored", "{reply}");
    assert_eq!(reply["reason"], "mentions_not_configured");
    site.configure("bogus = 1", AGENTS);
    let refused = daemon.admin("POST", "/admin/reload");
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert_eq!(
        daemon.get("/admin/status")["mentions"],
        false,
        "what was in force stays"
    );
}

/// "forge post failed (issue number 0 is expected for CLI triggers)".
#[test]
fn contract_a_trigger_of_the_command_line_has_a_failed_post_in_the_journal() {
    let forge = Forge::start();
    let site = Site::new("", &format!("{}[mentions]\n{AGENTS}", forge.table()));
    let daemon = site.start();
    let reply = daemon.hook(&comment(0, 0, "@orch:greeter please")).json();
    let (_, id) = runs_of(&reply).remove(0);
    daemon.ended(&id);
    let failed = || {
        let page = daemon.get("/admin/journal?limit=1000");
        let entries = page["entries"].as_array().expect("entries").clone();
        let failed = |entry: &serde_json::Value| entry["event"] == "forge.post.failed";
        entries.into_iter().filter(failed).collect::<Vec<_>>()
    };
    wait_until("the entry", || !failed().is_empty());
    let failed = failed();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["run"], id, "{failed:?}");
    let detail = failed[0]["detail"].as_str().expect("a detail");
    assert!(detail.starts_with("acme/main#0: no_issue"), "{detail}");
    assert!(forge.comments().is_empty());
    // At an issue that it names its answer is posted, as its help says.
    let mut at_issue = comment(7, 9, "@orch:greeter please");
    at_issue["orchctl"] = true.into();
    let (_, id) = runs_of(&daemon.hook(&at_issue).json()).remove(0);
    daemon.ended(&id);
    wait_until("the comment", || forge.comments().len() == 1);
}

#[test]
fn a_run_is_cancelled_with_all_its_processes_and_repeated() {
    let site = Site::new("", &format!("[mentions]\n{AGENTS}"));
    let daemon = site.start();
    let reply = daemon.hook(&comment(0, 1, "@orch:sleeper")).json();
    let (_, id) = runs_of(&reply).remove(0);
    let run = daemon.wait_for_run(&id, |run| run["state"] == "running");
    let pid = run["pid"].as_u64().expect("a process");
    assert_eq!(
        daemon
            .admin("POST", &format!("/admin/runs/{id}/retry"))
            .status,
        409
    );
    let reply = daemon.post(&format!("/admin/runs/{id}/cancel"));
    assert_eq!(reply["cancelled"], true);
    let run = daemon.ended(&id);
    assert_eq!(
        (&run["state"], &run["reason"]),
        (&"cancelled".into(), &"cancelled_by_operator".into()),
        "{run}"
    );
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    assert_eq!(
        daemon.post(&format!("/admin/runs/{id}/cancel"))["cancelled"],
        false
    );
    let again = daemon.post(&format!("/admin/runs/{id}/retry"));
    let again = again["run"].as_str().expect("a run").to_owned();
    daemon.wait_for_run(&again, |run| run["state"] == "running");
    assert_eq!(daemon.admin("GET", "/admin/runs/none").status, 404);
}

#[test]
fn the_wall_clock_ends_a_run() {
    let site = Site::new("", &format!("[mentions]\n{AGENTS}"));
    let daemon = site.start();
    let reply = daemon.hook(&comment(0, 1, "@orch:hasty")).json();
    let run = daemon.ended(&runs_of(&reply).remove(0).1);
    assert_eq!(run["exit"]["class"], "timeout", "{run}");
    assert!(
        daemon
            .journal()
            .contains(&"run.wall_clock_killed".to_owned())
    );
}
