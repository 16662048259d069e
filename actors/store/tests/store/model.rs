//! A model over both engines: whatever requests come in whatever order, with refusals, panics,
//! restarts of the store and of the server between them, the store holds what the model holds.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::engines::{Lab, over_both_engines, wait};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use scripted_peers::postgres::Stop;
use std::cell::RefCell;
use std::collections::BTreeMap;
use store::{Blob, Extent, ReadRows, Store, StoreError, StoreOptions, Table, WriteTxn};

const ROWS: Table<(u8, u8), String> = Table::new("rows");
const BLOBS: Table<u8, Extent> = Table::new("blobs");

/// What one request does, in order.
#[derive(Debug, Clone)]
enum Change {
    Put(u8, u8, String),
    Delete(u8, u8),
    Append(u8, usize),
    Release(u8),
}

/// What happens.
#[derive(Debug, Clone)]
enum Step {
    /// Requests that are asked at once; each with whether it gives up in the end.
    Requests(Vec<(Vec<Change>, bool)>),
    /// The store is closed and opened.
    Reopen,
    /// The server ends and starts again, at once or not: only where there is one.
    RestartServer(bool),
}

/// What should be there.
#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    rows: BTreeMap<(u8, u8), String>,
    blobs: BTreeMap<u8, Vec<u8>>,
}

impl Model {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Put(a, b, text) => drop(self.rows.insert((*a, *b), text.clone())),
            Change::Delete(a, b) => drop(self.rows.remove(&(*a, *b))),
            Change::Append(key, len) => drop(self.blobs.insert(*key, bytes(*key, *len))),
            Change::Release(key) => drop(self.blobs.remove(key)),
        }
    }
}

fn bytes(key: u8, len: usize) -> Vec<u8> {
    (0..len).map(|n| key.wrapping_add(n as u8)).collect()
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (0..3u8, 0..6u8, "[a-c]{0,3}").prop_map(|(a, b, text)| Change::Put(a, b, text)),
        2 => (0..3u8, 0..6u8).prop_map(|(a, b)| Change::Delete(a, b)),
        1 => (0..4u8, 0..6000usize).prop_map(|(key, len)| Change::Append(key, len)),
        1 => (0..4u8).prop_map(Change::Release),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let request = (
        prop::collection::vec(change(), 0..5),
        prop::bool::weighted(0.2),
    );
    prop_oneof![
        12 => prop::collection::vec(request, 1..6).prop_map(Step::Requests),
        1 => Just(Step::Reopen),
        1 => any::<bool>().prop_map(Step::RestartServer),
    ]
}

/// Does what a request does, and looks at all it could see meanwhile.
fn carry_out(txn: &mut WriteTxn<'_>, changes: &[Change]) -> Result<(), StoreError> {
    for change in changes {
        match change {
            Change::Put(a, b, text) => txn.put(&ROWS, &(*a, *b), text)?,
            Change::Delete(a, b) => {
                let was = txn.get(&ROWS, &(*a, *b))?.is_some();
                assert_eq!(txn.delete(&ROWS, &(*a, *b))?, was);
            }
            Change::Append(key, len) => {
                release(txn, *key)?;
                let extent = txn.append(&Blob::new(bytes(*key, *len).into()))?;
                txn.put(&BLOBS, key, &extent)?;
            }
            Change::Release(key) => release(txn, *key)?,
        }
    }
    Ok(())
}

fn release(txn: &mut WriteTxn<'_>, key: u8) -> Result<(), StoreError> {
    if let Some(extent) = txn.get(&BLOBS, &key)? {
        txn.release(&extent);
        txn.delete(&BLOBS, &key)?;
    }
    Ok(())
}

/// All there is, by every way of asking for it.
fn look<T: ReadRows>(rows: &mut T) -> Result<Model, StoreError> {
    let all = rows.range(&ROWS, .., 1000)?;
    assert_eq!(rows.len(&ROWS)?, all.len() as u64);
    let mut back = rows.range_back(&ROWS, .., 1000)?;
    back.reverse();
    assert_eq!(back, all);
    for a in 0..3 {
        let below = rows.below(&ROWS, &a, None, 1000)?;
        let expected = all.iter().filter(|((first, _), _)| *first == a);
        assert!(below.iter().eq(expected));
        let first = rows.range(&ROWS, (a, 0)..(a + 1, 0), 1)?;
        assert_eq!(first.first(), below.first());
    }
    let mut blobs = BTreeMap::new();
    for (key, extent) in rows.range(&BLOBS, .., 100)? {
        blobs.insert(key, rows.blob(&extent)?.expect("a row tells of it"));
    }
    let rows = all.into_iter().collect();
    Ok(Model { rows, blobs })
}

fn requests(store: &Store, model: &mut Model, requests: Vec<(Vec<Change>, bool)>) {
    let mut answers = Vec::new();
    for (changes, gives_up) in requests {
        if !gives_up {
            changes.iter().for_each(|change| model.apply(change));
        }
        let (expected, panics) = (model.clone(), changes.len() % 2 == 1);
        answers.push((
            gives_up,
            store.write(move |txn| {
                carry_out(txn, &changes)?;
                if gives_up && panics {
                    panic!("as planned");
                }
                if gives_up {
                    return Err(StoreError::Reentrant);
                }
                // What a request sees of the group is what will be committed.
                assert_eq!(look(txn)?, expected);
                Ok::<_, StoreError>(())
            }),
        ));
    }
    for (gives_up, answer) in answers {
        let answer = wait(answer);
        assert_eq!(answer.is_err(), gives_up, "{answer:?}");
    }
}

fn i18_the_store_holds_what_the_model_holds(lab: &Lab) {
    let lab = RefCell::new(lab);
    let options = |case: u32| StoreOptions {
        schema: format!("case_{case}"),
        segment_bytes: 10_000,
        ..StoreOptions::new("model")
    };
    let case = RefCell::new(0);
    let mut runner = TestRunner::new(Config {
        cases: 10,
        failure_persistence: None,
        ..Config::default()
    });
    let steps = prop::collection::vec(step(), 1..25);
    let ran = runner.run(&steps, |steps| {
        *case.borrow_mut() += 1;
        let lab = lab.borrow().another(*case.borrow());
        let options = options(*case.borrow());
        let (mut store, mut model) = (lab.open(&options).unwrap(), Model::default());
        for step in steps {
            match step {
                Step::Requests(asked) => requests(&store, &mut model, asked),
                Step::Reopen => {
                    store.close();
                    store = lab.open(&options).unwrap();
                }
                Step::RestartServer(crash) => {
                    lab.restart_server(if crash { Stop::Crash } else { Stop::Fast });
                }
            }
            prop_assert_eq!(
                store.read_blocking(|rows| look(rows)).unwrap(),
                model.clone()
            );
        }
        Ok(())
    });
    ran.unwrap_or_else(|failure| panic!("{failure}"));
}

over_both_engines!(i18_the_store_holds_what_the_model_holds);
