//! Speed, memory and size of the index on real folders.
//!
//! `cargo bench -p search-engine --bench index -- FOLDER… [--queries FILE] [--keep FOLDER] [--plain]`
//!
//! Indexes every UTF-8 file, then measures: text per CPU second (all threads, reading included),
//! peak memory, size on disk, opening, the time until a changed file is found, and searches beside
//! tantivy's own BM25 on the same field. `--plain` measures tantivy's default indexing instead,
//! `--keep` keeps the index in a folder, and measures one that is there already; `--serve` only
//! searches it, for the memory that takes.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

#[path = "support/arguments.rs"]
mod arguments;
#[path = "support/files.rs"]
mod files;
#[path = "support/stems.rs"]
mod stems;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use search_core::document::{ContentKind, ExtractedDocument};
use search_core::query::{ParsedQuery, SearchRequest, parse};
use search_core::role::RelevanceFunction;
use search_engine::index::{
    Durability, FileState, IndexOptions, IndexSnapshot, SourceIndex, search_across,
};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer};
use tantivy::{Index, IndexWriter, Searcher, TantivyDocument, Term};

use arguments::Arguments;
use files::files_below;
use stems::Stems;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments = Arguments::read(&["--queries", "--keep", "--memory"]);
    let folders = arguments.folders();
    if folders.is_empty() && arguments.option("--keep").is_none() {
        println!(
            "usage: index FOLDER… [--queries FILE] [--keep FOLDER] [--memory MB] [--merge] [--serve] [--plain]"
        );
        return;
    }
    let serving = arguments.has("--serve");
    let files = if serving {
        Vec::new()
    } else {
        files_below(&folders)
    };
    let temporary = tempfile::tempdir().unwrap();
    let place = arguments.index_folder(temporary.path());
    if arguments.has("--plain") {
        return plain(&files, &place, &arguments);
    }
    if !place.exists() {
        let memory = arguments
            .option("--memory")
            .map(|megabytes| megabytes.parse::<usize>().unwrap() << 20);
        let options = memory.map_or_else(IndexOptions::default, |memory_bytes| IndexOptions {
            memory_bytes,
        });
        bulk(&files, &place, options);
    }
    if let (true, Some(queries)) = (serving, arguments.option("--queries")) {
        return serve(&place, &fs::read_to_string(queries).unwrap());
    }
    opening(&place);
    if let Some(queries) = arguments.option("--queries") {
        searches(&place, &fs::read_to_string(queries).unwrap());
    }
    if arguments.has("--merge") {
        let (mut index, _) = SourceIndex::open(&place, IndexOptions::default()).unwrap();
        let cpu = cpu_seconds();
        let snapshot = index.merge().unwrap();
        println!(
            "merge: {:.1} CPU s, {} segment(s), {:.1} MB",
            cpu_seconds() - cpu,
            snapshot.segment_count(),
            megabytes(index.size_on_disk().unwrap())
        );
        drop(index);
        if let Some(queries) = arguments.option("--queries") {
            searches(&place, &fs::read_to_string(queries).unwrap());
        }
    }
    if !arguments.has("--no-changes") {
        changes(&files, &place);
    }
}

fn read(path: &Path) -> Option<ExtractedDocument> {
    let body = String::from_utf8(fs::read(path).ok()?).ok()?;
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let prose = matches!(&*extension, "md" | "rst" | "txt" | "html" | "");
    Some(ExtractedDocument {
        key: path.to_string_lossy().into_owned(),
        title: String::new(),
        body,
        kind: if prose {
            ContentKind::Prose
        } else {
            ContentKind::Code
        },
        ..ExtractedDocument::default()
    })
}

fn bulk(files: &[PathBuf], place: &Path, options: IndexOptions) {
    let reading = cpu_seconds();
    let bytes: usize = files
        .iter()
        .filter_map(|file| read(file))
        .map(|document| document.body.len())
        .sum();
    let reading = cpu_seconds() - reading;
    let (cpu, start) = (cpu_seconds(), Instant::now());
    let (mut index, _) = SourceIndex::open(place, options).unwrap();
    let mut anonymous = 0.0_f64;
    for (number, file) in files.iter().enumerate() {
        if let Some(document) = read(file) {
            index.put(&document, FileState::default()).unwrap();
        }
        if number % 512 == 0 {
            anonymous = anonymous.max(status("RssAnon"));
        }
    }
    println!(
        "      before the commit: peak {:.0} MB, anonymous at most {anonymous:.0} MB",
        status("VmHWM")
    );
    let snapshot = index.commit(Durability::Synced).unwrap();
    let (cpu, wall) = (cpu_seconds() - cpu, start.elapsed());
    let size = index.size_on_disk().unwrap();
    println!(
        "bulk: {} documents, {:.0} MB text, {cpu:.1} CPU s ({reading:.1} to read alone), {:.1} s: {:.1} MB per CPU s",
        snapshot.document_count(),
        megabytes(bytes as u64),
        wall.as_secs_f64(),
        megabytes(bytes as u64) / cpu,
    );
    println!(
        "      index {:.1} MB = {:.2} % of the text, {} segment(s); peak memory {:.0} MB (anonymous now {:.0} MB)",
        megabytes(size),
        100.0 * size as f64 / bytes as f64,
        snapshot.segment_count(),
        status("VmHWM"),
        status("RssAnon"),
    );
    sizes(place);
}

