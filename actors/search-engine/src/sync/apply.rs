//! Carrying out a plan: read and extract on one thread, index on the caller's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use crossbeam_channel::{Receiver, Sender, bounded};
use search_core::document::ExtractedDocument;
use thiserror::Error;

use super::plan::{KnownFile, PlannedFile, SyncPlan};
use crate::extract::Extraction;
use crate::files::SourceFiles;
use crate::walk::{FileBytes, SkipCounts, SkipReason, SkippedPath, WalkOptions};

/// Documents that may wait between the two threads. With files of at most some megabytes this
/// bounds memory; the average source file has 16 KiB.
const QUEUE: usize = 32;

/// Bytes that may wait between the two threads, unless a single file is larger.
const QUEUE_BYTES: usize = 8 * 1024 * 1024;

/// A file written so shortly before it was read could be written again without its time changing:
/// clocks of file systems tick every 4 to 10 ms.
const RACY_NS: i64 = 20_000_000;

/// Where documents go.
pub trait IndexSink {
    /// Why the index cannot go on.
    type Error;

    /// Adds a document or replaces the one with its key.
    ///
    /// # Errors
    /// The index cannot go on; the synchronisation ends.
    fn put(&mut self, document: ExtractedDocument, version: KnownFile) -> Result<(), Self::Error>;

    /// Removes a document, if it is there.
    ///
    /// # Errors
    /// As [`IndexSink::put`].
    fn delete(&mut self, key: &str) -> Result<(), Self::Error>;

    /// The content of an indexed file is the same, its time is not. An index that can note the new
    /// time without the document answers [`TimestampUpdate::Noted`]; otherwise the document is put
    /// again.
    ///
    /// # Errors
    /// As [`IndexSink::put`].
    fn touch(&mut self, key: &str, version: KnownFile) -> Result<TimestampUpdate, Self::Error> {
        let _ = (key, version);
        Ok(TimestampUpdate::PutAgain)
    }
}

/// What an index does with a file of the same content and another time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampUpdate {
    /// The new time is recorded.
    Noted,
    /// The document has to be put again.
    PutAgain,
}

/// Ends a synchronisation early; what was done so far is kept.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Asks for the end.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether the end was asked for.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// How a plan is carried out.
#[derive(Debug, Clone)]
pub struct SyncOptions {
    /// Files above this size in bytes are skipped.
    pub max_file_bytes: u64,
    /// Plans of fewer files are carried out on the caller's thread alone: starting another one
    /// costs more than it saves.
    pub min_files_for_two_threads: u64,
    /// Ends the synchronisation early.
    pub cancel: CancelFlag,
    /// What files are read with.
    pub extraction: Extraction,
}

impl SyncOptions {
    /// The limits of the walk; two threads from 64 files on.
    #[must_use]
    pub fn new(walk: &WalkOptions) -> Self {
        Self {
            max_file_bytes: walk.max_file_bytes,
            min_files_for_two_threads: 64,
            cancel: CancelFlag::default(),
            extraction: Extraction::default(),
        }
    }
}

/// How far a synchronisation is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SyncProgress {
    /// Files looked at.
    pub done: u64,
    /// Files to look at.
    pub total: u64,
    /// Bytes read.
    pub bytes: u64,
}

/// What a synchronisation has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// Files looked at, bytes read.
    pub progress: SyncProgress,
    /// Documents put, new ones and changed ones.
    pub put: u64,
    /// Files with another time but the same content.
    pub touched: u64,
    /// Documents removed.
    pub removed: u64,
    /// What was left out, by reason, the walk's skips included.
    pub skipped: SkipCounts,
    /// The same, one by one.
    pub left_out: Vec<SkippedPath>,
    /// Whether it was ended early.
    pub cancelled: bool,
}

/// Why a synchronisation has failed.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SyncError<E> {
    /// The index cannot go on.
    #[error("the index cannot take documents: {0}")]
    Sink(E),
    /// The machine lacked something for a moment: nothing is known of the file, and everything has
    /// to be compared again.
    #[error(
        "the machine is short of descriptors, memory or threads (at {key:?}); nothing is taken from that, it is looked at again"
    )]
    NoResources {
        /// Key of the file or folder that could not be looked at.
        key: String,
    },
    /// No thread could be started.
    #[error("cannot start a thread to read files: {0}; lower the number of sources")]
    Thread(String),
    /// The reading thread has panicked: an error of this program.
    #[error("the thread that reads files has failed; please report the file that was being read")]
    Reader,
}

