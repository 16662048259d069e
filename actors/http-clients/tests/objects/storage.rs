//! One suite over a folder and a real S3-compatible server, and faults in front of the server.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use config_core::Secret;
use http_clients::objects::{
    ObjectError, ObjectKeys, ObjectPlace, ObjectStorage, ObjectVersion, ReplaceResult, SmallObject,
    digest_of_file,
};
use scripted_peers::s3::{
    ACCESS_KEY, BUCKET, ClockedStorage, FaultProxy, S3Server, SECRET_KEY, Weather,
};

fn bucket(name: &str, endpoint: &str, secret: &str) -> ObjectStorage {
    let keys = ObjectKeys {
        access: Secret::new(ACCESS_KEY.to_owned()),
        secret: Secret::new(secret.to_owned()),
        session: None,
    };
    let url = format!("s3://{name}/team/ci");
    let place = ObjectPlace::new(&url, Some(endpoint), None, false, Some(keys)).unwrap();
    ObjectStorage::open(&place).unwrap()
}

fn folder(path: &Path) -> ObjectStorage {
    let url = format!("file://{}", path.display());
    let place = ObjectPlace::new(&url, None, None, false, None).unwrap();
    ObjectStorage::open(&place).unwrap()
}

/// A file of so many bytes that no two parts of are alike.
fn file(directory: &Path, bytes: usize) -> (PathBuf, String) {
    let path = directory.join(format!("of-{bytes}"));
    let mut content = vec![0; bytes];
    blake3::Hasher::new()
        .update(&bytes.to_le_bytes())
        .finalize_xof()
        .fill(&mut content);
    std::fs::write(&path, content).unwrap();
    let digest = digest_of_file(&path).unwrap();
    (path, digest)
}

fn contract(storage: &ObjectStorage) {
    let directory = tempfile::tempdir().unwrap();
    let back = directory.path().join("back");
    storage.probe().unwrap();
    storage.try_out().unwrap();
    assert_eq!(storage.list("").unwrap(), []);
    // Nothing, a little, a part exactly, several parts.
    for bytes in [0, 5, 8 << 20, (20 << 20) + 3] {
        let (path, digest) = file(directory.path(), bytes);
        let key = format!("objects/ab/{digest}");
        storage.put(&key, &path).unwrap();
        storage.get(&key, &digest, &back).unwrap();
        assert_eq!(std::fs::read(&back).unwrap(), std::fs::read(&path).unwrap());
        std::fs::remove_file(&back).unwrap();
        let wrong = storage.get(&key, &"0".repeat(64), &back).unwrap_err();
        assert!(matches!(wrong, ObjectError::Damaged { .. }), "{wrong}");
        assert!(!back.exists(), "what is damaged has no name");
    }
    let listed = storage.list("objects").unwrap();
    assert_eq!(listed.len(), 4);
    let largest = listed.iter().max_by_key(|object| object.bytes).unwrap();
    let bytes = storage.bytes_of(&largest.key).unwrap();
    assert_eq!(bytes, Some((20 << 20) + 3));
    assert_eq!(storage.bytes_of("objects/ab/none").unwrap(), None);
    assert!(
        listed
            .iter()
            .all(|object| object.key.starts_with("objects/ab/"))
    );
    assert_eq!(
        listed.iter().map(|object| object.bytes).max(),
        Some((20 << 20) + 3)
    );
    let age = |object: &http_clients::objects::StoredObject| {
        SystemTime::now()
            .duration_since(object.stored)
            .unwrap_or_default()
    };
    assert!(listed.iter().all(|object| age(object).as_secs() < 600));
    for object in &listed {
        storage.delete(&object.key).unwrap();
        storage.delete(&object.key).unwrap();
    }
    assert_eq!(storage.list("objects").unwrap(), []);
    let gone = storage.get(&listed[0].key, "", &back).unwrap_err();
    assert!(matches!(gone, ObjectError::Missing { .. }), "{gone}");
    storage.claim("one").unwrap();
    storage.claim("one").unwrap();
    let other = storage.claim("two").unwrap_err();
    assert!(
        other.to_string().contains("another installation (one)"),
        "{other}"
    );
    let unread = storage.put("x", Path::new("/no/such/file")).unwrap_err();
    assert!(unread.to_string().contains("/no/such/file"), "{unread}");
}

