//! Caches of one machine, and what a scope finds of them.

use super::*;
use crate::tar_guard::tar_of;

fn scope(reference: &str, untrusted: bool) -> CacheScope {
    CacheScope {
        repository: "a/b".to_owned(),
        reference: reference.to_owned(),
        untrusted,
    }
}

fn put(caches: &CacheStore, scope: &CacheScope, key: &str, bytes: usize) {
    let mut pending = caches.create(scope, key).unwrap();
    pending.write(&tar_of("x", bytes)).unwrap();
    caches.keep(scope, pending).unwrap();
}

fn found(
    caches: &CacheStore,
    scopes: &[CacheScope],
    key: &str,
    prefixes: &[&str],
) -> Option<String> {
    let prefixes: Vec<String> = prefixes.iter().map(|text| (*text).to_owned()).collect();
    caches
        .find(scopes, key, &prefixes)
        .unwrap()
        .map(|found| found.key)
}

#[test]
fn r14_caches_are_found_by_key_then_by_prefix_in_their_scope() {
    let directory = tempfile::TempDir::new().unwrap();
    let caches = CacheStore::open(directory.path(), 1 << 20, None);
    let (main, other) = (
        scope("refs/heads/main", false),
        scope("refs/heads/evil", false),
    );
    put(&caches, &main, "deps-1", 1);
    put(&caches, &main, "deps-2", 1);
    put(&caches, &other, "deps-3", 1);
    let main = [main];
    assert_eq!(
        found(&caches, &main, "deps-1", &[]).as_deref(),
        Some("deps-1")
    );
    assert_eq!(found(&caches, &main, "deps-3", &[]), None);
    let newest = found(&caches, &main, "x", &["other-", "deps-"]);
    assert!(newest.is_some_and(|key| key.starts_with("deps-")));
    assert_eq!(found(&caches, &main, "x", &[""]), None);
}

#[test]
fn t7_a_repository_s_quota_is_kept_by_the_least_lately_used() {
    let directory = tempfile::TempDir::new().unwrap();
    // A tar of 10,000 bytes has 512 before them and ends on a full block.
    let caches = CacheStore::open(directory.path(), 40_000, None);
    let main = [scope("refs/heads/main", false)];
    let theirs = [scope("refs/pull/7/head", true)];
    for key in ["one", "two", "three"] {
        put(&caches, &main[0], key, 10_000);
        std::thread::park_timeout(std::time::Duration::from_millis(3));
    }
    assert!(found(&caches, &main, "one", &[]).is_some());
    std::thread::park_timeout(std::time::Duration::from_millis(3));
    put(&caches, &main[0], "four", 10_000);
    assert_eq!(found(&caches, &main, "two", &[]), None, "used longest ago");
    for key in ["one", "three", "four"] {
        assert!(found(&caches, &main, key, &[]).is_some(), "{key}");
    }
    // Strangers have room of their own, and take nobody else's.
    for number in 0..10 {
        put(&caches, &theirs[0], &format!("s{number}"), 3_000);
    }
    assert!(found(&caches, &main, "one", &[]).is_some());
    assert!(found(&caches, &theirs, "s0", &[]).is_none());
    assert!(found(&caches, &theirs, "s9", &[]).is_some());
    // One that is larger than all of it is not taken, and nothing goes for it.
    let mut large = caches.create(&main[0], "large").unwrap();
    large.write(&tar_of("x", 50_000)).unwrap();
    let refused = caches.keep(&main[0], large).unwrap_err();
    assert!(refused.to_string().contains("40000"), "{refused}");
    assert!(found(&caches, &main, "one", &[]).is_some());
}
