//! On this machine: over loopback and the admin socket.

use std::fs;
use std::net::TcpListener;

use crate::bridge::{Bridge, SECRET, Script};
use crate::{code, err, orchctl, out, text};

const ENVIRONMENT: &[(&str, &str)] = &[("ORCH_WEBHOOK_SECRET", SECRET)];

pub(crate) fn ask(
    bridge: &Bridge,
    args: &[&str],
    environment: &[(&str, &str)],
) -> std::process::Output {
    let place = bridge.place();
    let all: Vec<&str> = args
        .iter()
        .copied()
        .chain(place.iter().map(String::as_str))
        .collect();
    orchctl(&all, environment)
}

pub(crate) fn bridge(script: Script) -> (tempfile::TempDir, Bridge) {
    let folder = tempfile::tempdir().unwrap();
    let bridge = Bridge::start(folder.path(), script);
    (folder, bridge)
}

#[test]
fn a_trigger_is_signed_names_the_main_project_and_prints_the_run() {
    let _alone = super::alone_with_command_lines();
    let (_folder, bridge) = bridge(Script::default());
    let output = ask(
        &bridge,
        &["trigger", "developer", "--context", "fix `$(id)`; rm -rf"],
        ENVIRONMENT,
    );
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert_eq!(out(&output), "run-1  main/developer is queued\n");
    let output = ask(
        &bridge,
        &[
            "trigger",
            "developer",
            "--project",
            "second",
            "--issue",
            "7",
            "--format",
            "json",
        ],
        ENVIRONMENT,
    );
    let reply: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["dispatches"][0]["run"], "run-1");
    let script = bridge.script.lock().unwrap();
    assert_eq!(script.seen[0]["repository"]["full_name"], "acme/main");
    assert_eq!(
        script.seen[0]["comment"]["body"],
        "@orch:developer fix `$(id)`; rm -rf"
    );
    assert_eq!(script.seen[0]["issue"]["number"], 0);
    assert_eq!(script.seen[1]["repository"]["full_name"], "acme/second");
    assert_eq!(script.seen[1]["issue"]["number"], 7);
    assert_ne!(
        script.seen[0]["comment"]["id"],
        script.seen[1]["comment"]["id"]
    );
    assert_eq!(script.exposed, None);
}

#[test]
fn a_refusal_is_told_at_once_with_its_reason_and_exit_code() {
    for (reason, expected) in [
        ("unknown_agent", 4),
        ("not_allowed", 5),
        ("budget_exhausted", 1),
        ("paused", 1),
    ] {
        let (_folder, bridge) = bridge(Script {
            rejected: Some(reason),
            ..Script::default()
        });
        let output = ask(&bridge, &["trigger", "developer", "--wait"], ENVIRONMENT);
        assert_eq!(code(&output), expected, "{reason}");
        assert!(
            err(&output).contains(&format!("developer was not started: {reason}: so it is")),
            "{}",
            err(&output)
        );
        assert_eq!(out(&output), "");
    }
    let (_folder, bridge) = bridge(Script::default());
    let output = ask(
        &bridge,
        &["trigger", "developer", "--project", "third"],
        ENVIRONMENT,
    );
    assert_eq!(code(&output), 4);
    assert!(err(&output).contains("there are: main, second"));
}

#[test]
fn o02_waiting_follows_the_run_s_record_and_ends_as_the_run_does() {
    for (exit, expected) in [
        (("success", Some(0), None), 0),
        (("empty_success", Some(0), None), 0),
        (("test_failure", Some(3), None), 3),
        (("killed_by_signal", None, Some(9)), 137),
        (("timeout", None, Some(15)), 143),
        (("model_error", Some(0), None), 1),
        (("cancelled", None, None), 1),
    ] {
        let (_folder, bridge) = bridge(Script {
            looks: 3,
            exit: Some(exit),
            ..Script::default()
        });
        let output = ask(&bridge, &["trigger", "developer", "--wait"], ENVIRONMENT);
        assert_eq!(code(&output), expected, "{exit:?}: {}", err(&output));
        assert!(
            out(&output).contains(&format!("exit       {}", exit.0)),
            "{}",
            out(&output)
        );
        let asked = bridge.script.lock().unwrap().asked.clone();
        assert_eq!(
            asked
                .iter()
                .filter(|path| *path == "GET /admin/runs/run-1")
                .count(),
            4
        );
        let logs = asked.iter().filter(|path| path.contains("log")).count();
        assert!(
            logs == 1 && asked.last().is_some_and(|path| path.contains("/log?")),
            "output of agents is shown at the end, and decides nothing: {asked:?}"
        );
    }
}

