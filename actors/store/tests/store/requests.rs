//! What a request may rely on: isolation within a group, order, refusals, back-pressure, closing.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::engines::{Lab, over_both_engines, wait};
use std::sync::mpsc;
use std::time::Duration;
use store::{ReadRows, Store, StoreError, StoreOptions, Table};

const ROWS: Table<u64, String> = Table::new("rows");
const OTHER: Table<u64, u64> = Table::new("other");

/// Longest that anything may take before a test gives up.
const DEADLINE: Duration = Duration::from_secs(60);

fn all(store: &Store) -> Vec<(u64, String)> {
    let rows = store.read_blocking(|rows| rows.range(&ROWS, .., 1000));
    rows.unwrap_or_else(|e: StoreError| panic!("{e}"))
}

/// Holds the writer within a request until told, so that what is asked meanwhile waits together.
struct Plug(mpsc::Sender<()>);

impl Plug {
    fn insert(store: &Store) -> Self {
        let (unplug, wait) = mpsc::channel();
        let (inside, ready) = mpsc::channel();
        let store = store.clone();
        std::thread::spawn(move || {
            store.write_blocking(move |_| {
                inside.send(()).unwrap();
                let _ = wait.recv_timeout(DEADLINE);
                Ok::<_, StoreError>(())
            })
        });
        ready.recv_timeout(DEADLINE).unwrap();
        Self(unplug)
    }

    fn pull(self) {
        self.0.send(()).unwrap();
    }
}

