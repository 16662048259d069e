//! The order of the measurements, and the table at the end.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::load::{self, Load};
use crate::process::{Running, Usage, bytes_below, pause, run_to_end};
use crate::queries;
use crate::server::{Setup, free_port};

/// Everything one run measured; `--json` writes it as it is.
#[derive(Default, serde::Serialize)]
struct Figures {
    load_average_before: String,
    load_average_after: String,
    cores: usize,
    indexing: Vec<Indexing>,
    serving: Vec<Serving>,
    ripgrep_ms_p50: Option<f64>,
    changed_file_ms: Vec<f64>,
    restart_ready_ms: f64,
    memory_after_load: Usage,
}

#[derive(serde::Serialize)]
struct Indexing {
    who: &'static str,
    text_mb: f64,
    documents: u64,
    wall_s: f64,
    usage: Usage,
    index_mb: f64,
}

#[derive(serde::Serialize)]
struct Serving {
    who: &'static str,
    connections: usize,
    rounds: Vec<Load>,
}

/// Runs everything over `folder` and prints the table.
pub(crate) fn run(folder: &Path, quick: bool, json: Option<PathBuf>) {
    let scratch = tempfile::Builder::new()
        .prefix("orrery-bench-")
        .tempdir()
        .expect("a scratch folder");
    let tree = scratch.path().join("tree");
    link_tree(folder, &tree);
    let mut figures = Figures {
        load_average_before: load_average(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        ..Figures::default()
    };
    let setup = Setup::new(&scratch.path().join("server"), &tree);
    let text_mb = plain_tantivy(&tree, scratch.path(), &mut figures);
    index_with_the_server(&setup, text_mb, &mut figures);
    serve(&setup, &tree, if quick { 2 } else { 5 }, &mut figures);
    figures.ripgrep_ms_p50 = ripgrep(&tree);
    figures.changed_file_ms = changed_files(&setup, &tree, if quick { 20 } else { 100 });
    figures.restart_ready_ms = restart(&setup);
    figures.load_average_after = load_average();
    print(&figures);
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(&figures).expect("figures are plain data");
        std::fs::write(&path, text).expect("the JSON file is written");
    }
}

/// A tree of hard links, so that files can come and go without touching the user's folder.
fn link_tree(from: &Path, to: &Path) {
    let status = Command::new("cp")
        .arg("-al")
        .arg(from)
        .arg(to)
        .status()
        .expect("cp runs");
    if !status.success() {
        let _ = std::fs::remove_dir_all(to);
        let copied = Command::new("cp")
            .arg("-a")
            .arg(from)
            .arg(to)
            .status()
            .expect("cp runs");
        assert!(copied.success(), "{} cannot be copied", from.display());
    }
}

fn plain_tantivy(tree: &Path, scratch: &Path, figures: &mut Figures) -> f64 {
    let own = std::env::current_exe().expect("a program knows its own path");
    let mut text_mb = 0.0;
    for (who, mode) in [
        ("plain tantivy", "plain"),
        ("plain tantivy, stems and positions", "stems"),
    ] {
        let index = scratch.join(mode);
        let out = run_to_end(
            Command::new(&own)
                .args(["--contender", "plain-index"])
                .arg(tree)
                .arg(&index)
                .arg(mode),
        );
        let account: serde_json::Value = serde_json::from_str(out.trim()).expect("its account");
        text_mb = account["bytes"].as_f64().unwrap_or(0.0) / 1e6;
        let number = |name: &str| account["usage"][name].as_f64().unwrap_or(0.0);
        figures.indexing.push(Indexing {
            who,
            text_mb,
            documents: account["files"].as_u64().unwrap_or(0),
            wall_s: account["wall_s"].as_f64().unwrap_or(0.0),
            usage: Usage {
                cpu_s: number("cpu_s"),
                peak_mb: number("peak_mb"),
                anon_mb: number("anon_mb"),
                file_mb: number("file_mb"),
            },
            index_mb: bytes_below(&index) as f64 / 1e6,
        });
        let _ = std::fs::remove_dir_all(&index);
    }
    text_mb
}

fn index_with_the_server(setup: &Setup, text_mb: f64, figures: &mut Figures) {
    let began = Instant::now();
    let server = setup.start("0B");
    setup.wait_for("/livez", Duration::from_millis(5));
    let documents = setup.wait_until_indexed();
    let (wall_s, usage) = (began.elapsed().as_secs_f64(), server.usage());
    server.stop();
    figures.indexing.push(Indexing {
        who: "search-server",
        text_mb,
        documents,
        wall_s,
        usage,
        index_mb: bytes_below(&setup.data()) as f64 / 1e6,
    });
}

fn serve(setup: &Setup, tree: &Path, rounds: usize, figures: &mut Figures) {
    let mix = queries::make(tree, 20_000);
    let minimal_port = free_port();
    let own = std::env::current_exe().expect("a program knows its own path");
    let minimal = Running::start(
        Command::new(own)
            .args(["--contender", "minimal-server"])
            .arg(index_folder(&setup.data()))
            .arg(minimal_port.to_string()),
    );
    let uncached = Setup {
        port: free_port(),
        binary: setup.binary.clone(),
        home: setup.home.clone(),
    };
    for connections in [1, 16] {
        let mut rows: Vec<Serving> = [
            "minimal actix-web + tantivy",
            "search-server, no result cache",
            "search-server",
        ]
        .map(|who| Serving {
            who,
            connections,
            rounds: Vec::new(),
        })
        .into();
        for (row, cache) in [(1, "0B"), (2, "16MB")] {
            let server = uncached.start(cache);
            uncached.wait_for("/livez", Duration::from_millis(5));
            uncached.wait_until_indexed();
            for round in 0..rounds {
                let offset = round * 4_000;
                let time = Duration::from_secs(3);
                rows[0]
                    .rounds
                    .push(load::phase(minimal_port, &mix, offset, connections, time));
                rows[row]
                    .rounds
                    .push(load::phase(uncached.port, &mix, offset, connections, time));
            }
            figures.memory_after_load = server.usage();
            server.stop();
        }
        figures.serving.extend(rows);
    }
    minimal.stop();
}

