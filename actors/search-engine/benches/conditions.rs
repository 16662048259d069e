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

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use search_core::document::ExtractedDocument;
use search_core::query::{SearchRequest, parse};
use search_core::role::RelevanceFunction;
use search_engine::extract::extract;
use search_engine::index::{
    DocumentRecord, Durability, FileState, Hits, IndexOptions, IndexSnapshot, Page, Scope,
    SourceIndex, TextSource, search_in,
};

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
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)).cloned()
    };
    let values = [option("--keep"), option("--split"), option("--queries")];
    let is_value = |argument: &&String| values.iter().flatten().any(|value| value == *argument);
    let folders = arguments
        .iter()
        .filter(|argument| !argument.starts_with("--"));
    let folders: Vec<&String> = folders.filter(|argument| !is_value(argument)).collect();
    let [keep, split, queries] = &values;
    let temporary = tempfile::tempdir().unwrap();
    let place = keep
        .as_ref()
        .map_or_else(|| temporary.path().join("index"), PathBuf::from);
    let split: Option<usize> = split.as_ref().map(|bytes| bytes.parse().unwrap());
    let is_there = place.exists();
    let (mut index, _) = SourceIndex::open(&place, IndexOptions::default()).unwrap();
    if !is_there {
        for folder in &folders {
            add(&mut index, Path::new(folder), split);
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
    let own = queries
        .as_ref()
        .map(|file| fs::read_to_string(file).unwrap());
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

fn add(index: &mut SourceIndex, folder: &Path, split: Option<usize>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => add(index, &entry.path(), split),
            Ok(kind) if kind.is_file() => {
                if let Some(document) = read(&entry.path()) {
                    put(index, &document, split);
                }
            }
            _ => {}
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
    let scope = Scope {
        snapshots: &snapshots,
        names: &["files"],
        texts: Some(&Files),
        reranker: None,
    };
    let page = Page {
        limit: 10,
        ..Page::default()
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
