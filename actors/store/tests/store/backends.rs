//! One test-suite for local state, run over each backend; and each against a model.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use store::local::{KeyValue, LocalChange, LocalError, MAX_KEY_BYTES, MAX_VALUE_BYTES, Size};
use store::{LocalState, LocalStateKind};

macro_rules! over_all_backends {
    ($($name:ident),* $(,)?) => {
        over_all_backends!(@ memory, LocalStateKind::Memory, $($name),*);
        over_all_backends!(@ concurrent_map, LocalStateKind::ConcurrentMap, $($name),*);
        over_all_backends!(@ sqlite, LocalStateKind::Sqlite, $($name),*);
        over_all_backends!(@ redb, LocalStateKind::Redb, $($name),*);
    };
    (@ $module:ident, $kind:expr, $($name:ident),*) => {
        mod $module {
            use super::*;
            $(#[test] fn $name() {
                let folder = tempfile::tempdir().unwrap();
                super::$name($kind, folder.path());
            })*
        }
    };
}

over_all_backends!(
    values_come_and_go,
    names_and_sizes_have_limits,
    scans_are_ordered_and_go_on,
    a_batch_is_whole_or_not_at_all,
    namespaces_are_apart,
    threads_see_whole_batches,
    what_is_durable_is_there_again,
    behaves_like_the_model,
);

fn open(kind: LocalStateKind, folder: &Path) -> Box<dyn LocalState> {
    let state = kind.open(folder, "test").unwrap();
    assert_eq!(state.kind(), kind);
    state
}

fn pair(key: &[u8], value: &[u8]) -> KeyValue {
    (key.to_vec(), value.to_vec())
}

fn values_come_and_go(kind: LocalStateKind, folder: &Path) {
    let state = open(kind, folder);
    assert_eq!(state.get("a", b"k").unwrap(), None);
    assert!(!state.delete("a", b"k").unwrap());
    state.put("a", b"k", b"1").unwrap();
    state.put("a", b"k", b"22").unwrap();
    state.put("a", b"", b"").unwrap();
    state.put("a", b"\0\xFF\0", b"\0").unwrap();
    assert_eq!(state.get("a", b"k").unwrap().as_deref(), Some(&b"22"[..]));
    assert_eq!(state.get("a", b"").unwrap().as_deref(), Some(&b""[..]));
    assert_eq!(state.get("a", b"\0").unwrap(), None);
    let size = Size {
        entries: 3,
        bytes: 7,
    };
    assert_eq!(state.size("a").unwrap(), size);
    assert!(state.delete("a", b"k").unwrap());
    assert!(!state.delete("a", b"k").unwrap());
    state.flush().unwrap();
    assert_eq!(state.get("a", b"k").unwrap(), None);
    assert_eq!(
        state.size("a").unwrap(),
        Size {
            entries: 2,
            bytes: 4
        }
    );
}

fn names_and_sizes_have_limits(kind: LocalStateKind, folder: &Path) {
    let state = open(kind, folder);
    for name in ["", "A", "a b", "a/b", "é", &"a".repeat(65)] {
        let refused = Err(LocalError::Namespace(name.to_owned()));
        assert_eq!(state.get(name, b"").map(drop), refused);
        assert_eq!(state.put(name, b"", b""), refused);
        assert_eq!(state.delete(name, b"").map(drop), refused);
        assert_eq!(state.scan(name, b"", None, 1).map(drop), refused);
        assert_eq!(state.size(name).map(drop), refused);
    }
    let longest = vec![0; MAX_KEY_BYTES];
    state.put("a", &longest, &vec![7; MAX_VALUE_BYTES]).unwrap();
    assert_eq!(
        state.get("a", &longest).unwrap().map(|v| v.len()),
        Some(MAX_VALUE_BYTES)
    );
    let too_long = vec![0; MAX_KEY_BYTES + 1];
    let refused = |e| matches!(e, Err(LocalError::TooLarge { .. }));
    assert!(refused(state.put("a", &too_long, b"")));
    assert!(refused(state.get("a", &too_long).map(drop)));
    assert!(refused(state.put("a", b"k", &vec![0; MAX_VALUE_BYTES + 1])));
    assert_eq!(state.get("a", b"k").unwrap(), None);
}

