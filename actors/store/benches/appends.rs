//! Durable appends per second: the store at 1, 16, 64 and 256 writers, in redb and in a PostgreSQL
//! server of its own in the folder of temporary files (`TMPDIR`), against a bare loop of write and
//! fdatasync, in the same run, taking turns.
//!
//! `cargo bench -p store --bench appends -- [--json] [--seconds N] [--rounds N] [--folder PATH]`

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot measure should stop"
)]

use hdrhistogram::Histogram;
use scripted_peers::postgres::PostgresServer;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use store::{RawBytes, Store, StoreError, StoreOptions, Table};

const APPENDS: Table<u64, RawBytes> = Table::new("appends");
const WRITERS: [u64; 4] = [1, 16, 64, 256];
const PAYLOADS: [usize; 2] = [1024, 28_000];

/// What is asked for on the command line.
struct Plan {
    json: bool,
    /// How long each turn lasts.
    turn: Duration,
    rounds: usize,
    folder: PathBuf,
}

/// What is measured: the bare loop, or the store with so many writers.
#[derive(Clone, Copy)]
struct Case {
    payload: usize,
    engine: Engine,
    writers: Option<u64>,
}

/// What appends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Engine {
    Bare,
    Redb,
    Postgres,
}

/// What one case showed, over all its turns.
struct Figures {
    case: Case,
    /// Appends per second, one figure per turn.
    rates: Vec<f64>,
    /// Time from the call to the answer, in microseconds.
    latency: Histogram<u64>,
    /// Commits, to tell how many appends shared one.
    commits: u64,
    appends: u64,
}

fn main() {
    let plan = plan(std::env::args().skip(1));
    let before = load_average();
    let mut figures: Vec<Figures> = cases().map(Figures::new).collect();
    let server = PostgresServer::of_usual_size();
    let mut schemas = 0;
    for round in 0..plan.rounds {
        for case in &mut figures {
            let folder = tempfile::tempdir_in(&plan.folder).unwrap();
            let Some(writers) = case.case.writers else {
                bare(case, folder.path(), plan.turn);
                continue;
            };
            let options = StoreOptions::new("bench");
            let store = match case.case.engine {
                Engine::Postgres => {
                    schemas += 1;
                    let url = server.url_in(&format!("turn_{schemas}"));
                    Store::open_postgres(&url.parse().unwrap(), &options)
                }
                _ => Store::open(folder.path(), &options),
            };
            with_store(case, writers, &store.unwrap(), plan.turn);
            if case.case.engine == Engine::Postgres {
                server.sql(&format!("DROP SCHEMA turn_{schemas} CASCADE; CHECKPOINT"));
            }
        }
        if !plan.json {
            println!("round {} of {}", round + 1, plan.rounds);
        }
    }
    let loads = [before, load_average()];
    match plan.json {
        true => println!("{}", to_json(&figures, &plan, &loads)),
        false => print_table(&figures, &plan, &loads),
    }
}

fn plan(mut args: impl Iterator<Item = String>) -> Plan {
    let mut plan = Plan {
        json: false,
        turn: Duration::from_secs(2),
        rounds: 3,
        folder: env!("CARGO_TARGET_TMPDIR").into(),
    };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--json" => plan.json = true,
            "--seconds" => plan.turn = Duration::from_secs_f64(number(args.next())),
            "--rounds" => plan.rounds = number(args.next()) as usize,
            "--folder" => plan.folder = args.next().expect("--folder needs a path").into(),
            // Added by cargo.
            "--bench" => {}
            other => panic!("unknown argument {other}"),
        }
    }
    plan
}

fn number(text: Option<String>) -> f64 {
    let number = text.and_then(|text| text.parse().ok());
    number.filter(|n| *n > 0.0).expect("a number above zero")
}

fn cases() -> impl Iterator<Item = Case> {
    PAYLOADS.into_iter().flat_map(|payload| {
        let stores = [Engine::Redb, Engine::Postgres];
        let stores = stores
            .into_iter()
            .flat_map(|engine| WRITERS.map(|writers| (engine, Some(writers))));
        let all = std::iter::once((Engine::Bare, None)).chain(stores);
        all.map(move |(engine, writers)| Case {
            payload,
            engine,
            writers,
        })
    })
}

/// Write, fdatasync, again: what the disk gives to one who waits for each append.
fn bare(figures: &mut Figures, folder: &Path, turn: Duration) {
    let mut file = File::create(folder.join("log")).unwrap();
    let row = vec![0x5A; figures.case.payload];
    let began = Instant::now();
    let mut appends = 0;
    while began.elapsed() < turn {
        let asked = Instant::now();
        file.write_all(&row).unwrap();
        file.sync_data().unwrap();
        figures.latency.record(micros(asked)).unwrap();
        appends += 1;
    }
    figures.turn(appends, appends, began.elapsed());
}

