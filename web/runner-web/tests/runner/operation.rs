//! Starting runs by hand and by the clock, figures, endurance, a full disk. F06, F08.

use std::process::Command;

use scripted_peers::Play;
use serde_json::json;

use crate::harness::{Runner, Setup, Site, files, push, within};

const DISPATCHED: &str = "name: Ship\non:\n  push:\n  workflow_dispatch:\n    inputs:\n      where: {type: choice, options: [moon, mars], required: true}\n  schedule: [{cron: '30 5 * * *'}]\njobs:\n  ship:\n    runs-on: x\n    steps: [{run: \"ship ${{ inputs.where }} ${{ github.event_name }}\"}]\n";

fn dispatch(runner: &Runner, token: &str, body: &serde_json::Value) -> crate::client::Answer {
    let authorization = format!("Bearer {token}");
    let headers = [
        ("Content-Type", "application/json"),
        ("Authorization", authorization.as_str()),
    ];
    runner.ask(
        "POST",
        "/runs/dispatch",
        &headers,
        body.to_string().as_bytes(),
    )
}

#[test]
fn a_workflow_is_started_by_hand_with_its_inputs_by_whoever_has_the_token() {
    let site = Site::new();
    let token = "an api token of some length";
    let runner = site.start_with(Setup {
        token: Some(token),
        ..Setup::default()
    });
    let order = |inputs: serde_json::Value| json!({"repository": "acme/rocket", "workflow": ".github/workflows/ci.yml", "inputs": inputs});
    assert_eq!(dispatch(&runner, "wrong", &order(json!({}))).code, 401);
    let unknown = dispatch(&runner, token, &order(json!({})));
    assert_eq!(unknown.code, 404, "{unknown:?}");
    let sha = site.commit(DISPATCHED);
    let pushed = runner.deliver("push", "d-1", &site.push(&sha));
    assert_eq!(pushed.code, 202);
    assert!(within(|| site.vmm.commands().len() == 1));
    let record = |run: &str| {
        let authorization = format!("Bearer {token}");
        let mut record = json!(null);
        assert!(within(|| {
            record = runner
                .ask(
                    "GET",
                    &format!("/runs/{run}"),
                    &[("Authorization", &authorization)],
                    b"",
                )
                .json();
            record.get("ended_at").is_some()
        }));
        record
    };
    let started = dispatch(&runner, token, &order(json!({"where": "mars"})));
    assert_eq!(started.code, 202, "{started:?}");
    let ended = record(started.json()["run"].as_str().unwrap());
    assert_eq!(
        (
            ended["state"].as_str(),
            ended["event"].as_str(),
            ended["sha"].as_str()
        ),
        (
            Some("succeeded"),
            Some("workflow_dispatch"),
            Some(sha.as_str())
        ),
        "{ended:#}"
    );
    assert!(
        site.vmm.commands()[1]
            .script
            .contains("ship mars workflow_dispatch")
    );
    for wrong in [
        json!({}),
        json!({"where": "sun"}),
        json!({"where": "moon", "x": "y"}),
    ] {
        let refused = dispatch(&runner, token, &order(wrong.clone()));
        assert_eq!(refused.code, 422, "{wrong}: {refused:?}");
    }
    let branch = json!({"repository": "acme/rocket", "workflow": "x.yml", "branch": "nowhere"});
    assert_eq!(dispatch(&runner, token, &branch).code, 404);
    assert_eq!(
        dispatch(&runner, token, &json!({"repository": "acme/rocket"})).code,
        400
    );
}

/// As GitHub's API: a branch or a tag, the file's name alone, and no run where it cannot be.
#[test]
fn i17_a_dispatch_takes_a_tag_and_a_file_s_name_and_makes_no_run_in_vain() {
    let site = Site::new();
    let token = "an api token of some length";
    let runner = site.start_with(Setup {
        token: Some(token),
        ..Setup::default()
    });
    site.git_init();
    site.write(
        ".github/workflows/pushed.yml",
        "on: push\njobs: {a: {runs-on: x, steps: [{run: pushed}]}}\n",
    );
    let tagged = site.commit(DISPATCHED);
    site.git(&["tag", "-a", "-m", "the first", "v1", &tagged]);
    let newest = site.commit_all();
    assert_eq!(runner.deliver("push", "d-1", &site.push(&newest)).code, 202);
    assert!(within(|| site.vmm.commands().len() == 2));
    let authorization = format!("Bearer {token}");
    let headers = [("Authorization", authorization.as_str())];
    let ask = |path: &str| runner.ask("GET", path, &headers, b"").json();
    let runs = || ask("/runs")["runs"].as_array().map_or(0, Vec::len);
    let before = runs();
    let order = |workflow: &str, reference: &str| json!({"repository": "acme/rocket", "workflow": workflow, "ref": reference, "inputs": {"where": "moon"}});
    for (workflow, reference, code, detail) in [
        (
            "pushed.yml",
            "main",
            422,
            "does not say `workflow_dispatch`",
        ),
        ("none.yml", "main", 404, "no workflow file"),
        ("ci.yml", "v2", 404, "no such branch or tag"),
        ("ci.yml", "refs/tags/main", 404, "no such branch or tag"),
        ("ci.yml", "refs/heads/v1", 404, "no such branch or tag"),
    ] {
        let refused = dispatch(&runner, token, &order(workflow, reference));
        assert_eq!(refused.code, code, "{workflow} {reference}: {refused:?}");
        assert!(refused.body.contains(detail), "{refused:?}");
    }
    assert_eq!(runs(), before, "nothing was made of those");
    for (reference, full, sha) in [
        ("v1", "refs/tags/v1", &tagged),
        ("refs/tags/v1", "refs/tags/v1", &tagged),
        ("main", "refs/heads/main", &newest),
        ("refs/heads/main", "refs/heads/main", &newest),
    ] {
        let started = dispatch(&runner, token, &order("ci.yml", reference));
        assert_eq!(started.code, 202, "{reference}: {started:?}");
        let started = started.json();
        let record = ask(&format!("/runs/{}", started["run"].as_str().unwrap()));
        assert_eq!(record["reference"], full, "{record:#}");
        assert_eq!(record["sha"], **sha, "{record:#}");
        assert_eq!(record["workflow_file"], ".github/workflows/ci.yml");
    }
}

