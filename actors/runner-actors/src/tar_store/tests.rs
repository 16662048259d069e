//! Entries of one machine: what a crash leaves of them.

use serde_json::{Value, json};

use super::*;

fn owner() -> TarOwner {
    TarOwner {
        kind: "things".to_owned(),
        owner: "somebody".to_owned(),
    }
}

/// Keeps a file of so many bytes.
fn keep(tars: &TarStore, name: &str, bytes: usize) {
    let file = tars.data.join(uuid::Uuid::new_v4().to_string());
    std::fs::write(&file, vec![b'x'; bytes]).unwrap();
    let about = json!({ "name": name, "bytes": bytes });
    tars.keep_file(&owner(), name, &file, &about).unwrap();
}

fn names(tars: &TarStore) -> Vec<String> {
    let all = tars.list::<Value>(&owner()).unwrap().into_iter();
    let mut names: Vec<String> = all
        .filter_map(|entry| entry.about["name"].as_str().map(str::to_owned))
        .collect();
    names.sort();
    names
}

fn endings(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().flatten();
    let mut endings: Vec<String> = files
        .filter_map(|file| Some(file.path().extension()?.to_str()?.to_owned()))
        .collect();
    endings.sort();
    endings
}

/// Power failed before a tar was on the disk, and its description was there: a cache that nobody
/// could restore, and nobody saved anew since its key was taken.
#[test]
fn i17_a_tar_that_was_cut_is_none_and_is_stored_anew() {
    let folder = tempfile::tempdir().unwrap();
    let tars = TarStore::new(folder.path(), None);
    keep(&tars, "whole", 4000);
    keep(&tars, "cut", 4000);
    let of = tars.directory(&owner());
    let tar = of.join(hashed("cut")).with_extension("tar");
    File::options()
        .write(true)
        .open(&tar)
        .unwrap()
        .set_len(10)
        .unwrap();
    assert_eq!(names(&tars), ["whole"]);
    assert_eq!(
        endings(&of),
        ["json", "tar"],
        "nothing is left of the other"
    );
    keep(&tars, "cut", 5000);
    assert_eq!(names(&tars), ["cut", "whole"]);
    // An entry says something else of itself, in one step too.
    let all = tars.list::<Value>(&owner()).unwrap();
    for entry in &all {
        let mut about = entry.about.clone();
        about["used"] = json!(7);
        tars.describe(entry, &about).unwrap();
    }
    assert_eq!(names(&tars), ["cut", "whole"]);
    tars.remove(&all[0]).unwrap();
    // Nor does one come back that was removed meanwhile.
    tars.describe(&all[0], &all[0].about).unwrap();
    assert_eq!(endings(&of), ["json", "tar"]);
}

/// A kill between the tar and its description left new bytes under the former description.
#[test]
fn i17_a_tar_that_is_replaced_is_never_under_the_former_description() {
    let folder = tempfile::tempdir().unwrap();
    let tars = TarStore::new(folder.path(), None);
    keep(&tars, "a", 10);
    let base = tars.directory(&owner()).join(hashed("a"));
    // Nothing can be written beside the description: as far as it goes then.
    std::fs::create_dir_all(base.with_extension("json.new").join("full")).unwrap();
    let file = folder.path().join("new");
    std::fs::write(&file, "yyyyyyyyyy").unwrap();
    let kept = tars.keep_file(&owner(), "a", &file, &json!({ "name": "b", "bytes": 10 }));
    assert!(kept.is_err());
    assert!(names(&tars).is_empty(), "{:?}", names(&tars));
}

#[test]
fn i17_two_jobs_keep_one_name_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let tars = TarStore::new(folder.path(), None);
    let all = std::thread::scope(|scope| {
        let keeping: Vec<_> = (1..=8)
            .map(|number| {
                let tars = tars.clone();
                scope.spawn(move || {
                    for round in 0..20 {
                        keep(&tars, "deps", 1000 * number + round);
                    }
                })
            })
            .collect();
        keeping.into_iter().all(|thread| thread.join().is_ok())
    });
    assert!(all, "each is kept");
    assert_eq!(
        names(&tars),
        ["deps"],
        "the bytes are those of its description"
    );
}

#[test]
fn i17_what_was_being_stored_at_a_kill_is_removed_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let tars = TarStore::new(folder.path(), None);
    keep(&tars, "whole", 10);
    let of = tars.directory(&owner());
    for left in ["a.part", "b.1.part", "c.used", "d.json.new"] {
        std::fs::write(of.join(left), "x").unwrap();
    }
    remove_unfinished(&folder.path().join("things"));
    assert_eq!(endings(&of), ["json", "tar"]);
    assert_eq!(names(&tars), ["whole"]);
}
