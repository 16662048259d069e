//! Every query of a collection, by every function: one machine, three searchers, and one searcher
//! over a source that two indexers share.

use std::path::Path;

use s3_server::S3Server;

use crate::collection::Collection;
use crate::equality::{Comparison, Differs};
use crate::servers::{FUNCTIONS, Home, Server};
use crate::{DEADLINE, home, start, start_part};

/// Functions that a source which is split can be ranked by.
const WORDS: [&str; 3] = ["TitleScorer", "BM25", "BM25F"];
/// Differences of a kind that are shown.
const SHOWN: usize = 3;

/// Compares, and prints a table.
pub(crate) fn measure(folder: &Path, storage: Option<&S3Server>) {
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
    // The parts have names of their own in the same storage; they rank by words only.
    home.write_roles(&WORDS);
    let indexers =
        [1, 2].map(|part| start_part(&home, &format!("part-{part}"), "indexer", part, 2));
    let split = settled(
        start_part(&home, "split", "searcher", 1, 2),
        documents,
        false,
    );
    compare(&alone, &split, "two parts", &WORDS, &queries);
    drop(indexers);
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