#[test]
fn without_a_configured_token_nobody_starts_runs_by_hand() {
    let site = Site::new();
    let runner = site.start();
    let order = json!({"repository": "acme/rocket", "workflow": "x.yml"});
    assert_eq!(dispatch(&runner, "", &order).code, 403);
}

#[test]
fn figures_say_how_runs_ended_and_how_long_they_took() {
    let site = Site::playing(|command| Play::exit(i32::from(command.script.contains("fails"))));
    let runner = site.start();
    for (number, step) in ["works", "fails"].iter().enumerate() {
        let sha = site.commit(&format!(
            "on: push\njobs: {{a: {{runs-on: x, steps: [{{run: {step}}}]}}}}\n"
        ));
        let run = runner.run("push", &format!("d-{number}"), &site.push(&sha));
        runner.ended(&run);
    }
    let metrics = runner.get("/metrics").body;
    for line in [
        "runner_runs_ended_total{state=\"succeeded\"} 1",
        "runner_runs_ended_total{state=\"failed\"} 1",
        "runner_run_duration_seconds_count 2",
        "runner_run_duration_seconds_bucket{le=\"60\"} 2",
        "runner_deliveries_total{outcome=\"accepted\"} 2",
        "runner_runs_waiting 0",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    let alerts = "../../config-samples/monitoring/alerts.yml";
    let alerts = std::fs::read_to_string(alerts).unwrap();
    let words = alerts.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
    let used: Vec<&str> = words.filter(|word| word.starts_with("runner_")).collect();
    assert!(used.len() >= 5, "{used:?}");
    for name in used {
        assert!(
            metrics.contains(name),
            "an alert uses {name}, which nobody writes"
        );
    }
}

#[test]
fn f06_many_runs_leave_no_descriptor_folder_or_machine() {
    let site = Site::new();
    let runner = site.start();
    let descriptors = || files(std::path::Path::new("/proc/self/fd"));
    let round = |from: usize, to: usize| {
        let runs: Vec<String> = (from..to)
            .map(|number| {
                let sha = site.commit(&format!(
                    "on: push\njobs: {{a: {{runs-on: x, steps: [{{run: make {number}}}]}}}}\n"
                ));
                runner.run("push", &format!("d-{number}"), &site.push(&sha))
            })
            .collect();
        for run in runs {
            assert_eq!(runner.ended(&run)["state"], "succeeded");
        }
        assert!(within(|| site.vmm.vms().is_empty()));
    };
    round(0, 10);
    let before = descriptors();
    round(10, 50);
    // Idle connections come and go; logs are closed when there are many.
    let settled = within(|| descriptors() <= before + 70);
    assert!(settled, "{before} descriptors became {}", descriptors());
    assert!(within(
        || files(&site.folder.path().join("runs/checkouts")) == 0
    ));
    let tree = runner.get("/admin/actors").body;
    assert!(!tree.contains("\"failed\""), "{tree}");
}

/// A file system of a few megabytes; `None` where nothing can be mounted.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Self> {
        let point = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=12m", "tmpfs"])
            .arg(point.path())
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then(|| Self(point))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).output();
    }
}

#[test]
fn f08_on_a_full_disk_nothing_is_acknowledged_and_the_runner_recovers_by_itself() {
    let Some(small) = Small::mount() else {
        eprintln!("skipped: nothing can be mounted here");
        return;
    };
    let site = Site::new();
    let data = small.0.path().join("runs");
    let runner = site.start_with(Setup {
        data: Some(data),
        ..Setup::default()
    });
    let filler = small.0.path().join("filler");
    let body = |number: usize| {
        let mut body = push("https://forge.invalid/a/b.git", &format!("{number:040x}"));
        body["padding"] = json!("x".repeat(100_000));
        body
    };
    let (mut acknowledged, mut number) = (0, 0);
    for round in 0..3 {
        let _ = std::process::Command::new("dd")
            .args([
                "if=/dev/zero",
                "bs=64k",
                &format!("of={}", filler.display()),
            ])
            .output();
        let mut refused = None;
        for _ in 0..100 {
            number += 1;
            let answer = runner.deliver("push", &format!("d-{number}"), &body(number));
            match answer.code {
                202 => acknowledged += 1,
                503 => refused = Some(number),
                code => panic!("{code}: {answer:?}"),
            }
            if refused.is_some() {
                break;
            }
        }
        let refused = refused.expect("the disk gets full");
        assert!(
            within(|| runner.get("/readyz").code == 503),
            "round {round}"
        );
        std::fs::remove_file(&filler).unwrap();
        assert!(
            within(|| runner.get("/readyz").code == 200),
            "round {round}"
        );
        let again = runner.deliver("push", &format!("d-{refused}"), &body(refused));
        assert_eq!(again.code, 202, "what was refused is new: {again:?}");
        acknowledged += 1;
    }
    assert_eq!(runner.runs().len(), acknowledged);
}
