//! Objects that are lost, and copies that are cut short.

use tempfile::TempDir;

use super::RunFiles;
use super::tests::{DAY, in_folder, process, put, put_cache, read, scope, store};

/// The files of the objects of a folder.
fn objects(folder: &TempDir) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.path().join("objects")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => found.push(path),
            }
        }
    }
    found
}

/// Removes all copies of this machine.
fn drop_copies(data: &TempDir) {
    for copy in std::fs::read_dir(data.path().join("objects")).unwrap() {
        std::fs::remove_file(copy.unwrap().path()).unwrap();
    }
}

#[test]
fn i18_bytes_that_come_again_after_their_object_was_lost_are_stored_again() {
    let (data, folder, store) = (TempDir::new().unwrap(), TempDir::new().unwrap(), store());
    let files = process(&data, &store, &in_folder(&folder), DAY);
    put(&files.artifacts, "r", "first", 5000).unwrap();
    let whole = read(&files.artifacts, "r", "first");
    for damage in ["lost", "damaged", "lost and looked for"] {
        let object = objects(&folder).pop().unwrap();
        match damage {
            // Of the same length.
            "damaged" => std::fs::write(&object, vec![0; whole.len()]).unwrap(),
            _ => std::fs::remove_file(&object).unwrap(),
        }
        drop_copies(&data);
        if damage != "lost" {
            let sought = files.artifacts.find("r", "first");
            sought.expect_err("it is told that it cannot be read");
        }
        put(&files.artifacts, "r", "again", 5000).unwrap();
        drop_copies(&data);
        assert_eq!(read(&files.artifacts, "r", "again"), whole, "{damage}");
        // Whoever has the same bytes has them again, too.
        drop_copies(&data);
        assert_eq!(read(&files.artifacts, "r", "first"), whole, "{damage}");
        std::fs::remove_file(object).ok();
    }
}

#[test]
fn i18_a_cache_that_is_lost_is_passed_over_and_stored_again() {
    let (data, folder, store) = (TempDir::new().unwrap(), TempDir::new().unwrap(), store());
    let files = process(&data, &store, &in_folder(&folder), DAY);
    put_cache(&files.caches, "deps-1");
    let find = |files: &RunFiles, key: &str| {
        let found = files.caches.find(&[scope()], key, &["deps-".to_owned()]);
        found.unwrap().map(|found| found.key)
    };
    assert_eq!(find(&files, "deps-2").as_deref(), Some("deps-1"));
    let object = objects(&folder).pop().unwrap();
    std::fs::remove_file(object).unwrap();
    drop_copies(&data);
    assert_eq!(find(&files, "deps-1"), None);
    assert!(!files.caches.contains(&scope(), "deps-1").unwrap());
    put_cache(&files.caches, "deps-1");
    drop_copies(&data);
    assert_eq!(find(&files, "deps-1").as_deref(), Some("deps-1"));
    // A place that is another one loses nothing.
    std::fs::rename(folder.path().join("owner"), folder.path().join("of-others")).unwrap();
    drop_copies(&data);
    let object = objects(&folder).pop().unwrap();
    std::fs::remove_file(object).unwrap();
    files
        .caches
        .find(&[scope()], "deps-1", &[])
        .err()
        .expect("it is not the place");
    assert!(files.caches.contains(&scope(), "deps-1").unwrap());
}

#[test]
fn i18_a_copy_that_was_cut_short_is_not_given_out() {
    let (data, folder, store) = (TempDir::new().unwrap(), TempDir::new().unwrap(), store());
    let files = process(&data, &store, &in_folder(&folder), DAY);
    put(&files.artifacts, "r", "a", 5000).unwrap();
    let whole = read(&files.artifacts, "r", "a");
    for left in [0, 100] {
        // As a file system leaves it after a power loss.
        let copy = std::fs::read_dir(data.path().join("objects"))
            .unwrap()
            .next();
        let copy = std::fs::File::options()
            .write(true)
            .open(copy.unwrap().unwrap().path())
            .unwrap();
        copy.set_len(left).unwrap();
        assert_eq!(read(&files.artifacts, "r", "a"), whole);
    }
}