/// So many writers, each waiting for its answer before it asks again.
fn with_store(figures: &mut Figures, writers: u64, store: &Store, turn: Duration) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let row = RawBytes(vec![0x5A; figures.case.payload]);
    let began = Instant::now();
    let until = began + turn;
    let tasks = tokio::task::LocalSet::new();
    let loops: Vec<_> = (0..writers)
        .map(|n| tasks.spawn_local(append(store.clone(), n << 32, row.clone(), until)))
        .collect();
    runtime.block_on(tasks);
    let took = began.elapsed();
    let mut appends = 0;
    for done in loops {
        let latency = runtime.block_on(done).unwrap();
        appends += latency.len();
        figures.latency.add(latency).unwrap();
    }
    figures.turn(appends, store.health().groups, took);
}

async fn append(store: Store, first: u64, row: RawBytes, until: Instant) -> Histogram<u64> {
    let mut latency = histogram();
    for id in first.. {
        if Instant::now() >= until {
            break;
        }
        let asked = Instant::now();
        let row = row.clone();
        let stored = store.write(move |txn| txn.put(&APPENDS, &id, &row)).await;
        let _: &Result<(), StoreError> = &stored;
        stored.unwrap();
        latency.record(micros(asked)).unwrap();
    }
    latency
}

fn histogram() -> Histogram<u64> {
    Histogram::new(3).unwrap()
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap()
}

impl Case {
    fn name(self) -> String {
        match self.writers {
            None => "bare write + fdatasync".to_owned(),
            Some(writers) if self.engine == Engine::Postgres => {
                format!("PostgreSQL, {writers} writers")
            }
            Some(writers) => format!("store, {writers} writers"),
        }
    }
}

impl Figures {
    fn new(case: Case) -> Self {
        Self {
            case,
            rates: Vec::new(),
            latency: histogram(),
            commits: 0,
            appends: 0,
        }
    }

    fn turn(&mut self, appends: u64, commits: u64, took: Duration) {
        self.rates.push(appends as f64 / took.as_secs_f64());
        self.appends += appends;
        self.commits += commits;
    }

    /// The middle one of the turns.
    fn rate(&self) -> f64 {
        let mut rates = self.rates.clone();
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    }

    fn group(&self) -> f64 {
        self.appends as f64 / self.commits.max(1) as f64
    }

    fn quantile_ms(&self, quantile: f64) -> f64 {
        self.latency.value_at_quantile(quantile) as f64 / 1000.0
    }

    fn to_json(&self, bare: f64) -> Value {
        json!({
            "case": self.case.name(),
            "writers": self.case.writers,
            "payload_bytes": self.case.payload,
            "appends_per_second": self.rate(),
            "appends_per_second_of_each_turn": self.rates,
            "times_bare": self.rate() / bare,
            "appends_per_commit": self.group(),
            "p50_ms": self.quantile_ms(0.5),
            "p99_ms": self.quantile_ms(0.99),
        })
    }
}

/// The bare loop's rate for the same payload.
fn bare_rate(figures: &[Figures], payload: usize) -> f64 {
    let is_bare = |f: &&Figures| f.case.writers.is_none() && f.case.payload == payload;
    figures.iter().find(is_bare).unwrap().rate()
}

fn to_json(figures: &[Figures], plan: &Plan, loads: &[String; 2]) -> Value {
    let rows = figures
        .iter()
        .map(|f| f.to_json(bare_rate(figures, f.case.payload)));
    json!({
        "benchmark": "store appends",
        "seconds_per_turn": plan.turn.as_secs_f64(),
        "rounds": plan.rounds,
        "load_average_before_and_after": loads,
        "cases": rows.collect::<Vec<_>>(),
    })
}

fn print_table(figures: &[Figures], plan: &Plan, loads: &[String; 2]) {
    println!(
        "\ndurable appends, median of {} turns of {:.1} s each; load average {} before, {} after",
        plan.rounds,
        plan.turn.as_secs_f64(),
        loads[0],
        loads[1]
    );
    println!(
        "{:>8}  {:<24} {:>10} {:>7} {:>10} {:>9} {:>9}",
        "payload", "case", "appends/s", "x bare", "per commit", "p50 ms", "p99 ms"
    );
    for row in figures {
        println!(
            "{:>8}  {:<24} {:>10.0} {:>7.2} {:>10.1} {:>9.2} {:>9.2}",
            row.case.payload,
            row.case.name(),
            row.rate(),
            row.rate() / bare_rate(figures, row.case.payload),
            row.group(),
            row.quantile_ms(0.5),
            row.quantile_ms(0.99)
        );
    }
}

/// The machine's load: figures of a busy machine say little.
fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let loads: Vec<_> = text.split_whitespace().take(3).collect();
    match loads.is_empty() {
        true => "unknown".to_owned(),
        false => loads.join(" "),
    }
}
