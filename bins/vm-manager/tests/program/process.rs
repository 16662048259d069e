//! The process as others of the machine see it: its environment, its signals.

use rustix::process::Signal;
use scripted_peers::Program;

use crate::manager::program;
use crate::settings::{STATIC, executable};

const PLANTED: &str = "planted-in-a-variable-of-any-name";

#[test]
fn t4_y1_no_secret_stands_in_its_environment_and_sighup_does_not_end_it() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("vm-manager.toml");
    std::fs::write(&file, "driver = \"namespace-sandbox\"\n").unwrap();
    let agent = home.path().join("vm-guest");
    executable(&agent, STATIC);
    let mut command = program(home.path());
    command
        .args(["--config", file.to_str().unwrap(), "--agent"])
        .arg(&agent)
        .arg("serve")
        .env("SOME_NAME", PLANTED);
    let mut manager = Program::start(command);
    // Nobody but root may look, which is what is wanted.
    let block = std::fs::read(format!("/proc/{}/environ", manager.child.id())).unwrap_or_default();
    let block = String::from_utf8_lossy(&block).into_owned();
    assert!(!block.contains(PLANTED), "{block:?}");
    manager.signal(Signal::HUP);
    manager.wait_for("server.hangup_ignored");
    let (code, log) = manager.end();
    assert_eq!(code, Some(0), "{log}");
}
