//! Tokens, artifacts, caches and identity tokens, without a machine and without HTTP.

use super::*;
use crate::tar_guard::tar_of;
use std::io::{Read as _, Write as _};
use std::path::Path;

use crate::artifacts::NewArtifact;

fn maker(run: &str) -> ArtifactMaker {
    ArtifactMaker {
        job: "build#0".to_owned(),
        attempt: format!("{run}-0-0"),
    }
}

fn grant(run: &str, reference: &str) -> JobGrant {
    JobGrant {
        run: run.to_owned(),
        job: format!("{run}-0-0"),
        maker: maker(run),
        cache_mode: CacheMode::Write,
        scopes: vec![CacheScope {
            repository: "a/b".to_owned(),
            reference: reference.to_owned(),
            untrusted: false,
        }],
        identity: None,
        forge: super::ForgePermissions {
            clone_url: String::new(),
            merged: None,
            is_strangers: false,
            addresses: Vec::new(),
            repository: "a/b".to_owned(),
            permissions: runner_core::workflow::Permissions::restricted(),
        },
        room: TransferRoom::for_largest(2 << 30),
    }
}

struct Lab {
    folder: tempfile::TempDir,
    services: JobServices,
    artifacts: ArtifactStore,
}

fn lab() -> Lab {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = ArtifactStore::new(folder.path(), None);
    let caches = CacheStore::open(folder.path(), 1 << 20, None);
    let issuer = Some("https://ci.example/");
    let services =
        JobServices::open(folder.path(), artifacts.clone(), caches, issuer, None).unwrap();
    Lab {
        folder,
        services,
        artifacts,
    }
}

impl Lab {
    /// What lies at an address.
    fn blob(&self, address: &str) -> Result<Arc<SignedBlob>, ServiceFault> {
        let address = url::Url::parse(address).unwrap();
        let id = address.path_segments().unwrap().next_back().unwrap();
        let mut pairs = address.query_pairs();
        let signature = pairs.find(|(name, _)| name == "sig").unwrap().1;
        self.services.blob(id, &signature)
    }

    fn put(&self, address: &str, pieces: &[&[u8]]) {
        let blob = self.blob(address).unwrap();
        let names: Vec<String> = (0..pieces.len()).map(|at| format!("b{at}")).collect();
        // The last one comes first.
        for (name, piece) in names.iter().zip(pieces).rev() {
            let mut block = blob.block(name).unwrap();
            block.write(piece).unwrap();
            block.finish().unwrap();
        }
        blob.commit(&names).unwrap();
    }
}

fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(*name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn a_token_is_of_one_job_and_nothing_after_its_end() {
    let lab = lab();
    let hour = Duration::from_secs(3600);
    let one = lab.services.admit(grant("one", "refs/heads/main"), hour);
    let two = lab.services.admit(grant("two", "refs/heads/main"), hour);
    let session = lab.services.job(&one.token).unwrap();
    assert_eq!(session.grant().run, "one");
    assert!(matches!(
        session.own_run("two"),
        Err(ServiceFault::OtherRun)
    ));
    session.own_run("one").unwrap();
    // Claims alone are no token.
    let (claims, _) = one.token.rsplit_once('.').unwrap();
    for wrong in ["", "x", claims, &format!("{claims}.AAAA")] {
        assert!(lab.services.job(wrong).is_err(), "{wrong}");
    }
    let address = session
        .create_artifact("a", "application/zip", None)
        .unwrap();
    let other = lab.services.job(&two.token).unwrap();
    assert!(
        other.finalize_artifact("a", 0, None).is_err(),
        "another's upload"
    );
    let tampered = address.replace("sig=", "sig=0");
    assert!(lab.blob(&tampered).is_err());
    lab.put(&address, &[b"x"]);
    let token = one.token.clone();
    drop(one);
    assert!(matches!(lab.services.job(&token), Err(ServiceFault::NoJob)));
    assert!(lab.blob(&address).is_err(), "addresses end with the job");
    drop(session);
    let left = std::fs::read_dir(lab.folder.path().join("transfers"));
    assert_eq!(left.unwrap().count(), 0, "what was on its way is gone");
}

/// One block that was named often took its room once, and the disk as often as it was named.
#[test]
fn i17_a_block_is_part_of_an_upload_once() {
    let lab = lab();
    let job = lab
        .services
        .admit(grant("one", "refs/heads/main"), Duration::from_secs(3600));
    let session = lab.services.job(&job.token).unwrap();
    let address = session.create_artifact("a", "text/plain", None).unwrap();
    let blob = lab.blob(&address).unwrap();
    for name in ["b0", "b1"] {
        let mut block = blob.block(name).unwrap();
        block.write(b"twelve bytes").unwrap();
        block.finish().unwrap();
    }
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let transfers = lab.folder.path().join("transfers");
    let files = || files_below(&transfers);
    let before = files();
    for (list, said) in [
        (names(&["b0", "b1", "b0"]), "names a block twice"),
        (names(&["b0", "b2"]), "names a block that was not sent"),
    ] {
        let refused = blob.commit(&list).unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
        assert_eq!(files(), before, "nothing is left of it");
    }
    assert_eq!(blob.commit(&names(&["b1", "b0"])).unwrap(), 24);
}

/// How many files are below a folder.
fn files_below(folder: &Path) -> usize {
    let below = std::fs::read_dir(folder).unwrap().flatten();
    below
        .map(|entry| match entry.path() {
            path if path.is_dir() => files_below(&path),
            _ => 1,
        })
        .sum()
}

#[test]
fn artifacts_go_both_ways_between_clients_and_native_actions_of_their_run() {
    let lab = lab();
    let hour = Duration::from_secs(3600);
    let [one, two] =
        ["one", "two"].map(|run| lab.services.admit(grant(run, "refs/heads/main"), hour));
    let session = lab.services.job(&one.token).unwrap();
    let zip = zip_of(&[("a/x.txt", b"hello"), ("run.sh", b"#!/bin/sh")]);
    let address = session
        .create_artifact("site", "application/zip", None)
        .unwrap();
    assert!(
        session.finalize_artifact("site", 0, None).is_err(),
        "nothing came"
    );
    let (head, tail) = zip.split_at(zip.len() / 2);
    lab.put(&address, &[head, tail]);
    let id = session
        .finalize_artifact("site", zip.len() as u64, None)
        .unwrap();
    // As the native action reads it.
    let tar = lab.artifacts.find("one", "site").unwrap().unwrap();
    let mut archive = tar::Archive::new(std::fs::File::open(tar).unwrap());
    let mut first = archive.entries().unwrap().next().unwrap().unwrap();
    let mut text = String::new();
    first.read_to_string(&mut text).unwrap();
    assert_eq!(
        (first.path().unwrap().to_str(), text.as_str()),
        (Some("a/x.txt"), "hello")
    );
    let again = session.create_artifact("site", "", None);
    assert!(matches!(again, Err(ServiceFault::Exists(_))));
    assert_eq!(
        session.list_artifacts(None, Some(id)).unwrap()[0].name,
        "site"
    );
    assert!(
        session
            .list_artifacts(Some("other"), None)
            .unwrap()
            .is_empty()
    );

    // As the native action wrote it.
    let mut pending = lab.artifacts.create("one", "native").unwrap();
    pending.write(&tar_of("y", 700)).unwrap();
    lab.artifacts
        .keep("one", pending, &maker("one"), NewArtifact::default())
        .unwrap();
    let address = session.artifact_address("native").unwrap();
    let blob = lab.blob(&address).unwrap();
    let download = blob.download().unwrap();
    let file = std::fs::File::open(&download.path).unwrap();
    let mut zip = zip::ZipArchive::new(file).unwrap();
    assert_eq!(zip.by_name("y").unwrap().size(), 700);
    assert_eq!(download.name, "native.zip");

    let other = lab.services.job(&two.token).unwrap();
    assert!(other.list_artifacts(None, None).unwrap().is_empty());
    assert!(other.artifact_address("native").is_err());
    assert!(other.delete_artifact("native").is_err());
    session.delete_artifact("native").unwrap();
    assert_eq!(lab.artifacts.find("one", "native").unwrap(), None);
}

#[test]
fn what_is_uploaded_as_an_artifact_is_what_it_was_said_to_be() {
    let lab = lab();
    let own = lab
        .services
        .admit(grant("one", "x"), Duration::from_secs(9));
    let session = lab.services.job(&own.token).unwrap();
    let good = zip_of(&[("a", b"x")]);
    let digest = |text: &str| Some(format!("sha256:{text}"));
    for (bytes, size, digest, said) in [
        (good.clone(), 7, None, "bytes were uploaded"),
        (good, 0, digest("00"), "another SHA-256"),
        (b"no zip".to_vec(), 0, None, "invalid Zip"),
        (zip_of(&[("../a", b"x")]), 0, None, "leads out"),
    ] {
        let address = session.create_artifact("a", "", None).unwrap();
        lab.put(&address, &[&bytes]);
        let refused = session.finalize_artifact("a", size, digest.as_deref());
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(said), "{said}: {refused}");
        assert!(lab.artifacts.list("one").unwrap().is_empty());
    }
    for name in ["../evil", "a/b", "..", "a:b"] {
        let refused = session.create_artifact(name, "", None).unwrap_err();
        assert!(matches!(refused, ServiceFault::Wrong(_)), "{name}");
    }
    // One file as it is comes back as it is.
    let address = session
        .create_artifact("notes.txt", "text/plain", None)
        .unwrap();
    lab.put(&address, &[b"as it is"]);
    session.finalize_artifact("notes.txt", 8, None).unwrap();
    let blob = lab
        .blob(&session.artifact_address("notes.txt").unwrap())
        .unwrap();
    let download = blob.download().unwrap();
    assert_eq!(std::fs::read(&download.path).unwrap(), b"as it is");
    assert_eq!(
        (download.content_type.as_str(), download.name.as_str()),
        ("text/plain", "notes.txt")
    );
}