fn sizes(place: &Path) {
    let mut by_kind: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
    for entry in fs::read_dir(place).unwrap().flatten() {
        let path = entry.path();
        let kind = path
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        *by_kind.entry(kind).or_default() += entry.metadata().unwrap().len();
    }
    let parts: Vec<String> = by_kind
        .iter()
        .map(|(kind, bytes)| format!("{kind} {:.1}", megabytes(*bytes)))
        .collect();
    println!("      MB by kind of file: {}", parts.join(", "));
}

fn opening(place: &Path) {
    let mut times = Vec::new();
    for _ in 0..10 {
        let start = Instant::now();
        let (index, opened) = SourceIndex::open(place, IndexOptions::default()).unwrap();
        times.push(start.elapsed());
        assert_eq!(opened, search_engine::index::OpenOutcome::Existing);
        drop(index);
    }
    println!("open: {}", quantiles(&mut times));
}

/// Changes one file at a time and searches for it.
fn changes(files: &[PathBuf], place: &Path) {
    let (mut index, _) = SourceIndex::open(place, IndexOptions::default()).unwrap();
    let mut times = Vec::new();
    let cpu = cpu_seconds();
    let step = (files.len() / 300).max(1);
    for (number, file) in files.iter().step_by(step).enumerate() {
        let Some(mut document) = read(file) else {
            continue;
        };
        let word = format!("changed{}marker", number_word(number));
        document.body.push_str(&format!("\n{word}\n"));
        let start = Instant::now();
        index.put(&document, FileState::default()).unwrap();
        let snapshot = index.commit(Durability::Fast).unwrap();
        let found = find(&snapshot, &word);
        times.push(start.elapsed());
        assert_eq!(found, [document.key]);
    }
    let count = times.len();
    println!(
        "change to found: {}; {:.1} CPU ms each, {} segment(s)",
        quantiles(&mut times),
        (cpu_seconds() - cpu) * 1e3 / count as f64,
        index.snapshot().segment_count()
    );
    let start = Instant::now();
    let synced = index.sync().unwrap();
    println!(
        "sync of {synced} files: {:.1} ms",
        start.elapsed().as_secs_f64() * 1e3
    );
}

fn number_word(mut number: usize) -> String {
    let mut word = String::new();
    for _ in 0..4 {
        word.push((b'a' + (number % 26) as u8) as char);
        number /= 26;
    }
    word
}

fn find(snapshot: &IndexSnapshot, word: &str) -> Vec<String> {
    let query = parse(&SearchRequest::for_text(word)).unwrap();
    let hits = search_across(
        std::slice::from_ref(snapshot),
        &query,
        RelevanceFunction::BM25F,
        0,
        10,
    )
    .unwrap();
    hits.hits.into_iter().map(|hit| hit.record.key).collect()
}

/// Searches alone, for the memory of a process that does nothing else.
fn serve(place: &Path, queries: &str) {
    let (index, _) = SourceIndex::open(place, IndexOptions::default()).unwrap();
    let snapshot = index.snapshot();
    println!(
        "opened: memory {:.0} MB (anonymous {:.1}, of files {:.0})",
        status("VmRSS"),
        status("RssAnon"),
        status("RssFile")
    );
    for (number, text) in queries.lines().enumerate() {
        let query = parse(&SearchRequest::for_text(text)).unwrap();
        search_across(
            std::slice::from_ref(&snapshot),
            &query,
            RelevanceFunction::BM25F,
            0,
            10,
        )
        .unwrap();
        if [100, 1000, 5000].contains(&(number + 1)) {
            println!(
                "{} searches: memory {:.0} MB (anonymous {:.1}, of files {:.0})",
                number + 1,
                status("VmRSS"),
                status("RssAnon"),
                status("RssFile")
            );
        }
    }
}