#[test]
fn i18_objects_in_a_folder_keep_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    contract(&folder(&directory.path().join("made")));
}

#[test]
fn i18_objects_in_a_bucket_keep_the_contract() {
    let server = S3Server::start();
    contract(&bucket(BUCKET, &server.endpoint(), SECRET_KEY));
    let names = server.objects().into_iter();
    let own = server.bucket().join("team/ci");
    let strays: Vec<PathBuf> = names.filter(|path| !path.starts_with(&own)).collect();
    let strays = strays.iter().filter(|path| {
        // The server's own notes about objects.
        !path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'))
    });
    assert_eq!(strays.count(), 0, "all is below the prefix");
}

#[test]
fn i18_the_time_is_that_of_the_storage() {
    let hour = Duration::from_secs(3600);
    let server = ClockedStorage::behind(hour);
    let storage = bucket(BUCKET, &server.endpoint(), SECRET_KEY);
    let before = SystemTime::now();
    storage.put_bytes("a", "content".into()).unwrap();
    let time = storage.time().unwrap();
    let stored = storage.list("").unwrap();
    assert_eq!(stored.len(), 1, "what was written for it is removed");
    assert!(stored[0].stored <= time, "{stored:?} {time:?}");
    let slack = Duration::from_secs(2);
    assert!(time + hour + slack >= before, "{time:?} {before:?}");
    assert!(time + hour <= SystemTime::now() + slack, "{time:?}");
}

