//! Files that may not be read for a while.

use std::fs::File;

use search_engine::files::{FileLocation, SourceFiles};
use search_engine::walk::{FileBytes, SkippedPath};
use search_engine::watch::ChangeBatch;

use super::*;

/// A folder with a file that cannot be read, and why. Permissions do not bind the superuser, who
/// may run this.
#[derive(Debug)]
struct Shut(RootDirectory, &'static str, SkipReason);

impl SourceFiles for Shut {
    fn read(
        &self,
        key: &str,
        limit: u64,
        reject: &dyn Fn(&[u8]) -> bool,
    ) -> Result<FileBytes, SkipReason> {
        if key == self.1 {
            return Err(self.2);
        }
        self.0.read(key, limit, reject)
    }

    fn open_file(&self, key: &str) -> Result<File, SkipReason> {
        self.0.open_file(key)
    }

    fn location(&self, key: &str) -> Option<FileLocation> {
        self.0.location(key)
    }

    fn has_times(&self) -> bool {
        self.0.has_times()
    }

    fn top_names(&self) -> Vec<String> {
        self.0.top_names()
    }
}

#[test]
fn i16_a_file_that_may_not_be_read_stays_as_it_was_and_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["open.md", "shut.md"] {
        write(folder.path(), name, "one");
    }
    let mut index = Memory::default();
    synchronize(folder.path(), &mut index);
    write(folder.path(), "shut.md", "another");
    let root = RootDirectory::open(folder.path()).unwrap();
    let (walk, shut) = (
        walk_options(),
        Shut(root.clone(), "shut.md", SkipReason::Unreadable),
    );
    // Told of by a watch, and met in a comparison that has a new size or time to see.
    let known = index.known();
    let batch = ChangeBatch {
        changed: ["shut.md".to_owned()].into(),
        ..ChangeBatch::default()
    };
    let of_event = SyncPlan::from_changes(&batch, |key| known.get(key).copied(), |_| Vec::new());
    let compared = SyncPlan::compare(index.known(), walk_all(&root, &walk));
    // The walk sees that it may not be read.
    let mut walked = walk_all(&root, &walk);
    walked.files.retain(|file| file.key != "shut.md");
    walked.skipped.push(SkippedPath {
        key: "shut.md".to_owned(),
        reason: SkipReason::Unreadable,
    });
    let walked = SyncPlan::compare(index.known(), walked);
    for plan in [of_event, compared, walked] {
        assert!(plan.remove.is_empty());
        let report = apply(&shut, plan, &SyncOptions::new(&walk), &mut index, |_| {}).unwrap();
        assert_eq!((report.removed, report.put), (0, 0));
        assert_eq!(report.skipped.get(SkipReason::Unreadable), 1);
        assert_eq!(report.left_out[0].key, "shut.md");
        assert_eq!(index.documents["shut.md"].0.body, "one\n");
    }
    // It is read as soon as it may be.
    let report = synchronize(folder.path(), &mut index);
    assert_eq!((report.put, report.skipped.total()), (1, 0));
    assert_eq!(index.documents["shut.md"].0.body, "another\n");
}

#[test]
fn i16_a_file_whose_reading_fails_stays_as_it_was_and_what_was_seen_of_one_counts() {
    use SkipReason::{
        Binary, Damaged, Empty, Encrypted, ParserFailed, TooLarge, TooSlow, UnpacksToTooMuch,
        Unreadable, Vanished,
    };
    for (reason, stays) in [
        (ParserFailed, true),
        (TooSlow, true),
        (Unreadable, true),
        (TooLarge, false),
        (Binary, false),
        (Empty, false),
        (Vanished, false),
        (Encrypted, false),
        (Damaged, false),
        (UnpacksToTooMuch, false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a.md", "one");
        let mut index = Memory::default();
        synchronize(folder.path(), &mut index);
        write(folder.path(), "a.md", "another");
        let root = RootDirectory::open(folder.path()).unwrap();
        let (walk, shut) = (walk_options(), Shut(root.clone(), "a.md", reason));
        let plan = SyncPlan::compare(index.known(), walk_all(&root, &walk));
        let report = apply(&shut, plan, &SyncOptions::new(&walk), &mut index, |_| {}).unwrap();
        assert_eq!(report.skipped.get(reason), 1);
        assert_eq!(index.documents.contains_key("a.md"), stays, "{reason}");
        // It is read as soon as it can be.
        let report = synchronize(folder.path(), &mut index);
        assert_eq!((report.put, report.skipped.total()), (1, 0), "{reason}");
        assert_eq!(index.documents["a.md"].0.body, "another\n");
    }
}
