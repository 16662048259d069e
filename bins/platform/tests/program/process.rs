//! The process as others of the machine see it: its environment, its signals.

use rustix::process::Signal;

use crate::site::Site;

const PLANTED: &str = "planted-in-a-variable-of-any-name";

#[test]
fn t4_no_secret_stands_in_the_environment_that_the_system_shows() {
    let site = Site::new();
    let mut platform = site.start_with(|command| {
        command
            .env("FORGE_TOKEN", PLANTED)
            .env("SOME_NAME", PLANTED);
    });
    let block = std::fs::read(format!("/proc/{}/environ", platform.pid()));
    // Nobody but root may look, which is what is wanted.
    let block = block.unwrap_or_default();
    let block = String::from_utf8_lossy(&block).into_owned();
    for planted in [PLANTED, "FORGE_TOKEN", "SOME_NAME"] {
        assert!(!block.contains(planted), "{planted} is in {block:?}");
    }
    assert_eq!(platform.end(Signal::TERM), Some(0));
}

#[test]
fn y1_sighup_does_not_end_a_platform_without_an_orchestrator() {
    let site = Site::new();
    site.write(
        "platform.toml",
        "data_dir = \"state\"\n[search]\nsettings = \"roles.json\"\nlisten = \"127.0.0.1:0\"\n",
    );
    let mut platform = site.start();
    platform.signal(Signal::HUP);
    platform.wait_for("server.hangup_ignored");
    assert_eq!(platform.get("search", "/livez").0, 200);
    assert_eq!(platform.end(Signal::TERM), Some(0));
}
