//! What goes wrong: indexers that die or sleep, storage that is away, objects that are damaged.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use scripted_peers::s3::S3Server;

use super::servers::{Home, Server, wait, wait_within, write_corpus};

/// The longest time until another indexer has taken over.
const TAKEOVER: Duration = Duration::from_secs(10);

#[test]
fn i18_a_searcher_outlives_its_storage() {
    let mut storage = S3Server::start();
    let mut home = Home::new();
    home.in_bucket(&storage);
    write_corpus(&home.docs(), 40);
    home.write_roles(&["BM25F"]);
    let checked = home.run("indexer", "indexer", &["--check"]);
    assert_eq!(
        checked.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&checked.stderr)
    );
    let mut indexer = home.start("indexer", "indexer");
    indexer.settle(40, false);
    let mut searcher = home.start("searcher", "searcher");
    searcher.settle(40, false);
    let before = searcher.answer("BM25F", "restart policy");
    storage.stop();
    let checked = home.run("other", "searcher", &["--check"]);
    let text = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert_eq!(checked.status.code(), Some(6), "{text}");
    assert!(
        text.contains("SERVICE_SNAPSHOTS") && text.contains("cannot be used now"),
        "{text}"
    );
    let checked = home.run("other", "searcher", &["--check", "--offline"]);
    assert_eq!(checked.status.code(), Some(0), "a start is not kept back");
    wait(
        "word of it",
        || {
            let error = searcher.source()["error"].to_string();
            error.contains("cannot be used now")
                && error.contains("what was fetched last is searched")
        },
        || searcher.source().to_string(),
    );
    assert!(searcher.is_ready(), "it answers");
    let meanwhile = searcher.answer("BM25F", "restart policy");
    assert_eq!(meanwhile["results"], before["results"]);
    assert_eq!(meanwhile["status"], "partial_success");
    // It starts without its storage, too.
    searcher.end();
    let searcher = home.start("searcher", "searcher");
    wait(
        "what it has",
        || searcher.finds("BM25F", "restart policy"),
        || searcher.source().to_string(),
    );
    let again = searcher.answer("BM25F", "restart policy");
    assert_eq!(again["results"], before["results"]);
    // What was written meanwhile comes when the storage is back.
    std::fs::write(home.docs().join("new.md"), "# Fresh\n\nzanzibar\n").expect("room");
    storage.start_again();
    wait(
        "the new document",
        || searcher.finds("BM25F", "zanzibar"),
        || format!("{} {}", searcher.source(), indexer.program.output()),
    );
    wait(
        "its recovery",
        || searcher.source()["error"].is_null(),
        || searcher.source().to_string(),
    );
}

/// Indexers that are killed at any moment, also while they publish: searchers see whole snapshots
/// only, and another indexer goes on.
#[test]
fn i18_another_indexer_takes_over_from_one_that_is_killed() {
    let home = Home::new();
    write_corpus(&home.docs(), 60);
    home.write_roles(&["BM25F"]);
    let mut active = home.start("a", "indexer");
    active.settle(60, false);
    let mut waiting = home.start("b", "indexer");
    waiting.program.next_with("lease.waiting");
    let mut searcher = home.start("searcher", "searcher");
    searcher.settle(60, false);
    let mut longest = Duration::ZERO;
    for (round, word) in (0_u64..).zip(["quokka", "wombat", "numbat", "bilby"]) {
        // Publishing is under way for some milliseconds; the kill meets another moment each time.
        std::fs::write(
            home.docs().join(format!("new-{round}.md")),
            format!("# New\n\n{word}\n"),
        )
        .expect("room");
        let (_kept, never) = std::sync::mpsc::channel::<()>();
        let _ = never.recv_timeout(Duration::from_millis(40 + 35 * round));
        active.program.kill();
        let killed = Instant::now();
        waiting.program.next_with("lease.taken");
        longest = longest.max(killed.elapsed());
        assert!(killed.elapsed() < TAKEOVER, "{:?}", killed.elapsed());
        wait(
            "the document",
            || searcher.finds("BM25F", word),
            || format!("{} {}", searcher.source(), waiting.program.output()),
        );
        assert_eq!(searcher.source()["documents"], 61 + round);
        assert!(searcher.finds("BM25F", "restart policy"));
        let name = if round % 2 == 0 { "a" } else { "b" };
        active = std::mem::replace(&mut waiting, home.start(name, "indexer"));
        waiting.program.next_with("lease.waiting");
    }
    println!("longest take-over: {longest:?}");
    // What is published is whole, whatever was under way.
    let verified = home.run("look", "searcher", &["snapshot", "verify"]);
    assert_eq!(
        verified.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&verified.stderr)
    );
    // One that ends by itself gives the lease back.
    active.end();
    let ended = Instant::now();
    waiting.program.next_with("lease.taken");
    assert!(
        ended.elapsed() < Duration::from_secs(4),
        "{:?}",
        ended.elapsed()
    );
}