fn scans_are_ordered_and_go_on(kind: LocalStateKind, folder: &Path) {
    let state = open(kind, folder);
    let keys: [&[u8]; 7] = [b"", b"a", b"a\0", b"ab", b"a\xFF", b"a\xFF\xFF", b"b"];
    let changes: Vec<_> = keys
        .iter()
        .rev()
        .map(|k| LocalChange::put("s", k, k))
        .collect();
    state.batch(&changes).unwrap();
    let found = |prefix: &[u8], after: Option<&[u8]>, limit| -> Vec<Vec<u8>> {
        let pairs = state.scan("s", prefix, after, limit).unwrap();
        pairs
            .into_iter()
            .map(|(k, v)| if k == v { k } else { panic!() })
            .collect()
    };
    assert_eq!(found(b"", None, 100), keys);
    assert_eq!(found(b"", None, 0), Vec::<Vec<u8>>::new());
    assert_eq!(found(b"a", None, 100), keys[1..6]);
    assert_eq!(found(b"a\xFF", None, 100), keys[4..6]);
    assert_eq!(found(b"a", Some(b"a"), 2), keys[2..4]);
    assert_eq!(found(b"a", Some(b"a\xFF"), 2), keys[5..6]);
    assert_eq!(
        found(b"b", Some(b"a"), 9),
        keys[6..],
        "`after` may lie before the prefix"
    );
    assert_eq!(
        found(b"a", Some(b"b"), 9),
        Vec::<Vec<u8>>::new(),
        "or behind it"
    );
    assert_eq!(found(b"\xFF", None, 9), Vec::<Vec<u8>>::new());
    let next = |after: Option<&[u8]>| state.scan("s", b"", after, 1).unwrap().pop();
    let mut all: Vec<Vec<u8>> = Vec::new();
    while let Some((key, _)) = next(all.last().map(Vec::as_slice)) {
        all.push(key);
    }
    assert_eq!(all, keys);
}

fn a_batch_is_whole_or_not_at_all(kind: LocalStateKind, folder: &Path) {
    let state = open(kind, folder);
    state.batch(&[]).unwrap();
    state.put("a", b"1", b"old").unwrap();
    let bad = [
        LocalChange::put("a", b"1", b"new"),
        LocalChange::delete("a", b"1"),
        LocalChange::put("a", &[0; MAX_KEY_BYTES + 1], b""),
    ];
    assert!(state.batch(&bad).is_err());
    assert_eq!(state.scan("a", b"", None, 9).unwrap(), [pair(b"1", b"old")]);
    let good = [
        LocalChange::delete("a", b"1"),
        LocalChange::put("b", b"2", b"x"),
        LocalChange::put("b", b"2", b"y"),
        LocalChange::delete("b", b"none"),
    ];
    state.batch(&good).unwrap();
    assert_eq!(state.get("a", b"1").unwrap(), None);
    assert_eq!(state.scan("b", b"", None, 9).unwrap(), [pair(b"2", b"y")]);
}

fn namespaces_are_apart(kind: LocalStateKind, folder: &Path) {
    let state = open(kind, folder);
    for name in ["b", "a", "ab", "a-b", "a_1"] {
        state.put(name, b"k", name.as_bytes()).unwrap();
    }
    assert_eq!(state.namespaces().unwrap(), ["a", "a-b", "a_1", "ab", "b"]);
    assert_eq!(state.scan("a", b"", None, 9).unwrap(), [pair(b"k", b"a")]);
    state.delete("a", b"k").unwrap();
    assert_eq!(state.namespaces().unwrap(), ["a-b", "a_1", "ab", "b"]);
    assert_eq!(state.size("a").unwrap(), Size::default());
    assert_eq!(state.get("ab", b"k").unwrap().as_deref(), Some(&b"ab"[..]));
}

/// Writers move ten units between two keys; whoever looks sees ten units.
fn threads_see_whole_batches(kind: LocalStateKind, folder: &Path) {
    let state: Arc<dyn LocalState> = open(kind, folder).into();
    let set = |n: u8| {
        [
            LocalChange::put("t", b"x", &[n]),
            LocalChange::put("t", b"y", &[10 - n]),
        ]
    };
    state.batch(&set(0)).unwrap();
    std::thread::scope(|threads| {
        for start in 0..3 {
            let state = &state;
            threads.spawn(move || {
                for n in 0..20u8 {
                    state.batch(&set((start + n) % 11)).unwrap();
                    state.put("t", &[b'z', start], &[n]).unwrap();
                }
            });
        }
        for _ in 0..60 {
            let seen = state.scan("t", b"", None, 2).unwrap();
            assert_eq!(seen[0].1[0] + seen[1].1[0], 10, "{seen:?}");
        }
    });
    assert_eq!(
        state.size("t").unwrap(),
        Size {
            entries: 5,
            bytes: 2 * 2 + 3 * 3
        }
    );
}

fn what_is_durable_is_there_again(kind: LocalStateKind, folder: &Path) {
    let state = open(kind, folder);
    state.put("a", b"k", b"v").unwrap();
    drop(state);
    let state = open(kind, folder);
    let expected = match kind {
        LocalStateKind::Memory | LocalStateKind::ConcurrentMap => None,
        LocalStateKind::Sqlite | LocalStateKind::Redb => Some(b"v".to_vec()),
    };
    assert_eq!(state.get("a", b"k").unwrap(), expected);
    let second = kind.open(folder, "second");
    assert_eq!(second.is_ok(), expected.is_none(), "{:?}", second.err());
}