#[test]
fn y3_waiting_shows_what_the_agent_has_printed_last() {
    let (_folder, bridge) = bridge(Script {
        words: Some("thinking\nit is the hinge\n"),
        ..Script::default()
    });
    let wait = ["trigger", "developer", "--wait"];
    let output = ask(&bridge, &wait, ENVIRONMENT);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let said = out(&output);
    assert!(said.starts_with("thinking\nit is the hinge\n"), "{said}");
    assert!(said.contains("exit       success"), "{said}");
    let json = [&wait[..], &["--format=json"]].concat();
    let output = ask(&bridge, &json, ENVIRONMENT);
    let waited: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(waited["output"], "thinking\nit is the hinge\n");
    // A run without a log has nothing to show, and ends as it did.
    bridge.script.lock().unwrap().words = None;
    let output = ask(&bridge, &wait, ENVIRONMENT);
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert!(out(&output).starts_with("run "), "{}", out(&output));
}

#[test]
fn y3_runs_are_named_by_the_beginning_of_their_id_or_as_the_last() {
    let (_folder, bridge) = bridge(Script::default());
    let looked = ["logs", "run", "--tail", "2"];
    let output = ask(&bridge, &looked, ENVIRONMENT);
    assert_eq!(out(&output), "two\nlines\n", "{}", err(&output));
    let output = ask(&bridge, &["cancel", "last"], ENVIRONMENT);
    assert_eq!(code(&output), 0, "{}", err(&output));
    bridge.script.lock().unwrap().more_runs = true;
    let output = ask(&bridge, &["show", "run"], ENVIRONMENT);
    assert_eq!(code(&output), 4);
    let said = err(&output);
    assert!(said.contains("more than one run begins with run"), "{said}");
    assert!(said.contains("run-1") && said.contains("run-0"), "{said}");
    let asked = bridge.script.lock().unwrap().asked.clone();
    assert!(
        asked.contains(&"GET /admin/runs?limit=2&before=run~".to_owned()),
        "{asked:?}"
    );
    assert!(
        asked.contains(&"GET /admin/runs?limit=1".to_owned()),
        "{asked:?}"
    );
}

#[test]
fn v13_hooks_are_registered_by_the_forge_api() {
    let (_folder, bridge) = bridge(Script::default());
    let (send, forge) = std::sync::mpsc::channel();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let serving = std::thread::spawn(move || {
        actix_rt::System::new().block_on(async {
            let forge = scripted_peers::ScriptedForge::start();
            forge.add_user("ada", "t-ada");
            forge.add_repo("acme/main");
            send.send(forge.url()).unwrap();
            let _ = ended.await;
            forge.hooks("acme/main")
        })
    });
    let url = forge.recv().unwrap();
    let forge_url = format!("--forge-url={url}");
    let add = [
        "hook",
        "add",
        "--url=https://orch.example/webhook",
        "--forge=gitea",
        &forge_url,
        "--test",
    ];
    let output = ask(&bridge, &add, ENVIRONMENT);
    assert_eq!(code(&output), 5, "without a token: {}", err(&output));
    let with = |token| [ENVIRONMENT[0], ("FORGE_TOKEN", token)];
    let output = ask(&bridge, &add, &with("wrong"));
    assert_eq!(code(&output), 5, "{}", err(&output));
    assert!(
        err(&output).contains("write:repository"),
        "{}",
        err(&output)
    );
    for change in ["created", "updated"] {
        let output = ask(&bridge, &add, &with("t-ada"));
        assert_eq!(code(&output), 0, "{}", err(&output));
        let said = out(&output);
        assert!(
            said.contains(&format!("of acme/main was {change}")),
            "{said}"
        );
        assert!(said.contains("pull_request, issue_comment"), "{said}");
    }
    end.send(()).unwrap();
    let hooks = serving.join().unwrap();
    let [hook] = &hooks[..] else {
        panic!("{hooks:?}");
    };
    assert_eq!((&*hook.secret, hook.tests), (SECRET, 1));
}

