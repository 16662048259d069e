//! The kernel's events about folders (inotify), read on a thread of their own.
//!
//! Only what changes a file is asked for. Watching for opened files too, as general libraries do,
//! would make each excerpt of a search an event that somebody has to read and throw away.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use parking_lot::Mutex;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

use super::pending::PathChange;

/// Events that may wait for the worker; more of them mean a rescan.
const MAX_EVENTS: usize = 64 * 1024;

/// Bytes of events that are read at once: a few thousand.
const BUFFER: usize = 64 * 1024;

/// What is told about a folder: its entries come, go, are written, and it goes itself.
const WATCHED: WatchFlags = WatchFlags::ATTRIB
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);

/// Something has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WatchEvent {
    /// What: an entry of a watched folder, or the folder itself.
    pub(super) path: PathBuf,
    pub(super) change: PathChange,
}

/// The watches of one source.
pub(super) struct KernelWatch {
    queue: Arc<OwnedFd>,
    table: Arc<WatchTable>,
    events: Receiver<WatchEvent>,
}

/// The watched folders, as the reading thread and the worker know them.
struct WatchTable {
    /// The folders by the numbers of their watches.
    folders: Mutex<HashMap<i32, PathBuf>>,
    overflowed: AtomicBool,
    ended: AtomicBool,
}

impl KernelWatch {
    pub(super) fn new() -> io::Result<Self> {
        let queue = Arc::new(inotify::init(CreateFlags::CLOEXEC)?);
        let table = Arc::new(WatchTable {
            folders: Mutex::default(),
            overflowed: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        });
        let (sender, events) = bounded(MAX_EVENTS);
        let reader = (Arc::clone(&queue), Arc::clone(&table));
        std::thread::Builder::new()
            .name("watch-events".to_owned())
            .spawn(move || read(&reader.0, &reader.1, &sender))?;
        Ok(Self {
            queue,
            table,
            events,
        })
    }

    pub(super) fn events(&self) -> &Receiver<WatchEvent> {
        &self.events
    }

    /// Whether events were dropped since this was last asked.
    pub(super) fn take_overflow(&self) -> bool {
        self.table.overflowed.swap(false, Ordering::AcqRel)
    }

    /// Watches a folder; gives the number of the watch.
    pub(super) fn add(&self, folder: &Path) -> rustix::io::Result<i32> {
        // Held meanwhile, so that no event comes before its folder is known.
        let mut folders = self.table.folders.lock();
        let number = inotify::add_watch(&*self.queue, folder, WATCHED)?;
        folders.insert(number, folder.to_owned());
        Ok(number)
    }

    /// Ends the watch of a folder; the kernel may have ended it already. The number may have become
    /// that of another path meanwhile: a folder that was renamed keeps it.
    pub(super) fn remove(&self, number: i32, folder: &Path) {
        let mut folders = self.table.folders.lock();
        if folders.get(&number).is_none_or(|now| now != folder) {
            return;
        }
        folders.remove(&number);
        let _ = inotify::remove_watch(&*self.queue, number);
    }
}

impl Drop for KernelWatch {
    fn drop(&mut self) {
        self.table.ended.store(true, Ordering::Release);
        // The end of a watch is an event: it wakes the thread.
        if let Ok(number) = inotify::add_watch(&*self.queue, "/", WatchFlags::DELETE_SELF) {
            let _ = inotify::remove_watch(&*self.queue, number);
        }
    }
}

/// Hands events on until the watch is dropped. Never waits for the worker, which may wait for it.
fn read(queue: &OwnedFd, table: &WatchTable, sender: &Sender<WatchEvent>) {
    let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
    let mut reader = Reader::new(queue, &mut buffer);
    while !table.ended.load(Ordering::Acquire) {
        let event = match reader.next() {
            Ok(event) => event,
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => {
                tracing::warn!(event = "watch.failed", %error);
                table.overflowed.store(true, Ordering::Release);
                return;
            }
        };
        if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
            table.overflowed.store(true, Ordering::Release);
            // Anything wakes the worker.
            let _ = sender.try_send(WatchEvent {
                path: PathBuf::new(),
                change: PathChange::Settled,
            });
            continue;
        }
        let event = table.event(&event);
        if let Some(event) = event
            && let Err(TrySendError::Full(_)) = sender.try_send(event)
        {
            table.overflowed.store(true, Ordering::Release);
        }
    }
}

impl WatchTable {
    fn event(&self, event: &inotify::Event<'_>) -> Option<WatchEvent> {
        let flags = event.events();
        let mut folders = self.folders.lock();
        if flags.contains(ReadFlags::IGNORED) {
            folders.remove(&event.wd());
            return None;
        }
        let folder = folders.get(&event.wd())?;
        let path = match event.file_name() {
            Some(name) => folder.join(OsStr::from_bytes(name.to_bytes())),
            None => folder.clone(),
        };
        // Creation and writing are followed by a close; everything else is complete by itself.
        let ongoing = ReadFlags::CREATE.union(ReadFlags::MODIFY);
        let change = if flags.contains(ReadFlags::UNMOUNT) {
            PathChange::Unmounted
        } else if flags.intersects(ongoing) {
            PathChange::Ongoing
        } else {
            PathChange::Settled
        };
        Some(WatchEvent { path, change })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn next(watch: &KernelWatch) -> WatchEvent {
        let wait = Duration::from_secs(20);
        watch.events().recv_timeout(wait).expect("an event")
    }

    #[test]
    fn reading_a_file_is_no_event() {
        let folder = tempfile::tempdir().expect("a folder");
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&a, "text").expect("writes");
        let watch = KernelWatch::new().expect("the system has a queue");
        watch.add(folder.path()).expect("watched");
        std::fs::read(&a).expect("reads");
        std::fs::read_dir(folder.path())
            .expect("lists")
            .for_each(drop);
        std::fs::rename(&a, &b).expect("moves");
        let change = PathChange::Settled;
        assert_eq!(next(&watch), WatchEvent { path: a, change });
        assert_eq!(next(&watch), WatchEvent { path: b, change });
    }

    #[test]
    fn i16_a_watch_goes_on_under_the_name_that_its_folder_has_now() {
        let parent = tempfile::tempdir().expect("a folder");
        let (old, new) = (parent.path().join("site.new"), parent.path().join("site"));
        std::fs::create_dir(&old).expect("a folder");
        let watch = KernelWatch::new().expect("the system has a queue");
        let number = watch.add(&old).expect("watched");
        std::fs::rename(&old, &new).expect("moves");
        assert_eq!(watch.add(&new), Ok(number), "the same folder");
        watch.remove(number, &old);
        std::fs::write(new.join("a"), "text").expect("writes");
        let made = loop {
            let event = next(&watch);
            if event.path.parent() == Some(&new) {
                break event.path;
            }
        };
        assert_eq!(made, new.join("a"));
    }

    #[test]
    fn the_thread_ends_with_the_watch_and_a_removed_watch_tells_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let watch = KernelWatch::new().expect("the system has a queue");
        let number = watch.add(folder.path()).expect("watched");
        watch.remove(number, folder.path());
        std::fs::write(folder.path().join("a"), "text").expect("writes");
        let events = watch.events().clone();
        drop(watch);
        // The sender is gone with the thread; nothing was sent before.
        assert!(events.recv_timeout(Duration::from_secs(20)).is_err());
        assert!(events.is_empty());
    }
}