/// The folder that holds tantivy's `meta.json` below the data folder.
fn index_folder(data: &Path) -> PathBuf {
    let entries = std::fs::read_dir(data)
        .expect("the data folder")
        .flatten()
        .map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    while let Some(folder) = folders.pop() {
        if folder.join("meta.json").is_file() {
            return folder;
        }
        let inner = std::fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        folders.extend(inner.filter(|path| path.is_dir()));
    }
    panic!("{} holds no index", data.display());
}

fn ripgrep(tree: &Path) -> Option<f64> {
    Command::new("rg").arg("--version").output().ok()?;
    let mut times: Vec<f64> = queries::make(tree, 25)
        .iter()
        .step_by(5)
        .map(|word| {
            let began = Instant::now();
            let _ = Command::new("rg")
                .args(["-il", "--", word])
                .arg(tree)
                .output();
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    Some(quantile(&mut times, 0.5))
}

/// From the moment a file is in place until a search finds its new word.
fn changed_files(setup: &Setup, tree: &Path, count: usize) -> Vec<f64> {
    let server = setup.start("16MB");
    setup.wait_for("/livez", Duration::from_millis(5));
    setup.wait_until_indexed();
    let folder = tree.join("orrery-bench-changes");
    std::fs::create_dir_all(&folder).expect("a folder for changes");
    pause(Duration::from_millis(500));
    let times = (0..count)
        .map(|number| {
            let word = format!("zq{}xchange", letters(number));
            let began = Instant::now();
            std::fs::write(
                folder.join(format!("note{}.txt", number % 10)),
                format!("a note about {word}\n"),
            )
            .expect("the file is written");
            while setup.total(&word) == 0 {
                assert!(
                    began.elapsed() < Duration::from_secs(30),
                    "the change is never found"
                );
                pause(Duration::from_micros(500));
            }
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    server.stop();
    times
}

fn letters(mut number: usize) -> String {
    let mut text = String::new();
    loop {
        text.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
        if number == 0 {
            return text;
        }
    }
}

fn restart(setup: &Setup) -> f64 {
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let began = Instant::now();
            let server = setup.start("16MB");
            setup.wait_for("/readyz", Duration::from_millis(1));
            let time = began.elapsed().as_secs_f64() * 1e3;
            server.stop();
            time
        })
        .collect();
    quantile(&mut times, 0.5)
}

fn quantile(values: &mut [f64], at: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values
        .get(((values.len() as f64 - 1.0) * at).round() as usize)
        .copied()
        .unwrap_or(0.0)
}

fn load_average() -> String {
    std::fs::read_to_string("/proc/loadavg")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

fn print(figures: &Figures) {
    println!(
        "\nmachine: {} cores; load average before {} after {}",
        figures.cores, figures.load_average_before, figures.load_average_after
    );
    println!(
        "\n{:<36} {:>8} {:>9} {:>8} {:>8} {:>11} {:>9} {:>9}",
        "indexing", "text MB", "documents", "wall s", "CPU s", "MB/CPU s", "peak MB", "index %"
    );
    for row in &figures.indexing {
        println!(
            "{:<36} {:>8.0} {:>9} {:>8.1} {:>8.1} {:>11.1} {:>9.0} {:>9.1}",
            row.who,
            row.text_mb,
            row.documents,
            row.wall_s,
            row.usage.cpu_s,
            row.text_mb / row.usage.cpu_s.max(0.01),
            row.usage.peak_mb,
            100.0 * row.index_mb / row.text_mb.max(0.01)
        );
    }
    println!(
        "\n{:<36} {:>11} {:>11} {:>9} {:>9} {:>7}",
        "searching over HTTP (medians)", "connections", "requests/s", "p50 ms", "p99 ms", "failed"
    );
    for row in &figures.serving {
        let median = |pick: fn(&Load) -> f64| {
            quantile(&mut row.rounds.iter().map(pick).collect::<Vec<_>>(), 0.5)
        };
        println!(
            "{:<36} {:>11} {:>11.0} {:>9.3} {:>9.3} {:>7}",
            row.who,
            row.connections,
            median(|l| l.requests_per_s),
            median(|l| l.p50_ms),
            median(|l| l.p99_ms),
            row.rounds.iter().map(|l| l.failed).sum::<usize>()
        );
    }
    if let Some(ms) = figures.ripgrep_ms_p50 {
        println!("\nripgrep -il, one word: p50 {ms:.0} ms");
    }
    let mut changed = figures.changed_file_ms.clone();
    println!(
        "changed file found after: p50 {:.1} ms, p99 {:.1} ms ({} changes)",
        quantile(&mut changed, 0.5),
        quantile(&mut changed, 0.99),
        changed.len()
    );
    println!("restart until /readyz: {:.0} ms", figures.restart_ready_ms);
    let memory = figures.memory_after_load;
    println!(
        "memory after load: {:.0} MB of its own, {:.0} MB of mapped index pages, peak {:.0} MB",
        memory.anon_mb, memory.file_mb, memory.peak_mb
    );
}
