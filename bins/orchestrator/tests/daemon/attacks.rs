//! Attacks on what is asked for: who may ask, for what, and how often.

use crate::forge::Forge;
use crate::harness::{Daemon, SECRET, Site, comment, pause, pull, run_of, runs_of, wait_until};

const AGENT: &str = "[[agents]]\nproject = \"main\"\nname = \"greeter\"\ncli = \"sh\"\nscript = \"echo hi\"\nmax_parallel = 8\n";

fn all(daemon: &Daemon) -> Vec<serde_json::Value> {
    let runs = daemon.get("/admin/runs?limit=500");
    runs["runs"].as_array().expect("runs").clone()
}

#[test]
fn w19_a_crash_at_any_point_of_an_intake_leaves_the_delivery_to_be_repeated_once() {
    let site = Site::new("", &format!("[mentions]\n{AGENT}"));
    let mut answered = 0;
    for round in 0..12_u64 {
        let daemon = site.start();
        let event = comment(0, round + 1, "@orch:greeter");
        let id = format!("delivery-{round}");
        std::thread::scope(|scope| {
            let sent = scope.spawn(|| daemon.deliver(&id, &event).is_some());
            pause(std::time::Duration::from_micros(round * 700));
            let pid = daemon.pid().to_string();
            let killed = std::process::Command::new("kill")
                .args(["-9", &pid])
                .status();
            assert!(killed.expect("kill is installed").success());
            answered += usize::from(sent.join().expect("no panic"));
        });
        drop(daemon);
        let daemon = site.start();
        let again = daemon.deliver(&id, &event).expect("an answer");
        assert!(matches!(again.status, 200 | 202), "{}", again.body);
        let known = all(&daemon).len() as u64;
        assert_eq!(known, round + 1, "one row for each comment: {}", again.body);
    }
    println!("{answered} of 12 were answered before the kill");
}

#[test]
fn w21_w22_w23_comments_that_ask_for_nothing() {
    let site = Site::new(
        "own_logins = [\"orch-bot\"]",
        &format!("[mentions]\n{AGENT}"),
    );
    let daemon = site.start();
    let outcome = |event: &serde_json::Value| {
        let reply = daemon.hook(event).json();
        let reason = reply["rejected"][0]["reason"].as_str().map(str::to_owned);
        reason.unwrap_or_else(|| reply["outcome"].as_str().expect("a word").to_owned())
    };
    for action in ["edited", "deleted"] {
        let mut event = comment(7, 1, "@orch:greeter");
        event["action"] = action.into();
        assert_eq!(outcome(&event), "ignored", "w21");
    }
    let mut closed = comment(7, 2, "@orch:greeter");
    closed["issue"]["state"] = "closed".into();
    assert_eq!(outcome(&closed), "issue_closed", "w21");
    let mut own = comment(7, 3, "@orch:greeter");
    own["comment"]["user"]["login"] = "orch-bot".into();
    assert_eq!(outcome(&own), "ignored", "w22");
    for (id, text) in [
        (4, "```\n@orch:greeter\n```"),
        (5, "see `@orch:greeter`"),
        (6, "<!-- @orch:greeter -->"),
        (7, "> @orch:greeter"),
        (8, "mail me@orch:greeter"),
    ] {
        assert_eq!(outcome(&comment(7, id, text)), "ignored", "w23 {text}");
    }
    let started = all(&daemon)
        .iter()
        .filter(|run| run["state"] != "rejected")
        .count();
    assert_eq!(started, 0);
    let metrics = daemon.admin("GET", "/metrics").body;
    let counted = "orchestrator_deliveries_total{outcome=\"ignored\"} 8";
    assert!(metrics.contains(counted), "w21: {metrics}");
}

