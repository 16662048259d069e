//! Whatever a pull request goes through: a reason everywhere, and no status that stays pending.

use serde_json::json;

use crate::forge::Forge;
use crate::harness::{Daemon, Site, comment, pull, run_of, wait_until};

const AGENTS: &str = r#"
[[agents]]
project = "main"
name = "checker"
cli = "sh"
script = "echo checked; sleep 600"
grace_seconds = 1
max_parallel = 8
[[agents]]
project = "main"
name = "helper"
cli = "sh"
script = "true"
[[agents]]
project = "second"
name = "stranger"
cli = "sh"
script = "true"
"#;

fn fan_out(more: &str) -> String {
    format!(
        "[mentions]\n[pr_dispatch]\nproject = \"main\"\nagents = [{{ agent = \"checker\", context = \"orch/check\" }}]\n{more}\n"
    )
}

fn second(site: &Site) -> String {
    let base = site.folder.path().display();
    format!(
        "[[projects]]\nid = \"second\"\nrepository = \"acme/second\"\nworking_dir = \"{base}/repo\"\n"
    )
}

/// Nothing is owed and nothing waits to be posted.
fn settled(daemon: &Daemon) {
    wait_until("nothing is owed", || {
        let status = daemon.get("/admin/status");
        status["statuses"] == json!([]) && status["outbox"] == 0
    });
}

