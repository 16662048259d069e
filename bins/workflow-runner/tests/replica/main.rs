//! Runners beside each other on one PostgreSQL: one leads, the others stand by, take webhooks, pass
//! the rest on, and take over.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

mod drained;
mod refused;
mod reload;
mod runner;
mod upgrade;

use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use scripted_peers::postgres::{PostgresServer, Stop};
use scripted_peers::s3::{ACCESS_KEY, BUCKET, S3Server, SECRET_KEY};
use serde_json::json;

use runner::{Runner, SECRET, pair, until};

/// The promise.
const TAKEOVER: Duration = Duration::from_secs(10);

#[test]
fn i18_a_standby_takes_webhooks_passes_on_the_rest_and_takes_over() {
    let server = PostgresServer::start();
    let (mut first, second) = pair(&server);
    let health = second.get("/health").unwrap().json();
    assert_eq!(
        health["replica"]["leader"],
        first.program.address.as_str(),
        "{health}"
    );
    let tree = second.get("/admin/actors").unwrap().json();
    assert_eq!(tree["replica"]["role"], "standby", "{tree}");
    assert_eq!(
        first.get("/admin/actors").unwrap().json()["replica"]["role"],
        "leader"
    );

    let taken = second.push("one");
    assert_eq!(taken.status, 202, "{}", taken.body);
    let run = taken.json()["run"].as_str().unwrap().to_owned();
    let again = second.push("one");
    assert_eq!(
        (again.status, &again.json()["run"]),
        (200, &json!(run)),
        "{}",
        again.body
    );
    let at_leader = first.push("one");
    assert_eq!(
        (at_leader.status, &at_leader.json()["run"]),
        (200, &json!(run))
    );
    let known = first.push("two").json()["run"].clone();
    let other = second.push("two");
    assert_eq!(
        (other.status, &other.json()["run"]),
        (200, &known),
        "{}",
        other.body
    );
    let forged = second
        .ask("POST /webhook", &[("x-gitea-event", "push")])
        .unwrap();
    assert_eq!(forged.status, 403, "{}", forged.body);
    let shown = second.get(&format!("/runs/{run}")).unwrap();
    assert_eq!((shown.status, &shown.json()["id"]), (200, &json!(run)));
    let log = second.get(&format!("/runs/{run}/log")).unwrap();
    assert_eq!(log.status, 200, "{}", log.body);
    assert_eq!(second.get("/runs/nothing").unwrap().status, 404);

    first.program.kill();
    let killed = Instant::now();
    let meanwhile = second.push("three");
    assert_eq!(meanwhile.status, 202, "{}", meanwhile.body);
    second.until_role("leader");
    assert!(killed.elapsed() < TAKEOVER, "{:?}", killed.elapsed());
    until(
        || second.runs().len() == 3,
        "the run of what was taken in without a leader",
    );
    assert_eq!(second.push("three").status, 200);
}

#[test]
fn i18_a_paused_leader_is_followed_and_stands_by_when_it_wakes() {
    let server = PostgresServer::start();
    let (first, second) = pair(&server);
    first.program.signal(Signal::STOP);
    let paused = Instant::now();
    second.until_role("leader");
    assert!(paused.elapsed() < TAKEOVER, "{:?}", paused.elapsed());
    assert_eq!(second.push("one").status, 202);
    first.program.signal(Signal::CONT);
    first.until_role("standby");
    // The same process, which takes webhooks for the other one.
    let taken = first.push("two");
    assert_eq!(taken.status, 202, "{}", taken.body);
    assert!(taken.json()["run"].is_string(), "{}", taken.body);
    assert_eq!(first.runs().len(), 2);
}