#[test]
fn w24_many_mentions_and_names_that_are_none() {
    let site = Site::new("", &format!("[mentions]\n{AGENT}"));
    let daemon = site.start();
    let thousand = "@orch:greeter ".repeat(1000);
    let reply = daemon.hook(&comment(7, 1, &thousand)).json();
    assert!(runs_of(&reply).len() <= 10, "{reply}");
    let many: String = (0..900).map(|n| format!("@orch:agent-{n}\n")).collect();
    let reply = daemon.hook(&comment(7, 2, &many)).json();
    assert_eq!(runs_of(&reply).len(), 0);
    assert!(
        reply["rejected"].as_array().expect("a list").len() <= 11,
        "{reply}"
    );
    for (id, name) in [
        (3, "@orch:gree\u{0442}er".to_owned()),
        (4, "@orch:../../etc".to_owned()),
        (5, format!("@orch:{}", "a".repeat(10_000))),
        (6, "@orch:Greeter".to_owned()),
    ] {
        let reply = daemon.hook(&comment(7, id, &name)).json();
        assert_eq!(runs_of(&reply).len(), 0, "{name}: {reply}");
    }
}

#[test]
fn w25_an_author_who_may_not_write_is_refused_with_the_forge_s_word() {
    let forge = Forge::start();
    let table = forge.table();
    let site = Site::new("", &format!("{table}[mentions]\n{AGENT}"));
    let mut daemon = site.start();
    forge.permit("mallory", "read");
    forge.permit("shy", "");
    let by = |daemon: &Daemon, login: &str, id: u64| {
        let mut event = comment(7, id, "@orch:greeter");
        event["comment"]["user"]["login"] = login.into();
        run_of(&daemon.hook(&event).json(), "greeter")
    };
    let refused = by(&daemon, "mallory", 1);
    let run = daemon.ended(&refused);
    assert_eq!(
        (&run["state"], &run["reason"]),
        (&"rejected".into(), &"not_allowed".into()),
        "{run}"
    );
    let line = daemon.wait_for_line("forge.author_refused");
    assert!(line.to_string().contains("mallory"), "{line}");
    let writer = by(&daemon, "alice", 2);
    assert_eq!(daemon.ended(&writer)["exit"]["class"], "success");
    // A forge that cannot say now holds the run, and nothing else.
    let held = by(&daemon, "shy", 3);
    daemon.wait_for_line("forge.author_unknown");
    assert_eq!(daemon.run(&held)["state"], "queued");
    daemon.wait_for_run(&held, |run| run["hold"] == "author_check");
    let other = by(&daemon, "alice", 4);
    assert_eq!(daemon.ended(&other)["exit"]["class"], "success");
    forge.permit("shy", "admin");
    // Any early tick asks again.
    daemon.post("/admin/projects/main/pause");
    daemon.post("/admin/projects/main/resume");
    assert_eq!(daemon.ended(&held)["exit"]["class"], "success");
}

const CHECKED: &str = r#"
[pr_dispatch]
project = "main"
agents = [{ agent = "checker", context = "orch/check" }]
[[agents]]
project = "main"
name = "checker"
cli = "sh"
worktree = "head"
script = "echo tested $ORCH_HEAD_SHA $(git rev-parse HEAD)"
max_parallel = 8
[[agents]]
project = "main"
name = "reader"
cli = "command"
command = ["cat"]
prompt_by = "stdin"
"#;

#[test]
fn w27_a_head_that_moves_is_superseded_and_the_status_goes_to_what_was_tested() {
    let forge = Forge::start();
    let site = Site::new("", &format!("{}[mentions]\n{CHECKED}", forge.table()));
    let daemon = site.start();
    daemon.post("/admin/projects/main/pause");
    let (first, second) = (site.commit("one"), site.commit("two"));
    let old = run_of(&daemon.hook(&pull("opened", 3, &first)).json(), "checker");
    let new = run_of(
        &daemon.hook(&pull("synchronize", 3, &second)).json(),
        "checker",
    );
    assert_eq!(daemon.ended(&old)["reason"], "superseded");
    daemon.post("/admin/projects/main/resume");
    assert_eq!(daemon.ended(&new)["exit"]["class"], "success");
    let log = daemon.admin("GET", &format!("/admin/runs/{new}/log")).body;
    assert!(log.contains(&format!("tested {second} {second}")), "{log}");
    wait_until("both statuses", || {
        forge.state(&first, "orch/check").as_deref() == Some("error")
            && forge.state(&second, "orch/check").as_deref() == Some("success")
    });
}