/// What the reading side found in one file.
struct ReadFile {
    key: String,
    bytes: usize,
    found: Result<ScannedFile, SkipReason>,
    was_known: bool,
}

struct ScannedFile {
    document: ExtractedDocument,
    version: KnownFile,
    kept: ReusablePart,
}

/// How much of what is indexed of a file still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReusablePart {
    /// The content has changed, or the file is new.
    Nothing,
    /// The content is the same, the time is not.
    Content,
    /// The record holds as it is.
    Record,
}

/// Carries out a plan. `on_progress` is called after every file.
///
/// A file that has vanished or turned binary or too large is removed from the index and counted;
/// one that may not be read any more, or whose reading failed or took too long, is counted, and
/// stays as it was last read. Nothing a file holds can end the synchronisation. What cannot be read
/// because the machine lacks something ends it: that says nothing about the file.
///
/// # Errors
/// [`SyncError`]; what was put before stays put.
pub fn apply<S: IndexSink>(
    root: &dyn SourceFiles,
    mut plan: SyncPlan,
    options: &SyncOptions,
    sink: &mut S,
    on_progress: impl FnMut(SyncProgress),
) -> Result<SyncReport, SyncError<S::Error>> {
    let progress = SyncProgress {
        total: plan.files(),
        ..SyncProgress::default()
    };
    let lacking = |one: &&SkippedPath| one.reason == SkipReason::NoResources;
    if let Some(one) = plan.left_out.iter().find(lacking) {
        return Err(SyncError::NoResources {
            key: one.key.clone(),
        });
    }
    let report = SyncReport {
        progress,
        skipped: plan.skipped.clone(),
        left_out: std::mem::take(&mut plan.left_out),
        ..SyncReport::default()
    };
    let mut writer = Writer {
        sink,
        on_progress,
        report,
    };
    for key in &plan.remove {
        writer.sink.delete(key).map_err(SyncError::Sink)?;
        writer.report.removed += 1;
    }
    if plan.files() < options.min_files_for_two_threads {
        writer.apply_sequentially(root, plan, options)?;
    } else {
        writer.two_threads(root, plan, options)?;
    }
    writer.report.cancelled = options.cancel.is_cancelled();
    Ok(writer.report)
}

/// The indexing side.
struct Writer<'s, S, P> {
    sink: &'s mut S,
    on_progress: P,
    report: SyncReport,
}

impl<S: IndexSink, P: FnMut(SyncProgress)> Writer<'_, S, P> {
    fn apply_sequentially(
        &mut self,
        root: &dyn SourceFiles,
        plan: SyncPlan,
        options: &SyncOptions,
    ) -> Result<(), SyncError<S::Error>> {
        for file in plan.add.into_iter().chain(plan.update) {
            if options.cancel.is_cancelled() {
                break;
            }
            self.take(read(root, file, options))?;
        }
        Ok(())
    }

    fn two_threads(
        &mut self,
        root: &dyn SourceFiles,
        plan: SyncPlan,
        options: &SyncOptions,
    ) -> Result<(), SyncError<S::Error>> {
        let (sender, outcomes) = bounded(QUEUE);
        let (credit_back, credit) = bounded(QUEUE * 2);
        std::thread::scope(|scope| {
            let reader = std::thread::Builder::new()
                .name("source-reader".to_owned())
                .spawn_scoped(scope, move || {
                    read_all(root, plan, options, &sender, &credit);
                })
                .map_err(|error| SyncError::Thread(error.to_string()))?;
            // An early end drops both channels, which ends the reader.
            let written = self.drain(outcomes, credit_back);
            let read = reader.join().map_err(|_| SyncError::Reader);
            written.and(read)
        })
    }

    #[allow(
        clippy::needless_pass_by_value,
        reason = "dropped at the end, which ends the reader"
    )]
    fn drain(
        &mut self,
        outcomes: Receiver<ReadFile>,
        credit_back: Sender<usize>,
    ) -> Result<(), SyncError<S::Error>> {
        for outcome in outcomes {
            let bytes = outcome.bytes;
            self.take(outcome)?;
            // Has room: the reader empties it after each file it sends, and fewer than this many
            // can be taken between two of them.
            let _ = credit_back.try_send(bytes);
        }
        Ok(())
    }

    fn take(&mut self, outcome: ReadFile) -> Result<(), SyncError<S::Error>> {
        self.report.progress.done += 1;
        self.report.progress.bytes += outcome.bytes as u64;
        match outcome.found {
            Ok(found) => self.put(found).map_err(SyncError::Sink)?,
            Err(SkipReason::NoResources) => {
                return Err(SyncError::NoResources { key: outcome.key });
            }
            Err(reason) => {
                self.report.skipped.add(reason);
                self.report.left_out.push(SkippedPath {
                    key: outcome.key.clone(),
                    reason,
                });
                tracing::debug!(event = "file.skipped", key = %outcome.key, %reason);
                if outcome.was_known && !reason.leaves_known() {
                    self.sink.delete(&outcome.key).map_err(SyncError::Sink)?;
                    self.report.removed += 1;
                }
            }
        }
        (self.on_progress)(self.report.progress);
        Ok(())
    }

    fn put(&mut self, found: ScannedFile) -> Result<(), S::Error> {
        match found.kept {
            ReusablePart::Nothing => self.report.put += 1,
            ReusablePart::Content | ReusablePart::Record => self.report.touched += 1,
        }
        let is_noted = match found.kept {
            ReusablePart::Nothing => false,
            ReusablePart::Content => {
                self.sink.touch(&found.document.key, found.version)? == TimestampUpdate::Noted
            }
            ReusablePart::Record => true,
        };
        if is_noted {
            return Ok(());
        }
        self.sink.put(found.document, found.version)
    }
}

