//! Reports of tests: read after the steps of a job, stored with its run, given by the API.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use scripted_peers::Play;
use serde_json::{Value, json};

use crate::harness::{Runner, Setup, Site, status, within};

const WORKFLOW: &str = "name: CI\non: push\njobs:\n  test:\n    runs-on: x\n    steps: [{name: Run them, run: run-tests}, {name: After, run: after-them}]\n";

const GREEN: &str = "<testsuite name='s'><testcase classname='net' name='slow' time='1.5'/><testcase classname='net' name='fast' time='0.5'/></testsuite>";
const RED: &str = "<testsuite name='s'><testcase classname='net' name='slow' time='2'><failure message='hunter2-hunter2 timed out'>at src/net.py:3: Timeout</failure><system-out>hunter2-hunter2</system-out></testcase><testcase classname='net' name='fast' time='0.5'/><testcase classname='net' name='off'><skipped message='no disk'/></testcase></testsuite>";

/// A site whose step fails while `red`.
fn site(red: &Arc<AtomicBool>) -> Site {
    let is_red = Arc::clone(red);
    let site = Site::playing(move |command| {
        let fails = command.script.contains("run-tests") && is_red.load(Ordering::SeqCst);
        Play::exit(i32::from(fails))
    });
    site.git_init();
    site.write("src/net.py", "a\nb\nassert False\n");
    site
}

fn run(site: &Site, runner: &Runner, delivery: &str, sha: &str) -> (String, Value) {
    let id = runner.run("push", delivery, &site.push(sha));
    let record = runner.ended(&id);
    (id, record)
}