#[test]
fn w28_the_text_as_delivered_is_used() {
    let site = Site::new("", &format!("[mentions]\n{CHECKED}"));
    let daemon = site.start();
    daemon.post("/admin/projects/main/pause");
    let asked = comment(7, 1, "@orch:reader do the first thing");
    let run = run_of(&daemon.hook(&asked).json(), "reader");
    let mut edited = comment(7, 1, "@orch:reader do the SECOND thing");
    edited["action"] = "edited".into();
    assert_eq!(daemon.hook(&edited).json()["outcome"], "ignored");
    daemon.post("/admin/projects/main/resume");
    daemon.ended(&run);
    let log = daemon.admin("GET", &format!("/admin/runs/{run}/log")).body;
    assert!(log.contains("do the first thing"), "{log}");
    assert!(!log.contains("SECOND"), "{log}");
}

#[test]
fn w10_w30_slow_and_wrong_senders_leave_the_others_alone() {
    let site = Site::new("", &format!("[mentions]\n{AGENT}"));
    let daemon = site.start();
    let trickle = std::net::TcpStream::connect(("127.0.0.1", daemon.port)).expect("a port");
    let began = std::time::Instant::now();
    let slow = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let mut stream = &trickle;
        let head = "POST /webhook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
            X-Hub-Signature-256: sha256=00\r\nContent-Length: 600\r\n\r\n";
        stream.write_all(head.as_bytes()).expect("it is taken");
        let quick = Some(std::time::Duration::from_millis(10));
        stream.set_read_timeout(quick).expect("a time");
        let mut answer = Vec::new();
        loop {
            if stream.write_all(b" ").is_err() {
                return answer;
            }
            let mut part = [0; 512];
            match stream.read(&mut part) {
                Ok(0) => return answer,
                Ok(read) => answer.extend_from_slice(&part[..read]),
                Err(_) => pause(std::time::Duration::from_secs(1)),
            }
        }
    });
    let body = serde_json::to_vec(&comment(0, 1, "@orch:greeter")).expect("JSON");
    let wrong = forge_core::sign("not-the-secret-0123456789", &body)
        .expect("a secret")
        .hub();
    let flood = std::time::Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..250 {
                    let answer = daemon.raw_hook(&[("X-Hub-Signature-256", &wrong)], &body);
                    assert_eq!(answer.map(|answer| answer.status), Some(403));
                }
            });
        }
        for id in 0..20 {
            let good = daemon.hook(&comment(0, 100 + id, "@orch:greeter"));
            assert_eq!(
                good.status, 202,
                "w30: a good one is taken during the flood"
            );
        }
    });
    let seconds = flood.elapsed().as_secs() as usize;
    let lines = daemon.logged();
    let lines = lines.matches("http.bad_signature").count();
    assert!(
        lines >= 1 && lines <= seconds + 2,
        "w30: {lines} lines in {seconds} s"
    );
    let answer = slow.join().expect("no panic");
    let took = began.elapsed();
    assert!(took.as_secs() < 20, "w10: it was closed after {took:?}");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(
        answer.is_empty() || answer.contains(" 408 ") || answer.contains(" 403 "),
        "{answer}"
    );
    assert!(!all(&daemon).is_empty());
    assert_ne!(SECRET, "not-the-secret-0123456789");
}

#[test]
fn w11_requests_that_can_be_read_in_two_ways() {
    let site = Site::new("", &format!("[mentions]\n{AGENT}"));
    let daemon = site.start();
    let base = "POST /webhook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    for headers in [
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 2\r\nContent-Length: 3\r\n",
        "X-A: b\r\n c\r\nContent-Length: 2\r\n",
        "X-A: b\nContent-Length: 2\r\n",
    ] {
        let answer = daemon.plain(&format!("{base}{headers}\r\n{{}}\r\n"));
        assert_eq!(
            answer.map(|answer| answer.status),
            Some(400),
            "w11 {headers:?}"
        );
    }
    assert!(all(&daemon).is_empty());
}