#[test]
fn a_run_that_does_not_end_in_time_is_said_so() {
    let (_folder, bridge) = bridge(Script {
        looks: u32::MAX,
        ..Script::default()
    });
    let output = ask(
        &bridge,
        &["trigger", "developer", "--wait", "--timeout", "1"],
        ENVIRONMENT,
    );
    assert_eq!(code(&output), 7);
    assert!(
        err(&output).contains("run run-1 has not ended within 1 s"),
        "{}",
        err(&output)
    );
}

#[test]
fn the_secret_is_looked_for_in_the_contract_s_order() {
    let _alone = super::alone_with_command_lines();
    let (folder, bridge) = bridge(Script::default());
    let config = folder.path().join("orchestrator.toml");
    fs::write(&config, "[webhook]\nsecret = \"${HIDDEN}\"\n").unwrap();
    let trigger = |args: &[&str], environment: &[(&str, &str)]| {
        let args: Vec<&str> = ["trigger", "developer", "--config", text(&config)]
            .iter()
            .chain(args)
            .copied()
            .collect();
        code(&ask(&bridge, &args, environment))
    };
    let wrong = ("ORCH_WEBHOOK_SECRET", "wrong-secret");
    assert_eq!(trigger(&["--secret", SECRET], &[wrong]), 0, "the flag wins");
    assert_eq!(
        trigger(&[], &[("ORCH_WEBHOOK_SECRET", SECRET), ("HIDDEN", "wrong")]),
        0,
        "then the environment"
    );
    assert_eq!(trigger(&[], &[("HIDDEN", SECRET)]), 0, "then the file");
    let empty = ("ORCH_WEBHOOK_SECRET", "");
    let hidden = ("HIDDEN", SECRET);
    assert_eq!(trigger(&[], &[empty, hidden]), 0, "empty is not set");
    assert_eq!(trigger(&[], &[wrong]), 5, "a wrong one is refused");
    assert_eq!(trigger(&[], &[]), 5, "the file's variable is not set");
    let nowhere = ask(
        &bridge,
        &["trigger", "developer", "--config", "/nonexistent.toml"],
        &[],
    );
    assert_eq!(code(&nowhere), 5);
    assert!(
        err(&nowhere).contains("give --secret or set ORCH_WEBHOOK_SECRET"),
        "{}",
        err(&nowhere)
    );
}

#[test]
fn everything_else_asks_the_admin_bridge() {
    let (_folder, bridge) = bridge(Script {
        token: Some("admin-token"),
        ..Script::default()
    });
    let token: &[(&str, &str)] = &[("ORCH_ADMIN_TOKEN", "admin-token")];
    for (args, expected_code, expected) in [
        (&["status"][..], 0, "queued 1 (oldest 5 s)"),
        (&["status"], 0, "! second is paused"),
        (&["list"], 4, "PROJECT"),
        (&["list", "--project", "second"], 4, "PROJECT"),
        (
            &["runs", "--agent", "developer", "--limit", "5"],
            0,
            "run-1  main/developer",
        ),
        (&["show", "run-1"], 0, "exit       success, code 0"),
        (&["cancel", "run-1"], 0, "run-1 is being ended"),
        (&["retry", "run-1"], 0, "run run-2 does what run-1 did"),
        (&["pause", "main"], 0, "main is paused"),
        (&["resume", "main"], 0, "main goes on"),
        (&["drain", "--force"], 0, "the leader hands over"),
        (&["prompt", "developer"], 0, "Do it<U+001B>[31m well."),
        (&["check"], 1, "orchestrator.toml:3:1: error: unknown key"),
        (&["reload"], 1, "orchestrator.toml:4:1: error: unknown key"),
        (&["logs", "run-1", "--tail", "2"], 0, "two\nlines\n"),
        (
            &["logs", "-f", "run-1"],
            0,
            "agent.exited run=run-1 class=success\nend\n",
        ),
    ] {
        let output = ask(&bridge, args, token);
        assert_eq!(code(&output), expected_code, "{args:?}: {}", err(&output));
        assert!(
            out(&output).contains(expected),
            "{args:?}: {}",
            out(&output)
        );
    }
    let unknown = ask(&bridge, &["show", "run-9"], token);
    assert_eq!(
        (code(&unknown), err(&unknown).trim()),
        (4, "there is no such run")
    );
    let refused = ask(&bridge, &["status"], &[]);
    assert_eq!(code(&refused), 5);
    assert!(err(&refused).contains("set ORCH_ADMIN_TOKEN"));
    let json = ask(&bridge, &["runs", "--format", "json"], token);
    let list: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(list["runs"][0]["id"], "run-1");
}

