//! Damaged folders: an index that cannot be used is built anew, and says so.

use super::*;

/// Fills an index, damages it, and expects that it is emptied with a reason and usable again.
fn damaged(damage: impl Fn(&Path)) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for number in 0..50 {
        put(
            &mut index,
            &format!("{number}"),
            "A title",
            &format!("words number{number} {}", "x ".repeat(number)),
        );
    }
    index
        .commit(Durability::Synced)
        .expect("the commit succeeds");
    drop(index);
    damage(folder.path());
    let (mut index, opened) = open(folder.path());
    let OpenOutcome::Rebuilt { reason } = opened else {
        panic!("opened as {opened:?}")
    };
    assert_eq!(index.snapshot().document_count(), 0);
    put(&mut index, "new", "", "words");
    assert_eq!(found(&commit(&mut index), "words"), ["new"]);
    reason
}

fn file_of_kind(folder: &Path, kind: &str) -> std::path::PathBuf {
    let files = fs::read_dir(folder)
        .expect("a folder")
        .flatten()
        .map(|entry| entry.path());
    files
        .into_iter()
        .find(|path| path.extension().is_some_and(|found| found == kind))
        .expect("there is such a file")
}

#[test]
fn a_damaged_index_is_built_anew_and_says_so() {
    assert!(
        damaged(|folder| fs::write(folder.join("meta.json"), "{ not json").expect("writes"))
            .contains("damaged")
    );
    assert!(
        damaged(|folder| fs::write(folder.join("meta.json"), "").expect("writes"))
            .contains("damaged")
    );
    assert!(
        damaged(|folder| fs::remove_file(folder.join("meta.json")).expect("removes"))
            .contains("damaged")
    );
    assert!(
        damaged(|folder| fs::write(folder.join(".managed.json"), "[").expect("writes"))
            .contains("damaged")
    );
    for kind in ["term", "idx", "store", "fast", "fieldnorm"] {
        damaged(|folder| fs::remove_file(file_of_kind(folder, kind)).expect("removes"));
        let reason = damaged(|folder| {
            let path = file_of_kind(folder, kind);
            let bytes = fs::read(&path).expect("reads");
            fs::write(&path, &bytes[..bytes.len() / 2]).expect("writes");
        });
        assert!(reason.contains("damaged"), "{kind}: {reason}");
    }
}

#[test]
fn another_format_is_built_anew_and_says_so() {
    let reason = damaged(|folder| fs::write(folder.join("format"), "0").expect("writes"));
    assert!(reason.contains("format \"0\""), "{reason}");
    assert!(
        damaged(|folder| fs::remove_file(folder.join("format")).expect("removes"))
            .contains("format")
    );
}

#[test]
fn after_a_power_cut_silent_damage_is_found() {
    let reason = damaged(|folder| {
        fs::write(folder.join("unsynced"), "another boot").expect("writes");
        let path = file_of_kind(folder, "idx");
        let mut bytes = fs::read(&path).expect("reads");
        let middle = bytes.len() / 4;
        bytes[middle] ^= 0x55;
        fs::write(&path, bytes).expect("writes");
    });
    assert!(reason.contains("idx"), "{reason}");
}

/// Turns one bit of a file's content.
fn flip(path: &Path) {
    let mut bytes = fs::read(path).expect("reads");
    bytes[8] ^= 0x10;
    fs::write(path, bytes).expect("writes");
}

/// Two segments: 20 documents, then 30.
fn two_segments(folder: &Path) {
    let (mut index, _) = open(folder);
    for number in 0..50 {
        put(
            &mut index,
            &format!("{number:02}"),
            "A title",
            &format!("words number{number} {}", "x ".repeat(number)),
        );
        if number == 19 {
            commit(&mut index);
        }
    }
    index
        .commit(Durability::Synced)
        .expect("the commit succeeds");
}

