//! The thread of a watch: takes events, applies the rules of the walk, sends batches.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, Sender, TrySendError, never, select};
use parking_lot::Mutex;

use super::changes::{ChangeBatch, RescanReason};
use super::directories::WatchedDirectories;
use super::kernel::WatchEvent;
use super::mode::{PollingReason, WatchMode};
use super::options::WatchOptions;
use super::pending::{PathChange, PendingChanges};
use crate::walk::{RootDirectory, WalkFilter, encode_key, is_ignore_file};

/// How soon a batch is offered again to a consumer that is busy.
const RETRY_DELAY: Duration = Duration::from_millis(5);

/// How often a lost root is looked for.
const ROOT_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Clocks of file systems are behind by up to so much.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// How often files that change without end are counted.
const BUSY_CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// State of the thread.
pub(super) struct WatchWorker {
    root: RootDirectory,
    options: WatchOptions,
    batches: Sender<ChangeBatch>,
    stopped: Receiver<()>,
    mode: Arc<Mutex<WatchMode>>,
    /// `None` while only polling.
    folders: Option<WatchedDirectories>,
    admission: WalkFilter,
    pending: PendingChanges,
    /// A batch the consumer has not taken yet.
    unsent: ChangeBatch,
    next_poll: Option<Instant>,
    /// Polls since the kernel last refused to report events.
    polls: u32,
    root_lost: bool,
    /// How many files change without end.
    busy: Arc<AtomicUsize>,
}

impl WatchWorker {
    /// Sets up the watches; changes are recorded from here on.
    pub(super) fn new(
        root: RootDirectory,
        options: WatchOptions,
        batches: Sender<ChangeBatch>,
        stopped: Receiver<()>,
    ) -> Self {
        let mode = if root.is_remote() {
            WatchMode::EventsAndPolling
        } else {
            WatchMode::Events
        };
        let mut worker = Self {
            admission: WalkFilter::new(&root),
            pending: PendingChanges::new(options.debounce, options.settle, options.max_delay),
            root,
            options,
            batches,
            stopped,
            mode: Arc::new(Mutex::new(mode)),
            folders: None,
            unsent: ChangeBatch::default(),
            next_poll: None,
            polls: 0,
            root_lost: false,
            busy: Arc::default(),
        };
        match WatchedDirectories::new(worker.options.max_directories) {
            Ok(folders) => {
                worker.folders = Some(folders);
                worker.watch_all();
            }
            Err(reason) => worker.fall_back(reason),
        }
        if mode == WatchMode::EventsAndPolling {
            worker.book_poll();
        }
        worker
    }

