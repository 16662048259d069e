//! The process as others of the machine see it: its environment, its files, its signals before it
//! listens.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use crate::harness::{SECRET, Site, comment, run_of};

const PLANTED: [&str; 3] = [
    "planted-webhook-secret-0123456789",
    "planted-agent-variable-0123456789",
    "planted-in-a-variable-of-any-name",
];

/// What an agent sees of the daemon that started it, its parent among others.
const LOOK: &str = "cat /proc/$PPID/environ; tr '\\0' '\\n' < /proc/$PPID/environ; true";

#[test]
fn t4_neither_the_system_nor_an_agent_shows_the_daemon_s_environment() {
    let site = Site::new("", "");
    let script = serde_json::to_string(LOOK).expect("a text");
    let agents = format!(
        "[mentions]\nrequire_write = false\n[[agents]]\nproject = \"main\"\nname = \"looker\"\ncli = \"sh\"\nscript = {script}\n"
    );
    site.configure("", &agents);
    let file = site.path("orchestrator.toml");
    let text = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, text.replace(SECRET, "${HOOK}")).expect("a file");
    let daemon = site.start_with(|command| {
        command
            .env("HOOK", PLANTED[0])
            .env("ORCH_WEBHOOK_SECRET", PLANTED[1])
            .env("SOME_NAME", PLANTED[2]);
    });
    let block = std::fs::read(format!("/proc/{}/environ", daemon.pid())).unwrap_or_default();
    let block = String::from_utf8_lossy(&block).into_owned();
    for planted in PLANTED {
        assert!(!block.contains(planted), "{planted} is in {block:?}");
    }
    // The variable was read nevertheless: the hook is signed with it.
    let event = comment(7, 1, "@orch:looker");
    let body = serde_json::to_vec(&event).expect("JSON");
    let head = forge_core::sign(PLANTED[0], &body).expect("a secret").hub();
    let answer = daemon
        .raw_hook(&[("X-Hub-Signature-256", &head)], &body)
        .expect("an answer");
    assert_eq!(answer.status, 202, "{}", answer.body);
    let reply = serde_json::from_str(&answer.body).expect("JSON");
    let run = run_of(&reply, "looker");
    daemon.ended(&run);
    let log = daemon.plain(&format!("/admin/runs/{run}/log"));
    let log = log.map(|answer| answer.body).unwrap_or_default();
    for planted in PLANTED {
        assert!(!log.contains(planted), "{planted} is in {log}");
    }
}

#[test]
fn t10_a_data_folder_that_others_can_read_is_closed_and_said() {
    let site = Site::new("data_dir = \"state\"", "");
    let data = site.path("state");
    std::fs::create_dir(&data).expect("a folder");
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).expect("own");
    let mut daemon = site.start();
    daemon.wait_for_line("data.tightened");
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).expect("it is there").mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    for entry in std::fs::read_dir(&data).expect("a folder") {
        let path = entry.expect("an entry").path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
    assert_eq!(daemon.stop(), Some(0));
}
