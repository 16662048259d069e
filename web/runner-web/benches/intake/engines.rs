//! The runner's receiver over each engine of its store, in turns on one machine.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use scripted_peers::postgres::PostgresServer;

use super::{CONNECTIONS, Server, Spent, client, middle};

/// The engines, as the table calls them.
const ENGINES: [&str; 2] = ["redb", "PostgreSQL"];
/// The aim: so much of redb's rate.
const AIM: f64 = 0.7;

/// Before each turn, and not counted.
const WARM_UP: Duration = Duration::from_millis(300);

/// What one engine did at one number of connections.
struct Figures {
    rates: Vec<f64>,
    latency: Histogram<u64>,
    /// Of the runner.
    spent: Spent,
    /// Of the database server.
    server: Duration,
}

/// Prints the table.
pub(super) fn measure(turn: Duration, rounds: usize) {
    println!(
        "{:>11}  {:<12}{:>10}{:>9}{:>9}{:>9}{:>9}{:>15}{:>11}",
        "connections",
        "store",
        "accepted/s",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
        "cpu µs",
        "database's µs",
        "of redb's"
    );
    let server = PostgresServer::of_usual_size();
    let mut schemas = 0;
    for connections in CONNECTIONS {
        let mut all = ENGINES.map(|_| Figures {
            rates: Vec::new(),
            latency: Histogram::new(3).unwrap(),
            spent: Spent::default(),
            server: Duration::ZERO,
        });
        for _ in 0..rounds {
            schemas += 1;
            one_turn(&mut all[0], "", connections, turn, &server);
            let url = server.url_in(&format!("turn_{schemas}"));
            one_turn(&mut all[1], &url, connections, turn, &server);
            server.sql(&format!("DROP SCHEMA turn_{schemas} CASCADE"));
            server.sql("CHECKPOINT");
        }
        let redb = middle(all[0].rates.clone());
        for (engine, figures) in ENGINES.iter().zip(all) {
            row(connections, engine, figures, redb);
        }
    }
    println!("\nthe aim: at least {:.0} % of redb's", AIM * 100.0);
    open_loops(&server);
}

fn one_turn(
    figures: &mut Figures,
    store: &str,
    connections: usize,
    turn: Duration,
    server: &PostgresServer,
) {
    let runner = Server::on("runner", store);
    // The first groups of a process make its connections and read what it keeps in memory.
    client::closed(runner.address, connections, WARM_UP);
    let (before, server_before) = (runner.spent(), server.cpu_time());
    let began = Instant::now();
    let latency = client::closed(runner.address, connections, turn);
    let rate = latency.len() as f64 / began.elapsed().as_secs_f64();
    figures.rates.push(rate);
    figures.latency.add(latency).unwrap();
    figures.spent.cpu_us += runner.spent().cpu_us - before.cpu_us;
    figures.server += server.cpu_time() - server_before;
}

fn row(connections: usize, engine: &str, figures: Figures, redb: f64) {
    let ms = |quantile: f64| figures.latency.value_at_quantile(quantile) as f64 / 1000.0;
    let each = |total: u64| total as f64 / figures.latency.len() as f64;
    let server = u64::try_from(figures.server.as_micros()).unwrap();
    let rate = middle(figures.rates);
    println!(
        "{connections:>11}  {engine:<12}{rate:>10.0}{:>9.2}{:>9.2}{:>9.2}{:>9.0}{:>15.0}{:>9.0} %",
        ms(0.5),
        ms(0.99),
        ms(0.999),
        each(figures.spent.cpu_us),
        each(server),
        rate / redb * 100.0
    );
}

/// 500 a second over each engine, whatever the answers take; what was acknowledged is asked for
/// again.
fn open_loops(server: &PostgresServer) {
    for (engine, store) in ENGINES.iter().zip(["", &server.url_in("open_loop")]) {
        let runner = Server::on("runner", store);
        let open = client::open(runner.address, 500, Duration::from_secs(10), 64);
        println!("500 a second for 10 s, {engine}: {}", open.shown());
        println!(
            "  peak memory of the runner {} MB, lost {}",
            runner.peak_mb(),
            open.lost(runner.address)
        );
    }
}
