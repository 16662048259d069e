//! The application's pages of runs in a real Chromium, against a real runner with runs of every
//! kind, and hostile ones among them.
//!
//! The pages are those that the runner serves below `/ui/`; with `UI_DIST=folder` (what
//! `vite build` wrote) they are served from there. With `SCREENSHOTS=folder` pictures are left
//! there.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use scripted_peers::Play;
use serde_json::{Value, json};

use crate::browser::node_modules;
use crate::harness::{Runner, Site, within};
use crate::pages::{TOKEN, setup};

/// What strangers write into everything they may write into.
const HOSTILE: &str = "<img/src=x/onerror=window.stolen=1>\u{202e}gnp";
const WORKFLOW: &str = "name: CI\non: [push, workflow_dispatch]\njobs:\n  build:\n    runs-on: x\n    steps: [{name: Compile, run: compile}]\n  test:\n    needs: build\n    runs-on: x\n    strategy: {fail-fast: false, matrix: {n: [1, 2]}}\n    steps: [{name: Unit tests, run: 'test ${{ matrix.n }}'}, {name: Report, if: always(), run: report}]\n  ship:\n    needs: test\n    runs-on: x\n    steps: [{run: ship}]\n";
const SHIP: &str = "name: Ship\non:\n  workflow_dispatch:\n    inputs:\n      where: {type: choice, options: [moon, mars], required: true, description: Where to}\njobs:\n  go:\n    runs-on: x\n    steps: [{name: Go, run: 'go ${{ inputs.where }}'}]\n";
const HANGS: &str =
    "name: Slow\non: push\njobs:\n  wait:\n    runs-on: x\n    steps: [{name: Wait, run: hangs}]\n";

fn plays(command: &scripted_peers::Command, broken: &AtomicBool) -> Play {
    let script = &command.script;
    if script.contains("hangs") {
        return Play::hang().out("hanging\n");
    }
    if script.contains("test 2") && broken.load(Ordering::SeqCst) {
        let mut out = String::new();
        for number in 1..=2000 {
            let _ = writeln!(out, "\u{1b}[32mok\u{1b}[0m case {number}");
        }
        out.push_str(
            "\u{1b}[1;31mfatal\u{1b}[0m <script>window.stolen=1</script> \u{202e}gnp\u{7}\n",
        );
        out.push_str("::error file=a.rs,line=3::<img src=x onerror=window.stolen=1> bad thing\n");
        return Play::exit(3).out(out);
    }
    if script.contains("report") {
        let summary = "# All *good*\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<script>window.stolen=1</script><img src=\"https://tracker.invalid/x.png\" onerror=\"window.stolen=1\">\n\n[link](javascript:alert(1)) [fine](https://example.org/)\n";
        return Play::exit(0).file("summary", summary);
    }
    Play::exit(0).out("done\n")
}

fn ended(runner: &Runner, run: &str, bearer: &[(&str, &str)]) -> Value {
    let mut record = Value::Null;
    let done = within(|| {
        record = runner
            .ask("GET", &format!("/runs/{run}"), bearer, b"")
            .json();
        record.get("ended_at").is_some()
    });
    assert!(done, "{record:#}");
    record
}

/// Makes the log of a run long: as if its first step had written all this.
fn lengthen(site: &Site, run: &str, record: &Value) {
    let asked = std::env::var("ORRERY_LOG_LINES").ok();
    let lines: u64 = asked.map_or(50_000, |lines| lines.parse().unwrap());
    let job = record["jobs"][0]["name"].as_str().unwrap();
    let path = site.folder.path().join(format!("runs/logs/{run}.jsonl"));
    let file = std::fs::File::options().append(true).open(path).unwrap();
    let mut file = std::io::BufWriter::new(file);
    for number in 1..=lines {
        writeln!(file, "{{\"at\":{},\"job\":\"{job}\",\"step\":1,\"kind\":\"out\",\"text\":\"   Compiling crate-{number} v1.0.0\"}}", 1_795_276_800_000 + number).unwrap();
    }
}

#[test]
fn people_find_read_compare_repeat_start_and_end_runs() {
    let dist = std::env::var_os("UI_DIST");
    let broken = Arc::new(AtomicBool::new(false));
    let is_broken = Arc::clone(&broken);
    let site = Site::playing(move |command| plays(command, &is_broken));
    let runner = site.start_with(setup());
    let bearer = format!("Bearer {TOKEN}");
    let bearer = [("Authorization", bearer.as_str())];
    let shell = runner.ask("GET", "/ui/runs", &bearer, b"");
    if dist.is_none() && !shell.body.contains("/ui/assets/") {
        eprintln!("skipped: this build serves no application; set UI_DIST");
        return;
    }
    site.git_init();
    site.write(".github/workflows/ship.yml", SHIP);
    let sha = site.commit(WORKFLOW);
    let green = runner.run("push", "d-1", &site.push(&sha));
    let record = ended(&runner, &green, &bearer);
    assert_eq!(record["state"], "succeeded", "{record:#}");
    lengthen(&site, &green, &record);
    broken.store(true, Ordering::SeqCst);
    let failed = runner.run("push", "d-2", &site.push(&site.commit(WORKFLOW)));
    assert_eq!(ended(&runner, &failed, &bearer)["state"], "failed");
    let mut hostile = site.push(&sha);
    hostile["ref"] = json!(format!("refs/heads/{HOSTILE}"));
    for person in ["pusher", "sender"] {
        hostile[person]["login"] = json!("<b>eve");
    }
    let hostile = runner.run("push", "d-3", &hostile);
    ended(&runner, &hostile, &bearer);
    let live = runner.run("push", "d-4", &site.push(&site.commit(HANGS)));
    let log = format!("/runs/{live}/log");
    assert!(within(|| runner
        .ask("GET", &log, &bearer, b"")
        .body
        .contains("hanging")));
    // What failed works when it is run again.
    broken.store(false, Ordering::SeqCst);
    site.commit(WORKFLOW);
    let script = std::path::absolute("tests/runner/application.mjs").expect("a folder to work in");
    let mut node = Command::new("node");
    node.arg(script)
        .env("NODE_PATH", node_modules())
        .env("BASE", format!("http://{}", runner.address))
        .env("TOKEN", TOKEN);
    for (name, run) in [
        ("GREEN", &green),
        ("FAILED", &failed),
        ("HOSTILE", &hostile),
        ("LIVE", &live),
    ] {
        node.env(name, run);
    }
    let status = node
        .status()
        .expect("node is installed (Debian package nodejs)");
    assert!(status.success());
}
