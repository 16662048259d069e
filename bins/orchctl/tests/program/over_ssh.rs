//! On another machine: through a real SSH server.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use scripted_peers::Sshd;

use crate::bridge::{Bridge, SECRET, Script};
use crate::{code, err, orchctl, out, text};

struct Remote {
    folder: tempfile::TempDir,
    sshd: Sshd,
    bridge: Bridge,
}

impl Remote {
    fn start(script: Script) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sshd = Sshd::start(folder.path(), &format!("SetEnv HIDDEN={SECRET}"));
        let bridge = Bridge::start(folder.path(), script);
        Self {
            folder,
            sshd,
            bridge,
        }
    }

    fn ask(&self, args: &[&str], environment: &[(&str, &str)]) -> std::process::Output {
        let mut all: Vec<String> = args.iter().map(|text| (*text).to_owned()).collect();
        all.extend(["--ssh".to_owned(), self.sshd.host()]);
        all.extend(
            self.sshd
                .client_args()
                .into_iter()
                .map(|argument| format!("--ssh-arg={argument}")),
        );
        all.extend(self.bridge.place());
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let temporary = text(self.folder.path());
        let environment: Vec<(&str, &str)> = environment
            .iter()
            .copied()
            .chain([("TMPDIR", temporary)])
            .collect();
        orchctl(&all, &environment)
    }

    /// Whatever orchctl keeps while it runs.
    fn stale_files(&self) -> Vec<String> {
        let names = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("orchctl-")).collect()
    }
}

#[test]
fn o11_a_trigger_goes_through_ssh_and_no_secret_stands_on_a_command_line() {
    let _alone = super::alone_with_command_lines();
    let remote = Remote::start(Script {
        looks: 2,
        exit: Some(("test_failure", Some(3), None)),
        ..Script::default()
    });
    let output = remote.ask(
        &["trigger", "developer", "--wait"],
        &[("ORCH_WEBHOOK_SECRET", SECRET)],
    );
    assert_eq!(code(&output), 3, "{} {}", err(&output), remote.sshd.log());
    assert!(out(&output).contains("run-1"));
    assert_eq!(
        remote.sshd.connections(),
        1,
        "one connection for both addresses"
    );
    assert_eq!(remote.bridge.script.lock().unwrap().exposed, None);
    assert_eq!(remote.stale_files(), [""; 0]);
}

#[test]
fn o11_the_secret_is_read_from_the_configuration_there_and_its_variable_resolved_there() {
    let _alone = super::alone_with_command_lines();
    let remote = Remote::start(Script::default());
    let config = remote.folder.path().join("orchestrator.toml");
    for written in ["${HIDDEN}", SECRET] {
        fs::write(&config, format!("[webhook]\nsecret = \"{written}\"\n")).unwrap();
        let output = remote.ask(&["trigger", "developer", "--config", text(&config)], &[]);
        assert_eq!(code(&output), 0, "{}", err(&output));
    }
    assert_eq!(remote.bridge.script.lock().unwrap().exposed, None);
    fs::write(
        &config,
        "[webhook]\nsecret = \"${ORCH_NOT_SET_ANYWHERE}\"\n",
    )
    .unwrap();
    let unset = remote.ask(&["trigger", "developer", "--config", text(&config)], &[]);
    assert_eq!(code(&unset), 5);
    assert!(
        err(&unset).contains("which is not set there"),
        "{}",
        err(&unset)
    );
    let missing = remote.ask(
        &["trigger", "developer", "--config", "/nonexistent.toml"],
        &[],
    );
    assert_eq!(code(&missing), 5);
    assert!(err(&missing).contains("No such file"), "{}", err(&missing));
}