#[test]
fn caches_are_found_by_version_in_the_scopes_of_the_job() {
    let lab = lab();
    let hour = Duration::from_secs(3600);
    let main = lab.services.admit(grant("one", "refs/heads/main"), hour);
    let evil = lab.services.admit(grant("two", "refs/heads/evil"), hour);
    let main = lab.services.job(&main.token).map(|session| (main, session));
    let (_main, session) = main.unwrap();
    let (address, _) = session.create_cache("deps-1", "v").unwrap();
    lab.put(&address, &[b"packed"]);
    assert!(session.finalize_cache("deps-1", "v", 3).is_err());
    let (address, _) = session.create_cache("deps-1", "v").unwrap();
    lab.put(&address, &[b"packed"]);
    session.finalize_cache("deps-1", "v", 6).unwrap();
    assert!(matches!(
        session.create_cache("deps-1", "v"),
        Err(ServiceFault::Exists(_))
    ));
    let (address, key) = session
        .find_cache("deps-2", &["deps-".to_owned()], "v")
        .unwrap()
        .unwrap();
    assert_eq!(key, "deps-1");
    let blob = lab.blob(&address).unwrap();
    let read = std::fs::read(&blob.download().unwrap().path).unwrap();
    assert_eq!(read, b"packed");
    assert!(session.find_cache("deps-1", &[], "w").unwrap().is_none());
    let other = lab.services.job(&evil.token).unwrap();
    assert!(other.find_cache("deps-1", &[], "v").unwrap().is_none());

    // The first version of the service: pieces in any order, and none missing.
    let (_, number) = other.create_cache("old", "v").unwrap();
    for (at, bytes) in [(3, &b"def"[..]), (0, b"abc")] {
        let mut piece = other.cache_piece(number, at).unwrap();
        piece.write(bytes).unwrap();
        piece.finish().unwrap();
    }
    assert!(session.cache_piece(number, 6).is_err(), "another's");
    let mut hole = other.cache_piece(number, 9).unwrap();
    hole.write(b"x").unwrap();
    hole.finish().unwrap();
    assert!(other.commit_cache(number, 7).is_err(), "a hole");
    let mut piece = other.cache_piece(number, 6).unwrap();
    piece.write(b"ghi").unwrap();
    piece.finish().unwrap();
    other.commit_cache(number, 10).unwrap();
    let (address, _) = other.find_cache("old", &[], "v").unwrap().unwrap();
    let blob = lab.blob(&address).unwrap();
    let read = std::fs::read(&blob.download().unwrap().path).unwrap();
    assert_eq!(read, b"abcdefghix");
}

#[test]
fn blocks_are_bounded_and_replaced_ones_do_not_count() {
    let lab = lab();
    let own = lab
        .services
        .admit(grant("one", "x"), Duration::from_secs(9));
    let session = lab.services.job(&own.token).unwrap();
    let address = session.create_artifact("a", "", None).unwrap();
    let blob = lab.blob(&address).unwrap();
    for _ in 0..3 {
        let mut block = blob.block("one").unwrap();
        block.write(b"12345").unwrap();
        block.finish().unwrap();
    }
    drop(blob.block("one").unwrap());
    assert!(blob.commit(&["two".to_owned()]).is_err());
    assert_eq!(blob.commit(&["one".to_owned()]).unwrap(), 5);
    assert_eq!(blob.commit(&["one".to_owned()]).unwrap(), 5, "asked again");
    assert!(blob.block("more").is_err());
    assert!(blob.download().is_err());
    for number in 0..MAX_BLOBS {
        let opened = session.create_artifact(&format!("n{number}"), "", None);
        assert_eq!(opened.is_ok(), number + 1 < MAX_BLOBS);
    }
}

