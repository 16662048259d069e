//! Schedules, secrets and the admin port.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::harness::{Site, comment, runs_of, wait_until};

#[test]
fn a_scheduled_agent_runs_and_does_not_pile_up() {
    let agents = "[mentions]\n[[agents]]\nproject = \"main\"\nname = \"clock\"\ncli = \"sh\"\nscript = \"echo tick; sleep 600\"\n\
        schedule = \"* * * * * *\"\ngrace_seconds = 1\n";
    let site = Site::new("tick_interval_secs = 1", agents);
    let daemon = site.start();
    let runs = || {
        daemon.get("/admin/runs?agent=clock")["runs"]
            .as_array()
            .expect("runs")
            .clone()
    };
    wait_until("the scheduled run", || {
        runs().iter().any(|run| run["state"] == "running")
    });
    let ticks = || {
        daemon.get("/admin/status")["ticks"]
            .as_u64()
            .expect("a count")
    };
    let seen = ticks();
    wait_until("three more ticks", || ticks() > seen + 2);
    assert_eq!(
        runs().len(),
        1,
        "one at a time, however many due times pass"
    );
    assert_eq!(runs()[0]["trigger"], "schedule");
    assert!(daemon.get("/admin/agents")["agents"][0]["next_due"].is_string());
}

/// An agent searches as its persona: address and role are told to it.
#[test]
fn an_agent_is_told_where_and_as_whom_it_searches() {
    let agents = "[mentions]\n[[agents]]\nproject = \"main\"\nname = \"seeker\"\ncli = \"sh\"\npersona = \"engineer\"\n\
        script = \"echo $ORCH_SEARCH_URL as $ORCH_SEARCH_ROLE\"\n\
        [[agents]]\nproject = \"main\"\nname = \"plain\"\ncli = \"sh\"\nscript = \"echo as ${ORCH_SEARCH_ROLE:-nobody}\"\n";
    let site = Site::new(
        "search_url = \"http://127.0.0.1:8000\"",
        &agents.replace("${", "$${"),
    );
    std::fs::create_dir(site.path("personas")).expect("a folder");
    let persona = "name = \"engineer\"\ntemplate = \"You are {{agent}}.\"\n";
    std::fs::write(site.path("personas/engineer.toml"), persona).expect("a file");
    let roles = "{\"engineer\": \"Rust Engineer\"}";
    std::fs::write(site.path("persona_roles_config.json"), roles).expect("a file");
    let daemon = site.start();
    for (id, agent, said) in [
        (1, "seeker", "http://127.0.0.1:8000/ as Rust Engineer"),
        (2, "plain", "as nobody"),
    ] {
        let event = comment(0, id, &format!("@orch:{agent}"));
        let run = runs_of(&daemon.hook(&event).json()).remove(0).1;
        daemon.ended(&run);
        let log = daemon.admin("GET", &format!("/admin/runs/{run}/log")).body;
        assert_eq!(log.trim(), said);
    }
}

/// O01, O08: secrets are in no log, answer or child but the one they belong to.
#[test]
fn o01_o08_secrets_stay_where_they_belong() {
    let agents = "[mentions]\n[[agents]]\nproject = \"main\"\nname = \"nosy\"\ncli = \"sh\"\n\
        script = \"env; cat /proc/$PPID/cmdline; echo $OWN; printf %s $OWN | base64\"\nenv = { OWN = \"planted-secret-of-nosy\" }\n\
        [[agents]]\nproject = \"main\"\nname = \"other\"\ncli = \"sh\"\nscript = \"env\"\nenv = { THEIRS = \"planted-secret-of-other\" }\n";
    let site = Site::new(
        "admin_listen = \"127.0.0.1:0\"\nadmin_token = \"planted-admin-token\"",
        agents,
    );
    let tokens = site.path("agent_tokens.json");
    std::fs::write(&tokens, "{\"other\": \"planted-forge-token\"}").expect("a file");
    let daemon = site.start();
    let id = runs_of(&daemon.hook(&comment(0, 1, "@orch:nosy")).json())
        .remove(0)
        .1;
    daemon.ended(&id);
    let log = daemon.admin("GET", &format!("/admin/runs/{id}/log")).body;
    assert!(log.contains("ORCH_RUN_ID"), "{log}");
    let planted = [
        "planted-secret-of-nosy",
        "planted-secret-of-other",
        "planted-admin-token",
        "planted-forge-token",
        crate::harness::SECRET,
    ];
    let encoded = "cGxhbnRlZC1zZWNyZXQtb2Ytbm9zeQ";
    assert!(!log.contains(encoded), "base64 is masked, too: {log}");
    let shown = [
        log,
        daemon.admin("GET", "/admin/status").body,
        daemon.admin("GET", "/admin/agents").body,
        daemon.admin("GET", &format!("/admin/runs/{id}")).body,
        daemon.admin("POST", "/admin/check").body,
        daemon.admin("GET", "/admin/journal").body,
    ];
    for (place, text) in shown.iter().enumerate() {
        for secret in planted {
            assert!(!text.contains(secret), "{secret} in answer {place}: {text}");
        }
    }
}

#[test]
fn the_admin_port_wants_its_token() {
    let agents = "[mentions]\n[[agents]]\nproject = \"main\"\nname = \"any\"\ncli = \"sh\"\nscript = \"true\"\n";
    let site = Site::new(
        "admin_listen = \"127.0.0.1:0\"\nadmin_token = \"the-admin-token\"",
        agents,
    );
    let daemon = site.start();
    let port = daemon.admin_port.expect("it listens on a port");
    let ask = |more: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a port");
        let text = format!(
            "GET /admin/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n"
        );
        stream
            .write_all(text.as_bytes())
            .expect("it takes the request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer.split(' ').nth(1).map(str::to_owned)
    };
    assert_eq!(ask("").as_deref(), Some("401"));
    assert_eq!(
        ask("Authorization: Bearer wrong\r\n").as_deref(),
        Some("401")
    );
    assert_eq!(
        ask("Authorization: Bearer the-admin-token\r\n").as_deref(),
        Some("200")
    );
    assert_eq!(
        ask("Authorization: Bearer the-admin-token\r\nOrigin: http://evil.example\r\n").as_deref(),
        Some("403")
    );
}
