//! Logs in object storage: two orchestrators on one PostgreSQL and one S3-compatible server.

use std::process::Command;
use std::time::{Duration, Instant};

use scripted_peers::postgres::PostgresServer;
use scripted_peers::s3::{ACCESS_KEY, BUCKET, S3Server, SECRET_KEY};

use crate::harness::{Daemon, Site, wait_until};
use crate::wire::{comment, run_of};

const AGENTS: &str = "[mentions]\nmax_dispatches_per_tick = 1000\nmax_concurrent_mention_agents = 20\n\n\
    [[agents]]\nproject = \"main\"\nname = \"printer\"\ncli = \"sh\"\nscript = \"echo run $ORCH_RUN_ID; seq 1 3000\"\n\n\
    [[agents]]\nproject = \"main\"\nname = \"sleeper\"\ncli = \"sh\"\nscript = \"echo begun; sleep 600\"\n";

fn top(database: &PostgresServer, storage: &S3Server, more: &str) -> String {
    format!(
        "{more}\n[store]\nurl = \"{}\"\n[objects]\nurl = \"s3://{BUCKET}/agents\"\n\
         endpoint = \"{}\"\ngrace = \"1s\"\nsweep = \"1s\"\n",
        database.url(),
        storage.endpoint()
    )
}

fn keys(command: &mut Command) {
    command
        .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
}

fn until_role(daemon: &Daemon, wanted: &str) {
    wait_until(wanted, || {
        daemon.get("/health")["replica"]["role"] == wanted
    });
}

fn mention(daemon: &Daemon, number: u64, agent: &str) -> String {
    let event = comment(number, number, &format!("@orch:{agent} please"));
    let taken = daemon
        .deliver(&format!("delivery-{number}"), &event)
        .expect("an answer");
    assert_eq!(taken.status, 202, "{}", taken.body);
    run_of(&taken.json(), agent)
}

/// The log of a run, from whoever leads by now.
fn log(daemon: &Daemon, run: &str) -> String {
    let mut text = String::new();
    wait_until("the log", || {
        let answer = daemon.admin("GET", &format!("/admin/runs/{run}/log"));
        text = answer.body;
        answer.status == 200
    });
    text
}

/// What is stored, but whose it is.
fn objects(storage: &S3Server) -> usize {
    let objects = storage.objects().into_iter();
    let stored = objects.filter(|path| path.to_string_lossy().contains("/agents/objects/"));
    stored.count()
}

/// How many logs the store names as stored: an object comes before the row that names it.
fn named_logs(database: &PostgresServer) -> String {
    database.sql("SELECT count(*) FROM orchestrator.rows WHERE tbl = 'log_files'")
}

#[test]
fn i18_the_next_leader_shows_and_streams_the_logs_of_the_former_one() {
    let (database, storage) = (PostgresServer::start(), S3Server::start());
    let site = || Site::new(&top(&database, &storage, ""), AGENTS);
    let (first_site, second_site) = (site(), site());
    let checked = {
        let mut command = first_site.command();
        keys(&mut command);
        command.arg("--check").output().unwrap()
    };
    assert!(checked.status.success(), "{checked:?}");
    let first = first_site.start_with(keys);
    until_role(&first, "leader");
    let second = second_site.start_with(keys);
    until_role(&second, "standby");

    let ended = mention(&first, 1, "printer");
    first.ended(&ended);
    assert_eq!(
        objects(&storage),
        1,
        "it is stored before its end is recorded"
    );
    let whole = log(&first, &ended);
    assert!(whole.contains(&format!("run {ended}\n1\n2\n")), "{whole}");
    assert!(whole.ends_with("2999\n3000\n"));
    let going_on = mention(&first, 2, "sleeper");
    wait_until("what it has printed so far", || {
        named_logs(&database) == "2"
    });
    assert_eq!(objects(&storage), 2);

    first.kill();
    until_role(&second, "leader");
    assert_eq!(log(&second, &ended), whole);
    let followed = second.follow(&format!("/admin/runs/{ended}/log?follow=1"), "event: end");
    assert!(followed.contains("2999\\n3000\\n"), "{followed}");
    let lost = second.ended(&going_on);
    assert_eq!(lost["exit"]["class"], "orchestrator_restart", "{lost}");
    assert_eq!(log(&second, &going_on), "begun\n");
    second.follow(
        &format!("/admin/runs/{going_on}/log?follow=1"),
        "event: end",
    );
    assert_eq!(second.get("/health")["status"], "ok");
}