#[test]
fn i18_metrics_say_who_leads_what_waits_and_which_hosts_are_silent() {
    let server = PostgresServer::start();
    let (first, second) = pair(&server);
    let says = |runner: &Runner, lines: &[&str]| {
        let metrics = runner.get("/metrics");
        metrics.is_some_and(|it| lines.iter().all(|line| it.body.contains(line)))
    };
    let epoch = first.get("/health").unwrap().json()["replica"]["epoch"].clone();
    let epoch = format!("replica_epoch {epoch}\n");
    let undecided = "replica_intake_undecided 0\n";
    let silent = "runner_vm_host_answers{host=\"default\"} 0\n";
    let leads = ["replica_leader 1\n", &epoch, undecided, silent];
    until(|| says(&first, &leads), "a leader's figures");
    let stands_by = ["replica_leader 0\n", &epoch, undecided];
    until(|| says(&second, &stands_by), "a standby's figures");
    // What the alerts ask for is written.
    let alerts = include_str!("../../../../config-samples/monitoring/alerts.yml");
    let names = alerts.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
    let names: Vec<&str> = names.filter(|name| name.starts_with("replica_")).collect();
    assert!(names.len() >= 2, "{names:?}");
    until(|| says(&second, &names), "the figures of the alerts");
}

#[test]
fn i18_a_leader_with_nobody_beside_it_is_drained_by_force_only() {
    let server = PostgresServer::start();
    let first = Runner::start(&server);
    first.until_role("leader");
    let drain = |path| first.ask(&format!("POST {path}"), &[]).unwrap();
    // A leader that has just begun may ask to come again.
    let mut refused = None;
    until(
        || {
            refused = Some(drain("/admin/drain"));
            refused.as_ref().is_some_and(|answer| answer.status == 409)
        },
        "a hand-over that is refused",
    );
    let said = refused.unwrap().body;
    assert!(said.contains("no other process stands by"), "{said}");
    first.until_role("leader");
    assert_eq!(drain("/admin/drain?force=true").status, 202);
    first.until_role("standby");
}

#[test]
fn i18_a_drained_leader_hands_over_at_once_and_stays_as_a_standby() {
    let server = PostgresServer::start();
    let (mut first, mut second) = pair(&server);
    // A process that has just begun to lead may ask to come again. The VM host of these tests is
    // nobody's: a standby that is a minute old says so, and the store is handed over by force only.
    let drain = || second.ask("POST /admin/drain?force=true", &[]);
    until(
        || drain().is_some_and(|it| it.status == 202),
        "a leader that hands over",
    );
    second.until_role("leader");
    first.until_role("standby");
    // By command, and back: a runner that was drained waits until another one has led.
    let drained = || {
        let mut drain = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
        drain.args(["drain", "--force", "--url"]);
        let output = drain
            .arg(format!("http://{}/", first.program.address))
            .output();
        output.unwrap().status.success()
    };
    until(drained, "a command that is taken");
    first.until_role("leader");
    second.until_role("standby");
    until(drained, "a command that is taken by the leader");
    second.until_role("leader");
    first.until_role("standby");
    assert!(
        first.program.child.try_wait().unwrap().is_none(),
        "it lives on"
    );
    // The other way by the service manager's signal.
    second.program.signal(Signal::TERM);
    first.until_role("leader");
    assert_eq!(second.program.child.wait().unwrap().code(), Some(0));
    assert_eq!(first.push("one").status, 202);
}

#[test]
fn i18_a_leader_whose_jobs_have_ended_hands_over_before_its_time_is_over() {
    let server = PostgresServer::start();
    let (first, second) = pair(&server);
    let drained = || {
        let mut drain = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
        // The standby passes it on.
        drain.args(["drain", "--wait", "1h", "--force", "--url"]);
        drain.arg(format!("http://{}/", second.program.address));
        drain.output().unwrap()
    };
    let mut said = String::new();
    until(
        || {
            let output = drained();
            said = String::from_utf8_lossy(&output.stdout).into_owned();
            output.status.code() == Some(0)
        },
        "a command that ends long before an hour",
    );
    assert_eq!(said, "the leader hands over\n");
    second.until_role("leader");
    first.until_role("standby");
    let health = second.get("/health").unwrap().json();
    assert_eq!(
        health["waits_for_jobs"],
        serde_json::Value::Null,
        "{health}"
    );
}

