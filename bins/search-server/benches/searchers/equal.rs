//! Every query of a collection, by every function: one machine, three searchers, and one searcher
//! over a source that several indexers share.

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::collection::Collection;
use crate::equality::{Comparison, Differs};
use crate::servers::{FUNCTIONS, Home, Server};
use crate::{DEADLINE, Storage, home, start, start_part};

/// How long learning of all parts may lag behind what the searcher shows.
const LEARNING_LAG: Duration = Duration::from_secs(300);
/// Differences of a kind that are shown.
const SHOWN: usize = 3;

/// Compares, and prints a table.
pub(crate) fn measure(folder: &Path, storage: &Storage, parts: u32) {
    let collection = Collection::read(folder);
    let queries: Vec<String> = collection
        .queries
        .iter()
        .map(|query| query.text.clone())
        .collect();
    println!(
        "{}: {} documents, {} queries, the first 100 results of each",
        collection.name,
        collection.documents.len(),
        queries.len()
    );
    let home = home(storage);
    let documents = write(&collection, &home);
    home.write_roles(&FUNCTIONS);
    let alone = settled(start(&home, "alone", "local"), documents, true);
    let indexer = settled(start(&home, "indexer", "indexer"), documents, true);
    let searchers = ["searcher 1", "searcher 2", "searcher 3"]
        .map(|name| settled(start(&home, &folder_of(name), "searcher"), documents, true));
    println!(
        "  {:12} {:14} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9}",
        "", "", "queries", "equal", "order", "scores", "rest", "results"
    );
    for (server, name) in searchers
        .iter()
        .zip(["searcher 1", "searcher 2", "searcher 3"])
    {
        compare(&alone, server, name, &FUNCTIONS, &queries);
    }
    drop((indexer, searchers));
    if parts > 1 {
        let part = |part| start_part(&home, &format!("part-{part}"), "indexer", part, parts);
        let indexers: Vec<Server> = (1..=parts).map(part).collect();
        let split = start_part(&home, "split", "searcher", 1, parts);
        let split = settled(split, documents, true);
        wait_for_learning(&alone, &split, &queries);
        let name = format!("{parts} parts");
        compare(&alone, &split, &name, &FUNCTIONS, &queries);
        drop(indexers);
    }
}

/// What is learnt while parts still come is learnt again when all are there; nothing says which of
/// the two a searcher has, so a few answers do.
fn wait_for_learning(alone: &Server, split: &Server, queries: &[String]) {
    let few = &queries[..queries.len().min(10)];
    let (began, (_kept, never)) = (Instant::now(), channel::<()>());
    let is_equal = || {
        let mut comparison = Comparison::default();
        comparison.ask(alone, split, "ServiceGraph", few);
        comparison.differing.is_empty()
    };
    while !is_equal() && began.elapsed() < LEARNING_LAG {
        let _ = never.recv_timeout(Duration::from_secs(1));
    }
}

fn folder_of(name: &str) -> String {
    name.replace(' ', "-")
}

fn settled(mut server: Server, documents: usize, concepts: bool) -> Server {
    server.settle_within(documents, concepts, DEADLINE);
    server
}

fn compare(alone: &Server, other: &Server, name: &str, functions: &[&str], queries: &[String]) {
    for function in functions {
        let mut comparison = Comparison::default();
        comparison.ask(alone, other, function, queries);
        println!(
            "  {name:12} {function:14} {:8} {:8} {:8} {:8} {:8} {:9}",
            comparison.queries,
            comparison.equal,
            comparison.count(Differs::Order),
            comparison.count(Differs::Scores),
            comparison.count(Differs::Rest),
            comparison.results
        );
        for (how, text) in comparison.differing.iter().take(SHOWN) {
            let text = &text[..text.floor_char_boundary(300)];
            println!("    {how:?}: {text}");
        }
    }
}

/// One file a document; says how many.
fn write(collection: &Collection, home: &Home) -> usize {
    let is_code = collection.is_code();
    let mut written = 0;
    for (number, entry) in collection.documents.iter().enumerate() {
        let folder = home.docs().join(format!("{:03}", number / 500));
        std::fs::create_dir_all(&folder).unwrap();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let name = entry.id.replace(|c| !is_plain(c), "_");
        let (kind, text) = match is_code {
            true => ("py", entry.text.clone()),
            false => (
                "md",
                format!("# {}\n\n{}\n", entry.title.trim(), entry.text),
            ),
        };
        // An empty file is no document.
        if text.trim().len() > 1 {
            std::fs::write(folder.join(format!("{name}.{kind}")), text).unwrap();
            written += 1;
        }
    }
    written
}
