//! Speed of everything between a folder and the index: walking, watching, extraction, excerpts.
//!
//! `cargo bench -p search-engine --bench sources -- FOLDER` (default: this crate's own folder).
//! Prints what was measured; nothing is asserted.
#![allow(clippy::print_stdout, reason = "the figures are the result")]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use search_core::document::ExtractedDocument;
use search_core::query::{SearchRequest, parse};
use search_core::role::FileFilter;
use search_engine::excerpt::Excerpter;
use search_engine::extract::{TextFormat, extract, is_binary};
use search_engine::sync::{
    IndexSink, KnownFile, SyncOptions, SyncPlan, WalkedDirectory, apply, walk_all,
};
use search_engine::walk::{RootDirectory, SkipCounts, WalkOptions};
use search_engine::watch::{DirectoryWatch, WatchOptions};

fn main() {
    let argument = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    let folder = argument.map_or_else(|| PathBuf::from("."), PathBuf::from);
    let root = RootDirectory::open(&folder).expect("a folder that can be read");
    let options = WalkOptions::new(FileFilter::default());
    let walked = walk(&root, &options);
    watch_start(&root);
    formats(&root, &walked);
    pipeline(&root, &options, &walked);
    excerpts(&root, &walked);
    watch_latency();
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

/// Time this thread has spent on a processor: other programs on the machine do not count.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|field| field.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

fn megabytes_a_second(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}

fn walk(root: &RootDirectory, options: &WalkOptions) -> WalkedDirectory {
    let (_, first) = timed(|| walk_all(root, options));
    let (walked, second) = timed(|| walk_all(root, options));
    let mut skipped = SkipCounts::default();
    for path in &walked.skipped {
        skipped.add(path.reason);
    }
    println!(
        "walk: {} files in {first:?}, again {second:?}",
        walked.files.len()
    );
    println!("  skipped: {:?}", skipped.iter().collect::<Vec<_>>());
    let (parallel, time) = timed(|| parallel_walk(root.path()));
    println!("  for comparison, two threads without order: {parallel} files in {time:?}");
    walked
}

fn parallel_walk(folder: &Path) -> usize {
    let found = parking_lot::Mutex::new(Vec::new());
    let mut builder = ignore::WalkBuilder::new(folder);
    builder
        .git_ignore(false)
        .git_global(false)
        .parents(false)
        .threads(2);
    builder.build_parallel().run(|| {
        Box::new(|entry| {
            if let Ok(entry) = entry
                && entry.file_type().is_some_and(|kind| kind.is_file())
                && let Ok(data) = entry.metadata()
            {
                found.lock().push((entry.into_path(), data.len()));
            }
            ignore::WalkState::Continue
        })
    });
    let mut found = found.into_inner();
    found.sort_unstable();
    found.len()
}

fn watch_start(root: &RootDirectory) {
    let options = WatchOptions::new(FileFilter::default());
    let (watch, time) = timed(|| DirectoryWatch::start(root, options).expect("a thread"));
    println!("watch: {} after {time:?}", watch.mode());
}

/// Extraction alone, by format: the files are in memory.
fn formats(root: &RootDirectory, walked: &WalkedDirectory) {
    let mut samples: BTreeMap<String, Vec<(String, Vec<u8>)>> = BTreeMap::new();
    for file in &walked.files {
        let format = format!("{:?}", TextFormat::from_key(&file.key));
        let sample = samples.entry(format).or_default();
        if sample.len() < 4000
            && let Ok(read) = root.read(&file.key, 1 << 20, is_binary)
        {
            sample.push((file.key.clone(), read.bytes));
        }
    }
    for (format, files) in samples {
        let bytes: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
        let copies = files.clone();
        let start = processor_time();
        let (text, _) = timed(|| {
            let documents = copies
                .into_iter()
                .filter_map(|(key, bytes)| extract(&key, bytes, 0).ok());
            documents.map(|document| document.body.len()).sum::<usize>()
        });
        let time = processor_time() - start;
        println!(
            "extract {format}: {} files, {:.1} MB in {time:?} of processor time: {:.0} MB/s, {:.0} % text",
            files.len(),
            bytes as f64 / 1e6,
            megabytes_a_second(bytes, time),
            100.0 * text as f64 / bytes as f64,
        );
    }
}

/// An index that costs nothing, or as much as one that takes 48 MB a second.
struct Sink {
    busy: bool,
}

impl IndexSink for Sink {
    type Error = Infallible;

    fn put(&mut self, document: ExtractedDocument, _: KnownFile) -> Result<(), Infallible> {
        let until = Instant::now() + Duration::from_secs_f64(document.body.len() as f64 / 48e6);
        while self.busy && Instant::now() < until {
            std::hint::spin_loop();
        }
        std::hint::black_box(document);
        Ok(())
    }

    fn delete(&mut self, _: &str) -> Result<(), Infallible> {
        Ok(())
    }
}

fn pipeline(root: &RootDirectory, options: &WalkOptions, walked: &WalkedDirectory) {
    // Enough to tell the difference.
    let files = walked
        .files
        .iter()
        .step_by(1 + walked.files.len() / 8000)
        .cloned()
        .collect();
    let walked = WalkedDirectory {
        files,
        ..WalkedDirectory::default()
    };
    for (busy, two_threads) in [(false, false), (false, true), (true, false), (true, true)] {
        let plan = SyncPlan::compare(FxHashMap::default(), walked.clone());
        let mut options = SyncOptions::new(options);
        options.min_files_for_two_threads = if two_threads { 0 } else { u64::MAX };
        let (report, time) = timed(|| apply(root, plan, &options, &mut Sink { busy }, |_| {}));
        let report = report.expect("the sink takes everything");
        println!(
            "read + hash + extract, {} index, {} thread(s): {} files, {:.0} MB/s",
            if busy { "48 MB/s" } else { "no" },
            if two_threads { 2 } else { 1 },
            report.progress.done,
            megabytes_a_second(report.progress.bytes as usize, time),
        );
    }
}

/// Ten excerpts a query: words of a file, looked for in it and in nine others of its format.
fn excerpts(root: &RootDirectory, walked: &WalkedDirectory) {
    for (name, wanted) in [
        ("Code", TextFormat::Code),
        ("Html", TextFormat::Html),
        ("Markdown", TextFormat::Markdown),
        ("Text", TextFormat::Text),
    ] {
        let typical = |size: u64| (10_000..50_000).contains(&size);
        let files: Vec<&str> = walked
            .files
            .iter()
            .filter(|file| typical(file.size) && TextFormat::from_key(&file.key) == wanted)
            .map(|file| file.key.as_str())
            .collect();
        if files.len() < 10 {
            continue;
        }
        let (mut times, mut processor): (Vec<(Duration, usize)>, _) = (Vec::new(), Duration::ZERO);
        for group in files.chunks_exact(10).step_by(1 + files.len() / 2000) {
            let Some(query) = query_of(root, group[0]) else {
                continue;
            };
            let query = parse(&SearchRequest::for_text(query)).expect("a short query");
            let run = || {
                let mut excerpter = Excerpter::new(&query, 240);
                let found = group
                    .iter()
                    .map(|key| excerpter.excerpt(root, key, "title"));
                found
                    .filter(|excerpt| !excerpt.highlights.is_empty())
                    .count()
            };
            run();
            let start = processor_time();
            let (shown, time) = timed(run);
            processor += processor_time() - start;
            times.push((time, shown));
        }
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].0;
        let shown: usize = times.iter().map(|(_, shown)| shown).sum();
        println!(
            "10 excerpts of {name} files of 10 to 50 kB: p50 {:?}, p90 {:?}, p99 {:?}, processor time {:?} ({} queries, {:.1} of 10 files with a match)",
            at(0.5),
            at(0.9),
            at(0.99),
            processor / times.len() as u32,
            times.len(),
            shown as f64 / times.len() as f64,
        );
    }
}

/// Three words from the middle of a file.
fn query_of(root: &RootDirectory, key: &str) -> Option<String> {
    let read = root.read(key, 1 << 20, is_binary).ok()?;
    let document = extract(key, read.bytes, 0).ok()?;
    let middle = document.body.get(document.body.len() / 2..)?;
    let words = middle
        .split(|c: char| !c.is_ascii_alphabetic())
        .filter(|word| word.len() > 3);
    let words: Vec<&str> = words.step_by(3).take(3).collect();
    (words.len() == 3).then(|| words.join(" "))
}

/// From the return of the write to the batch.
fn watch_latency() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = RootDirectory::open(folder.path()).expect("it is there");
    let watch =
        DirectoryWatch::start(&root, WatchOptions::new(FileFilter::default())).expect("a thread");
    let mut times: Vec<Duration> = (0..500)
        .map(|number| {
            std::fs::write(folder.path().join("a.md"), number.to_string()).expect("a full write");
            let written = Instant::now();
            let batch = watch
                .changes()
                .recv_timeout(Duration::from_secs(10))
                .expect("a batch");
            assert!(batch.changed.contains("a.md"));
            written.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!(
        "watch: from write to batch p50 {:?}, p99 {:?}",
        times[250], times[495]
    );
}
