//! The tests of a run and of a repository in a real Chromium.
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use scripted_peers::Play;

use crate::browser::node_modules;
use crate::harness::{Site, within};
use crate::pages::{TOKEN, setup};

const WORKFLOW: &str =
    "name: CI\non: push\njobs:\n  test:\n    runs-on: x\n    steps: [{run: run-tests}]\n";
const HELD: &str =
    "[[quarantine]]\ntest = \"net > held\"\nreason = \"their server\"\nuntil = \"2999-12-31\"\n";

#[test]
fn i17_people_read_failed_tests_their_history_and_what_is_flaky() {
    let red = Arc::new(AtomicBool::new(true));
    let is_red = Arc::clone(&red);
    let site = Site::playing(move |command| {
        let fails = command.script.contains("run-tests") && is_red.load(Ordering::SeqCst);
        Play::exit(i32::from(fails))
    });
    let runner = site.start_with(setup());
    let bearer = format!("Bearer {TOKEN}");
    let bearer = [("Authorization", bearer.as_str())];
    let ended = |run: &str| {
        within(|| {
            let record = runner.ask("GET", &format!("/runs/{run}"), &bearer, b"");
            record.json().get("ended_at").is_some()
        })
    };
    site.git_init();
    site.write("src/net.py", "a\nb\nassert False\n");
    site.write(".orrery/tests.toml", HELD);
    let case = |name: &str, inside: &str| {
        format!("<testcase classname='net' name='{name}' time='1.5'>{inside}</testcase>")
    };
    let failure = "<failure message='&lt;img src=x onerror=window.stolen=1&gt;'>at src/net.py:3: Timeout</failure>";
    let report = |slow: &str, held: &str| {
        let cases = [
            case("slow", slow),
            case("held", held),
            case("fast", ""),
            case("off", "<skipped/>"),
        ];
        format!("<testsuite>{}</testsuite>", cases.concat())
    };
    site.vmm
        .leave_reports(&[("junit.xml", &report(failure, failure))]);
    let sha = site.commit(WORKFLOW);
    let failed = runner.run("push", "d-1", &site.push(&sha));
    assert!(ended(&failed));
    site.vmm
        .leave_reports(&[("junit.xml", &report("", failure))]);
    red.store(false, Ordering::SeqCst);
    let again = runner.ask("POST", &format!("/runs/{failed}/rerun"), &bearer, b"");
    assert!(ended(again.json()["run"].as_str().unwrap()));
    let script = std::path::absolute("tests/runner/tests_page.mjs").expect("a folder to work in");
    let status = Command::new("node")
        .arg(script)
        .env("NODE_PATH", node_modules())
        .env("BASE", format!("http://{}", runner.address))
        .env("TOKEN", TOKEN)
        .env("RUN", &failed)
        .status()
        .expect("node is installed (Debian package nodejs)");
    assert!(status.success());
}