/// Our searches and tantivy's own, query by query in turn.
fn searches(place: &Path, queries: &str) {
    let (index, _) = SourceIndex::open(place, IndexOptions::default()).unwrap();
    let snapshot = index.snapshot();
    let theirs = Index::open_in_dir(place).unwrap();
    let field = theirs.schema().get_field("text").unwrap();
    let searcher = theirs.reader().unwrap().searcher();
    let requests: Vec<SearchRequest> = queries.lines().map(SearchRequest::for_text).collect();
    let mut times: [Vec<Duration>; 4] = Default::default();
    let mut different = 0;
    for round in 0..3 {
        for (number, request) in requests.iter().enumerate() {
            let query = parse(request).unwrap();
            let (mut ours, mut scores) = (Vec::new(), Vec::new());
            for turn in 0..4 {
                // Each in turn goes first, when the caches are cold.
                let which = (turn + number) % 4;
                let function = [
                    RelevanceFunction::BM25F,
                    RelevanceFunction::BM25F,
                    RelevanceFunction::BM25,
                    RelevanceFunction::TitleScorer,
                ][which];
                let (time, found) = timed(|| match which {
                    1 => minimal(&searcher, field, &query),
                    _ => {
                        let query = parse(request).unwrap();
                        let hits =
                            search_across(std::slice::from_ref(&snapshot), &query, function, 0, 10)
                                .unwrap();
                        hits.hits.iter().map(|hit| hit.score).collect()
                    }
                });
                match which {
                    0 => ours = found,
                    1 => scores = found,
                    _ => {}
                }
                if round > 0 {
                    times[which].push(time);
                }
            }
            let same = ours.len() == scores.len()
                && ours.iter().zip(&scores).all(|(a, b)| (a - b).abs() < 1e-3);
            different += u32::from(!same);
        }
    }
    for (name, times) in ["BM25F", "tantivy's BM25, same terms", "BM25", "TitleScorer"]
        .iter()
        .zip(&mut times)
    {
        println!("{name:28} {}", quantiles(times));
    }
    println!(
        "answers with other scores than tantivy's: {different}; memory {:.0} MB, anonymous {:.0} MB",
        status("VmRSS"),
        status("RssAnon")
    );
}

fn minimal(searcher: &Searcher, field: Field, query: &ParsedQuery) -> Vec<f32> {
    let clauses = query.terms().iter().map(|term| {
        let query = TermQuery::new(
            Term::from_field_text(field, &term.text),
            IndexRecordOption::WithFreqs,
        );
        let mut query: Box<dyn Query> = Box::new(query);
        if term.count > 1 {
            query = Box::new(tantivy::query::BoostQuery::new(query, term.count as f32));
        }
        (Occur::Should, query)
    });
    let query = BooleanQuery::new(clauses.collect());
    let found = searcher
        .search(&query, &TopDocs::with_limit(10).order_by_score())
        .unwrap();
    for (_, address) in &found {
        let document: TantivyDocument = searcher.doc(*address).unwrap();
        std::hint::black_box(document);
    }
    found.into_iter().map(|(score, _)| score).collect()
}

/// tantivy's own indexing: its tokenizer, one thread; `--stems` and `--positions` add those.
fn plain(files: &[PathBuf], place: &Path, arguments: &Arguments) {
    let option = if arguments.has("--positions") {
        IndexRecordOption::WithFreqsAndPositions
    } else {
        IndexRecordOption::WithFreqs
    };
    let tokenizer = if arguments.has("--stems") {
        "stems"
    } else {
        "default"
    };
    fs::create_dir_all(place).unwrap();
    let mut schema = Schema::builder();
    let key = schema.add_text_field("key", STRING | STORED);
    let indexing = TextFieldIndexing::default()
        .set_index_option(option)
        .set_tokenizer(tokenizer);
    let text = schema.add_text_field(
        "text",
        TextOptions::default().set_indexing_options(indexing),
    );
    let index = Index::create_in_dir(place, schema.build()).unwrap();
    let stems = TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(40))
        .filter(LowerCaser)
        .filter(Stems)
        .build();
    index.tokenizers().register("stems", stems);
    let cpu = cpu_seconds();
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 100_000_000).unwrap();
    let mut bytes = 0;
    for file in files {
        if let Some(document) = read(file) {
            bytes += document.body.len() as u64;
            let mut row = TantivyDocument::new();
            row.add_text(key, &document.key);
            row.add_text(text, &document.body);
            writer.add_document(row).unwrap();
        }
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    let cpu = cpu_seconds() - cpu;
    println!(
        "plain tantivy: {:.0} MB text, {cpu:.1} CPU s: {:.1} MB per CPU s; peak memory {:.0} MB",
        megabytes(bytes),
        megabytes(bytes) / cpu,
        status("VmHWM")
    );
    sizes(place);
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), result)
}

fn quantiles(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let mean = times.iter().sum::<Duration>().as_secs_f64() * 1e3 / times.len() as f64;
    format!(
        "mean {mean:.3} ms, p50 {:.3}, p99 {:.3}, max {:.3} (n {})",
        at(0.5),
        at(0.99),
        at(1.0),
        times.len()
    )
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// User and system time of all threads, in seconds.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / 100.0
}

/// A line of the process's status, in megabytes.
fn status(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<f64>()
        .unwrap()
        * 1024.0
        / 1e6
}
