//! Shares that are not mounted.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::fs;

use http_clients::objects::{ObjectError, ObjectPlace, ObjectStorage};

#[test]
fn i18_an_empty_folder_is_no_share_that_was_there_before() {
    let temporary = tempfile::tempdir().unwrap();
    let [share, elsewhere, memory] =
        ["share", "elsewhere", "data/places"].map(|name| temporary.path().join(name));
    let place = ObjectPlace::Folder(share.clone());
    let open = || ObjectStorage::open_remembered(&place, &memory).unwrap();
    let first = open();
    first.put_bytes("sources/a", "one".into()).unwrap();
    // As when it is unmounted: the mount point is there, and nothing in it.
    fs::rename(&share, &elsewhere).unwrap();
    fs::create_dir(&share).unwrap();
    for storage in [&first, &open()] {
        let refused = storage.put_bytes("sources/b", "two".into()).unwrap_err();
        let shown = refused.to_string();
        assert!(shown.contains("mount it, where it is a share"), "{shown}");
        let small = storage.read_small("sources/a", None).err();
        let replaced = storage.replace("sources/a", None, Vec::new()).err();
        let listed = storage.list("sources").err();
        for refused in [small, replaced, listed, storage.probe().err()] {
            assert!(
                matches!(refused, Some(ObjectError::NotMounted { .. })),
                "{refused:?}"
            );
        }
    }
    assert_eq!(fs::read_dir(&share).unwrap().count(), 0);
    fs::remove_dir(&share).unwrap();
    fs::rename(&elsewhere, &share).unwrap();
    for storage in [&first, &open()] {
        storage.put_bytes("sources/b", "two".into()).unwrap();
        assert_eq!(storage.list("sources").unwrap().len(), 2);
    }
    // It was filled before it was remembered, and not empty: it is the place.
    fs::remove_file(share.join(".orrery-place")).unwrap();
    assert_eq!(open().list("sources").unwrap().len(), 2);
    assert!(share.join(".orrery-place").exists());
    // It is emptied on purpose.
    fs::remove_dir_all(&share).unwrap();
    fs::create_dir(&share).unwrap();
    let refused = open().probe().unwrap_err();
    let ObjectError::NotMounted { memory, .. } = refused else {
        panic!("{refused:?}");
    };
    fs::remove_file(memory).unwrap();
    open().put_bytes("sources/a", "anew".into()).unwrap();
}

#[test]
fn i18_a_mark_on_the_disk_below_a_share_is_not_the_share_s() {
    let temporary = tempfile::tempdir().unwrap();
    let [share, below, mounted, memory] =
        ["share", "below", "mounted", "data/places"].map(|name| temporary.path().join(name));
    let place = ObjectPlace::Folder(share.clone());
    let open = || ObjectStorage::open_remembered(&place, &memory).unwrap();
    // It is used first while it is not mounted: the mark is made on the disk of the mount point.
    open().put_bytes("sources/a", "one".into()).unwrap();
    let mark = |folder: &std::path::Path| fs::read_to_string(folder.join(".orrery-place"));
    assert_eq!(mark(&share).unwrap().len(), 32);
    // Then the share is there, with files and without a mark, and gets its own.
    fs::rename(&share, &below).unwrap();
    fs::create_dir_all(share.join("sources")).unwrap();
    open().put_bytes("sources/b", "two".into()).unwrap();
    assert_ne!(mark(&share).unwrap(), mark(&below).unwrap());
    // Without the share it is not the place, whatever mark lies there.
    fs::rename(&share, &mounted).unwrap();
    fs::rename(&below, &share).unwrap();
    let refused = open().put_bytes("sources/c", "three".into()).err();
    assert!(
        matches!(refused, Some(ObjectError::NotMounted { .. })),
        "{refused:?}"
    );
    fs::rename(&share, &below).unwrap();
    fs::rename(&mounted, &share).unwrap();
    open().put_bytes("sources/c", "three".into()).unwrap();
    // What was remembered by an earlier version has no id, and takes the mark's.
    let known = fs::read_dir(&memory).unwrap().next().unwrap().unwrap();
    fs::write(known.path(), format!("{}\n", share.display())).unwrap();
    open().probe().unwrap();
    let remembered = fs::read_to_string(known.path()).unwrap();
    let expected = format!("{}\n{}\n", share.display(), mark(&share).unwrap());
    assert_eq!(remembered, expected);
    // Another machine finds the mark, and keeps it.
    let elsewhere = temporary.path().join("other/places");
    let other = ObjectStorage::open_remembered(&place, &elsewhere).unwrap();
    let before = mark(&share).unwrap();
    other.put_bytes("sources/d", "four".into()).unwrap();
    assert_eq!(mark(&share).unwrap(), before);
    open().put_bytes("sources/e", "five".into()).unwrap();
}
