//! Every command against the real daemon: on this machine by a socket and a port, and through a
//! real SSH server.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use scripted_peers::Sshd;

use crate::daemon::{Daemon, OWN_SECRET, SECRET, Site, TOKEN};
use crate::{code, err, orchctl, out, text};

#[test]
fn every_question_is_answered_for_people_and_programs() {
    let site = Site::new();
    let daemon = site.start();
    let printed = |args: &[&str], expected: i32| site.printed(&daemon, args, expected);
    let json = |args: &[&str], expected: i32| site.json(&daemon, args, expected);

    assert!(printed(&["status"], 0).contains("running 0\n"));
    assert_eq!(json(&["status"], 0)["main_project"], "main");
    let list = printed(&["list"], 0);
    assert!(
        list.contains("tools    helper") && list.contains("disabled"),
        "{list}"
    );
    let agents = json(&["list", "--project", "tools"], 0);
    assert_eq!(agents["agents"].as_array().unwrap().len(), 1);
    assert_eq!(
        printed(&["runs"], 4).lines().count(),
        1,
        "the head of the table"
    );
    assert_eq!(json(&["runs"], 4)["runs"], serde_json::json!([]));

    let queued = printed(&["trigger", "greeter", "--context", "by hand"], 0);
    let run = queued.split_whitespace().next().unwrap().to_owned();
    assert!(queued.ends_with("main/greeter is queued\n"), "{queued}");
    assert_eq!(printed(&["logs", "-f", &run], 0), "hello\nto the world\n");
    site.in_state(&daemon, &run, "exited");
    assert!(printed(&["show", &run], 0).contains("exit       success, code 0"));
    assert_eq!(printed(&["logs", &run, "--tail", "1"], 0), "to the world\n");
    assert_eq!(json(&["logs", &run], 0)["text"], "hello\nto the world\n");
    let runs = json(&["runs", "--agent", "greeter", "--state", "exited"], 0);
    assert_eq!(runs["runs"][0]["id"], *run);
    assert_eq!(runs["runs"][0]["trigger"], "cli");

    let again = json(&["retry", &run], 0)["run"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        site.in_state(&daemon, &again, "exited")["exit"]["class"],
        "success"
    );
    let events = printed(&["events"], 0);
    let mut names = ["run.queued", "agent.spawned", "agent.exited"].iter();
    assert!(names.all(|name| events.contains(name)), "{events}");
    let args = ["events", "--after", "0", "--limit", "1", "--format=json"];
    let first: serde_json::Value = serde_json::from_str(&printed(&args, 0)).unwrap();
    assert_eq!(
        (&first["seq"], &first["event"]),
        (&1.into(), &"run.queued".into())
    );

    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn every_order_is_answered_for_people_and_programs() {
    let site = Site::new();
    let daemon = site.start();
    let printed = |args: &[&str], expected: i32| site.printed(&daemon, args, expected);
    let json = |args: &[&str], expected: i32| site.json(&daemon, args, expected);

    assert_eq!(
        printed(&["pause", "main"], 0),
        "main is paused: its runs wait\n"
    );
    let held = site.trigger(&daemon, "greeter");
    let shown = printed(&["show", &held], 0);
    assert!(shown.contains("state      queued"), "{shown}");
    assert_eq!(json(&["cancel", &held], 0)["state"], "cancelled");
    assert!(printed(&["cancel", &held], 1).contains("is over already (cancelled)"));
    assert_eq!(json(&["resume", "main"], 0)["paused"], false);

    let slow = site.trigger(&daemon, "slow");
    site.in_state(&daemon, &slow, "running");
    assert!(printed(&["status"], 0).contains("main/slow"));
    assert!(printed(&["retry", &slow], 1).is_empty(), "it goes on");
    assert!(printed(&["cancel", &slow], 0).contains("is being ended"));
    assert_eq!(
        site.in_state(&daemon, &slow, "cancelled")["reason"],
        "cancelled_by_operator"
    );

    assert!(printed(&["prompt", "writer"], 0).contains("Write well."));
    assert_eq!(
        json(&["prompt", "helper", "--project", "tools"], 0)["agent"],
        "helper"
    );
    assert!(printed(&["check"], 0).ends_with("the configuration is valid\n"));
    let warned = printed(&["check"], 0);
    let expected = "orchestrator.toml: warning: there is no `[forge]`: no status and no comment is posted\n   = help: ";
    assert!(warned.contains(expected), "{warned}");
    assert_eq!(json(&["reload"], 0)["valid"], true);
    site.configure("bogus = 1");
    assert_eq!(json(&["check"], 1)["diagnostics"][0]["line"], 7);
    let wrong = printed(&["reload"], 1);
    assert!(
        wrong.starts_with("orchestrator.toml:7:1: error: unknown key `bogus`"),
        "{wrong}"
    );
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn waiting_ends_as_the_run_does_and_refusals_have_their_codes() {
    let site = Site::new();
    let daemon = site.start();
    let wait = |agent: &str, more: &[&str]| {
        let args = [&["trigger", agent, "--wait"], more].concat();
        site.ask(&daemon, &args)
    };
    for (agent, expected, class) in [
        ("greeter", 0, "success"),
        ("failing", 3, "unknown"),
        ("killed", 137, "killed_by_signal"),
    ] {
        let output = wait(agent, &["--format=json"]);
        assert_eq!(code(&output), expected, "{agent}: {}", err(&output));
        let waited: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(waited["run"]["exit"]["class"], class, "{waited}");
        assert_eq!(waited["reply"]["dispatches"][0]["run"], waited["run"]["id"]);
    }
    let late = wait("slow", &["--timeout", "1"]);
    assert_eq!(code(&late), 7, "{}", err(&late));
    assert!(err(&late).contains("see `orchctl show "), "{}", err(&late));
    for (args, expected, said) in [
        (
            &["trigger", "nobody"][..],
            4,
            "nobody was not started: unknown_agent: ",
        ),
        (&["trigger", "helper"], 4, "other_project"),
        (&["trigger", "asleep"], 1, "disabled"),
        (
            &["trigger", "greeter", "--project", "nowhere"],
            4,
            "there are: main, tools",
        ),
        (
            &["trigger", "greeter", "--secret", "wrong"],
            5,
            "is it the orchestrator's webhook secret?",
        ),
        (&["show", "no-such-run"], 4, "there is no run no-such-run"),
        (&["logs", "no-such-run"], 4, "there is no run no-such-run"),
        (&["cancel", "no-such-run"], 4, "there is no run"),
        (&["pause", "nowhere"], 4, "there is no project nowhere"),
        (&["prompt", "nobody"], 4, "there is no agent main/nobody"),
        (&["runs", "--state", "nonsense"], 2, "nonsense"),
    ] {
        let output = site.ask(&daemon, args);
        assert_eq!(code(&output), expected, "{args:?}: {}", err(&output));
        assert!(err(&output).contains(said), "{args:?}: {}", err(&output));
        assert_eq!(out(&output), "", "{args:?}");
    }
    // A restart while somebody waits: the run is over, and so is the waiting.
    let mut waiting = site.orchctl(&daemon, &["trigger", "slow", "--wait"]);
    let mut waiting = waiting
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut errors = BufReader::new(waiting.stderr.take().unwrap());
    errors.read_line(&mut said).unwrap();
    let run = said.split_whitespace().nth(1).unwrap().to_owned();
    site.in_state(&daemon, &run, "running");
    assert_eq!(daemon.stop(), Some(0));
    let _daemon = site.start();
    let ended = waiting.wait_with_output().unwrap();
    assert_eq!(code(&ended), 1, "{}", out(&ended));
    assert!(
        out(&ended).contains("orchestrator_restart"),
        "{}",
        out(&ended)
    );
}

#[test]
fn the_journal_and_a_log_are_followed_until_somebody_has_seen_enough() {
    let site = Site::new();
    let daemon = site.start();
    let slow = site.trigger(&daemon, "slow");
    for (args, wanted) in [
        (&["logs", "-f", &*slow][..], "begun"),
        (&["events", "-f", "--after", "0"], "agent.spawned"),
    ] {
        let mut command = site.orchctl(&daemon, args);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let seen = lines
            .map_while(Result::ok)
            .any(|line| line.contains(wanted));
        assert!(seen, "{args:?}");
        let pid = child.id().to_string();
        let _ = Command::new("kill").args(["-INT", &pid]).status();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{args:?}");
    }
}

#[test]
fn the_port_wants_its_token_and_a_project_its_own_secret() {
    let site = Site::new();
    let daemon = site.start();
    let place = [
        format!("--admin={}", daemon.admin),
        format!("--receiver={}", daemon.receiver),
    ];
    let ask = |args: &[&str], environment: &[(&str, &str)]| {
        let place = place.iter().map(String::as_str);
        let all: Vec<&str> = args.iter().copied().chain(place).collect();
        orchctl(&all, environment)
    };
    let token = ("ORCH_ADMIN_TOKEN", TOKEN);
    let without = ask(&["status"], &[]);
    assert_eq!(code(&without), 5);
    assert!(
        err(&without).contains("set ORCH_ADMIN_TOKEN"),
        "{}",
        err(&without)
    );
    assert_eq!(code(&ask(&["status"], &[("ORCH_ADMIN_TOKEN", "other")])), 5);
    assert_eq!(code(&ask(&["status"], &[token])), 0);
    let trigger = ["trigger", "helper", "--project", "tools", "--wait"];
    let shared = ask(&trigger, &[token, ("ORCH_WEBHOOK_SECRET", SECRET)]);
    assert_eq!(code(&shared), 5, "w17: {}", err(&shared));
    let own = ask(&trigger, &[token, ("ORCH_WEBHOOK_SECRET", OWN_SECRET)]);
    assert_eq!(code(&own), 0, "{}", err(&own));
    // From the files, each project's own is found.
    site.printed(&daemon, &trigger, 0);
    site.printed(&daemon, &["trigger", "greeter", "--wait"], 0);
}

/// The same over SSH: tunnels to the socket and the receiver, the secrets read there.
#[test]
fn o11_everything_works_through_a_real_ssh_server() {
    let site = Site::new();
    let daemon = site.start();
    let sshd = Sshd::start(site.folder.path(), &format!("SetEnv HIDDEN={SECRET}"));
    let socket = site.path("admin.sock").display().to_string();
    let ask_at = |admin: &str, args: &[&str]| {
        let mut all: Vec<String> = args.iter().map(|text| (*text).to_owned()).collect();
        all.extend(["--ssh".to_owned(), sshd.host()]);
        let ssh = sshd.client_args().into_iter();
        all.extend(ssh.map(|argument| format!("--ssh-arg={argument}")));
        all.extend([
            format!("--receiver={}", daemon.receiver),
            format!("--admin={admin}"),
            format!("--config={}", site.path("orchestrator.toml").display()),
        ]);
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        orchctl(&all, &[("TMPDIR", text(site.folder.path()))])
    };
    let ask = |args: &[&str]| ask_at(&socket, args);
    let printed = |args: &[&str], expected: i32| {
        let output = ask(args);
        let said = format!("{args:?}: {} {}", err(&output), sshd.log());
        assert_eq!(code(&output), expected, "{said}");
        out(&output)
    };
    assert!(printed(&["status"], 0).contains("running 0"));
    assert!(printed(&["trigger", "greeter", "--wait"], 0).contains("success"));
    printed(&["trigger", "failing", "--wait"], 3);
    printed(&["trigger", "helper", "--project=tools", "--wait"], 0);
    let slow = printed(&["trigger", "slow"], 0);
    let slow = slow.split_whitespace().next().unwrap();
    site.in_state(&daemon, slow, "running");
    printed(&["cancel", slow], 0);
    assert_eq!(printed(&["logs", "-f", slow], 0), "begun\n");
    let list: serde_json::Value =
        serde_json::from_str(&printed(&["runs", "--format=json"], 0)).unwrap();
    assert_eq!(list["runs"].as_array().unwrap().len(), 4);
    for args in [
        &["list"][..],
        &["show", slow],
        &["events"],
        &["retry", slow],
        &["pause", "main"],
        &["resume", "main"],
        &["prompt", "writer"],
        &["check"],
        &["reload"],
    ] {
        assert!(!printed(args, 0).is_empty(), "{args:?}");
    }
    let relative = ask_at("./admin.sock", &["status"]);
    assert_eq!(code(&relative), 2, "{}", err(&relative));
    assert!(
        err(&relative).contains("absolute path"),
        "{}",
        err(&relative)
    );
    let _: &Daemon = &daemon;
}