/// The reading side: stops when nobody takes its outcomes any more.
fn read_all(
    root: &dyn SourceFiles,
    plan: SyncPlan,
    options: &SyncOptions,
    sender: &Sender<ReadFile>,
    credit: &Receiver<usize>,
) {
    let mut waiting = 0_usize;
    for file in plan.add.into_iter().chain(plan.update) {
        if options.cancel.is_cancelled() {
            return;
        }
        let outcome = read(root, file, options);
        waiting += outcome.bytes;
        if sender.send(outcome).is_err() {
            return;
        }
        waiting -= credit.try_iter().sum::<usize>().min(waiting);
        while waiting > QUEUE_BYTES {
            // The writer is gone when its side of the channel is.
            let Ok(bytes) = credit.recv() else { return };
            waiting -= bytes.min(waiting);
        }
    }
}

/// Reads and extracts one file.
fn read(root: &dyn SourceFiles, file: PlannedFile, options: &SyncOptions) -> ReadFile {
    let was_known = file.known.is_some();
    let extraction = &options.extraction;
    let refuses = |beginning: &[u8]| extraction.refuses(&file.key, beginning);
    let read = root.read(&file.key, options.max_file_bytes, &refuses);
    let bytes = read.as_ref().map_or(0, |read| read.bytes.len());
    let found = read.and_then(|read| found(&file, read, extraction));
    ReadFile {
        key: file.key,
        bytes,
        found,
        was_known,
    }
}

fn found(
    file: &PlannedFile,
    read: FileBytes,
    extraction: &Extraction,
) -> Result<ScannedFile, SkipReason> {
    let hash = read.hash.unwrap_or_else(|| hash_of(&read.bytes));
    let mtime_ns = if read.hash.is_none() && is_racy(read.mtime_ns) {
        read.mtime_ns - 1
    } else {
        read.mtime_ns
    };
    let version = KnownFile {
        size: read.size,
        mtime_ns,
        hash,
    };
    let document = extraction.document(&file.key, read.bytes, &hash, read.mtime_ns)?;
    Ok(ScannedFile {
        document,
        version,
        kept: refreshed_record(file.known, read.size, read.mtime_ns, hash),
    })
}

/// A record whose file was racy when it was read holds once the file turns out to be the same. It
/// is not written again: a restart alone would write documents. The price is one look at the file's
/// hash in each comparison.
fn refreshed_record(
    known: Option<KnownFile>,
    size: u64,
    mtime_ns: i64,
    hash: [u8; 16],
) -> ReusablePart {
    let Some(known) = known.filter(|known| known.hash == hash) else {
        return ReusablePart::Nothing;
    };
    let was_racy = known.mtime_ns == mtime_ns - 1;
    if known.size == size && (known.mtime_ns == mtime_ns || was_racy) {
        return ReusablePart::Record;
    }
    ReusablePart::Content
}

/// The first 16 bytes of the BLAKE3 hash.
fn hash_of(bytes: &[u8]) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    short
}

/// Whether a file could have been written again since without another time to show for it. Its
/// recorded time is made one that no file has, so that the next comparison looks at its hash.
fn is_racy(mtime_ns: i64) -> bool {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(now.as_nanos()).is_ok_and(|now| mtime_ns.saturating_add(RACY_NS) > now)
}