#[derive(Debug, Clone)]
enum Op {
    Batch(Vec<LocalChange>),
    Delete(String, Vec<u8>),
    Scan(String, Vec<u8>, Option<Vec<u8>>, usize),
    Flush,
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a".to_owned()),
        Just("ab".to_owned()),
        Just("b".to_owned())
    ]
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(
        prop_oneof![Just(0u8), Just(b'a'), Just(b'b'), Just(255)],
        0..4,
    )
}

fn change() -> impl Strategy<Value = LocalChange> {
    let value = prop::option::weighted(0.7, prop::collection::vec(any::<u8>(), 0..20));
    (name(), key(), value).prop_map(|(namespace, key, value)| LocalChange {
        namespace,
        key,
        value,
    })
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => prop::collection::vec(change(), 1..5).prop_map(Op::Batch),
        2 => (name(), key()).prop_map(|(n, k)| Op::Delete(n, k)),
        4 => (name(), key(), prop::option::of(key()), 0usize..6)
            .prop_map(|(n, p, a, l)| Op::Scan(n, p, a, l)),
        1 => Just(Op::Flush),
    ]
}

type Model = BTreeMap<(String, Vec<u8>), Vec<u8>>;

fn apply_to_model(model: &mut Model, change: LocalChange) -> bool {
    let at = (change.namespace, change.key);
    match change.value {
        Some(value) => model.insert(at, value).is_some(),
        None => model.remove(&at).is_some(),
    }
}

fn scan_model(
    model: &Model,
    n: &str,
    prefix: &[u8],
    after: Option<&[u8]>,
    limit: usize,
) -> Vec<KeyValue> {
    let inside = |k: &[u8]| k.starts_with(prefix) && after.is_none_or(|a| k > a);
    let hits = model.iter().filter(|((name, k), _)| name == n && inside(k));
    hits.map(|((_, k), v)| (k.clone(), v.clone()))
        .take(limit)
        .collect()
}

fn size_of_model(model: &Model, n: &str) -> Size {
    let mut size = Size::default();
    for ((_, key), value) in model.iter().filter(|((name, _), _)| name == n) {
        size.entries += 1;
        size.bytes += (key.len() + value.len()) as u64;
    }
    size
}

fn behaves_like_the_model(kind: LocalStateKind, folder: &Path) {
    let cases = if matches!(kind, LocalStateKind::Sqlite | LocalStateKind::Redb) {
        24
    } else {
        256
    };
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let round = std::cell::Cell::new(0);
    proptest!(config, |(ops in prop::collection::vec(op(), 1..40))| {
        round.set(round.get() + 1);
        let folder = folder.join(round.get().to_string());
        let mut state = open(kind, &folder);
        let mut model = Model::new();
        for op in ops {
            match op {
                Op::Batch(changes) => {
                    state.batch(&changes).unwrap();
                    for change in changes {
                        apply_to_model(&mut model, change);
                    }
                }
                Op::Delete(n, k) => {
                    let expected = apply_to_model(&mut model, LocalChange::delete(&n, &k));
                    prop_assert_eq!(state.delete(&n, &k).unwrap(), expected);
                }
                Op::Scan(n, p, a, l) => {
                    let found = state.scan(&n, &p, a.as_deref(), l).unwrap();
                    prop_assert_eq!(found, scan_model(&model, &n, &p, a.as_deref(), l));
                    let at = (n.clone(), p.clone());
                    prop_assert_eq!(state.get(&n, &p).unwrap(), model.get(&at).cloned());
                    prop_assert_eq!(state.size(&n).unwrap(), size_of_model(&model, &n));
                }
                Op::Flush => state.flush().unwrap(),
            }
        }
        if matches!(kind, LocalStateKind::Sqlite | LocalStateKind::Redb) {
            drop(state);
            state = open(kind, &folder);
        }
        for n in ["a", "ab", "b"] {
            let found = state.scan(n, b"", None, usize::MAX).unwrap();
            prop_assert_eq!(found, scan_model(&model, n, b"", None, usize::MAX));
        }
    });
}

#[test]
fn a_backend_is_chosen_by_name() {
    for kind in LocalStateKind::ALL {
        assert_eq!(kind.name().parse(), Ok(kind));
        assert_eq!(
            serde_json::to_string(&kind).unwrap(),
            format!("{:?}", kind.name())
        );
    }
    let error = "mysql".parse::<LocalStateKind>().unwrap_err();
    let expected = "unknown storage backend \"mysql\"; use memory, concurrent-map, sqlite or redb";
    assert_eq!(error.to_string(), expected);
}
