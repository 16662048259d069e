//! The pages in a real Chromium: without sideways scrolling, readable in both schemes, live, and by
//! keyboard, session and link. With SCREENSHOTS=folder it leaves pictures there.

use std::path::{Path, PathBuf};
use std::process::Command;

use scripted_peers::Misbehaviour;

use crate::harness::{Site, within};
use crate::pages::{TOKEN, WORKFLOW, plays, setup};

/// Where the project's tasks put npm packages, unless NODE_PATH says otherwise.
pub(crate) fn node_modules() -> PathBuf {
    if let Some(path) = std::env::var_os("NODE_PATH") {
        return path.into();
    }
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/orrery");
    let cache = std::env::var_os("ORRERY_CACHE").map_or_else(home, PathBuf::from);
    let npm = std::fs::read_dir(cache.join("npm")).into_iter().flatten();
    let mut found: Vec<PathBuf> = npm
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().contains("playwright-core-"))
        .collect();
    found.sort();
    found
        .pop()
        .expect("playwright-core is missing: run `cargo xtask test --only browser` once")
        .join("node_modules")
}

#[test]
fn people_sign_in_read_follow_end_and_repeat_runs() {
    assert!(
        Path::new("/usr/bin/chromium").exists(),
        "chromium is missing: install Debian's chromium"
    );
    let site = Site::playing(plays);
    let runner = site.start_with(setup());
    let bearer = format!("Bearer {TOKEN}");
    let bearer = [("Authorization", bearer.as_str())];
    let sha = site.commit(WORKFLOW);
    let ended = runner.run("push", "d-1", &site.push(&sha));
    assert!(within(|| {
        let record = runner.ask("GET", &format!("/runs/{ended}"), &bearer, b"");
        record.json().get("ended_at").is_some()
    }));
    // Its machine comes only after the page was opened.
    for _ in 0..1000 {
        site.vmm.plan("POST /vms", Misbehaviour::Status(500));
    }
    let sha = site.commit("name: Live\non: push\njobs:\n  first:\n    runs-on: x\n    steps: [{name: Build it, run: fails, continue-on-error: true}, {name: Book, run: long}, {name: Hang, run: hangs}]\n  second:\n    needs: first\n    runs-on: x\n    steps: [{run: x}]\n");
    let live = runner.run("push", "d-2", &site.push(&sha));
    let log = format!("/runs/{live}/log");
    assert!(within(|| runner
        .ask("GET", &log, &bearer, b"")
        .body
        .contains("waiting for a VM")));
    let mut node = Command::new("node");
    node.arg(std::path::absolute("tests/runner/browser.mjs").expect("a folder to work in"))
        .env("NODE_PATH", node_modules())
        .env("BASE", format!("http://{}", runner.address))
        .env("ENDED", &ended)
        .env("LIVE", &live)
        .env("TOKEN", TOKEN);
    let mut node = node
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("node is installed (Debian package nodejs)");
    // The script says when it looks at the live page.
    let mut said = std::io::BufReader::new(node.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    site.vmm.forget_plans();
    let status = node.wait().unwrap();
    assert!(status.success(), "{line}");
}