/// The reason is in the record, the journal and the status's description.
fn logged_everywhere(daemon: &Daemon, forge: &Forge, run: &str, reason: &str) {
    let record = daemon.run(run);
    assert_eq!(record["reason"], reason, "{record}");
    assert_eq!(record["ended"], true);
    assert!(
        record["detail"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
    );
    let page = daemon.get("/admin/journal?limit=1000");
    let entries = page["entries"].as_array().expect("entries");
    let told = |entry: &serde_json::Value| {
        entry["run"] == run
            && entry["detail"]
                .as_str()
                .is_some_and(|text| text.contains(reason))
    };
    assert!(entries.iter().any(told), "{reason} of {run} in {page}");
    settled(daemon);
    if record["context"].is_string() {
        let said = forge.description("orch/check").expect("a description");
        assert!(said.starts_with(reason), "{said}");
        let sha = record["sha"].as_str().expect("a commit");
        assert_eq!(forge.state(sha, "orch/check").as_deref(), Some("error"));
    }
}

#[test]
fn what_ends_before_its_time_says_why_and_leaves_no_status_pending() {
    let forge = Forge::start();
    let plain = format!("{}{}{AGENTS}", forge.table(), fan_out(""));
    let site = Site::new("", "");
    site.configure("", &format!("{}{plain}", second(&site)));
    let daemon = site.start();
    let shas: Vec<String> = (0..5).map(|n| site.commit(&n.to_string())).collect();
    let open =
        |number: u64, action: &str, sha: &str| daemon.hook(&pull(action, number, sha)).json();
    // Synchronized before opened; pushed again while it runs.
    let first = run_of(&open(1, "synchronized", &shas[0]), "checker");
    assert_eq!(open(1, "opened", &shas[0])["outcome"], "duplicate");
    daemon.wait_for_run(&first, |run| run["state"] == "running");
    let newer = run_of(&open(1, "synchronize", &shas[1]), "checker");
    daemon.ended(&first);
    daemon.wait_for_run(&newer, |run| run["state"] == "running");
    // Closed while it runs; opened again with the same head; cancelled.
    open(1, "closed", &shas[1]);
    daemon.ended(&newer);
    logged_everywhere(&daemon, &forge, &newer, "pull_request_closed");
    assert_eq!(daemon.run(&first)["reason"], "superseded");
    let again = run_of(&open(1, "reopened", &shas[1]), "checker");
    daemon.wait_for_run(&again, |run| run["state"] == "running");
    daemon.post(&format!("/admin/runs/{again}/cancel"));
    daemon.ended(&again);
    logged_everywhere(&daemon, &forge, &again, "cancelled_by_operator");
    // O19: closed before it was started.
    daemon.post("/admin/projects/main/pause");
    let waiting = run_of(&open(2, "opened", &shas[2]), "checker");
    open(2, "closed", &shas[2]);
    logged_everywhere(&daemon, &forge, &waiting, "pull_request_closed");
    // The agent is gone before its turn.
    let orphan = run_of(&open(3, "opened", &shas[3]), "checker");
    let without = AGENTS.split("[[agents]]").skip(2);
    let without: String = without.map(|agent| format!("[[agents]]{agent}")).collect();
    let table = forge.table();
    site.configure(
        "",
        &format!("{}{table}[mentions]\n{without}", second(&site)),
    );
    assert_eq!(daemon.post("/admin/reload")["valid"], true);
    daemon.post("/admin/projects/main/resume");
    daemon.ended(&orphan);
    logged_everywhere(&daemon, &forge, &orphan, "agent_removed");
    // Who is on no allow-list.
    let listed = format!("{table}{}{AGENTS}", fan_out("allow = [\"carol\"]"));
    site.configure("", &format!("{}{listed}", second(&site)));
    assert_eq!(daemon.post("/admin/reload")["valid"], true);
    let reply = open(4, "opened", &shas[4]);
    assert_eq!(reply["rejected"][0]["reason"], "not_allowed", "{reply}");
    let runs = daemon.get("/admin/runs?state=rejected&limit=1");
    let run = runs["runs"][0]["id"].as_str().expect("a record").to_owned();
    logged_everywhere(&daemon, &forge, &run, "not_allowed");
    // Names that are none here, or elsewhere.
    for (id, mention, reason) in [
        (1, "@orch:nobody", "unknown_agent"),
        (2, "@orch:stranger", "other_project"),
        (3, "@orch:nowhere/helper", "unknown_project"),
    ] {
        let reply = daemon.hook(&comment(7, id, mention)).json();
        assert_eq!(reply["rejected"][0]["reason"], reason, "{reply}");
    }
    let journal = daemon.get("/admin/journal?limit=1000").to_string();
    for reason in ["unknown_agent", "other_project", "unknown_project"] {
        assert!(journal.contains(reason), "{reason}");
    }
    let metrics = daemon.admin("GET", "/metrics").body;
    assert!(
        metrics.contains("orchestrator_dispatches_rejected_total{reason=\"other_project\"} 1"),
        "{metrics}"
    );
    settled(&daemon);
    for sha in &shas {
        let state = forge.state(sha, "orch/check");
        assert!(
            state.as_deref().is_some_and(|state| state != "pending"),
            "{sha}: {state:?}"
        );
    }
}

/// A provider that fails is passed over: the next task of the same kind goes to the next route.
#[test]
fn a_provider_whose_circuit_is_open_is_passed_over() {
    let agents = "[mentions]\nmax_dispatches_per_tick = 9\n[providers.fast]\nfailures = 2\ncool_down_secs = 3600\n\
        [[agents]]\nproject = \"main\"\nname = \"thinker\"\ncli = \"command\"\ncommand = [\"sh\", \"-c\", \"echo own\"]\n\
        task = \"reasoning about code\"\n";
    let site = Site::new("", agents);
    std::fs::create_dir(site.path("routing")).expect("a folder");
    let table = "# Reasoning\n\npriority:: 80\ntrigger:: reasoning\nroute:: fast, fast-1\n\
        action:: ./limited {{ model }}\nroute:: steady, steady-1\naction:: ./works {{ model }}\n";
    std::fs::write(site.path("routing/reasoning.md"), table).expect("a file");
    for (name, script) in [
        (
            "limited",
            "#!/bin/sh\necho \"Error: 429 rate limit exceeded for $1\"\nexit 1\n",
        ),
        ("works", "#!/bin/sh\necho answered by $1\n"),
    ] {
        use std::os::unix::fs::PermissionsExt;
        let path = site.path("repo").join(name);
        std::fs::write(&path, script).expect("a file");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    let daemon = site.start();
    let ask = |id: u64| {
        let event = comment(0, id, "@orch:thinker");
        daemon.ended(&run_of(&daemon.hook(&event).json(), "thinker"))
    };
    for id in [1, 2] {
        let run = ask(id);
        assert_eq!(run["exit"]["class"], "rate_limit", "{run}");
    }
    let status = daemon.get("/admin/status");
    assert_eq!(status["breakers"], json!(["fast open"]), "{status}");
    let run = ask(3);
    assert_eq!(run["exit"]["class"], "success", "{run}");
    let id = run["id"].as_str().expect("an id");
    let log = daemon.admin("GET", &format!("/admin/runs/{id}/log")).body;
    assert!(log.contains("answered by steady-1"), "{log}");
    assert!(daemon.journal().contains(&"breaker.opened".to_owned()));
}