#[test]
fn i18_runs_go_on_while_the_storage_is_away_and_their_logs_follow() {
    let (database, mut storage) = (PostgresServer::start(), S3Server::start());
    let site = || Site::new(&top(&database, &storage, ""), AGENTS);
    let (first_site, second_site) = (site(), site());
    let first = first_site.start_with(keys);
    until_role(&first, "leader");
    storage.stop();
    let began = Instant::now();
    let run = mention(&first, 1, "printer");
    first.ended(&run);
    let took = began.elapsed();
    assert!(
        took < Duration::from_secs(25),
        "its end waits 10 s at most: {took:?}"
    );
    wait_until("a health that says it", || {
        let health = first.get("/health");
        let reason = health["reason"].as_str().unwrap_or_default().to_owned();
        health["status"] == "degraded" && reason.starts_with("no object storage: ")
    });
    // Where it is known to be away nothing waits for it.
    let began = Instant::now();
    let other = mention(&first, 2, "printer");
    first.ended(&other);
    assert!(
        began.elapsed() < Duration::from_secs(8),
        "{:?}",
        began.elapsed()
    );
    let whole = log(&first, &run);
    assert!(whole.ends_with("3000\n"), "what this host has is shown");

    storage.start_again();
    wait_until("both logs", || named_logs(&database) == "2");
    assert_eq!(objects(&storage), 2);
    wait_until("a good health", || first.get("/health")["status"] == "ok");
    let second = second_site.start_with(keys);
    until_role(&second, "standby");
    first.kill();
    until_role(&second, "leader");
    assert_eq!(log(&second, &run), whole);
    // A log that can be had nowhere is said to be so, and stops nothing.
    storage.stop();
    let away = second.admin("GET", &format!("/admin/runs/{other}/log"));
    assert_eq!(away.status, 503, "{}", away.body);
    assert_eq!(away.header("retry-after"), Some("10"));
    assert_eq!(log(&second, &run), whole);
}

#[test]
fn i18_logs_of_forgotten_runs_leave_the_storage() {
    let (database, storage) = (PostgresServer::start(), S3Server::start());
    let more = "keep_runs = 100\ntick_interval_secs = 1\n";
    let site = Site::new(&top(&database, &storage, more), AGENTS);
    let daemon = site.start_with(keys);
    until_role(&daemon, "leader");
    let runs: Vec<String> = (1..=104)
        .map(|number| mention(&daemon, number, "printer"))
        .collect();
    wait_until("the end of all", || {
        let status = daemon.get("/admin/status");
        status["queue"]["queued"] == 0 && status["queue"]["running"] == 0
    });
    wait_until("the oldest is forgotten", || {
        daemon
            .admin("GET", &format!("/admin/runs/{}", runs[0]))
            .status
            == 404
    });
    wait_until("its object is removed", || objects(&storage) == 100);
    let last = log(&daemon, &runs[103]);
    assert!(last.starts_with(&format!("run {}\n", runs[103])), "{last}");
}

#[test]
fn i18_logs_move_to_another_prefix_beside_a_leader_and_back_into_a_data_folder() {
    let (database, storage) = (PostgresServer::start(), S3Server::start());
    let site = Site::new(&top(&database, &storage, ""), AGENTS);
    let migrate = |site: &Site, to: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_orchestrator"));
        keys(&mut command);
        command
            .args(["objects", "migrate", "--to", to, "--endpoint"])
            .args([&storage.endpoint(), "--config"])
            .arg(site.path("orchestrator.toml"));
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    let leader = site.start_with(keys);
    until_role(&leader, "leader");
    let run = mention(&leader, 1, "printer");
    leader.ended(&run);
    let whole = log(&leader, &run);
    let to = format!("s3://{BUCKET}/moved");
    let (code, said) = migrate(&site, &to);
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("1 files with") && said.contains("in use by"),
        "{said}"
    );
    leader.kill();
    let (code, said) = migrate(&site, &to);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("1 were there already"), "{said}");

    // Another host, which has nothing of it but the storage.
    let moved = top(&database, &storage, "").replace("/agents", "/moved");
    let second = Site::new(&moved, AGENTS);
    let next = second.start_with(keys);
    until_role(&next, "leader");
    assert_eq!(log(&next, &run), whole);
    assert_eq!(next.get("/health")["status"], "ok");
    next.kill();
    let third = Site::new(&moved, AGENTS);
    let (code, said) = migrate(&third, "data");
    assert_eq!(code, Some(0), "{said}");
    let alone = format!("[store]\nurl = \"{}\"\n", database.url());
    third.configure(&alone, AGENTS);
    let last = third.start_with(keys);
    until_role(&last, "leader");
    assert_eq!(log(&last, &run), whole);
}