fn tests(runner: &Runner, path: &str) -> Value {
    let answer = runner.get(path);
    assert_eq!(answer.code, 200, "{path}: {answer:?}");
    answer.json()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one run, walked from end to end")]
fn i17_reports_become_tests_of_the_run_with_places_and_without_secrets() {
    let red = Arc::new(AtomicBool::new(true));
    let site = site(&red);
    let runner = site.start();
    site.vmm.leave_reports(&[
        ("junit.xml", RED),
        ("broken/TEST-a.xml", "<testsuite><testcase name='x'"),
        ("other.xml", GREEN),
    ]);
    let sha = site.commit(WORKFLOW);
    let (id, record) = run(&site, &runner, "d-1", &sha);
    assert_eq!(record["state"], "failed", "{record:#}");
    let job = &record["jobs"][0];
    let step = &job["steps"][0];
    assert_eq!(
        (&step["end"]["code"], &step["forgiven"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(
        job["tests"],
        json!({"total": 3, "passed": 1, "failed": 1, "skipped": 1, "flaky": 0, "quarantined": 0, "duration_ms": 2500})
    );
    let summary = job["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("### Tests: 1 of 3 tests failed, 1 skipped\n"),
        "{summary}"
    );
    let found = tests(&runner, &format!("/runs/{id}/tests"));
    let first = &found["tests"][0];
    assert_eq!(
        (
            &first["name"],
            &first["file"],
            &first["line"],
            &first["job"],
            &first["flaky_on_commit"]
        ),
        (
            &json!("slow"),
            &json!("src/net.py"),
            &json!(3),
            &json!("test"),
            &json!(false)
        ),
        "{found:#}"
    );
    assert_eq!(first["failure"]["message"], "*** timed out");
    let notes = found["jobs"][0]["notes"].as_array().unwrap();
    assert!(
        notes.len() == 1 && notes[0].as_str().unwrap().contains("broken/TEST-a.xml"),
        "{notes:?}"
    );
    assert_eq!(found["jobs"][0]["complete"], false);
    assert_eq!(
        found["jobs"][0]["reports"],
        json!([{"path": "junit.xml", "format": "junit", "tests": 3}])
    );
    for path in ["tests", "log"] {
        let body = runner.get(&format!("/runs/{id}/{path}")).body;
        assert!(!body.contains("hunter2"), "{body}");
    }
    let names = |query: &str| -> Vec<String> {
        let found = tests(&runner, &format!("/runs/{id}/tests?{query}"));
        let found = found["tests"].as_array().unwrap().iter();
        found
            .map(|test| test["name"].as_str().unwrap().to_owned())
            .collect()
    };
    for (query, expected) in [
        ("", &["slow", "fast", "off"][..]),
        ("kind=failed", &["slow"]),
        ("kind=skipped", &["off"]),
        ("kind=passed&job=test", &["fast"]),
        ("job=lint", &[]),
        ("text=NET%20%3E%20f", &["fast"]),
        ("sort=slowest&limit=2", &["slow", "fast"]),
        ("limit=1&cursor=1", &["fast"]),
        ("kind=flaky", &[]),
    ] {
        assert_eq!(names(query), expected, "{query}");
    }
    let page = runner.get(&format!("/runs/{id}/tests?limit=1"));
    assert!(
        page.head.contains("<?limit=1&cursor=1>; rel=\"next\""),
        "{}",
        page.head
    );
    for wrong in ["kind=red", "sort=name", "colour=red"] {
        assert!(
            runner.get(&format!("/runs/{id}/tests?{wrong}")).code >= 400,
            "{wrong}"
        );
    }
    assert_eq!(runner.get("/runs/none/tests").code, 404);
    let overview = tests(&runner, &format!("/runs/{id}/log/overview"));
    let noted = overview["notes"].as_array().unwrap().iter();
    let noted: Vec<&str> = noted.map(|note| note["text"].as_str().unwrap()).collect();
    assert!(
        noted.contains(&"src/net.py:3: net > slow: *** timed out"),
        "{noted:?}"
    );
    let said = status(&site, &sha, "CI / test (push)", "failure");
    assert!(said.contains("1 of 3 tests failed, 1 skipped"), "{said}");
    let page = runner
        .ask(
            "GET",
            &format!("/runs/{id}"),
            &[("Accept", "text/html")],
            b"",
        )
        .body;
    for part in ["1 of 3 tests failed", "net &gt; slow", "src/net.py:3"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn i17_a_test_that_ends_both_ways_on_one_commit_is_flaky() {
    let red = Arc::new(AtomicBool::new(true));
    let site = site(&red);
    let runner = site.start();
    site.vmm.leave_reports(&[("junit.xml", RED)]);
    let sha = site.commit(WORKFLOW);
    let (first, _) = run(&site, &runner, "d-1", &sha);
    let query = "/tests?repository=ACME%2Frocket";
    assert_eq!(tests(&runner, &format!("{query}&kind=flaky")), json!([]));
    red.store(false, Ordering::SeqCst);
    site.vmm.leave_reports(&[("junit.xml", GREEN)]);
    let again = runner.ask("POST", &format!("/runs/{first}/rerun"), &[], b"");
    let second = again.json()["run"].as_str().unwrap().to_owned();
    assert_eq!(runner.ended(&second)["state"], "succeeded");
    let flaky = tests(&runner, &format!("{query}&kind=flaky"));
    assert_eq!(flaky.as_array().unwrap().len(), 1, "{flaky:#}");
    let one = &flaky[0];
    assert_eq!(
        (
            &one["suite"],
            &one["name"],
            &one["flaky_on"],
            &one["runs"],
            &one["failed"],
            &one["mean_ms"]
        ),
        (
            &json!("net"),
            &json!("slow"),
            &json!([sha]),
            &json!(2),
            &json!(1),
            &json!(1750)
        )
    );
    assert_eq!(
        (&one["last"]["run"], &one["last_failure"]["run"]),
        (&json!(second), &json!(first))
    );
    for run in [&first, &second] {
        let found = tests(&runner, &format!("/runs/{run}/tests?kind=flaky"));
        assert_eq!(found["tests"][0]["name"], "slow", "{found:#}");
    }
    // Another commit that turns it red is a change.
    site.vmm
        .leave_reports(&[("junit.xml", &RED.replace("slow", "fast2"))]);
    site.write("more", "x");
    let other = site.commit_all();
    let (third, _) = run(&site, &runner, "d-3", &other);
    let found = tests(&runner, &format!("/runs/{third}/tests?kind=flaky"));
    assert_eq!(found["tests"], json!([]));
    let history = tests(
        &runner,
        "/tests/history?repository=acme%2Frocket&suite=net&name=fast",
    );
    let runs = history[0]["runs"].as_array().unwrap();
    let ids: Vec<&Value> = runs.iter().map(|run| &run["run"]).collect();
    assert_eq!(
        ids,
        [&json!(third), &json!(second), &json!(first)],
        "the newest first"
    );
    assert_eq!(
        tests(&runner, "/tests/history?repository=acme%2Fother&name=fast"),
        json!([])
    );
    assert_eq!(tests(&runner, &format!("{query}&branch=other")), json!([]));
    assert_eq!(
        tests(&runner, &format!("{query}&workflow=ci.yml&text=fast2"))
            .as_array()
            .unwrap()
            .len(),
        1
    );
    runner.stop();
    let runner = site.start();
    let flaky = tests(&runner, &format!("{query}&kind=flaky"));
    assert_eq!(flaky[0]["name"], "slow", "after a restart too: {flaky:#}");
}

const HELD: &str =
    "[[quarantine]]\ntest = \"net > slow\"\nreason = \"their server\"\nuntil = \"2999-12-31\"\n";

#[test]
fn i17_quarantine_changes_a_conclusion_only_where_the_project_s_file_says_so() {
    let red = Arc::new(AtomicBool::new(true));
    let site = site(&red);
    let runner = site.start();
    site.vmm.leave_reports(&[("junit.xml", RED)]);
    site.write(".orrery/tests.toml", HELD);
    let sha = site.commit(WORKFLOW);
    let (id, record) = run(&site, &runner, "d-1", &sha);
    assert_eq!(record["state"], "failed", "{record:#}");
    assert_eq!(record["jobs"][0]["tests"]["quarantined"], 1);
    let found = tests(&runner, &format!("/runs/{id}/tests?kind=quarantined"));
    assert_eq!(
        found["tests"][0]["quarantine"],
        "their server (until 2999-12-31)"
    );
    let said = status(&site, &sha, "CI / test (push)", "failure");
    assert!(said.contains("1 of them in quarantine"), "{said}");

    site.write(
        ".orrery/tests.toml",
        &format!("quarantine_forgives = true\n{HELD}"),
    );
    let (_, record) = run(&site, &runner, "d-2", &site.commit_all());
    assert_eq!(record["state"], "succeeded", "{record:#}");
    let step = &record["jobs"][0]["steps"][0];
    assert_eq!(
        (&step["end"], &step["forgiven"]),
        (&json!({"ended": "exited", "code": 1}), &json!(true)),
        "what the step did is not hidden"
    );
    assert_eq!(
        record["jobs"][0]["steps"][1]["end"]["code"], 0,
        "the job goes on"
    );

    // One failure beside it, a report that cannot be read, or no report at all: the step has
    // failed.
    let other = RED.replace(
        "name='fast' time='0.5'/>",
        "name='fast'><error/></testcase>",
    );
    for (number, reports) in [
        &[("junit.xml", other.as_str())][..],
        &[
            ("junit.xml", RED),
            ("TEST-b.xml", "<testsuite><testcase name='x'"),
        ],
        &[],
        &[("junit.xml", GREEN)],
    ]
    .iter()
    .enumerate()
    {
        site.vmm.leave_reports(reports);
        site.write("more", &number.to_string());
        let (_, record) = run(&site, &runner, &format!("e-{number}"), &site.commit_all());
        assert_eq!(record["state"], "failed", "{reports:?}: {record:#}");
    }

    // A wrong file is said, and holds nothing.
    site.vmm.leave_reports(&[("junit.xml", RED)]);
    site.write(".orrery/tests.toml", "quarantine_forgive = true\n");
    let (id, record) = run(&site, &runner, "d-9", &site.commit_all());
    assert_eq!(record["state"], "failed", "{record:#}");
    let found = tests(&runner, &format!("/runs/{id}/tests"));
    let note = found["jobs"][0]["notes"][0].as_str().unwrap();
    assert!(
        note.contains(".orrery/tests.toml:1:1")
            && note.contains("did you mean `quarantine_forgives`?"),
        "{note}"
    );
}

#[test]
fn i17_tests_are_kept_as_long_as_their_runs() {
    let red = Arc::new(AtomicBool::new(false));
    let site = site(&red);
    let runner = site.start_with(Setup {
        change: |settings| settings.keep_runs = 2,
        ..Setup::default()
    });
    site.vmm.leave_reports(&[("junit.xml", GREEN)]);
    let mut ids = Vec::new();
    for number in 0..4 {
        site.write("more", &number.to_string());
        let sha = site.commit(WORKFLOW);
        ids.push(run(&site, &runner, &format!("d-{number}"), &sha).0);
    }
    let history = "/tests/history?repository=acme%2Frocket&suite=net&name=slow";
    assert!(
        within(|| tests(&runner, history)[0]["runs"].as_array().unwrap().len() == 2),
        "{:#}",
        tests(&runner, history)
    );
    assert_eq!(tests(&runner, history)[0]["runs"][0]["run"], json!(ids[3]));
}
