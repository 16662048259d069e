//! The runner's receiver: signed webhooks of 28 kB, durable before 202, at 1, 16, 64 and 256
//! connections, beside a bare receiver (no storage), a minimal actix-web + redb loop with two-phase
//! group commits, and a bare loop of write and fdatasync, taking turns on one disk; then 500 a
//! second for a while (F03), and ten times that (F04).
//!
//! `cargo bench -p runner-web --bench intake -- [--seconds N] [--rounds N] [--connections N]`; with
//! a number of connections only that comparison is made. `--engines` compares the two engines of
//! the runner's store instead: a folder, and a PostgreSQL server of its own in the folder of
//! temporary files (`TMPDIR`).
//!
//! Every server is a process of its own with 2 workers; the client has one thread. Beside the rates
//! stand the server's processor time and what it gave to the disk, a request: these hardly depend
//! on what else the machine does. The runner's events name a forge that never answers: their runs
//! wait, so what is measured is the receiver. Each has the allocator of the program it stands for.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking and prints"
)]

mod allocator;
mod client;
mod engines;
mod servers;

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

const CONNECTIONS: [usize; 4] = [1, 16, 64, 256];
const BODY: usize = 28_000;
const SECRET: &str = "the secret of the benchmark's webhook";

/// A server in a process of its own; ends when it is dropped.
struct Server {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start(kind: &str) -> Self {
        Self::on(kind, "")
    }

    /// With the store at this address; in its folder without one.
    fn on(kind: &str, store: &str) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        if kind == "runner" {
            command.env(allocator::ASK, "1");
        }
        let mut child = command
            .args(["--serve", kind])
            .env(servers::STORE, store)
            .arg(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        Self {
            child,
            address: line.trim().parse().unwrap(),
            _folder: folder,
        }
    }

    /// Microseconds of processor time it has used so far, and bytes it has given to the disk.
    fn spent(&self) -> Spent {
        let read =
            |file| std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap();
        // Behind the name, which may hold anything: the 12th and 13th are user and system time, in
        // ticks of 10 ms.
        let stat = read("stat");
        let fields: Vec<&str> = stat[stat.rfind(')').unwrap()..].split(' ').collect();
        let ticks = fields[12].parse::<u64>().unwrap() + fields[13].parse::<u64>().unwrap();
        let io = read("io");
        let line = io
            .lines()
            .find_map(|line| line.strip_prefix("write_bytes: "));
        Spent {
            cpu_us: ticks * 10_000,
            written: line.unwrap().parse().unwrap(),
        }
    }

    /// The most memory it ever had, in MB.
    fn peak_mb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmHWM:"))
            .unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
            / 1000
    }
}

/// What a server has used.
#[derive(Default)]
struct Spent {
    cpu_us: u64,
    written: u64,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--serve") {
        servers::serve(&arguments[at + 1], std::path::Path::new(&arguments[at + 2]));
        return;
    }
    let number = |name: &str, default: f64| {
        let at = arguments.iter().position(|argument| argument == name);
        at.map_or(default, |at| arguments[at + 1].parse().unwrap())
    };
    let turn = Duration::from_secs_f64(number("--seconds", 3.0));
    let rounds = number("--rounds", 3.0) as usize;
    println!("load average before: {}", load());
    println!(
        "bodies of {BODY} bytes, {rounds} rounds of {} s each, median rates\n",
        turn.as_secs_f64()
    );
    if arguments.iter().any(|argument| argument == "--engines") {
        engines::measure(turn, rounds);
        println!("load average after: {}", load());
        return;
    }
    let one = number("--connections", 0.0) as usize;
    if one > 0 {
        closed_loop(turn, rounds, &[one]);
        return;
    }
    closed_loop(turn, rounds, &CONNECTIONS);
    open_loop();
    println!("load average after: {}", load());
}