#[test]
fn the_journal_is_shown_and_followed_and_cannot_steer_a_terminal() {
    let (_folder, bridge) = bridge(Script::default());
    let newest = ask(&bridge, &["events", "--limit", "2"], &[]);
    assert_eq!(code(&newest), 0, "{}", err(&newest));
    assert_eq!(
        out(&newest),
        "2026-11-21T10:00:00.000Z run.queued main/developer run-1 pid 7<U+001B>[31m\n\
         2026-11-21T10:00:00.000Z agent.spawned main/developer run-1 pid 7<U+001B>[31m\n"
    );
    let args = ["events", "--after", "3", "-f", "--format", "json"];
    let followed = ask(&bridge, &args, &[]);
    assert_eq!(code(&followed), 6, "the scripted stream ends");
    let lines: Vec<serde_json::Value> = out(&followed)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let seen: Vec<_> = lines.iter().map(|entry| entry["seq"].clone()).collect();
    assert_eq!(seen, [4, 10]);
    let failure: serde_json::Value = serde_json::from_str(err(&followed).trim()).unwrap();
    assert_eq!(failure["code"], 6);
}

#[test]
fn logs_and_refusals_have_a_json_form() {
    let (_folder, bridge) = bridge(Script {
        rejected: Some("budget_exhausted"),
        ..Script::default()
    });
    let logs = ask(&bridge, &["logs", "-f", "run-1", "--format=json"], &[]);
    let lines: Vec<serde_json::Value> = out(&logs)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[1]["skipped"], 12);
    assert_eq!(lines[2]["text"], "end\n");
    let args = ["logs", "run-1", "--tail=2", "--format=json"];
    let whole: serde_json::Value =
        serde_json::from_slice(&ask(&bridge, &args, &[]).stdout).unwrap();
    assert_eq!(whole["text"], "two\nlines\n");
    let refused = ask(
        &bridge,
        &["trigger", "developer", "--format=json"],
        ENVIRONMENT,
    );
    assert_eq!(code(&refused), 1);
    let reply: serde_json::Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!(reply["rejected"][0]["reason"], "budget_exhausted");
}

#[test]
fn nobody_there_is_said_and_has_its_own_exit_code() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for admin in [
        format!("--admin={free}"),
        "--admin=/nonexistent/socket".to_owned(),
    ] {
        let output = orchctl(&["status", &admin], &[]);
        assert_eq!(code(&output), 6, "{}", err(&output));
        assert!(err(&output).contains("does it run"), "{}", err(&output));
    }
}

#[test]
fn completions_and_usage_need_no_orchestrator() {
    let bash = orchctl(&["completions", "bash"], &[]);
    assert!(code(&bash) == 0 && out(&bash).contains("trigger"));
    for args in [
        &["trigger", "x; touch pwned"][..],
        &["trigger", "--", "-rf"],
        &["status", "--admin", "nonsense"],
        &["cancel", "../x"],
    ] {
        let output = orchctl(args, &[]);
        assert_eq!(code(&output), 2, "{args:?}: {}", err(&output));
    }
    assert!(out(&orchctl(&["--help"], &[])).contains("130 interrupted"));
}