    pub(super) fn busy(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.busy)
    }

    pub(super) fn mode(&self) -> Arc<Mutex<WatchMode>> {
        Arc::clone(&self.mode)
    }

    /// Runs until the watch is dropped.
    pub(super) fn run(mut self) {
        let quiet = never();
        loop {
            let events = self
                .folders
                .as_ref()
                .map_or(&quiet, WatchedDirectories::events)
                .clone();
            select! {
                recv(self.stopped) -> _ => return,
                recv(events) -> event => match event {
                    Ok(event) => {
                        self.take(&event);
                        // Whatever is there already belongs to the same moment.
                        while let Ok(event) = events.try_recv() {
                            self.take(&event);
                        }
                    }
                    // Whoever reads them has given up.
                    Err(_) => self.fall_back(PollingReason::Unsupported),
                },
                default(self.wait()) => {}
            }
            self.check_overflow();
            self.check_timers();
            self.flush();
            if !self.send() {
                return;
            }
        }
    }

    fn wait(&self) -> Duration {
        let now = Instant::now();
        let due = self
            .pending
            .next_due()
            .into_iter()
            .chain(self.next_poll)
            .min();
        // Files that have become quiet are counted off.
        let longest = match self.busy.load(Ordering::Relaxed) {
            0 => Duration::from_secs(3600),
            _ => BUSY_CHECK_INTERVAL,
        };
        let until_due = due.map_or(longest, |due| due.saturating_duration_since(now));
        match (self.unsent.is_empty(), self.root_lost) {
            (false, _) => until_due.min(RETRY_DELAY),
            (true, true) => until_due.min(ROOT_CHECK_INTERVAL),
            (true, false) => until_due,
        }
    }

    fn take(&mut self, event: &WatchEvent) {
        if event.change == PathChange::Unmounted {
            // Nothing was removed: what lies below is away with its file system.
            self.rescan(RescanReason::Unmounted);
            return;
        }
        self.record_change(&event.path, event.change, Instant::now());
    }

    fn record_change(&mut self, path: &Path, change: PathChange, now: Instant) {
        if path == self.root.path() {
            // Its own attributes change often; it matters that it is gone, or another folder.
            let folders = self.folders.as_ref();
            if folders.is_some_and(|folders| !folders.is_same(path)) {
                self.root_lost = path.symlink_metadata().is_err();
                self.rescan(RescanReason::RootReplaced);
            }
            return;
        }
        if self.admission.is_in_git(path) {
            // All else there says nothing of files.
            if self.admission.is_index(path) {
                self.pending.record(path, change, now);
            }
        } else if changes_rules(path) {
            // Waits like any change, so that many of them cause one rescan.
            self.pending.record(path, change, now);
        } else if let Ok(relative) = path.strip_prefix(self.root.path())
            && self.admission.is_admitted(relative, false)
        {
            self.pending.record(path, change, now);
        }
    }

    fn check_overflow(&mut self) {
        if self
            .folders
            .as_ref()
            .is_some_and(WatchedDirectories::take_overflow)
        {
            self.rescan(RescanReason::Overflow);
        }
    }

    fn check_timers(&mut self) {
        let now = Instant::now();
        if self.next_poll.is_some_and(|due| due <= now) {
            self.book_poll();
            self.try_events();
            self.unsent.merge(rescan(RescanReason::Polling, now));
        }
        if self.root_lost && self.root.path().is_dir() {
            self.root_lost = false;
            self.rescan(RescanReason::RootReplaced);
        }
    }

    /// Says which files change without end.
    fn report_busy(&mut self, now: Instant) {
        for (path, pause) in self.pending.take_turned_busy() {
            let (file, pause_s) = (path.display(), pause.as_secs());
            tracing::info!(
                event = "file.busy", %file, pause_s,
                "it never stops changing: it is looked at ever more rarely, down to every 300 s"
            );
        }
        self.busy.store(self.pending.busy(now), Ordering::Relaxed);
    }

    /// Looks at the paths that are due and adds them to the batch.
    fn flush(&mut self) {
        let now = Instant::now();
        let (mut paths, noticed) = self.pending.take_due(now);
        self.report_busy(now);
        if paths.is_empty() {
            return;
        }
        if paths.iter().any(|path| changes_rules(path)) {
            self.rescan(RescanReason::RulesChanged);
            return;
        }
        let mut batch = ChangeBatch {
            noticed,
            ..ChangeBatch::default()
        };
        let (of_git, others): (Vec<_>, Vec<_>) = paths
            .into_iter()
            .partition(|path| self.admission.is_index(path));
        paths = others;
        if !of_git.is_empty() {
            self.follow_git(&mut paths, &mut batch);
        }
        // Grows while it is walked: a new folder adds what it holds.
        let mut next = 0;
        while let Some(path) = paths.get(next).cloned() {
            next += 1;
            if changes_rules(&path) {
                // A folder that has appeared brings its own.
                self.rescan(RescanReason::RulesChanged);
                return;
            }
            if let Err(reason) = self.inspect(&path, &mut paths, &mut batch) {
                self.fall_back(reason);
                return;
            }
        }
        if batch.names_paths() {
            self.unsent.merge(batch);
        }
    }

    /// What git tracks of what the rules hide is seen from now on, and what it does not is not.
    fn follow_git(&mut self, paths: &mut Vec<PathBuf>, batch: &mut ChangeBatch) {
        let changes = self.admission.renew();
        let root = self.root.path().to_owned();
        // Its folders are watched first, and list what they hold.
        let appeared = changes.folders.iter().chain(&changes.added);
        paths.extend(appeared.map(|path| root.join(path)));
        for path in changes.removed {
            // It may be one that the rules leave by now, or that is gone.
            let is_wanted = self.options.filter.matches(&path);
            if is_wanted && !self.admission.is_admitted(&path, false) {
                batch.removed.insert(encode_key(&path));
            }
        }
    }

    fn inspect(
        &mut self,
        path: &Path,
        more: &mut Vec<PathBuf>,
        batch: &mut ChangeBatch,
    ) -> Result<(), PollingReason> {
        let Some(relative) = self.root.relative(path) else {
            return Ok(());
        };
        let key = encode_key(relative);
        let is_wanted = self.options.filter.matches(relative);
        let kind = path.symlink_metadata().map(|data| data.file_type());
        match kind {
            Ok(kind) if kind.is_dir() => {
                let was_directory = self.is_watched(path);
                let is_another = self.watch(path, more)?;
                if is_another && (was_directory || is_wanted) {
                    batch.replaced(key);
                }
            }
            Ok(kind) if kind.is_file() => {
                if self.remove_watches(path) {
                    batch.removed.insert(key.clone());
                }
                if is_wanted && self.is_admitted(path, false) {
                    batch.changed.insert(key);
                }
            }
            // Gone, or no file any more.
            kind => {
                if self.remove_watches(path) || is_wanted {
                    batch.removed.insert(key.clone());
                }
                if let Ok(kind) = kind
                    && is_wanted
                    && self.is_left(path)
                {
                    batch.left_out.insert(key, self.root.no_file(path, kind));
                }
            }
        }
        Ok(())
    }

    fn is_watched(&self, folder: &Path) -> bool {
        let folders = self.folders.as_ref();
        folders.is_some_and(|folders| folders.is_watched(folder))
    }

    /// Ends the watches of what was a folder; says whether it was one.
    fn remove_watches(&mut self, folder: &Path) -> bool {
        let was_directory = self.is_watched(folder);
        if let Some(folders) = self.folders.as_mut().filter(|_| was_directory) {
            folders.remove(folder);
        }
        was_directory
    }

    /// Watches a folder that has appeared, or has taken the place of another, and lists what it
    /// holds: that was there before the watch. Says whether it has: what was known under its name
    /// was of something else.
    fn watch(&mut self, folder: &Path, found: &mut Vec<PathBuf>) -> Result<bool, PollingReason> {
        let is_excluded = self
            .root
            .relative(folder)
            .is_some_and(|relative| self.options.filter.skips_directory(relative));
        let admitted =
            !is_excluded && self.is_admitted(folder, true) && !self.root.is_pseudo_mount(folder);
        let Some(folders) = self.folders.as_mut().filter(|_| admitted) else {
            return Ok(false);
        };
        if !folders.watch_directory(folder)? {
            return Ok(false);
        }
        // What cannot be listed is not gone.
        let Ok(entries) = std::fs::read_dir(folder) else {
            return Ok(false);
        };
        found.extend(entries.flatten().map(|entry| entry.path()));
        Ok(true)
    }

    /// Whether the rules leave something that is no file.
    fn is_left(&mut self, path: &Path) -> bool {
        path.strip_prefix(self.root.path())
            .is_ok_and(|relative| self.admission.is_left(relative, false))
    }

    fn is_admitted(&mut self, path: &Path, is_dir: bool) -> bool {
        path.strip_prefix(self.root.path())
            .is_ok_and(|relative| self.admission.is_admitted(relative, is_dir))
    }

    /// Gives up on single changes: asks for a comparison of everything and renews rules and
    /// watches.
    fn rescan(&mut self, reason: RescanReason) {
        self.pending.clear();
        self.watch_all();
        self.unsent.merge(rescan(reason, Instant::now()));
    }

    fn watch_all(&mut self) {
        let Some(folders) = self.folders.as_mut() else {
            self.admission = WalkFilter::new(&self.root);
            return;
        };
        let began = SystemTime::now();
        let (surveyed, admission) = self.root.survey(&self.options.filter);
        self.admission = admission;
        match folders.replace(&surveyed) {
            Ok(()) => self.scan_made_since(began, &surveyed),
            Err(reason) => self.fall_back(reason),
        }
    }

    /// Looks for folders that were made in others after these were listed and before they were
    /// watched: nobody has told of them.
    fn scan_made_since(&mut self, began: SystemTime, watched: &[PathBuf]) {
        let now = Instant::now();
        for folder in watched {
            let changed = folder.metadata().and_then(|data| data.modified());
            if changed.is_ok_and(|at| at + CLOCK_TICK < began) {
                continue;
            }
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let (path, kind) = (entry.path(), entry.file_type());
                let is_directory = kind.is_ok_and(|kind| kind.is_dir());
                // Rules have just been read.
                if is_directory && !changes_rules(&path) && !self.is_watched(&path) {
                    self.record_change(&path, PathChange::Settled, now);
                }
            }
        }
    }

    /// Releases all watches and polls instead.
    fn fall_back(&mut self, reason: PollingReason) {
        let mode = WatchMode::Polling(reason);
        tracing::warn!(event = "watch.fell_back", root = %self.root.path().display(), %mode);
        *self.mode.lock() = mode;
        self.folders = None;
        self.pending.clear();
        self.unsent
            .merge(rescan(RescanReason::Unwatched, Instant::now()));
        self.book_poll();
    }

    /// Asks for events again where the system had none to give: others may have freed some since.
    fn try_events(&mut self) {
        let polls_between = match *self.mode.lock() {
            WatchMode::Polling(PollingReason::Unsupported) => 1,
            // Thousands of watches are tried each time.
            WatchMode::Polling(PollingReason::SystemLimit) => 20,
            _ => return,
        };
        self.polls += 1;
        if self.polls < polls_between {
            return;
        }
        self.polls = 0;
        let Ok(mut folders) = WatchedDirectories::new(self.options.max_directories) else {
            return;
        };
        let began = SystemTime::now();
        let (surveyed, admission) = self.root.survey(&self.options.filter);
        if folders.replace(&surveyed).is_err() {
            return;
        }
        self.admission = admission;
        self.folders = Some(folders);
        self.scan_made_since(began, &surveyed);
        let is_remote = self.root.is_remote();
        let mode = match is_remote {
            true => WatchMode::EventsAndPolling,
            false => WatchMode::Events,
        };
        *self.mode.lock() = mode;
        if !is_remote {
            self.next_poll = None;
        }
        tracing::info!(event = "watch.recovered", root = %self.root.path().display(), %mode);
    }

    fn book_poll(&mut self) {
        self.next_poll = Some(Instant::now() + self.options.poll_interval);
    }

    /// Offers the batch; false when nobody listens any more.
    fn send(&mut self) -> bool {
        if self.unsent.is_empty() {
            return true;
        }
        match self.batches.try_send(std::mem::take(&mut self.unsent)) {
            Ok(()) => true,
            Err(TrySendError::Full(batch)) => {
                self.unsent = batch;
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }
}

/// Whether a change at a path changes what is seen at all.
fn changes_rules(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| is_ignore_file(name) || name == ".git")
}

fn rescan(reason: RescanReason, noticed: Instant) -> ChangeBatch {
    ChangeBatch {
        rescan: Some(reason),
        noticed: Some(noticed),
        ..ChangeBatch::default()
    }
}