#[test]
fn u5_a_flipped_bit_is_found_in_every_kind_of_file_and_costs_its_segment_alone() {
    for kind in ["term", "idx", "store", "fast", "fieldnorm"] {
        let folder = tempfile::tempdir().expect("a folder");
        two_segments(folder.path());
        let (index, _) = open(folder.path());
        assert_eq!(index.damage(|| true).expect("reads"), [], "{kind}");
        assert_eq!(index.snapshot().segment_count(), 2);
        flip(&file_of_kind(folder.path(), kind));
        let damaged = index.damage(|| true).expect("reads");
        assert_eq!(damaged.len(), 1, "{kind}: {damaged:?}");
        assert!(damaged[0].file.ends_with(kind), "{damaged:?}");
        assert!(
            damaged[0].to_string().contains("checksum"),
            "{}",
            damaged[0]
        );
        assert_eq!(index.snapshot().damage().expect("reads"), damaged);
        let lost = damaged[0].documents;
        assert!(lost == 20 || lost == 30);
        let (mut index, opened) = index.without(&damaged).expect("opens");
        assert_eq!(opened, OpenOutcome::Existing, "{kind}");
        assert_eq!(index.snapshot().document_count(), 50 - lost);
        // What was lost is put again, and everything is there.
        for number in 0..50 {
            let key = format!("{number:02}");
            if index.snapshot().document(&key).expect("reads").is_none() {
                put(&mut index, &key, "A title", "words again");
            }
        }
        let snapshot = commit(&mut index);
        assert_eq!(snapshot.document_count(), 50);
        assert_eq!(
            search(&[snapshot], "words", RelevanceFunction::BM25F).total,
            50
        );
        assert_eq!(index.damage(|| true).expect("reads"), []);
    }
}

#[test]
fn u5_deletions_are_checked_too() {
    let folder = tempfile::tempdir().expect("a folder");
    two_segments(folder.path());
    let (mut index, _) = open(folder.path());
    index.delete("03").expect("deletes");
    commit(&mut index);
    flip(&file_of_kind(folder.path(), "del"));
    let damaged = index.damage(|| true).expect("reads");
    assert_eq!(damaged.len(), 1);
    assert!(damaged[0].file.ends_with(".del"), "{damaged:?}");
    assert_eq!(damaged[0].documents, 19);
    let (index, _) = index.without(&damaged).expect("opens");
    assert_eq!(index.snapshot().document_count(), 30);
    assert_eq!(index.snapshot().document("03").expect("reads"), None);
}

#[test]
fn u5_an_index_with_a_segment_that_cannot_be_opened_keeps_the_others() {
    for kind in ["term", "idx", "store", "fast", "fieldnorm"] {
        let folder = tempfile::tempdir().expect("a folder");
        two_segments(folder.path());
        fs::remove_file(file_of_kind(folder.path(), kind)).expect("removes");
        let (index, opened) = open(folder.path());
        let OpenOutcome::Repaired { reason } = opened else {
            panic!("{kind}: opened as {opened:?}")
        };
        assert!(reason.contains("is missing"), "{reason}");
        let count = index.snapshot().document_count();
        assert!(count == 20 || count == 30, "{kind}: {count}");
    }
}

#[test]
fn t8_a_lack_of_the_machine_costs_no_index() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let folder = tempfile::tempdir().expect("a folder");
    two_segments(folder.path());
    // Of this process alone: each test runs in one of its own under cargo-nextest.
    if std::env::var_os("NEXTEST").is_none() {
        println!("skipped: it takes the descriptors of the whole process, run it by cargo-nextest");
        return;
    }
    let former = getrlimit(Resource::Nofile);
    let used = fs::read_dir("/proc/self/fd").expect("a list").count() as u64;
    for spare in 0..12 {
        let few = Rlimit {
            current: Some(used + spare),
            maximum: former.maximum,
        };
        setrlimit(Resource::Nofile, few).expect("set");
        let opened = SourceIndex::open(folder.path(), IndexOptions::default());
        setrlimit(Resource::Nofile, former).expect("set");
        match opened {
            Ok((index, opened)) => {
                assert_eq!(opened, OpenOutcome::Existing, "{spare}");
                assert_eq!(index.snapshot().document_count(), 50, "{spare}");
            }
            Err(error) => assert!(
                error.to_string().contains("os error 24") || error.to_string().contains("Too many"),
                "{error}"
            ),
        }
    }
    let (index, opened) = open(folder.path());
    assert_eq!(
        (opened, index.snapshot().document_count()),
        (OpenOutcome::Existing, 50)
    );
}