#[test]
fn o10_nothing_of_the_command_line_reaches_a_shell() {
    let _alone = super::alone_with_command_lines();
    let remote = Remote::start(Script::default());
    let pwned = remote.folder.path().join("pwned");
    let touch = format!("touch {}", pwned.display());
    for (args, expected) in [
        (vec!["trigger".to_owned(), format!("x; {touch}")], 2),
        (vec!["trigger".to_owned(), format!("developer\n{touch}")], 2),
        (
            vec![
                "trigger".to_owned(),
                "developer".to_owned(),
                "--config".to_owned(),
                format!("/x; {touch}"),
            ],
            2,
        ),
        (
            vec![
                "trigger".to_owned(),
                "developer".to_owned(),
                "--config".to_owned(),
                format!("/x$({touch})"),
            ],
            2,
        ),
        (
            vec![
                "trigger".to_owned(),
                "developer".to_owned(),
                format!("--secret={SECRET}"),
                "--context".to_owned(),
                format!("'; {touch} #"),
            ],
            0,
        ),
    ] {
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = remote.ask(&words, &[]);
        assert_eq!(code(&output), expected, "{args:?}: {}", err(&output));
    }
    for host in [
        format!("-oProxyCommand={touch}"),
        "a b".to_owned(),
        String::new(),
        "a\nb".to_owned(),
    ] {
        let temporary = [("TMPDIR", text(remote.folder.path()))];
        let output = orchctl(&["status", &format!("--ssh={host}")], &temporary);
        assert_eq!(code(&output), 2, "{host:?}: {}", err(&output));
    }
    for address in [
        "--admin=-oProxyCommand=x",
        "--admin=a b:1",
        "--receiver=nonsense",
    ] {
        assert_eq!(code(&remote.ask(&["status", address], &[])), 2, "{address}");
    }
    assert!(!pwned.exists());
    assert_eq!(remote.stale_files(), [""; 0], "a refusal leaves nothing");
}

#[test]
fn a_machine_that_cannot_be_reached_or_does_not_let_us_in_is_said() {
    let remote = Remote::start(Script::default());
    let status = remote.ask(&["status"], &[]);
    assert_eq!(code(&status), 0, "{}", err(&status));
    // The place is given twice: the later one, an admin bridge that nobody serves, is not there.
    let gone = remote.ask(&["show", "run-9"], &[]);
    assert_eq!(code(&gone), 4);
    let stranger = orchctl(
        &[
            "status",
            "--ssh",
            &remote.sshd.host(),
            "--ssh-arg=-F/dev/null",
            "--ssh-arg=-oIdentitiesOnly=yes",
            "--ssh-arg=-oStrictHostKeyChecking=no",
            "--ssh-arg=-oUserKnownHostsFile=/dev/null",
            "--ssh-arg=-i/nonexistent",
            &format!("--ssh-arg={}", remote.sshd.client_args()[1]),
        ],
        &[],
    );
    assert_eq!(code(&stranger), 5, "{}", err(&stranger));
    let nobody = orchctl(
        &[
            "status",
            "--ssh",
            "127.0.0.1",
            "--ssh-arg=-F/dev/null",
            "--ssh-arg=-p1",
        ],
        &[],
    );
    assert_eq!(code(&nobody), 6, "{}", err(&nobody));
    let no_ssh = orchctl(
        &[
            "status",
            "--ssh",
            "host",
            "--ssh-program",
            "/nonexistent/ssh",
        ],
        &[("TMPDIR", text(remote.folder.path()))],
    );
    assert_eq!(code(&no_ssh), 6);
    assert_eq!(remote.stale_files(), [""; 0], "a failure leaves nothing");
}

#[test]
fn a_followed_log_comes_through_ssh_and_the_tunnel_is_taken_down() {
    let remote = Remote::start(Script::default());
    let output = remote.ask(&["logs", "-f", "run-1"], &[]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert!(out(&output).ends_with("end\n") && err(&output).contains("[12 bytes are not kept]"));
    let program = remote.folder.path().join("slow-ssh");
    fs::write(
        &program,
        "#!/bin/sh\necho 'ssh: Could not resolve hostname x' >&2\nexit 255\n",
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let failed = remote.ask(&["status", "--ssh-program", text(&program)], &[]);
    assert_eq!(code(&failed), 6);
    assert!(
        err(&failed).contains("Could not resolve hostname"),
        "{}",
        err(&failed)
    );
    assert_eq!(remote.stale_files(), [""; 0]);
}

#[test]
fn top_looks_at_another_machine_through_one_connection() {
    let remote = Remote::start(Script::default());
    let output = remote.ask(&["top", "--once"], &[]);
    assert_eq!(code(&output), 0, "{} {}", err(&output), remote.sshd.log());
    assert!(out(&output).contains("parked"), "{}", out(&output));
    assert_eq!(remote.sshd.connections(), 1);
    assert_eq!(remote.stale_files(), [""; 0]);
}
