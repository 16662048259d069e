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
    let Opened::Rebuilt { reason } = opened else {
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