#[test]
fn i18_a_database_that_is_away_is_answered_with_503_and_loses_nothing() {
    let mut server = PostgresServer::start();
    let (first, second) = pair(&server);
    server.restart(Stop::Crash);
    assert_eq!(second.push("one").status, 202);
    assert_eq!(first.push("two").status, 202);
    server.stop(Stop::Fast);
    for runner in [&first, &second] {
        let refused = runner.push("three");
        assert_eq!(refused.status, 503, "{}", refused.body);
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
        until(
            || runner.get("/readyz").is_some_and(|it| it.status == 503),
            "not ready",
        );
    }
    server.start_again();
    until(
        || second.push("three").status != 503,
        "a standby that takes again",
    );
    until(
        || first.push("four").status != 503,
        "a leader that takes again",
    );
    for runner in [&first, &second] {
        let answers = || runner.get("/runs").is_some_and(|it| it.status == 200);
        until(answers, "pages again");
        until(
            || runner.runs().len() == 4,
            "all that was acknowledged, once",
        );
    }
}

#[test]
fn i18_nobody_but_a_replica_passes_requests_on_and_none_goes_in_circles() {
    let server = PostgresServer::start();
    let (first, second) = pair(&server);
    let key = [("orrery-replica-key", "guessed")];
    let guessed = first.ask("GET /runs", &key).unwrap();
    assert_eq!(guessed.status, 503, "{}", guessed.body);
    let foreign = [("host", "evil.example")];
    let stranger = first.ask("GET /runs", &foreign).unwrap();
    assert!(matches!(stranger.status, 400 | 421), "{}", stranger.body);
    let twice = second.ask("GET /runs", &key).unwrap();
    assert_eq!(twice.status, 503, "{}", twice.body);
    assert!(
        twice.body.contains("urn:orrery:problem:no-leader"),
        "{}",
        twice.body
    );
    assert_eq!(twice.header("retry-after"), Some("1"));
}

/// Before, a standby showed its actors and metrics to whoever asked.
#[test]
fn i18_a_standby_shows_itself_to_those_with_the_token_only() {
    let server = PostgresServer::start();
    let token = [("WORKFLOW_RUNNER_API_TOKEN", "the-token-of-both")];
    let start = || Runner::with(&server.url(), &token, "keep_runs = 1000\n");
    let first = start();
    first.until_role("leader");
    let second = start();
    second.until_role("standby");
    let bearer = [("authorization", "Bearer the-token-of-both")];
    let wrong = [("authorization", "Bearer another")];
    // It leads a moment before it answers as a leader.
    let leads = || {
        let page = first.ask("GET /runs", &bearer);
        page.is_some_and(|it| it.status == 200)
    };
    until(leads, "pages of the leader");
    for path in ["/metrics", "/admin/actors"] {
        for headers in [&[][..], &wrong] {
            let refused = second.ask(&format!("GET {path}"), headers).unwrap();
            assert_eq!(refused.status, 401, "{path} {}", refused.body);
        }
        let shown = second.ask(&format!("GET {path}"), &bearer).unwrap();
        assert_eq!(shown.status, 200, "{path} {}", shown.body);
    }
    let tree = second.ask("GET /admin/actors", &bearer).unwrap();
    assert_eq!(tree.json()["replica"]["role"], "standby", "its own");
}

#[test]
fn i18_a_failover_to_a_synchronous_replica_loses_nothing() {
    let mut primary = PostgresServer::on_network(&[]);
    let replica = primary.replica();
    let (one, other) = (primary.port(), replica.port());
    let url =
        PostgresServer::url_by(one).replace(&one.to_string(), &format!("{one},127.0.0.1:{other}"));
    let url = format!("{url}&target_session_attrs=read-write");
    let (first, second) = (Runner::on(&url), Runner::on(&url));
    let leads = || {
        [&first, &second]
            .iter()
            .any(|it| it.role().as_deref() == Some("leader"))
    };
    until(leads, "a leader");
    until(
        || second.push("one").status == 202,
        "a delivery that is acknowledged",
    );
    primary.stop(Stop::Crash);
    replica.promote();
    until(
        || second.push("two").status == 202,
        "one after the fail-over",
    );
    until(
        || first.push("three").status == 202,
        "one by the other process",
    );
    until(leads, "a leader after the fail-over");
    for runner in [&first, &second] {
        until(
            || runner.get("/runs").is_some_and(|it| it.status == 200),
            "pages",
        );
        until(
            || runner.runs().len() == 3,
            "all that was acknowledged, once",
        );
    }
}