/// One that sleeps through its lease cannot publish when it wakes.
#[test]
fn i18_an_indexer_that_was_followed_cannot_publish() {
    let storage = S3Server::start();
    let mut home = Home::new();
    home.in_bucket(&storage);
    write_corpus(&home.docs(), 20);
    home.write_roles(&["BM25F"]);
    let mut sleeper = home.start("a", "indexer");
    sleeper.settle(20, false);
    let mut second = home.start("b", "indexer");
    second.program.next_with("lease.waiting");
    sleeper.program.signal(Signal::STOP);
    second.program.next_with("lease.taken");
    second.settle(20, false);
    std::fs::write(home.docs().join("new.md"), "# Fresh\n\nzanzibar\n").expect("room");
    let searcher = home.start("searcher", "searcher");
    wait(
        "the document",
        || searcher.source()["documents"] == 21,
        || searcher.source().to_string(),
    );
    let published = listed(&home);
    sleeper.program.signal(Signal::CONT);
    sleeper.program.next_with("lease.lost");
    sleeper.program.next_with("lease.waiting");
    let now = listed(&home);
    assert_eq!(
        (&now[0]["epoch"], &now[0]["owner"]),
        (&published[0]["epoch"], &published[0]["owner"])
    );
    assert_eq!(now[0]["documents"], 21);
}

fn listed(home: &Home) -> serde_json::Value {
    let output = home.run(
        "look",
        "searcher",
        &["snapshot", "list", "--format", "json"],
    );
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn i18_damaged_objects_are_refused_with_a_reason() {
    let home = Home::new();
    write_corpus(&home.docs(), 30);
    home.write_roles(&["BM25F"]);
    let mut indexer = home.start("indexer", "indexer");
    indexer.settle(30, false);
    let mut whole = home.start("whole", "searcher");
    whole.settle(30, false);
    // An indexer that runs would store again what is damaged now.
    indexer.end();
    // The longest object of the index loses a byte in its middle; another one its end.
    let objects = objects(&home);
    let mut bytes = std::fs::read(&objects[0]).expect("there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&objects[0], bytes).expect("room");
    let bytes = std::fs::read(&objects[1]).expect("there");
    std::fs::write(&objects[1], &bytes[..bytes.len() - 1]).expect("room");
    let searcher = home.start("new", "searcher");
    wait(
        "a reason",
        || {
            searcher.source()["error"]
                .to_string()
                .contains("is damaged: its BLAKE3 digest is another")
        },
        || searcher.source().to_string(),
    );
    assert!(
        whole.finds("BM25F", "restart policy"),
        "what was fetched before is searched"
    );
    let verified = home.run("look", "searcher", &["snapshot", "verify"]);
    let text = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert_eq!(verified.status.code(), Some(1), "{text}");
    assert_eq!(text.matches("is damaged").count(), 2, "{text}");
    // Whoever indexes next finds it, and publishes anew what nobody can read.
    std::fs::remove_dir_all(home.data("indexer")).expect("there");
    let again: Server = home.start("indexer", "indexer");
    wait_within(
        "a whole snapshot",
        Duration::from_secs(30),
        || searcher.finds("BM25F", "restart policy"),
        || format!("{} {}", searcher.source(), again.source()),
    );
}

/// Objects of a snapshot in a folder, longest first.
fn objects(home: &Home) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![home.snapshots()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .parent()
                .is_some_and(|parent| parent.ends_with("objects"))
            {
                found.push(path);
            }
        }
    }
    found.sort_by_key(|path| std::cmp::Reverse(std::fs::metadata(path).map_or(0, |one| one.len())));
    found
}

