//! What the excerpts of a page cost beside the search.
//!
//! `cargo bench -p search-engine --bench excerpts -- FOLDER --queries FILE [--keep FOLDER] [--rounds N]`
//!
//! Indexes the text files of a folder once (`--keep` keeps the index), then answers every query
//! with and without excerpts, and prints the CPU time of this thread for both, per query.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

#[path = "support/arguments.rs"]
mod arguments;

use std::sync::Arc;

use search_core::query::{SearchRequest, parse};
use search_core::role::{FileFilter, RelevanceFunction};
use search_engine::answering::{SearchParams, SearchableRole, SearchableSource, search};
use search_engine::extract::extract;
use search_engine::index::{
    Durability, FileState, IndexOptions, IndexSnapshot, OpenOutcome, SourceIndex, search_across,
};
use search_engine::sync::walk_all;
use search_engine::walk::{RootDirectory, WalkOptions};

use arguments::Arguments;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments = Arguments::read(&["--queries", "--keep", "--rounds"]);
    let folders = arguments.folders();
    let (Some(folder), Some(queries)) = (folders.first(), arguments.option("--queries")) else {
        println!("usage: excerpts FOLDER --queries FILE [--keep FOLDER] [--rounds N]");
        return;
    };
    let rounds = arguments.option("--rounds");
    let rounds: usize = rounds.map_or(3, |rounds| rounds.parse().unwrap());
    let temporary = tempfile::tempdir().unwrap();
    let place = arguments.index_folder(temporary.path());
    let root = RootDirectory::open(folder).unwrap();
    let (mut index, opened) = SourceIndex::open(&place, IndexOptions::default()).unwrap();
    if opened != OpenOutcome::Existing {
        fill(&mut index, &root);
    }
    let snapshot = index.snapshot();
    println!("{} documents", snapshot.document_count());
    let queries = std::fs::read_to_string(queries).unwrap();
    let role = SearchableRole {
        served: Vec::new(),
        reranking: None,
        ignores_file_roles: false,
        name: "bench".to_owned(),
        function: RelevanceFunction::BM25F,
        sources: vec![SearchableSource {
            is_embedded: false,
            id: "bench".to_owned(),
            name: "bench".to_owned(),
            service: "LocalFiles",
            snapshot: Some(snapshot.clone()),
            root: Some(Arc::new(root)),
            graph: None,
            item_cache: None,
            texts: None,
            indexing: None,
            error: None,
        }],
        thesaurus: None,
    };
    for _ in 0..rounds {
        round(&role, &snapshot, &queries);
    }
}

fn fill(index: &mut SourceIndex, root: &RootDirectory) {
    let mut walked: Vec<String> = Vec::new();
    for file in walk_all(root, &WalkOptions::new(FileFilter::default())).files {
        walked.push(file.key);
    }
    for key in walked {
        let Ok(content) = root.read(&key, 2 << 20, |_| false) else {
            continue;
        };
        let Ok(document) = extract(&key, content.bytes, content.mtime_ns) else {
            continue;
        };
        index.put(&document, FileState::default()).unwrap();
    }
    index.commit(Durability::Fast).unwrap();
}

/// One pass over the queries; prints microseconds per query.
fn round(role: &SearchableRole, snapshot: &IndexSnapshot, queries: &str) {
    let (mut ranking, mut whole, mut count) = (0, 0, 0);
    let mut shown = 0;
    for line in queries.lines() {
        let request = SearchRequest::for_text(line);
        let query = parse(&request).unwrap();
        let before = cpu_ns();
        let sources = std::slice::from_ref(snapshot);
        search_across(sources, &query, RelevanceFunction::BM25F, 0, 10).unwrap();
        let between = cpu_ns();
        let order = SearchParams {
            request,
            limit: 10,
            ..SearchParams::default()
        };
        let answer = search(role, &order).unwrap();
        whole += cpu_ns() - between;
        ranking += between - before;
        shown += answer
            .results
            .iter()
            .map(|result| result.highlights.len())
            .sum::<usize>();
        count += 1;
    }
    let per_query = |ns: u64| ns as f64 / 1e3 / f64::from(count);
    println!(
        "ranking {:.0} us, with excerpts {:.0} us a query; {shown} highlights",
        per_query(ranking),
        per_query(whole),
    );
}

/// CPU time of this thread in nanoseconds.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}