#[derive(Debug, PartialEq)]
enum Refusal {
    Known(u64),
    Store(StoreError),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

fn requests_that_wait_together_share_a_commit(lab: &Lab) {
    wait(async {
        let store = lab.store();
        let plug = Plug::insert(&store);
        let asked: Vec<_> = (0..100u64)
            .map(|n| {
                store.write(move |txn| {
                    txn.put(&ROWS, &n, &n.to_string())?;
                    Ok::<_, StoreError>(txn.group())
                })
            })
            .collect();
        let before = store.health().groups;
        plug.pull();
        let mut groups = Vec::new();
        for answer in asked {
            groups.push(answer.await.unwrap());
        }
        groups.dedup();
        assert_eq!(groups.len(), 1, "{groups:?}");
        assert_eq!(store.health().groups, before + 1);
        assert_eq!(all(&store).len(), 100);
    });
}

fn one_that_fails_and_one_that_panics_leave_no_trace_and_disturb_nobody(lab: &Lab) {
    wait(async {
        let store = lab.store();
        store
            .write(|txn| txn.put(&ROWS, &1, &"one".to_owned()))
            .await
            .unwrap();
        let plug = Plug::insert(&store);
        let good = store.write(|txn| {
            txn.put(&ROWS, &2, &"two".to_owned())?;
            Ok::<_, Refusal>(txn.group())
        });
        let bad = store.write(|txn| {
            txn.put(&ROWS, &1, &"overwritten".to_owned())?;
            txn.put(&ROWS, &1, &"twice".to_owned())?;
            txn.delete(&ROWS, &2)?;
            txn.put(&ROWS, &3, &"new".to_owned())?;
            txn.put(&OTHER, &1, &1)?;
            Err::<(), _>(Refusal::Known(7))
        });
        let ugly = store.write(|txn| {
            txn.delete(&ROWS, &1)?;
            txn.put(&ROWS, &4, &"four".to_owned())?;
            if txn.group() > 0 {
                panic!("no such thing");
            }
            Ok::<_, Refusal>(())
        });
        let after = store.write(|txn| {
            let seen = txn.range(&ROWS, .., 10)?;
            txn.put(&ROWS, &5, &"five".to_owned())?;
            Ok::<_, Refusal>((seen, txn.group()))
        });
        plug.pull();
        let group = good.await.unwrap();
        assert_eq!(bad.await, Err(Refusal::Known(7)));
        let message = "no such thing".to_owned();
        assert_eq!(
            ugly.await,
            Err(Refusal::Store(StoreError::Panicked { message }))
        );
        let (seen, same) = after.await.unwrap();
        assert_eq!(same, group, "they were to share a group");
        let two = [(1, "one".to_owned()), (2, "two".to_owned())];
        assert_eq!(seen, two);
        assert_eq!(all(&store).len(), 3);
        let other = store.read(|rows| rows.len(&OTHER)).await;
        assert_eq!(other, Ok::<_, StoreError>(0));
    });
}

fn calls_are_carried_out_in_order_whenever_they_are_awaited(lab: &Lab) {
    wait(async {
        let store = lab.store();
        let mut asked = Vec::new();
        for n in 0..200u64 {
            asked.push(store.write(move |txn| {
                let last = txn.last(&ROWS)?.map(|(key, _)| key);
                assert_eq!(last, n.checked_sub(1));
                txn.put(&ROWS, &n, &String::new())
            }));
        }
        while let Some(answer) = asked.pop() {
            answer.await.unwrap();
        }
    });
}

fn a_full_queue_is_busy_at_once_and_works_again_later(lab: &Lab) {
    let mut options = StoreOptions::new("test");
    options.queue = 4;
    let store = lab.open(&options).unwrap();
    let plug = Plug::insert(&store);
    let asked: Vec<_> = (0..10u64)
        .map(|n| store.write(move |txn| txn.put(&ROWS, &n, &String::new())))
        .collect();
    assert_eq!(store.health().waiting, 4);
    assert_eq!(store.health().refused_busy, 6);
    let busy = store.write_blocking(|_| Ok::<_, StoreError>(()));
    assert_eq!(busy, Err(StoreError::Busy { waiting: 4 }));
    plug.pull();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let answers: Vec<_> = asked.into_iter().map(|a| runtime.block_on(a)).collect();
    let stored = answers.iter().filter(|a| a.is_ok()).count();
    assert_eq!(stored, 4, "{answers:?}");
    assert_eq!(all(&store).len(), 4);
    store
        .write_blocking(|txn| txn.put(&ROWS, &99, &String::new()))
        .unwrap();
}

fn what_nobody_waits_for_any_more_is_not_done(lab: &Lab) {
    wait(async {
        let store = lab.store();
        let plug = Plug::insert(&store);
        drop(store.write(|txn| txn.put(&ROWS, &1, &String::new())));
        let kept = store.write(|txn| txn.put(&ROWS, &2, &String::new()));
        plug.pull();
        kept.await.unwrap();
        assert_eq!(all(&store), [(2, String::new())]);
    });
}

fn a_request_cannot_wait_for_another(lab: &Lab) {
    let store = lab.store();
    let inner = store.clone();
    let result = store
        .write_blocking(move |_| inner.write_blocking(|txn| txn.put(&ROWS, &1, &String::new())));
    assert_eq!(result, Err(StoreError::Reentrant));
    let inner = store.clone();
    let result =
        store.read_blocking(|_| inner.write_blocking(|txn| txn.put(&ROWS, &1, &String::new())));
    assert_eq!(result, Err(StoreError::Reentrant));
}

fn the_last_handle_may_go_within_a_request(lab: &Lab) {
    let store = lab.store();
    let mut state = store.watch_state();
    let inner = store.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let answer = store.write(move |_| {
        drop(inner);
        Ok::<_, StoreError>(())
    });
    drop(store);
    runtime.block_on(async {
        // Answered, or closed before its turn; the point is that nothing waits for itself.
        let _ = answer.await;
        let closed = state.wait_for(|state| *state == store::StoreState::Closed);
        drop(tokio::time::timeout(DEADLINE, closed).await.unwrap());
    });
}

fn closing_carries_out_what_is_queued_and_refuses_the_rest(lab: &Lab) {
    let store = lab.store();
    let asked: Vec<_> = (0..50u64)
        .map(|n| store.write(move |txn| txn.put(&ROWS, &n, &String::new())))
        .collect();
    store.close();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    for answer in asked {
        runtime.block_on(answer).unwrap();
    }
    let closed = store.write_blocking(|_| Ok::<_, StoreError>(()));
    assert_eq!(closed, Err(StoreError::Closed));
    let closed = store.read_blocking(|rows| rows.len(&ROWS));
    assert_eq!(closed, Err(StoreError::Closed));
    assert_eq!(store.health().state, store::StoreState::Closed);
    // The folder is free although a handle is left.
    let again = lab.store();
    assert_eq!(all(&again).len(), 50);
}

fn too_large_a_row_or_key_fails_its_request_only(lab: &Lab) {
    const TEXT: Table<String, String> = Table::new("text");
    let store = lab.store();
    let error = store.write_blocking(|txn| txn.put(&TEXT, &"k".repeat(5000), &String::new()));
    assert!(
        matches!(error, Err(StoreError::TooLarge { what: "key", .. })),
        "{error:?}"
    );
    let error = store
        .write_blocking(|txn| txn.put(&TEXT, &String::new(), &"v".repeat(store::MAX_ROW_BYTES)));
    assert!(
        matches!(error, Err(StoreError::TooLarge { what: "row", .. })),
        "{error:?}"
    );
    assert!(store.health().is_ready());
}

fn ranges_go_both_ways_and_odd_ones_are_empty(lab: &Lab) {
    const PAIRS: Table<(String, u64), u64> = Table::new("pairs");
    let store = lab.store();
    store
        .write_blocking(|txn| {
            for n in 0..600 {
                txn.put(&PAIRS, &(format!("p{}", n % 3), n), &n)?;
            }
            Ok::<_, StoreError>(())
        })
        .unwrap();
    let check = store.read_blocking(|rows| {
        let p1 = rows.below(&PAIRS, &"p1".to_owned(), None, 1000)?;
        assert_eq!(p1.len(), 200);
        assert!(
            p1.iter()
                .all(|((p, n), v)| p == "p1" && n == v && n % 3 == 1)
        );
        let rest = rows.below(&PAIRS, &"p1".to_owned(), Some(&p1[149].0), 1000)?;
        assert_eq!(rest, p1[150..]);
        let back = rows.range_back(&PAIRS, .., 3)?;
        let keys: Vec<u64> = back.iter().map(|(_, v)| *v).collect();
        assert_eq!(keys, [599, 596, 593]);
        let (a, b) = (("p2".to_owned(), 0), ("p1".to_owned(), 0));
        assert_eq!(rows.range(&PAIRS, a.clone()..b, 10)?, []);
        assert_eq!(rows.range(&PAIRS, a.clone()..a, 10)?, []);
        assert_eq!(rows.range(&PAIRS, .., 0)?, []);
        let mut seen = 0;
        rows.for_each(&PAIRS, .., |_, _| {
            seen += 1;
            std::ops::ControlFlow::Continue(())
        })?;
        assert_eq!(seen, 600);
        Ok::<_, StoreError>(())
    });
    check.unwrap();
}

fn every_write_that_meets_the_close_is_answered(lab: &Lab) {
    for _ in 0..100 {
        let store = lab.store();
        let writers: Vec<_> = (0..4u64)
            .map(|n| {
                let store = store.clone();
                let (done, ended) = mpsc::channel();
                std::thread::spawn(move || {
                    let write = || store.write_blocking(move |txn| txn.put(&OTHER, &n, &n));
                    while write().is_ok() {}
                    done.send(()).unwrap();
                });
                ended
            })
            .collect();
        store.close();
        for ended in writers {
            ended
                .recv_timeout(DEADLINE)
                .expect("no write waits for ever");
        }
    }
}

over_both_engines!(
    requests_that_wait_together_share_a_commit,
    one_that_fails_and_one_that_panics_leave_no_trace_and_disturb_nobody,
    calls_are_carried_out_in_order_whenever_they_are_awaited,
    a_full_queue_is_busy_at_once_and_works_again_later,
    what_nobody_waits_for_any_more_is_not_done,
    a_request_cannot_wait_for_another,
    the_last_handle_may_go_within_a_request,
    closing_carries_out_what_is_queued_and_refuses_the_rest,
    too_large_a_row_or_key_fails_its_request_only,
    ranges_go_both_ways_and_odd_ones_are_empty,
    every_write_that_meets_the_close_is_answered,
);
