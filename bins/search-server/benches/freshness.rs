//! Search over machines: the time from a change to its answer at a searcher, and the time in which
//! a searcher with an empty disk begins to answer.
//!
//! `cargo bench -p search-server --bench freshness -- [FOLDER] [CHANGES]`; without a folder over
//! 2,000 made-up documents.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "../tests/snapshots/servers.rs"]
#[allow(dead_code, reason = "the tests need more of it")]
mod servers;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use servers::{Home, wait_within, write_corpus};

/// The longest that anything may take.
const DEADLINE: Duration = Duration::from_secs(3_600);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut arguments = arguments.iter().filter(|one| !one.starts_with("--"));
    let folder = arguments.next().map(PathBuf::from);
    let changes = arguments
        .next()
        .map_or(100, |text| text.parse().expect("a number"));
    let home = Home::new();
    match &folder {
        Some(folder) => copy(folder, &home.docs()),
        None => write_corpus(&home.docs(), 2_000),
    }
    home.write_roles(&["BM25F"]);
    let indexer = home.start("indexer", "indexer");
    let is_ready = || indexer.source()["state"] == "ready";
    let indexed = wait_within("an index", DEADLINE, is_ready, String::new);
    let documents = indexer.source()["documents"].as_u64().unwrap_or_default();
    println!(
        "{documents} documents indexed in {:.1} s",
        indexed.as_secs_f64()
    );
    let published = || {
        let listed = home.run(
            "look",
            "searcher",
            &["snapshot", "list", "--format", "json"],
        );
        let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
        listed[0]["documents"] == documents
    };
    wait_within("a snapshot", DEADLINE, published, String::new);
    let began = Instant::now();
    let searcher = home.start("searcher", "searcher");
    let is_ready = || searcher.is_ready();
    wait_within("a first answer", DEADLINE, is_ready, String::new);
    let first = began.elapsed();
    let is_whole = || searcher.source()["state"] == "ready";
    wait_within("all of it", DEADLINE, is_whole, || {
        searcher.source().to_string()
    });
    println!(
        "a searcher with an empty disk: ready after {:.2} s, all texts after {:.2} s",
        first.as_secs_f64(),
        began.elapsed().as_secs_f64()
    );
    let mut took = Vec::new();
    for number in 0..changes {
        let word = word(number);
        let path = home.docs().join(format!("fresh-{}.md", number % 10));
        std::fs::write(path, format!("# Fresh\n\n{word}\n")).expect("room");
        let total = documents + 10.min(number + 1);
        let is_there = || {
            let answer = searcher.search("BM25F", &format!("\"{word}\""));
            answer["results"][0]["snippet"].to_string().contains(&word)
        };
        let shown = || format!("{word} of {total}: {}", searcher.source());
        took.push(wait_within("the change", DEADLINE, is_there, shown));
    }
    took.sort_unstable();
    let share = |part: f64| took[((took.len() - 1) as f64 * part).round() as usize].as_millis();
    println!(
        "{changes} changes, from the file to the answer: p50 {} ms, p99 {} ms, max {} ms",
        share(0.5),
        share(0.99),
        share(1.0)
    );
}

/// A word that nothing else has: letters only, as numbers are read apart.
fn word(number: u64) -> String {
    let letter = |place: u64| char::from(b'a' + (number / 26_u64.pow(place as u32) % 26) as u8);
    format!("qxzv{}{}{}jkq", letter(0), letter(1), letter(2))
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    let done = std::process::Command::new("cp")
        // Nothing that is there is written to.
        .arg("-rlT")
        .args([from, to])
        .status();
    assert!(
        done.is_ok_and(|status| status.success()),
        "the folder is linked"
    );
}
