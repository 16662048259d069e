//! The samples of config-samples: wrong ones give exactly the message beside them, right ones load.
//!
//! `UPDATE_EXPECT=1` writes the messages anew; read the difference before committing it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use config_core::{Colours, Environment};
use search_core::role;

fn samples(folder: &str) -> PathBuf {
    std::path::absolute("../../config-samples")
        .expect("a folder to work in")
        .join(folder)
}

fn files(folder: &Path, extension: &str) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of samples exists");
    let paths = entries.map(|entry| entry.expect("an entry can be read").path());
    paths
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect()
}

/// What all samples may refer to.
fn environment() -> Environment {
    Environment::from_iter([("HOME", "/home/me"), ("API_KEY", "sk-123")])
}

fn file_name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .expect("samples have plain names")
}

/// The message of a wrong sample.
fn message(path: &Path) -> String {
    let bytes = fs::read(path).expect("a sample can be read");
    match role::parse(file_name(path), &bytes, &environment()) {
        Ok(_) => panic!(
            "{}: the sample is right, but should be wrong",
            path.display()
        ),
        Err(wrong) => wrong.render(Colours::Off),
    }
}

#[test]
fn each_wrong_file_gives_its_message() {
    let folder = samples("invalid");
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut different = Vec::new();
    for path in files(&folder, "json") {
        let (found, beside) = (message(&path), path.with_extension("txt"));
        if update {
            fs::write(&beside, &found).expect("the message can be written");
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if found != expected {
            different.push(format!(
                "{}\nexpected:\n{expected}\nfound:\n{found}",
                beside.display()
            ));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn each_wrong_file_has_a_number_and_a_message_of_its_own() {
    let folder = samples("invalid");
    let (wrong, messages) = (files(&folder, "json"), files(&folder, "txt"));
    let beside: BTreeSet<PathBuf> = wrong
        .iter()
        .map(|path| path.with_extension("txt"))
        .collect();
    let alone: Vec<&PathBuf> = messages.symmetric_difference(&beside).collect();
    assert!(
        alone.is_empty(),
        "a sample without message, or a message without sample: {alone:?}"
    );
    assert!(wrong.len() >= 45, "{} samples", wrong.len());
    let numbers: BTreeSet<&str> = wrong.iter().map(|path| &file_name(path)[..3]).collect();
    assert_eq!(numbers.len(), wrong.len(), "numbers are used once");
    assert!(numbers.iter().all(|number| number.parse::<u16>().is_ok()));
}

/// The example of docs/CONFIG.md is what a sample really gives.
#[test]
fn the_reference_shows_a_real_message() {
    let reference = samples("../docs/CONFIG.md");
    let reference = fs::read_to_string(reference).expect("docs/CONFIG.md exists");
    let shown = files(&samples("invalid"), "txt").into_iter().any(|path| {
        let message = fs::read_to_string(path).expect("a message can be read");
        reference.contains(&format!("```text\n{message}```"))
    });
    assert!(shown, "docs/CONFIG.md shows the message of no sample");
}

#[test]
fn no_message_shows_a_secret() {
    for path in files(&samples("invalid"), "txt") {
        let text = fs::read_to_string(&path).expect("a message can be read");
        assert!(!text.contains("not-for-eyes"), "{}", path.display());
    }
}

#[test]
fn each_right_file_loads_and_its_folders_exist() {
    let folder = samples("search");
    let files = files(&folder, "json");
    assert!(files.len() >= 3);
    for path in files {
        let text = fs::read_to_string(&path).expect("a sample can be read");
        let roles = role::parse(file_name(&path), &text, &environment());
        let roles = roles
            .unwrap_or_else(|wrong| panic!("{wrong}"))
            .relative_to(&folder);
        assert!(roles.warnings().is_empty());
        for haystack in roles.roles().iter().flat_map(|role| &role.haystacks) {
            let Some(files) = haystack.local_files() else {
                continue;
            };
            assert!(
                files.folder.is_dir(),
                "{}: {}",
                path.display(),
                files.folder.display()
            );
        }
    }
}
