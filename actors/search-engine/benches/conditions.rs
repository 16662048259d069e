//! Speed of searches that have to look beyond the words: beginnings, phrases, exact text, regular
//! expressions.
//!
//! `cargo bench -p search-engine --bench conditions -- FOLDER… [--keep FOLDER] [--split BYTES]
//! [--queries FILE]`
//!
//! Indexes every file that has text. `--split` makes a document of each so many bytes instead, for
//! large numbers of documents; their texts cannot be read again, so expressions are not measured
//! then. `--keep` keeps the index in a folder, and measures one that is there already.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

#[path = "support/arguments.rs"]
mod arguments;
#[path = "support/files.rs"]
mod files;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use search_core::document::ExtractedDocument;
use search_core::query::{SearchRequest, parse};
use search_core::role::RelevanceFunction;
use search_engine::extract::extract;
use search_engine::index::{
    DocumentRecord, Durability, FileState, Hits, IndexOptions, IndexSnapshot, PageRequest,
    SearchScope, SourceIndex, TextSource, search_in,
};

use arguments::Arguments;
use files::files_below;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Largest file that is read, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// Runs of one query; the first is told apart.
const RUNS: usize = 20;

const WORDS: [&str; 7] = [
    "in*",
    "me*",
    "alloc*",
    "read_exact*",
    "lock contention",
    "contention in*",
    "\"error handling\"",
];

const PATTERNS: [&str; 12] = [
    "re:/fn read_exact_at/",
    "re:/\\bread_exact_at\\b/",
    "re:/impl .* for HashMap</",
    "re:/fn \\w+_exact_at\\(/",
    "re:/ead_exact_a/",
    "re:/sockopt_timeout/i",
    "re:/(Acq|Rel)uire_fence/",
    "\"unsafe impl Sync for\" case:yes",
    "\"mem::swap(&mut\" case:yes",
    "re:/unwrap\\(\\)\\.unwrap\\(\\)/",
    "re:/=>\\s*\\{\\s*\\}/",
    "re:/get/",
];

fn main() {
    let arguments = Arguments::read(&["--keep", "--split", "--queries"]);
    let temporary = tempfile::tempdir().unwrap();
    let place = arguments.index_folder(temporary.path());
    let split = arguments.option("--split");
    let split: Option<usize> = split.map(|bytes| bytes.parse().unwrap());
    let is_there = place.exists();
    let (mut index, _) = SourceIndex::open(&place, IndexOptions::default()).unwrap();
    if !is_there {
        let files = files_below(&arguments.folders());
        for document in files.iter().filter_map(|file| read(file)) {
            put(&mut index, &document, split);
        }
        index.commit(Durability::Fast).unwrap();
    }
    let snapshot = index.snapshot();
    println!(
        "{} documents, {} segments, index {:.1} MB",
        snapshot.document_count(),
        snapshot.segment_count(),
        index.size_on_disk().unwrap() as f64 / 1e6
    );
    let own = arguments.option("--queries");
    let own = own.map(|file| fs::read_to_string(file).unwrap());
    match &own {
        Some(own) => own.lines().for_each(|text| measure(&snapshot, text)),
        None => {
            WORDS.iter().for_each(|text| measure(&snapshot, text));
            if split.is_none() {
                PATTERNS.iter().for_each(|text| measure(&snapshot, text));
            }
        }
    }
}

fn read(path: &Path) -> Option<ExtractedDocument> {
    if fs::metadata(path).ok()?.len() > MAX_FILE {
        return None;
    }
    let bytes = fs::read(path).ok()?;
    extract(&path.to_string_lossy(), bytes, 0).ok()
}

fn put(index: &mut SourceIndex, document: &ExtractedDocument, split: Option<usize>) {
    let Some(bytes) = split else {
        index.put(document, FileState::default()).unwrap();
        return;
    };
    let mut rest = document.body.as_str();
    let mut number = 0;
    while !rest.is_empty() {
        let at = rest.ceil_char_boundary(bytes.min(rest.len()));
        let gap = rest[at..].find(char::is_whitespace);
        let end = gap.map_or(rest.len(), |gap| rest.ceil_char_boundary(at + gap + 1));
        let piece = ExtractedDocument {
            key: format!("{}#{number:05}", document.key),
            body: rest[..end].to_owned(),
            ..ExtractedDocument::default()
        };
        index.put(&piece, FileState::default()).unwrap();
        (rest, number) = (&rest[end..], number + 1);
    }
}

/// The files themselves.
struct Files;

impl TextSource for Files {
    fn text(&self, _: usize, record: &DocumentRecord) -> Option<String> {
        read(Path::new(&record.key)).map(|document| document.body)
    }
}

fn measure(snapshot: &IndexSnapshot, text: &str) {
    let query = match parse(&SearchRequest::for_text(text)) {
        Ok(query) => query,
        Err(error) => return println!("{text:<40} {error}"),
    };
    let snapshots = [snapshot.clone()];
    let scope = SearchScope {
        snapshots: &snapshots,
        names: &["files"],
        texts: Some(&Files),
        reranker: None,
    };
    let page = PageRequest {
        limit: 10,
        ..PageRequest::default()
    };
    let (mut times, mut found): (Vec<Duration>, Hits) = (Vec::new(), Hits::default());
    for _ in 0..RUNS {
        let start = Instant::now();
        found = search_in(&scope, &query, RelevanceFunction::BM25F, page).unwrap();
        times.push(start.elapsed());
    }
    let first = times[0].as_secs_f64() * 1e3;
    times.sort_unstable();
    println!(
        "{text:<40} first {first:8.2} ms, median {:8.2} ms, most {:8.2} ms; {} found, {} not read",
        times[RUNS / 2].as_secs_f64() * 1e3,
        times[RUNS - 1].as_secs_f64() * 1e3,
        found.total,
        found.unread
    );
}
