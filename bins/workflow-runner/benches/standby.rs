//! What a standby costs, and how soon it leads: two runners on a PostgreSQL server of their own.
//!
//! `cargo bench -p workflow-runner --bench standby -- [--seconds N] [--rounds N]`
//!
//! Each figure of an idle installation is of so many seconds in which nobody asks anything. A
//! take-over is the time from the signal to the first `/health` of the other process that calls it
//! the leader, asked every 5 ms.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use scripted_peers::postgres::PostgresServer;
use scripted_peers::{Program, ask};
use tempfile::TempDir;

/// PostgreSQL counts a transaction within a second of its end.
const STATISTICS: Duration = Duration::from_secs(2);
const DEADLINE: Duration = Duration::from_secs(60);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str, otherwise: u64| {
        let at = arguments.iter().position(|argument| argument == name);
        let text = at.and_then(|at| arguments.get(at + 1));
        text.map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (idle, rounds) = (
        Duration::from_secs(option("--seconds", 30)),
        option("--rounds", 10),
    );
    let server = PostgresServer::of_usual_size();
    costs(&server, idle);
    println!();
    for (what, signal) in [
        ("killed (SIGKILL)", Signal::KILL),
        ("paused (SIGSTOP)", Signal::STOP),
        ("stopped (SIGTERM)", Signal::TERM),
    ] {
        takeovers(&server, what, signal, rounds);
    }
}

/// Idle: one leader, then one and two standbys beside it.
fn costs(server: &PostgresServer, idle: Duration) {
    println!(
        "idle for {} s each; a runner's CPU is in ms a second, its memory is what it has of its own",
        idle.as_secs()
    );
    println!(
        "{:<24}{:>11}{:>12}{:>12}{:>13}{:>17}{:>16}{:>13}",
        "",
        "leader CPU",
        "leader MiB",
        "standby CPU",
        "standby MiB",
        "transactions/s",
        "database's CPU",
        "connections"
    );
    let mut runners = vec![Runner::start(server, "costs")];
    until(|| runners[0].is_leader());
    for (standbys, name) in [(0, "a leader alone"), (1, "and a standby"), (2, "and two")] {
        if standbys > 0 {
            runners.push(Runner::start(server, "costs"));
        }
        std::thread::park_timeout(STATISTICS);
        let cpu = |runners: &[Runner]| -> Vec<u64> { runners.iter().map(Runner::cpu_ms).collect() };
        let (before, transactions) = (cpu(&runners), server.transactions());
        let database = server.cpu_time();
        let began = Instant::now();
        while began.elapsed() < idle {
            std::thread::park_timeout(idle.saturating_sub(began.elapsed()));
        }
        let (after, database) = (cpu(&runners), server.cpu_time() - database);
        let took = began.elapsed().as_secs_f64();
        std::thread::park_timeout(STATISTICS);
        let transactions = server.transactions() - transactions;
        let each = |index: usize| (after[index] - before[index]) as f64 / took;
        let last = standbys.min(runners.len() - 1);
        let standby = (last > 0).then(|| (each(last), runners[last].memory_mib()));
        println!(
            "{name:<24}{:>11.1}{:>12.1}{:>12}{:>13}{:>17.1}{:>16.1}{:>13}",
            each(0),
            runners[0].memory_mib(),
            standby.map_or_else(String::new, |(cpu, _)| format!("{cpu:.1}")),
            standby.map_or_else(String::new, |(_, memory)| format!("{memory:.1}")),
            transactions as f64 / (took + STATISTICS.as_secs_f64()),
            database.as_secs_f64() * 1000.0 / took,
            server
                .sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"),
        );
    }
}

fn takeovers(server: &PostgresServer, what: &str, signal: Signal, rounds: u64) {
    let mut times = Vec::new();
    let mut leader = Runner::start(server, "takeovers");
    until(|| leader.is_leader());
    for _ in 0..rounds {
        let standby = Runner::start(server, "takeovers");
        until(|| standby.answers("\"standby\""));
        let began = Instant::now();
        leader.program.signal(signal);
        until(|| standby.is_leader());
        times.push(began.elapsed().as_secs_f64() * 1000.0);
        leader = standby;
    }
    times.sort_by(f64::total_cmp);
    println!(
        "leader {what}: the standby leads after: median {:.0} ms, longest {:.0} ms ({rounds} times)",
        times[times.len() / 2],
        times[times.len() - 1]
    );
}

fn until(mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < DEADLINE, "not within {DEADLINE:?}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// A runner; ends when it is dropped.
struct Runner {
    program: Program,
    _folder: TempDir,
}

impl Runner {
    fn start(server: &PostgresServer, schema: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
        command
            .args(["--listen", "127.0.0.1:0", "--data"])
            .arg(folder.path().join("data"))
            .env("FORGE_WEBHOOK_SECRET", "sixteen--letters")
            .env("VMM_API_URL", "http://127.0.0.1:9")
            .env("WORKFLOW_RUNNER_STORE_URL", server.url_in(schema));
        Self {
            program: Program::start(command),
            _folder: folder,
        }
    }

    fn is_leader(&self) -> bool {
        self.answers("\"leader\"")
    }

    /// Whether its `/health` has this word.
    fn answers(&self, word: &str) -> bool {
        let health = ask(&self.program.address, "GET /health", &[], "");
        health.is_some_and(|it| it.body.contains(&format!("\"role\":{word}")))
    }

    fn cpu_ms(&self) -> u64 {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", self.program.child.id())).unwrap();
        let fields: Vec<&str> = stat[stat.rfind(')').unwrap()..].split(' ').collect();
        (fields[12].parse::<u64>().unwrap() + fields[13].parse::<u64>().unwrap()) * 10
    }

    /// Private memory of its own.
    fn memory_mib(&self) -> f64 {
        let rollup = format!("/proc/{}/smaps_rollup", self.program.child.id());
        let text = std::fs::read_to_string(rollup).unwrap();
        let lines = text.lines().filter(|line| line.starts_with("Private_"));
        let kib = lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
        kib.sum::<f64>() / 1024.0
    }
}