#[test]
fn i18_an_indexer_that_stands_by_is_not_ready_and_says_who_indexes() {
    let home = Home::new();
    write_corpus(&home.docs(), 5);
    home.write_roles(&["BM25F"]);
    let mut first = home.start("a", "indexer");
    first.settle(5, false);
    assert!(first.is_ready());
    let mut second = home.start("b", "indexer");
    second.program.next_with("lease.waiting");
    let (status, said) = second.get("/readyz");
    assert_eq!(status, 503, "{said}");
    assert!(
        said.contains("stands by: source") && said.contains("held by "),
        "{said}"
    );
    assert_eq!(second.get("/livez").0, 200);
    first.program.kill();
    second.program.next_with("lease.taken");
    second.settle(5, false);
    assert!(second.is_ready());
}

/// What is published, as a later version or a broken indexer would have it: with another manifest,
/// that names one more file.
fn publish_changed(home: &Home, extra: &str, change: impl Fn(&mut serde_json::Value)) -> String {
    let unit = |name: &str| {
        let sources = home.snapshots().join("sources");
        let source = std::fs::read_dir(sources).expect("a folder").next();
        let part = source
            .expect("one")
            .expect("an entry")
            .path()
            .join("1-of-1");
        part.join(name)
    };
    let read = |path: std::path::PathBuf| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path).expect("there")).expect("JSON")
    };
    let store = |bytes: &[u8]| {
        let digest = blake3::hash(bytes).to_hex().to_string();
        let object = format!("{digest}-{}", uuid::Uuid::new_v4().simple());
        std::fs::write(unit("objects").join(&object), bytes).expect("room");
        (object, digest)
    };
    let mut pointer = read(unit("pointer"));
    let object = pointer["manifest"]["object"].as_str().expect("a name");
    let mut manifest = read(unit("objects").join(object));
    let (object, digest) = store(extra.as_bytes());
    let mut file = manifest["files"][0].clone();
    file["name"] = "extra".into();
    file["object"] = object.into();
    file["digest"] = digest.clone().into();
    file["bytes"] = extra.len().into();
    let files = manifest["files"].as_array_mut().expect("files");
    files.retain(|file| file["name"] != "extra");
    files.push(file);
    change(&mut manifest);
    let (object, of_manifest) = store(manifest.to_string().as_bytes());
    pointer["manifest"]["object"] = object.into();
    pointer["manifest"]["digest"] = of_manifest.into();
    pointer["beat"] = (pointer["beat"].as_u64().expect("a number") + 1).into();
    std::fs::write(unit("pointer"), pointer.to_string()).expect("room");
    digest
}

