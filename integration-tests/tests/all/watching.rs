//! What changes in the folder changes in the answers, without a restart.

use serde_json::json;

use crate::harness::Home;

#[test]
fn new_changed_renamed_and_deleted_files_are_followed() {
    let home = Home::new();
    home.write("stays.txt", "constant words\n");
    let server = home.start();
    home.write("new.txt", "zanzibar arrives\n");
    server.eventually("a new file is found", || {
        server.found("zanzibar") == ["new.txt"]
    });
    home.write("new.txt", "madagascar arrives\n");
    server.eventually("a changed file is found", || {
        server.found("madagascar") == ["new.txt"]
    });
    assert_eq!(server.found("zanzibar"), Vec::<String>::new());
    std::fs::rename(
        home.files().join("new.txt"),
        home.files().join("renamed.txt"),
    )
    .expect("renamed");
    server.eventually("a renamed file is found", || {
        server.found("madagascar") == ["renamed.txt"]
    });
    std::fs::remove_file(home.files().join("renamed.txt")).expect("removed");
    server.eventually("a deleted file is gone", || {
        server.found("madagascar").is_empty()
    });
    assert_eq!(server.found("constant"), ["stays.txt"]);
}

#[test]
fn folders_come_and_go_whole() {
    let home = Home::new();
    let server = home.start();
    home.write("deep/er/one.txt", "quokka one\n");
    home.write("deep/two.txt", "quokka two\n");
    server.eventually("both are found", || server.found("quokka").len() == 2);
    std::fs::rename(home.files().join("deep"), home.files().join("moved")).expect("renamed");
    server.eventually("both have moved", || {
        let mut found = server.found("quokka");
        found.sort();
        found == ["moved/er/one.txt", "moved/two.txt"]
    });
    std::fs::remove_dir_all(home.files().join("moved")).expect("removed");
    server.eventually("both are gone", || server.found("quokka").is_empty());
}

#[test]
fn editors_that_save_by_rename_are_followed() {
    let home = Home::new();
    home.write("note.md", "first wombat\n");
    let server = home.start();
    home.write("note.md.tmp", "second numbat\n");
    std::fs::rename(
        home.files().join("note.md.tmp"),
        home.files().join("note.md"),
    )
    .expect("renamed");
    server.eventually("the new content is found", || {
        server.found("numbat") == ["note.md"]
    });
    assert_eq!(server.found("wombat"), Vec::<String>::new());
}

#[test]
fn gitignore_is_honoured_and_followed() {
    let home = Home::new();
    home.write(".gitignore", "secret.txt\n");
    home.write("secret.txt", "hidden echidna\n");
    home.write("open.txt", "open echidna\n");
    let server = home.start();
    assert_eq!(server.found("echidna"), ["open.txt"]);
    home.write(".gitignore", "open.txt\n");
    server.eventually("the rules were read again", || {
        server.found("echidna") == ["secret.txt"]
    });
}

#[test]
fn what_changed_while_the_server_was_down_is_found() {
    let home = Home::new();
    home.write("a.txt", "alpha platypus\n");
    home.write("b.txt", "beta platypus\n");
    drop(home.start());
    home.write("a.txt", "alpha bilby\n");
    std::fs::remove_file(home.files().join("b.txt")).expect("removed");
    home.write("c.txt", "gamma platypus\n");
    let server = home.start();
    assert_eq!(server.found("platypus"), ["c.txt"]);
    assert_eq!(server.found("bilby"), ["a.txt"]);
    assert_eq!(server.get("/health").json()["sources"][0]["documents"], 2);
}

/// The cache must not answer for an index that has changed.
#[test]
fn a_cached_answer_is_not_given_after_a_change() {
    let home = Home::new();
    home.write("a.txt", "kakapo\n");
    let server = home.start();
    let ask = || server.search(&json!({"search_term": "kakapo"}))["total"].clone();
    assert_eq!((ask(), ask()), (json!(1), json!(1)));
    home.write("b.txt", "kakapo too\n");
    server.eventually("the second one is counted", || ask() == json!(2));
}

#[test]
fn a_damaged_index_is_built_again() {
    let home = Home::new();
    home.write("a.txt", "takahe\n");
    drop(home.start());
    let entries = std::fs::read_dir(home.path().join("index")).expect("indexes");
    let mut entries = entries.map(|entry| entry.expect("readable"));
    let index = entries.find(|entry| entry.path().is_dir()).expect("one");
    std::fs::write(index.path().join("meta.json"), "{ not json").expect("damaged");
    let server = home.start();
    assert_eq!(server.found("takahe"), ["a.txt"]);
}
