//! Dispatches over each engine of the store: queued runs become `starting`, as the dispatcher does
//! it, and end.
//!
//! Counted is what the orchestrator decides and stores. Processes are not started: those would
//! measure the machine.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forge_core::RunId;
use orchestrator_actors::ledger::{self, LedgerTxn, RunEnd};
use orchestrator_core::config::Config;
use orchestrator_core::run::{ExitClass, ExitReport, Terminal};
use scripted_peers::postgres::PostgresServer;
use store::{Store, StoreError, StoreOptions};

use crate::ticks::{Bench, admit, now};
use crate::{MENTIONS, at, millis};

/// Runs that are queued for each turn.
const QUEUED: usize = 10_000;
/// Most runs that the dispatcher begins with one transaction.
const STARTS: usize = 16;
/// Agents that end at the same time.
const ENDS: usize = 64;
/// Turns of each engine; the middle one counts.
const ROUNDS: usize = 3;

/// Prints the table.
pub(crate) fn measure() {
    println!("dispatches of {QUEUED} queued runs, {STARTS} a transaction; the middle of {ROUNDS}");
    println!(
        "{:<12}{:>13}{:>12}{:>22}{:>9}{:>9}",
        "store", "accepted/s", "began/s", "began and ended/s", "p50 ms", "p99 ms"
    );
    let server = PostgresServer::of_usual_size();
    let (mut redb, mut postgres) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("data"), &options());
        redb.push(turn(folder.path(), &store.expect("a store")));
        let folder = tempfile::tempdir().expect("a folder");
        let url = server.url_in(&format!("turn_{round}"));
        let store = Store::open_postgres(&url.parse().expect("an address"), &options());
        postgres.push(turn(folder.path(), &store.expect("a store")));
        server.sql(&format!("DROP SCHEMA turn_{round} CASCADE"));
    }
    for (engine, mut turns) in [("redb", redb), ("PostgreSQL", postgres)] {
        turns.sort_by(|one, other| one.began.total_cmp(&other.began));
        let middle = &turns[ROUNDS / 2];
        println!(
            "{engine:<12}{:>13.0}{:>12.0}{:>22.0}{:>9}{:>9}",
            middle.accepted,
            middle.began,
            middle.whole,
            millis(at(&middle.transactions, 0.5)),
            millis(at(&middle.transactions, 0.99)),
        );
    }
}

fn options() -> StoreOptions {
    StoreOptions::new("orchestrator")
}

/// Rates a second, and how long the transactions took that began runs.
struct Turn {
    accepted: f64,
    began: f64,
    whole: f64,
    transactions: Vec<Duration>,
}

fn turn(folder: &Path, store: &Store) -> Turn {
    actix_rt::System::new().block_on(async {
        let bench = Bench::start(folder, store.clone()).await;
        let began = Instant::now();
        let mut runs = Vec::new();
        for id in 0..QUEUED / MENTIONS {
            runs.extend(admit(&bench.service, id as u64).await);
        }
        let accepted = rate(began);
        let config = bench.config.clone();
        bench.stop().await;
        let (began, mut transactions) = (Instant::now(), Vec::new());
        let mut running = Vec::new();
        for some in runs.chunks(STARTS) {
            let (asked, some) = (Instant::now(), some.to_vec());
            let begun = write(store, &config, move |txn| {
                let begun = some.iter().map(|run| ledger::start_run(txn, run));
                begun.collect::<Result<Vec<_>, _>>()
            });
            let begun = begun.await.into_iter().flatten();
            running.extend(begun.map(|request| request.run.id));
            transactions.push(asked.elapsed());
        }
        // The first tick may have been faster with a few of them.
        assert!(
            running.len() + STARTS > runs.len(),
            "nearly all were queued"
        );
        let only_began = rate(began);
        // Each end is a transaction of its own, of as many agents as end at a time.
        for some in running.chunks(ENDS) {
            let end = |run: &RunId| {
                let run = run.clone();
                write(store, &config, move |txn| ledger::end(txn, &run, ended()))
            };
            let ends: Vec<_> = some.iter().map(end).collect();
            for has_ended in ends {
                assert!(has_ended.await, "it ran");
            }
        }
        let whole = rate(began);
        transactions.sort();
        store.close();
        Turn {
            accepted,
            began: only_began,
            whole,
            transactions,
        }
    })
}

fn rate(since: Instant) -> f64 {
    QUEUED as f64 / since.elapsed().as_secs_f64()
}

fn ended() -> RunEnd {
    RunEnd {
        report: ExitReport {
            class: ExitClass::Success,
            terminal: Terminal::Code(0),
            wall_millis: 1,
            output_bytes: 0,
            cost_cents: None,
            detail: None,
            at: now(),
        },
        verdict: None,
        comment: None,
        worktree: None,
    }
}

/// One transaction of the orchestrator's.
fn write<T, W>(store: &Store, config: &Arc<Config>, work: W) -> impl Future<Output = T> + use<T, W>
where
    W: FnOnce(&mut LedgerTxn<'_, '_>) -> Result<T, StoreError> + Send + 'static,
    T: Send + 'static,
{
    let config = Arc::clone(config);
    let written = store.write(move |rows| work(&mut LedgerTxn::new(rows, &config, now())));
    async move { written.await.expect("the store takes it") }
}
