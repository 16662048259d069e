//! `export` of a source that several indexers hold in parts, from a real object storage.

use std::collections::BTreeSet;

use scripted_peers::s3::S3Server;

use super::export::{Peer, exported_by, key_of};
use super::servers::{Home, Server, wait, write_corpus};

/// How many documents both parts have together; none while one of them is not in step.
fn documents(parts: &[Server]) -> Option<u64> {
    let counts = parts.iter().map(|part| {
        let source = part.source();
        let documents = source["documents"].as_u64();
        documents.filter(|_| source["state"] == "ready")
    });
    counts.sum()
}

/// Before, an export of one part removed what the other had put, for good.
#[test]
fn i18_an_export_of_a_source_in_parts_puts_each_document_once_and_removes_no_other() {
    let storage = S3Server::start();
    let mut home = Home::new();
    home.in_bucket(&storage);
    write_corpus(&home.docs(), 60);
    home.write_roles(&["BM25F"]);
    let (peer, address) = Peer::start();
    let key = key_of(&home);
    let mut whole = home.start("part-1", "indexer");
    whole.settle(60, false);
    let (code, report, text) = exported_by(home.command("part-1", "indexer"), &address, &key);
    assert_eq!((code, &report["put"]), (Some(0), &60.into()), "{text}");
    whole.end();
    let parts = [1, 2].map(|part| home.start_part(&format!("part-{part}"), "indexer", part, 2));
    let in_step = |wanted: u64| {
        wait(
            &format!("{wanted} documents"),
            || documents(&parts) == Some(wanted),
            || format!("{} {}", parts[0].source(), parts[1].source()),
        );
    };
    in_step(60);
    let export = |part: u32| {
        let mut command = home.command(&format!("part-{part}"), "indexer");
        command
            .env("SERVICE_INDEX_PARTS", "2")
            .env("SERVICE_INDEX_PART", part.to_string());
        let (code, report, text) = exported_by(command, &address, &key);
        assert_eq!(code, Some(0), "part {part}: {text}");
        report
    };
    let held = || {
        let peer = peer.lock().expect("whole");
        assert_eq!(peer.wrong, Vec::<String>::new());
        let urls = peer.documents.values().map(|one| one["url"].to_string());
        (peer.documents.len(), urls.collect::<BTreeSet<_>>().len())
    };
    // The second part first, then the one whose folder knows all documents, and both once more.
    for part in [2, 1, 2, 1] {
        export(part);
        assert_eq!(held(), (60, 60), "after part {part}");
    }
    // What goes and comes is its own part's.
    std::fs::remove_file(home.docs().join("part0/note-0000.md")).expect("there");
    // By itself: what one part loses and gets at once is no other number of documents.
    in_step(59);
    std::fs::write(home.docs().join("new.md"), "# New\n\nzanzibar\n").expect("room");
    std::fs::write(home.docs().join("other.md"), "# Other\n\nquokka\n").expect("room");
    in_step(61);
    let reports = [1, 2].map(export);
    let sum = |of: &str| -> u64 {
        let counts = reports.iter().map(|report| report[of].as_u64());
        counts.map(Option::unwrap_or_default).sum()
    };
    assert_eq!((sum("put"), sum("removed")), (2, 1), "{reports:?}");
    assert_eq!(held(), (61, 61));
    let titles = |title: &str| {
        let peer = peer.lock().expect("whole");
        let all = peer.documents.values();
        all.filter(|one| one["title"] == title).count()
    };
    assert_eq!((titles("New"), titles("Other")), (1, 1));
}
