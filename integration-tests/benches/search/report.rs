//! The order of the measurements.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::process::{Usage, bytes_below, pause, run_to_end, segments_below};
use crate::queries;
use crate::server::Setup;
use crate::serving::{learnt, serve};
use crate::table::{Figures, Indexing, print, quantile};

/// The index that holds the texts; it is searched too.
pub(crate) const STORED: &str = "stored";

/// Runs everything over `folder` and prints the table.
pub(crate) fn run(folder: &Path, quick: bool, concepts: bool, json: Option<PathBuf>) {
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
    let rounds = if quick { 2 } else { 5 };
    serve(&setup, &tree, scratch.path(), rounds, &mut figures);
    figures.ripgrep_ms_p50 = ripgrep(&tree);
    figures.changed_file_ms = changed_files(&setup, &tree, if quick { 20 } else { 100 });
    figures.restart_ready_ms = restart(&setup);
    if concepts {
        learnt(&setup, &tree, rounds, &mut figures);
    }
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
        ("plain tantivy, texts stored", STORED),
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
        if mode != STORED {
            let _ = std::fs::remove_dir_all(&index);
        }
    }
    text_mb
}

/// Longest time from the start until the index is merged.
const MERGED_AFTER: Duration = Duration::from_secs(1800);

/// When all documents are searchable, and again when the index is merged in the background.
fn index_with_the_server(setup: &Setup, text_mb: f64, figures: &mut Figures) {
    let began = Instant::now();
    let server = setup.start("0B");
    setup.wait_for("/livez", Duration::from_millis(5));
    let documents = setup.wait_until_indexed();
    let mut row = |who| {
        figures.indexing.push(Indexing {
            who,
            text_mb,
            documents,
            wall_s: began.elapsed().as_secs_f64(),
            usage: server.usage(),
            index_mb: bytes_below(&setup.data()) as f64 / 1e6,
        });
    };
    row("search-server");
    while segments_below(&setup.data()) > 1 {
        assert!(
            began.elapsed() < MERGED_AFTER,
            "the index is not merged when the source is quiet"
        );
        pause(Duration::from_millis(100));
    }
    row("search-server, merged");
    server.stop();
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

fn load_average() -> String {
    std::fs::read_to_string("/proc/loadavg")
        .unwrap_or_default()
        .trim()
        .to_owned()
}