/// Searchers are upgraded after indexers, and a disk has room for two snapshots at most.
#[test]
fn i18_a_snapshot_that_cannot_be_shown_takes_no_room_for_long() {
    let home = Home::new();
    write_corpus(&home.docs(), 30);
    home.write_roles(&["BM25F"]);
    let mut indexer = home.start("indexer", "indexer");
    indexer.settle(30, false);
    let mut searcher = home.start("searcher", "searcher");
    searcher.settle(30, false);
    indexer.end();
    let kept = || {
        let mut found = Vec::new();
        let mut folders = vec![home.data("searcher")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.path() {
                    path if path.is_dir() => folders.push(path),
                    path => found.push(path),
                }
            }
        }
        found
    };
    let has = |digest: &str| kept().iter().any(|path| path.ends_with(digest));
    let told = |part: &str| {
        wait(
            part,
            || searcher.source()["error"].to_string().contains(part),
            || searcher.source().to_string(),
        );
    };
    let later = publish_changed(&home, "of a later version", |manifest| {
        let form = manifest["index_format"].as_u64().expect("a number");
        manifest["index_format"] = (form + 1).into();
    });
    told("the snapshot's index has form");
    assert!(!has(&later), "nothing of it can be used");
    // Of this version, and refused when it is there: each of them takes the place of the former.
    let mut digests = Vec::new();
    for documents in [1001, 1002] {
        digests.push(publish_changed(&home, &documents.to_string(), |manifest| {
            let form = indexed_form(&home);
            manifest["index_format"] = form.into();
            manifest["documents"] = documents.into();
        }));
        told(&format!("its manifests say {documents}"));
    }
    assert!(has(&digests[1]) && !has(&digests[0]));
    assert!(
        searcher.finds("BM25F", "restart policy"),
        "what it has stays"
    );
    let views = || {
        let all = kept().into_iter();
        let views = all.filter_map(|path| {
            let view = path.parent()?.file_name()?.to_str()?.to_owned();
            view.starts_with("view-").then_some(view)
        });
        views.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(views().len(), 1, "{:?}", views());
}

/// The form of the index that this version makes.
fn indexed_form(home: &Home) -> u64 {
    let forms = objects(home).into_iter().filter_map(|path| {
        let manifest: serde_json::Value =
            serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        manifest["index_format"].as_u64()
    });
    forms.min().expect("a manifest")
}

/// What was split into other parts, or is configured no more, is removed by hand.
#[test]
fn i18_what_is_published_no_more_is_removed_by_a_command() {
    let home = Home::new();
    write_corpus(&home.docs(), 20);
    home.write_roles(&["BM25F"]);
    let mut whole = home.start("whole", "indexer");
    whole.settle(20, false);
    let source = listed(&home)[0]["source"].clone();
    let source = source.as_str().expect("an id");
    let remove = |arguments: &[&str]| {
        let all = [&["snapshot", "remove"], arguments].concat();
        let output = home.run("look", "searcher", &all);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    };
    let (code, said) = remove(&[source]);
    assert!(
        code == Some(1) && said.contains("end that indexer first"),
        "{said}"
    );
    let (code, said) = remove(&[source, "2-of-3"]);
    assert!(
        code == Some(1) && said.contains("`snapshot list`"),
        "{said}"
    );
    assert_eq!(listed(&home)[0]["documents"], 20, "all of it is there");
    // Killed it gives nothing back: its lease has to end.
    whole.program.kill();
    let parts = [1, 2].map(|part| home.start_part(&format!("part-{part}"), "indexer", part, 2));
    wait(
        "both parts",
        || {
            let listed = listed(&home);
            let documents = |of: &str| {
                let all = listed.as_array().expect("a list").iter();
                let mut of = all.filter(|one| one["part"] == of);
                of.next().and_then(|one| one["documents"].as_u64())
            };
            documents("1-of-2")
                .zip(documents("2-of-2"))
                .map(|(a, b)| a + b)
                == Some(20)
        },
        || listed(&home).to_string(),
    );
    let (code, said) = remove(&[source, "1-of-1"]);
    assert_eq!(code, Some(0), "{said}");
    let left = listed(&home);
    let left: Vec<_> = left.as_array().expect("a list").iter().collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(
        objects(&home)
            .iter()
            .all(|path| !path.display().to_string().contains("1-of-1"))
    );
    drop(parts);
}