#[test]
fn i18_the_next_leader_has_the_logs_of_the_one_that_was_killed() {
    let (server, storage) = (PostgresServer::start(), S3Server::start());
    let keys = [
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
    ];
    let settings = format!(
        "[objects]\nurl = \"s3://{BUCKET}/ci\"\nendpoint = \"{}\"\n",
        storage.endpoint()
    );
    let first = Runner::with(&server.url(), &keys, &settings);
    first.until_role("leader");
    let second = Runner::with(&server.url(), &keys, &settings);
    second.until_role("standby");
    // Its repository cannot be fetched: the log says so, and the run has ended.
    first.push("kept");
    let ended = || first.runs().iter().any(|run| run["ended_at"].is_u64());
    until(ended, "the end of the run");
    until(|| !storage.objects().is_empty(), "an object");
    let path = format!("/runs/{}/log", first.runs()[0]["id"].as_str().unwrap());
    let log = first.get(&path).unwrap().body;
    assert!(log.contains("the repository cannot be fetched"), "{log}");
    drop(first);
    until(
        || second.get(&path).is_some_and(|it| it.status == 200),
        "the log, of the next leader",
    );
    assert_eq!(second.get(&path).unwrap().body, log);
    let found = second.get(&format!("{path}/search?q=cannot")).unwrap();
    assert!(found.body.contains("\"line\":1"), "{}", found.body);
}

#[test]
fn i18_check_tries_the_object_storage() {
    let storage = S3Server::start();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("runner.toml");
    let settings = format!(
        "[objects]\nurl = \"s3://{BUCKET}\"\nendpoint = \"{}\"\n",
        storage.endpoint()
    );
    std::fs::write(&config, settings).unwrap();
    let check = |keys: Option<(&str, &str)>| {
        let mut check = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
        check
            .args(["--check", "--config"])
            .arg(&config)
            .env("FORGE_WEBHOOK_SECRET", SECRET);
        if let Some((access, secret)) = keys {
            check
                .env("AWS_ACCESS_KEY_ID", access)
                .env("AWS_SECRET_ACCESS_KEY", secret);
        }
        let output = check.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), said)
    };
    assert_eq!(check(Some((ACCESS_KEY, SECRET_KEY))), (true, String::new()));
    let (_, none) = check(None);
    assert!(none.contains("needs AWS_ACCESS_KEY_ID"), "{none}");
    let (_, wrong) = check(Some((ACCESS_KEY, "of somebody else")));
    assert!(wrong.contains("refuses the keys"), "{wrong}");
    assert!(!wrong.contains("of somebody else"), "{wrong}");
    drop(storage);
    let (well, gone) = check(Some((ACCESS_KEY, SECRET_KEY)));
    assert!(!well && gone.contains("cannot be used now"), "{gone}");
}

#[test]
fn i18_a_runner_of_another_installation_does_not_stand_beside() {
    let server = PostgresServer::start();
    let first = Runner::with(
        &server.url(),
        &[],
        "forge_url = \"https://forge-1.example\"\n",
    );
    first.until_role("leader");
    let mut other = Runner::with(
        &server.url(),
        &[],
        "forge_url = \"https://forge-2.example\"\n",
    );
    assert_eq!(other.program.child.wait().unwrap().code(), Some(1));
    first.until_role("leader");
    let same = Runner::with(
        &server.url(),
        &[],
        "forge_url = \"https://forge-1.example\"\n",
    );
    same.until_role("standby");
}

#[test]
fn i18_a_runner_starts_while_database_and_storage_are_away() {
    let mut server = PostgresServer::start();
    server.stop(Stop::Fast);
    let objects = "[objects]\nurl = \"s3://ci\"\nendpoint = \"http://127.0.0.1:9\"\n";
    let keys = [
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
    ];
    let runner = Runner::with(&server.url(), &keys, objects);
    runner.until_role("standby");
    assert_eq!(runner.get("/readyz").unwrap().status, 503);
    server.start_again();
    runner.until_role("leader");
    assert_eq!(runner.push("one").status, 202, "without its storage");
}
