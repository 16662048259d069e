//! What only a store in PostgreSQL has to show: one holder at a time, whatever sleeps or is cut
//! off; a server that ends and comes back; and clear words for what cannot work.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use rustix::process::{Pid, Signal, kill_process};
use scripted_peers::postgres::{PostgresServer, Stop};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::{
    Migration, OpenError, PostgresUrl, ReadRows, Store, StoreError, StoreOptions, StoreState,
    Table, WriteTxn,
};

const ROWS: Table<u64, u64> = Table::new("rows");
const CHILD: &str = "ORRERY_STORE_POSTGRES_CHILD";
/// Longest that anything may take before a test gives up.
const DEADLINE: Duration = Duration::from_secs(120);

/// A lease that a test can wait for.
fn options(program: &str) -> StoreOptions {
    StoreOptions {
        lease: Duration::from_secs(2),
        patience: Duration::from_secs(30),
        ..StoreOptions::new(program).schema("test")
    }
}

fn open(server: &PostgresServer, program: &str) -> Result<Store, OpenError> {
    Store::open_postgres(&server.url().parse()?, &options(program))
}

fn put(store: &Store, id: u64) -> Result<(), StoreError> {
    store.write_blocking(move |txn| txn.put(&ROWS, &id, &id))
}

fn ids(store: &Store) -> BTreeSet<u64> {
    let rows = store.read_blocking(|rows| rows.range(&ROWS, .., usize::MAX));
    let rows: Vec<(u64, u64)> = rows.unwrap_or_else(|e: StoreError| panic!("{e}"));
    rows.into_iter().map(|(id, _)| id).collect()
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !done() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// Another process with the store: does nothing in a normal run of the tests. It writes what it is
/// told by a line, and says how that ended.
#[test]
fn child_that_holds_it() {
    let Ok(url) = std::env::var(CHILD) else {
        return;
    };
    let store = Store::open_postgres(&url.parse().unwrap(), &options("first")).unwrap();
    say("holding");
    for line in std::io::stdin().lines() {
        let id: u64 = line.unwrap().parse().unwrap();
        match put(&store, id) {
            Ok(()) => say("stored"),
            Err(error) => say(&format!("refused: {error}")),
        }
    }
}

/// One line down the pipe, past the capture of the test harness.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n# {line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

struct Holder {
    child: Child,
    answers: Box<dyn Iterator<Item = String>>,
}

impl Holder {
    fn start(server: &PostgresServer) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "postgres::child_that_holds_it", "--nocapture"])
            .env(CHILD, server.url())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = |line: std::io::Result<String>| Some(line.ok()?.strip_prefix("# ")?.to_owned());
        let mut answers = lines.filter_map(said);
        assert_eq!(answers.next().as_deref(), Some("holding"));
        let answers = Box::new(answers);
        Self { child, answers }
    }

    fn tell(&mut self, id: u64) {
        let stdin = self.child.stdin.as_mut().unwrap();
        writeln!(stdin, "{id}").unwrap();
    }

    fn write(&mut self, id: u64) -> String {
        self.tell(id);
        self.answers.next().unwrap()
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Pauses it: one thread takes the signal, and until it does the others go on.
    fn pause(&self) {
        self.signal(Signal::STOP);
        let threads = format!("/proc/{}/task", self.child.id());
        let is_stopped = |thread: std::io::Result<std::fs::DirEntry>| {
            let stat = std::fs::read_to_string(thread.unwrap().path().join("stat")).unwrap();
            stat.rsplit(')').next().unwrap().starts_with(" T")
        };
        while !std::fs::read_dir(&threads).unwrap().all(is_stopped) {
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn i18_a_second_process_is_told_who_holds_the_store() {
    let server = PostgresServer::start();
    let mut first = Holder::start(&server);
    assert_eq!(first.write(1), "stored");
    let error = open(&server, "second").unwrap_err().to_string();
    let pid = first.child.id();
    assert!(error.contains("is in use by first on "), "{error}");
    assert!(error.contains(&format!("(pid {pid}, since ")), "{error}");
    assert!(!error.contains("correct"), "{error}");
    // Killed, it leaves the store at once: the server frees what its session held.
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let second = open(&server, "second").unwrap();
    assert_eq!(ids(&second), BTreeSet::from([1]));
}

#[test]
fn i18_a_paused_process_loses_the_store_and_writes_nothing_more() {
    let server = PostgresServer::start();
    let mut first = Holder::start(&server);
    assert_eq!(first.write(1), "stored");
    first.pause();
    // What it was told while it slept must not be stored later.
    first.tell(2);
    let began = Instant::now();
    let second = open(&server, "second").unwrap();
    // By the lease, not by a time-out of the network.
    assert!(began.elapsed() < Duration::from_secs(60));
    put(&second, 3).unwrap();
    first.signal(Signal::CONT);
    let refused = first.answers.next().unwrap();
    assert!(
        refused.starts_with("refused: ") && refused.contains("was taken over by second on "),
        "{refused}"
    );
    assert!(first.write(4).contains("was taken over by second"));
    assert_eq!(ids(&second), BTreeSet::from([1, 3]));
    assert_eq!(server.sql("SELECT count(*) FROM test.epochs"), "2");
}

#[test]
fn i18_whoever_lost_the_epoch_is_fenced_even_with_its_connection() {
    let server = PostgresServer::start();
    let store = open(&server, "test").unwrap();
    put(&store, 1).unwrap();
    let mut state = store.watch_state();
    // As if another had taken it, with this session and its lock still there.
    server.sql("UPDATE test.owner SET epoch = epoch + 1, program = 'other'");
    let refused = put(&store, 2).unwrap_err();
    let StoreError::TakenOver { by, .. } = &refused else {
        panic!("{refused}");
    };
    assert!(by.starts_with("other on "), "{by}");
    assert!(refused.is_temporary(), "somebody else answers in a moment");
    let is_lost = |state: &StoreState| matches!(state, StoreState::TakenOver(_));
    assert!(is_lost(&state.borrow_and_update()));
    // It reads no more either: what it knows beside the store may be wrong by now.
    let read = store.read_blocking(|rows| rows.len(&ROWS));
    let is_refused = matches!(read, Err(StoreError::TakenOver { .. }));
    assert!(is_refused, "{read:?}");
    assert_eq!(
        server.sql("SELECT count(*) FROM test.rows WHERE tbl = 'rows'"),
        "1"
    );
    store.close();
    assert!(is_lost(&store.health().state));
}

#[test]
fn i18_an_idle_holder_notices_by_itself() {
    let server = PostgresServer::start();
    let store = open(&server, "test").unwrap();
    server.sql("UPDATE test.owner SET epoch = epoch + 1");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let taken =
        runtime.block_on(async { tokio::time::timeout(DEADLINE, store.taken_over()).await });
    assert!(taken.is_ok(), "nothing was asked, and it noticed nothing");
}

/// Writers that each store one id after the other; what was acknowledged.
struct Load {
    stop: Arc<AtomicBool>,
    acknowledged: Arc<Mutex<BTreeSet<u64>>>,
    writers: Vec<std::thread::JoinHandle<u64>>,
}

const WRITERS: u64 = 8;

impl Load {
    fn start(store: &Store) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let acknowledged = Arc::<Mutex<BTreeSet<u64>>>::default();
        let writer = |n: u64| {
            let (store, stop) = (store.clone(), Arc::clone(&stop));
            let acknowledged = Arc::clone(&acknowledged);
            std::thread::spawn(move || {
                let mut asked = 0;
                while !stop.load(Ordering::Relaxed) {
                    let id = n + WRITERS * asked;
                    asked += 1;
                    // A row that was there already would be one stored twice.
                    let stored = store.write_blocking(move |txn| {
                        assert!(!txn.contains(&ROWS, &id)?, "{id} is there already");
                        txn.put(&ROWS, &id, &txn.group())
                    });
                    match stored {
                        Ok(()) => drop(acknowledged.lock().unwrap().insert(id)),
                        Err(error) => assert!(error.is_temporary(), "{error}"),
                    }
                }
                asked
            })
        };
        Self {
            writers: (0..WRITERS).map(writer).collect(),
            acknowledged,
            stop,
        }
    }

    fn count(&self) -> usize {
        self.acknowledged.lock().unwrap().len()
    }

    /// Waits until so many more were acknowledged.
    fn goes_on(&self) {
        let before = self.count();
        until("writes go on", || self.count() > before + 50);
    }

    fn end(self) -> (BTreeSet<u64>, u64) {
        self.stop.store(true, Ordering::Relaxed);
        let asked = self.writers.into_iter().map(|w| w.join().unwrap()).sum();
        let acknowledged = self.acknowledged.lock().unwrap().clone();
        (acknowledged, asked)
    }
}

#[test]
fn i18_a_server_restarted_under_load_loses_and_doubles_nothing() {
    let mut server = PostgresServer::start();
    let store = open(&server, "test").unwrap();
    let load = Load::start(&store);
    for round in 0..10 {
        load.goes_on();
        server.restart(if round % 2 == 0 {
            Stop::Crash
        } else {
            Stop::Fast
        });
    }
    load.goes_on();
    let (acknowledged, asked) = load.end();
    let found = ids(&store);
    let lost: Vec<_> = acknowledged.difference(&found).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    // A restart is waited for, so that nobody hears of it: each request has one outcome.
    assert_eq!(
        found.len() as u64,
        asked,
        "somebody was refused, and it is there"
    );
    assert!(store.health().reopened >= 10, "{:?}", store.health());
    let counted = server.sql("SELECT rows FROM test.tables WHERE name = 'rows'");
    assert_eq!(counted, found.len().to_string());
    let groups = server.sql("SELECT last_group FROM test.owner");
    let last = store.write_blocking(|txn| Ok::<_, StoreError>(txn.group()));
    assert_eq!(
        last.unwrap().to_string(),
        (groups.parse::<u64>().unwrap() + 1).to_string()
    );
}

#[test]
fn i18_sessions_ended_within_commits_lose_and_double_nothing() {
    let server = PostgresServer::start();
    let store = open(&server, "test").unwrap();
    let load = Load::start(&store);
    for _ in 0..40 {
        let before = load.count();
        server.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE application_name = 'test' AND state = 'active'",
        );
        until("a write", || load.count() > before);
    }
    let (acknowledged, asked) = load.end();
    let found = ids(&store);
    assert!(acknowledged.is_subset(&found));
    assert_eq!(found.len() as u64, asked);
}

#[test]
fn i18_a_server_that_is_gone_is_said_and_found_again() {
    let mut server = PostgresServer::start();
    let url: PostgresUrl = server.url().parse().unwrap();
    let quick = StoreOptions {
        patience: Duration::from_secs(2),
        ..options("test")
    };
    let store = Store::open_postgres(&url, &quick).unwrap();
    put(&store, 1).unwrap();
    server.stop(Stop::Fast);
    let refused = put(&store, 2).unwrap_err();
    assert!(
        matches!(
            refused,
            StoreError::Storage { .. } | StoreError::Unknown { .. }
        ),
        "{refused}"
    );
    assert!(matches!(store.health().state, StoreState::Failing(_)));
    assert!(store.condition()().is_err(), "it says that it is ready");
    let read = store.read_blocking(|rows| rows.get(&ROWS, &1));
    assert!(matches!(read, Err(StoreError::Storage { .. })), "{read:?}");
    server.start_again();
    until("it works again", || store.health().is_ready());
    put(&store, 3).unwrap();
    assert!(ids(&store).is_superset(&BTreeSet::from([1, 3])));
}

#[test]
fn i18_a_server_that_lost_what_it_acknowledged_is_not_gone_on_with() {
    let server = PostgresServer::start();
    let store = open(&server, "test").unwrap();
    put(&store, 1).unwrap();
    put(&store, 2).unwrap();
    // As a replica that was promoted without the last group.
    server.sql(
        "UPDATE test.owner SET last_group = last_group - 1; DELETE FROM test.rows WHERE key = \
         '\\x0000000000000002'; SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE application_name = 'test'",
    );
    let refused = put(&store, 3).unwrap_err().to_string();
    assert!(refused.contains("lost what it acknowledged"), "{refused}");
}

fn refusal(url: &str) -> String {
    let url: PostgresUrl = url.parse().unwrap();
    let options = StoreOptions {
        patience: Duration::from_secs(3),
        ..options("test")
    };
    Store::open_postgres(&url, &options)
        .unwrap_err()
        .to_string()
}

#[test]
fn i18_what_cannot_be_opened_says_why_and_what_to_do() {
    let server = PostgresServer::start();
    let right = server.url();
    let wrong_password = refusal(&server.url_of("orrery", "guessed", "orrery"));
    assert!(
        wrong_password.contains("password authentication failed"),
        "{wrong_password}"
    );
    assert!(wrong_password.contains("pg_hba.conf") && !wrong_password.contains("guessed"));
    let no_database = refusal(&server.url_of("orrery", "correct horse", "nothing"));
    assert!(no_database.contains("CREATE DATABASE"), "{no_database}");
    let gone = refusal("postgresql://u:p@127.0.0.1:1/d");
    assert!(gone.contains("see that the server runs"), "{gone}");
    server.sql("CREATE ROLE guest LOGIN PASSWORD 'guest'");
    let no_right = refusal(&server.url_of("guest", "guest", "orrery"));
    assert!(no_right.contains("give the role CREATE"), "{no_right}");
    server.sql("ALTER DATABASE orrery SET default_transaction_read_only = on");
    let read_only = refusal(&right);
    assert!(read_only.contains("read-only"), "{read_only}");
    server.sql("BEGIN READ WRITE; ALTER DATABASE orrery RESET ALL; COMMIT");
    open(&server, "test").unwrap().close();
    server.sql("UPDATE test.layout SET version = 9");
    let newer = refusal(&right);
    assert!(
        newer.contains("has schema 9, this program knows 6"),
        "{newer}"
    );
}

fn nothing(_: &mut WriteTxn<'_>) -> Result<(), StoreError> {
    Ok(())
}

#[test]
fn i18_rows_of_a_newer_program_are_left_alone() {
    const STEPS: &[Migration] = &[Migration {
        version: 1,
        name: "begin",
        run: nothing,
    }];
    let server = PostgresServer::start();
    let url: PostgresUrl = server.url().parse().unwrap();
    Store::open_postgres(&url, &options("new").migrations(STEPS)).unwrap();
    let error = Store::open_postgres(&url, &options("old")).unwrap_err();
    assert!(
        matches!(
            error,
            OpenError::SchemaTooNew {
                stored: 1,
                known: 0,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn i18_what_was_answered_is_durable_whatever_the_servers_defaults_are() {
    let server = PostgresServer::with_settings(&["synchronous_commit=off"]);
    let store = open(&server, "test").unwrap();
    put(&store, 1).unwrap();
    let setting = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'test'";
    assert_ne!(server.sql(setting), "0");
    // A crash right after the answer: with synchronous_commit off the last commits would be gone.
    for id in 2..50 {
        put(&store, id).unwrap();
    }
    let mut server = server;
    server.restart(Stop::Crash);
    assert_eq!(ids(&store).len(), 49);
}

#[test]
fn i18_products_share_a_database_by_schemas() {
    let server = PostgresServer::start();
    let at = |schema: &str| server.url_in(schema).parse::<PostgresUrl>().unwrap();
    let one = Store::open_postgres(&at("one"), &StoreOptions::new("test")).unwrap();
    let two = Store::open_postgres(&at("two"), &StoreOptions::new("test")).unwrap();
    put(&one, 1).unwrap();
    put(&two, 2).unwrap();
    assert_eq!(ids(&one), BTreeSet::from([1]));
    assert_eq!(ids(&two), BTreeSet::from([2]));
}

#[test]
fn i18_reads_within_an_actors_runtime_do_not_need_one_of_their_own() {
    let server = PostgresServer::start();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = open(&server, "test").unwrap();
        store.write(|txn| txn.put(&ROWS, &1, &1)).await.unwrap();
        for _ in 0..300 {
            assert_eq!(ids(&store), BTreeSet::from([1]));
        }
        // A read within a read has a connection even if all others are in use.
        let inner = store.clone();
        let nested = store.read_blocking(move |rows| {
            assert_eq!(inner.read_blocking(|rows| rows.len(&ROWS))?, 1);
            rows.len(&ROWS)
        });
        let _: &Result<u64, StoreError> = &nested;
        assert_eq!(nested, Ok(1));
    });
}