#[test]
fn i18_wrong_keys_a_wrong_bucket_and_no_server_say_what_to_do() {
    let mut server = S3Server::start();
    let wrong = bucket(BUCKET, &server.endpoint(), "another secret");
    // This server makes a bucket that is missing with its first object; a name that none can have
    // is refused by all.
    let missing = bucket("no", &server.endpoint(), SECRET_KEY);
    let directory = tempfile::tempdir().unwrap();
    let (path, _) = file(directory.path(), 5);
    for refused in [wrong.probe(), wrong.try_out(), wrong.put("x", &path)] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, ObjectError::Refused { .. }), "{refused}");
        assert!(
            refused.to_string().contains("check the access key"),
            "{refused}"
        );
        assert!(!refused.to_string().contains("another secret"), "{refused}");
    }
    for refused in [
        missing.probe(),
        missing.claim("one"),
        missing.put("x", &path),
    ] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, ObjectError::NoBucket { .. }), "{refused}");
    }
    server.stop();
    let gone = bucket(BUCKET, &server.endpoint(), SECRET_KEY);
    let refused = gone.probe().unwrap_err();
    assert!(
        matches!(refused, ObjectError::Unavailable { .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains(BUCKET), "{refused}");
}

/// The object of a look may be stored though no answer comes.
#[test]
fn i18_a_look_that_nobody_waits_for_any_more_leaves_nothing() {
    let server = S3Server::start();
    let proxy = FaultProxy::start(server.port());
    let storage = bucket(BUCKET, &proxy.endpoint(), SECRET_KEY);
    let probes = || {
        let objects = server.objects().into_iter();
        objects
            .filter(|path| path.to_string_lossy().contains("/probes/"))
            .count()
    };
    proxy.set(Weather::Unanswered);
    std::thread::scope(|scope| {
        scope.spawn(|| storage.try_out().unwrap_err());
        scope.spawn(|| storage.time().unwrap_err());
    });
    assert_eq!(probes(), 2, "both were stored");
    proxy.set(Weather::Fair);
    let begun = std::time::Instant::now();
    while probes() > 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "they stay");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

#[test]
fn i18_a_server_that_is_busy_or_cuts_is_asked_again() {
    let server = S3Server::start();
    let proxy = FaultProxy::start(server.port());
    let storage = bucket(BUCKET, &proxy.endpoint(), SECRET_KEY);
    let directory = tempfile::tempdir().unwrap();
    let (path, digest) = file(directory.path(), (20 << 20) + 3);
    // Busy for the first request; fair as soon as it was tried twice.
    proxy.set(Weather::Busy);
    std::thread::scope(|scope| {
        let put = scope.spawn(|| storage.put("objects/one", &path));
        while proxy.connections() < 2 {
            std::thread::yield_now();
        }
        proxy.set(Weather::Fair);
        put.join().unwrap().unwrap();
    });
    // Each answer ends within the object; what is read goes on from there, or the file is none.
    let back = directory.path().join("back");
    proxy.set(Weather::Cut(9 << 20));
    let read = storage.get("objects/one", &digest, &back);
    match read {
        Ok(()) => assert_eq!(digest_of_file(&back).unwrap(), digest),
        Err(error) => {
            assert!(matches!(error, ObjectError::Unavailable { .. }), "{error}");
            assert!(!back.exists(), "half a file has no name");
        }
    }
    proxy.set(Weather::Silent);
    let silent = storage.probe().unwrap_err();
    assert!(
        silent.to_string().contains("does not answer within 5s"),
        "{silent}"
    );
    proxy.set(Weather::Fair);
    storage.probe().unwrap();
}

/// Writers that read the same: one of them writes.
fn one_writer_wins(storage: &ObjectStorage, writes_at_once: bool) {
    let key = "sources/a/pointer";
    assert_eq!(storage.read_small(key, None).unwrap(), SmallObject::Missing);
    let ReplaceResult::Done(first) = storage.replace(key, None, b"1".to_vec()).unwrap() else {
        panic!("nobody else writes")
    };
    let again = storage.replace(key, None, b"2".to_vec()).unwrap();
    assert_eq!(again, ReplaceResult::Conflict, "it is there");
    let read = storage.read_small(key, None).unwrap();
    assert_eq!(read, SmallObject::Read(b"1".to_vec(), first.clone()));
    let known = storage.read_small(key, Some(&first)).unwrap();
    assert_eq!(known, SmallObject::Unchanged);
    let wins = if writes_at_once {
        racing(storage, key, &first)
    } else {
        1
    };
    assert_eq!(wins, 1);
    if !writes_at_once {
        let next = storage.replace(key, Some(&first), b"2".to_vec()).unwrap();
        assert!(matches!(next, ReplaceResult::Done(_)), "{next:?}");
    }
    let late = storage
        .replace(key, Some(&first), b"late".to_vec())
        .unwrap();
    assert_eq!(late, ReplaceResult::Conflict, "it was followed");
}

/// How many of eight that write at once do.
fn racing(storage: &ObjectStorage, key: &str, first: &ObjectVersion) -> usize {
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|number| {
                scope.spawn(move || {
                    let text = format!("by {number}").into_bytes();
                    storage.replace(key, Some(first), text).unwrap()
                })
            })
            .collect();
        let ends = writers.into_iter().map(|writer| writer.join().unwrap());
        ends.filter(|end| *end != ReplaceResult::Conflict).count()
    })
}

#[test]
fn i18_of_writers_that_read_the_same_one_writes() {
    let directory = tempfile::tempdir().unwrap();
    one_writer_wins(&folder(directory.path()), true);
    let server = S3Server::start();
    // s3s-fs looks and then writes, so that of those at once several may; S3 itself does both in
    // one step.
    one_writer_wins(&bucket(BUCKET, &server.endpoint(), SECRET_KEY), false);
}