#[test]
fn i17_a_job_does_with_caches_what_its_cache_mode_says() {
    let lab = lab();
    let session = |cache_mode| {
        let grant = JobGrant {
            cache_mode,
            ..grant("one", "refs/heads/main")
        };
        let own = lab.services.admit(grant, Duration::from_secs(9));
        let mode = own.variables();
        let mode = mode.iter().find(|(name, _)| name == "ACTIONS_CACHE_MODE");
        assert_eq!(mode.unwrap().1, cache_mode.name());
        (lab.services.job(&own.token).unwrap(), own)
    };
    for mode in CacheMode::ALL {
        let (session, _own) = session(mode);
        let denied = |fault: ServiceFault| {
            assert_eq!(fault.status(), (403, "permission_denied"));
            fault.to_string()
        };
        let saved = session.create_cache("deps", "v").map_err(denied);
        assert_eq!(saved.is_ok(), mode.saves(), "{mode:?}: {saved:?}");
        let found = session.find_cache("deps", &[], "v").map_err(denied);
        assert_eq!(found.is_ok(), mode.restores(), "{mode:?}: {found:?}");
        // What the clients of actions know it by.
        let (saved, found) = (saved.err(), found.err());
        assert!(saved.is_none_or(|it| it.starts_with("cache write denied:")));
        assert!(found.is_none_or(|it| it.starts_with("cache read denied:")));
    }
}

#[test]
fn identity_tokens_are_for_jobs_that_may_have_them_and_end_with_them() {
    let lab = lab();
    let identity = JobIdentity {
        claims: serde_json::Map::from_iter([("sub".to_owned(), "repo:a/b:ref:x".into())]),
        audience: "https://forge.example/a".to_owned(),
    };
    let plain = lab
        .services
        .admit(grant("one", "x"), Duration::from_secs(9));
    assert!(plain.id_token_variables().is_empty());
    let with = JobGrant {
        identity: Some(identity),
        ..grant("one", "x")
    };
    let own = lab.services.admit(with, Duration::from_secs(9));
    let [(_, url), (_, token)]: [(String, String); 2] =
        own.id_token_variables().try_into().unwrap();
    assert!(url.contains('?'), "clients add `&audience=`: {url}");
    for other in [&own.token, &plain.token, ""] {
        assert!(lab.services.id_token(other, None).is_err());
    }
    assert!(lab.services.job(&token).is_err(), "it is for nothing else");
    let claims = |audience| {
        use base64::Engine as _;
        let signed = lab.services.id_token(&token, audience).unwrap();
        let claims = signed.split('.').nth(1).unwrap().to_owned();
        let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims);
        serde_json::from_slice::<serde_json::Value>(&bytes.unwrap()).unwrap()
    };
    let usual = claims(None);
    assert_eq!(usual["aud"], "https://forge.example/a");
    assert_eq!(usual["iss"], "https://ci.example");
    assert_eq!(usual["sub"], "repo:a/b:ref:x");
    assert_eq!(claims(Some("sts.example"))["aud"], "sts.example");
    let keys = lab.services.key_set().unwrap();
    // The same after a restart.
    let caches = CacheStore::open(lab.folder.path(), 1 << 20, None);
    let data = lab.folder.path();
    let again = JobServices::open(data, lab.artifacts.clone(), caches, Some("x"), None).unwrap();
    assert_eq!(again.key_set(), Some(keys));
    drop(own);
    assert!(lab.services.id_token(&token, None).is_err());
}

#[test]
fn the_transfers_of_one_job_are_bounded_together() {
    let lab = lab();
    let own = lab
        .services
        .admit(grant("one", "x"), Duration::from_secs(9));
    let session = lab.services.job(&own.token).unwrap();
    let room = &session.grant.room;
    room.take(3 * (2 << 30) - 10).unwrap();
    let addresses = ["a", "b"].map(|name| session.create_artifact(name, "", None).unwrap());
    let [first, second] = addresses.map(|address| lab.blob(&address).unwrap());
    let mut block = first.block("one").unwrap();
    block.write(b"123456").unwrap();
    block.finish().unwrap();
    let mut block = second.block("one").unwrap();
    assert!(matches!(block.write(b"12345"), Err(ServiceFault::Full(_))));
    block.write(b"1234").unwrap();
    drop(block);
    // What was given up, replaced or removed does not count.
    let mut block = first.block("one").unwrap();
    block.write(b"1234").unwrap();
    block.finish().unwrap();
    let mut block = second.block("one").unwrap();
    block.write(b"123456").unwrap();
    block.finish().unwrap();
    drop((first, second));
    let room = room.clone();
    drop((session, own));
    room.take(10).unwrap();
    assert!(room.take(1).is_err());
}
