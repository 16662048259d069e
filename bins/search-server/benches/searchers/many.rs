//! Many documents: how soon a searcher with an empty disk answers and has everything, what it
//! fetches and holds, and how soon three searchers show a change.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::servers::{Home, Server, wait_within};
use crate::{DEADLINE, Storage, corpus, home, start};

/// Changes that are measured.
const CHANGES: u64 = 100;

/// Measures, and prints the figures.
pub(crate) fn measure(folders: &[PathBuf], wanted: usize, storage: &Storage) {
    let home = home(storage);
    let (documents, _) = corpus::write(folders, wanted, &home.docs());
    if documents < wanted {
        println!("the folders hold text for {documents} documents, not for {wanted}");
    }
    home.write_roles(&["BM25F", "ServiceGraph"]);
    let began = Instant::now();
    let mut indexer = start(&home, "indexer", "indexer");
    let documents = indexed(&indexer, documents);
    println!("{documents} documents indexed in {:.1} s", seconds(began));
    indexer.settle_within(documents, true, DEADLINE);
    println!("and learnt in {:.1} s", seconds(began));
    let is_published = || listed(&home)["documents"] == documents;
    wait_within("a snapshot", DEADLINE, is_published, String::new);
    let first = new_searcher(&home, "searcher-1", documents);
    let others = ["searcher-2", "searcher-3"].map(|name| new_searcher(&home, name, documents));
    let [second, third] = others;
    changes(&home, [&first, &second, &third], documents);
    for (name, server) in [("indexer", &indexer), ("searcher", &first)] {
        println!("{name}, after the changes: {}", memory(server));
    }
}

/// Waits until all is indexed, and says how many there are: a section that looks like no text is
/// passed over.
fn indexed(indexer: &Server, written: usize) -> usize {
    let count = |state: &Value| state.as_u64().and_then(|count| usize::try_from(count).ok());
    let mut documents = 0;
    let is_whole = || {
        let source = indexer.source();
        documents = count(&source["documents"]).unwrap_or(0);
        let skipped = source["skipped"].as_object();
        let skipped = skipped.map_or(0, |all| all.values().filter_map(count).sum::<usize>());
        source["state"] == "ready" && documents + skipped >= written
    };
    wait_within("all documents", DEADLINE, is_whole, String::new);
    documents
}

fn seconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64()
}

/// What is published of the source.
fn listed(home: &Home) -> Value {
    let output = home.run(
        "look",
        "searcher",
        &["snapshot", "list", "--format", "json"],
    );
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    listed[0].clone()
}

/// Starts a searcher with an empty disk; prints what that takes.
fn new_searcher(home: &Home, name: &str, documents: usize) -> Server {
    let began = Instant::now();
    let server = start(home, name, "searcher");
    let listening = seconds(began);
    let finds = || server.is_ready() && server.finds("BM25F", "the");
    wait_within("a first answer", DEADLINE, finds, String::new);
    let first = seconds(began);
    let is_whole = || {
        let source = server.source();
        source["state"] == "ready" && source["documents"] == documents
    };
    wait_within("all of it", DEADLINE, is_whole, String::new);
    let whole = seconds(began);
    let is_learnt = || server.source()["concepts"]["state"] == "ready";
    wait_within("what was learnt", DEADLINE, is_learnt, String::new);
    println!(
        "{name}, empty disk: listens after {listening:.2} s, first answer {first:.2} s, all \
         documents with texts {whole:.2} s, ranks by learnt vectors {:.2} s",
        seconds(began)
    );
    println!(
        "{name}: fetched {}; {}",
        fetched(home, name),
        memory(&server)
    );
    server
}

/// Bytes of the files that a searcher has fetched, by what they are for.
fn fetched(home: &Home, name: &str) -> String {
    let published = home.data(name).join("published");
    let source = std::fs::read_dir(&published).unwrap().next().unwrap();
    let path = source.unwrap().path().join("in-force.json");
    let manifests: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let files = manifests.as_array().unwrap().iter();
    let files: Vec<&Value> = files
        .flat_map(|one| one["files"].as_array().unwrap())
        .collect();
    let of = |kind: &str| {
        let files = files.iter().filter(|file| file["kind"] == kind);
        let bytes = files.map(|file| file["bytes"].as_u64().unwrap_or(0));
        bytes.sum::<u64>() as f64 / 1e6
    };
    format!(
        "index {:.1} MB, texts {:.1} MB, learnt {:.1} MB, in {} files",
        of("index"),
        of("texts"),
        of("concepts"),
        files.len()
    )
}

/// What a process holds, as the kernel counts it.
fn memory(server: &Server) -> String {
    let path = format!("/proc/{}/status", server.program.child.id());
    let status = std::fs::read_to_string(path).unwrap();
    let megabytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|rest| rest.split_whitespace().next());
        number
            .and_then(|text| text.parse::<u64>().ok())
            .unwrap_or(0)
            / 1024
    };
    format!(
        "memory {} MB of its own, {} MB of mapped files, at most {} MB",
        megabytes("RssAnon:"),
        megabytes("RssFile:"),
        megabytes("VmHWM:")
    )
}

/// From a written file to the last of the searchers that shows it.
fn changes(home: &Home, searchers: [&Server; 3], documents: usize) {
    let mut took: Vec<Duration> = (0..CHANGES)
        .map(|number| {
            let word = word(number);
            // In quotes: a word that is near to one of an earlier change would find that.
            let asked = format!("\"{word}\"");
            let path = home
                .docs()
                .join(corpus::key(number as usize * 17 % documents));
            std::fs::write(path, format!("# Changed\n\n{word}\n")).unwrap();
            let began = Instant::now();
            for searcher in searchers {
                let is_there = || searcher.finds("BM25F", &asked);
                let shown = || searcher.source().to_string();
                wait_within("the change", DEADLINE, is_there, shown);
            }
            began.elapsed()
        })
        .collect();
    took.sort_unstable();
    let share = |part: f64| took[((took.len() - 1) as f64 * part).round() as usize].as_millis();
    println!(
        "{CHANGES} changes, from the file to the last of three searchers: p50 {} ms, p99 {} ms, \
         max {} ms",
        share(0.5),
        share(0.99),
        share(1.0)
    );
}

/// A word that nothing else has: letters only, as numbers are read apart.
fn word(number: u64) -> String {
    let letter = |place: u32| char::from(b'a' + (number / 26_u64.pow(place) % 26) as u8);
    format!("qxzv{}{}{}jkq", letter(0), letter(1), letter(2))
}