#[test]
fn i18_an_object_is_copied_compared_and_named_where_it_is_damaged() {
    let server = S3Server::start();
    let directory = tempfile::tempdir().unwrap();
    let (here, parts) = (
        directory.path().join("here"),
        directory.path().join("parts"),
    );
    std::fs::create_dir(&parts).unwrap();
    let from = folder(&here);
    let to = bucket(BUCKET, &server.endpoint(), SECRET_KEY);
    let (path, digest) = file(directory.path(), (20 << 20) + 3);
    let key = format!("objects/ab/{digest}-1");
    from.put(&key, &path).unwrap();
    let copied = from.copy_to((&key, &digest), &to, &parts).unwrap();
    assert_eq!(copied, (20 << 20) + 3);
    assert_eq!(to.digest_of(&key).unwrap(), digest);
    to.copy_to((&key, &digest), &from, &parts).unwrap();
    std::fs::write(here.join(&key), "else").unwrap();
    let damaged = from.copy_to((&key, &digest), &to, &parts).unwrap_err();
    assert!(matches!(damaged, ObjectError::Damaged { .. }), "{damaged}");
    assert!(damaged.to_string().contains(&key), "{damaged}");
    let missing = from
        .copy_to(("objects/no", &digest), &to, &parts)
        .unwrap_err();
    assert!(matches!(missing, ObjectError::Missing { .. }), "{missing}");
    assert_eq!(std::fs::read_dir(&parts).unwrap().count(), 0);
}

#[test]
fn i18_a_closed_place_is_refused_with_the_reason_and_only_its_owner_may_close_it() {
    let server = S3Server::start();
    let directory = tempfile::tempdir().unwrap();
    let places = [
        folder(directory.path()),
        bucket(BUCKET, &server.endpoint(), SECRET_KEY),
    ];
    for place in places {
        assert_eq!(place.owner().unwrap(), None);
        place.claim("one").unwrap();
        assert_eq!(place.owner().unwrap().as_deref(), Some("one"));
        place.close("its files were moved").unwrap();
        let refused = place.claim("one").unwrap_err();
        assert!(matches!(refused, ObjectError::Closed { .. }), "{refused}");
        assert!(
            refused.to_string().contains("its files were moved"),
            "{refused}"
        );
        place.claim_closed("one").unwrap();
        let other = place.claim_closed("two").unwrap_err();
        assert!(matches!(other, ObjectError::OtherOwner { .. }), "{other}");
        place.reopen().unwrap();
        place.claim("one").unwrap();
    }
}

#[test]
fn i18_a_server_that_ignores_conditions_is_not_used_by_several() {
    let server = ClockedStorage::without_conditions();
    let storage = || bucket(BUCKET, &server.endpoint(), SECRET_KEY);
    for refused in [
        storage().try_out(),
        storage().claim("one"),
        storage().replace("pointer", None, vec![1]).map(drop),
    ] {
        let refused = refused.unwrap_err();
        assert!(
            matches!(refused, ObjectError::Unsuitable { .. }),
            "{refused}"
        );
        let text = refused.to_string();
        assert!(text.contains("(If-None-Match)"), "{text}");
    }
    assert_eq!(server.count(), 0, "nothing is left of the tries");
    let keeps = ClockedStorage::behind(Duration::ZERO);
    let storage = bucket(BUCKET, &keeps.endpoint(), SECRET_KEY);
    storage.try_out().unwrap();
    storage.claim("one").unwrap();
}

#[test]
fn i18_an_upload_that_would_be_lost_waits_out_a_storage_that_is_restarted() {
    let mut server = S3Server::start();
    let storage = bucket(BUCKET, &server.endpoint(), SECRET_KEY);
    let directory = tempfile::tempdir().unwrap();
    let (path, digest) = file(directory.path(), 1000);
    server.stop();
    storage.put("objects/short", &path).unwrap_err();
    std::thread::scope(|scope| {
        let put = scope.spawn(|| storage.put_patiently("objects/one", &path));
        // Longer than all that others wait.
        std::thread::park_timeout(Duration::from_secs(8));
        assert!(!put.is_finished(), "it has given up");
        server.start_again();
        put.join().unwrap().unwrap();
    });
    let back = directory.path().join("back");
    storage.get("objects/one", &digest, &back).unwrap();
}