fn load() -> String {
    std::fs::read_to_string("/proc/loadavg")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// So many connections, each with one request under way.
fn closed_loop(turn: Duration, rounds: usize, all_connections: &[usize]) {
    println!(
        "{:<34}{:>12}{:>12}{:>9}{:>9}{:>9}{:>9}{:>9}",
        "", "connections", "requests/s", "p50 ms", "p99 ms", "p99.9 ms", "cpu µs", "disk kB"
    );
    let mut rates = std::collections::BTreeMap::new();
    for &connections in all_connections {
        for (kind, name) in [
            ("bare", "bare receiver, no storage"),
            ("minimal", "actix-web + redb, two-phase groups"),
            ("runner", "workflow-runner"),
        ] {
            let mut all = Histogram::new(3).unwrap();
            let (mut turns, mut spent) = (Vec::new(), Spent::default());
            for _ in 0..rounds {
                let server = Server::start(kind);
                let before = server.spent();
                let figures = client::closed(server.address, connections, turn);
                let after = server.spent();
                spent.cpu_us += after.cpu_us - before.cpu_us;
                spent.written += after.written - before.written;
                turns.push(figures.len() as f64 / turn.as_secs_f64());
                all.add(figures).unwrap();
            }
            let rate = middle(turns);
            rates.insert((connections, kind), rate);
            row(name, &connections.to_string(), rate, &all, Some(spent));
        }
    }
    let (rate, latency) = bare_loop(turn);
    row("bare write + fdatasync", "-", rate, &latency, None);
    println!("\nworkflow-runner against the minimal loop:");
    for &connections in all_connections {
        let share = rates[&(connections, "runner")] / rates[&(connections, "minimal")];
        println!("{connections:>6} connections: {:.0} %", share * 100.0);
    }
}

fn middle(mut turns: Vec<f64>) -> f64 {
    turns.sort_by(f64::total_cmp);
    turns[turns.len() / 2]
}

fn row(name: &str, connections: &str, rate: f64, latency: &Histogram<u64>, spent: Option<Spent>) {
    let ms = |quantile: f64| latency.value_at_quantile(quantile) as f64 / 1000.0;
    let each = |total: u64| total as f64 / latency.len() as f64;
    let spent = spent.map_or_else(String::new, |spent| {
        format!(
            "{:>9.0}{:>9.1}",
            each(spent.cpu_us),
            each(spent.written) / 1000.0
        )
    });
    println!(
        "{name:<34}{connections:>12}{rate:>12.0}{:>9.2}{:>9.2}{:>9.2}{spent}",
        ms(0.5),
        ms(0.99),
        ms(0.999)
    );
}

fn bare_loop(turn: Duration) -> (f64, Histogram<u64>) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut file = std::fs::File::create(folder.path().join("log")).unwrap();
    let body = vec![0x5a; BODY];
    let mut latency = Histogram::new(3).unwrap();
    let begun = Instant::now();
    while begun.elapsed() < turn {
        let asked = Instant::now();
        file.write_all(&body).unwrap();
        file.sync_data().unwrap();
        latency
            .record(u64::try_from(asked.elapsed().as_micros()).unwrap())
            .unwrap();
    }
    (
        latency.len() as f64 / begun.elapsed().as_secs_f64(),
        latency,
    )
}

/// F03 and F04.
fn open_loop() {
    let server = Server::start("runner");
    let first = client::open(server.address, 500, Duration::from_secs(20), 64);
    println!("\nF03: 500 a second for 20 s: {}", first.shown());
    println!(
        "F03: peak memory {} MB (limit 150), acknowledged {}, lost {}",
        server.peak_mb(),
        first.accepted.len(),
        first.lost(server.address)
    );
    drop(server);
    let server = Server::start("runner");
    let flood = client::open(server.address, 5000, Duration::from_secs(10), 2000);
    println!("F04: 5,000 a second for 10 s: {}", flood.shown());
    let normal = client::until_normal(server.address);
    println!(
        "F04: peak memory {} MB, acknowledged {}, lost {}, back to normal after {:.1} s (limit 5)",
        server.peak_mb(),
        flood.accepted.len(),
        flood.lost(server.address),
        normal.as_secs_f64()
    );
}
