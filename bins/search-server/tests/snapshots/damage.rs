//! Objects that the storage has lost, or gives back other than they were stored: whoever published
//! them stores them again.

use std::path::PathBuf;
use std::time::Duration;

use scripted_peers::s3::S3Server;
use serde_json::Value;

use super::servers::{Home, wait, wait_within, write_corpus};

/// All lengths are compared within a minute, an object's content each second.
const MENDED: Duration = Duration::from_secs(180);

/// What is published now: its files by kind, and the manifest itself.
fn published(storage: &S3Server) -> Vec<(String, PathBuf)> {
    let read = |path: &PathBuf| -> Option<Value> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    };
    let mut pointers = storage.objects().into_iter();
    let pointer = pointers.find(|path| path.ends_with("pointer"));
    let pointer = pointer.expect("it is published");
    let object = |name: &Value| {
        let name = name.as_str().expect("a name");
        pointer.with_file_name("objects").join(name)
    };
    let of_manifest = object(&read(&pointer).expect("JSON")["manifest"]["object"]);
    let manifest = read(&of_manifest).expect("JSON");
    let files = manifest["files"].as_array().expect("files").iter();
    let files = files.map(|file| {
        let kind = file["kind"].as_str().expect("a kind");
        (kind.to_owned(), object(&file["object"]))
    });
    files
        .chain([("manifest".to_owned(), of_manifest)])
        .collect()
}

fn flip_a_byte(path: &PathBuf) {
    let mut bytes = std::fs::read(path).expect("there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path, bytes).expect("room");
}

#[test]
fn i18_what_the_storage_has_lost_is_stored_again_by_whoever_published_it() {
    let storage = S3Server::start();
    let mut home = Home::new();
    home.in_bucket(&storage);
    write_corpus(&home.docs(), 240);
    home.write_roles(&["BM25F", "ServiceGraph"]);
    let mut indexer = home.start("indexer", "indexer");
    indexer.settle(240, true);
    let mut whole = home.start("whole", "searcher");
    whole.settle(240, true);
    // Of each kind of file one has another byte, one lacks its end, one is gone.
    let (mut ways, mut damaged) = ([0_usize; 3], 0);
    for (kind, path) in published(&storage) {
        let way = match kind.as_str() {
            "index" => &mut ways[0],
            "concepts" => &mut ways[1],
            _ => &mut ways[2],
        };
        match *way % 3 {
            0 => flip_a_byte(&path),
            1 => {
                let bytes = std::fs::read(&path).expect("there");
                std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("room");
            }
            _ => std::fs::remove_file(&path).expect("there"),
        }
        *way += 1;
        damaged += 1;
    }
    assert!(damaged > 6 && ways.iter().all(|of| *of > 0), "{ways:?}");
    let mut searcher = home.start("new", "searcher");
    indexer.program.next_with("snapshot.stored_again");
    searcher.settle_within(240, true, MENDED);
    assert!(searcher.is_ready());
    let verified = || home.run("look", "searcher", &["snapshot", "verify"]);
    wait_within(
        "a whole snapshot",
        MENDED,
        || verified().status.code() == Some(0),
        || String::from_utf8_lossy(&verified().stdout).into_owned(),
    );
    for function in ["BM25F", "ServiceGraph"] {
        let of = |server: &super::servers::Server| server.answer(function, "restart policy");
        assert_eq!(of(&searcher), of(&indexer), "{function}");
    }
    // What comes now is seen by all.
    std::fs::write(home.docs().join("new.md"), "# Fresh\n\nzanzibar\n").expect("room");
    for server in [&whole, &searcher] {
        wait(
            "the new document",
            || server.finds("BM25F", "zanzibar"),
            || format!("{} {}", server.source(), indexer.program.output()),
        );
    }
}

#[test]
fn i18_a_searcher_that_never_had_a_whole_snapshot_and_gets_none_is_not_ready() {
    let storage = S3Server::start();
    let mut home = Home::new();
    home.in_bucket(&storage);
    write_corpus(&home.docs(), 30);
    home.write_roles(&["BM25F"]);
    let mut indexer = home.start("indexer", "indexer");
    indexer.settle(30, false);
    let mut whole = home.start("whole", "searcher");
    whole.settle(30, false);
    // Nobody is there to store it again.
    indexer.end();
    let files = published(&storage);
    let texts = files.iter().find(|(kind, _)| kind == "texts");
    flip_a_byte(&texts.expect("texts are published").1);
    let searcher = home.start("new", "searcher");
    wait(
        "word of the damage",
        || {
            let (status, said) = searcher.get("/readyz");
            status == 503 && said.contains("is damaged: its BLAKE3 digest is another")
        },
        || format!("{:?} {}", searcher.get("/readyz"), searcher.source()),
    );
    assert!(whole.is_ready(), "it has all of it");
    assert!(searcher.finds("BM25F", "restart policy"), "whoever asks it");
    // An indexer mends it, and it is one of them.
    let again = home.start("indexer", "indexer");
    wait_within(
        "a whole snapshot",
        MENDED,
        || searcher.is_ready() && searcher.source()["state"] == "ready",
        || format!("{} {}", searcher.source(), again.program.output()),
    );
}
