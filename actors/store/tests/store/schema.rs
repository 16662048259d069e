//! Migrations, unreadable rows, retention.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::engines::{Lab, over_both_engines};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use store::{
    Migration, OpenError, ReadRows, RemovedRows, Row, Store, StoreError, StoreOptions, Table,
    TableRetention, WriteTxn,
};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct RunV1 {
    agent: String,
}
impl Row for RunV1 {
    const SCHEMA: u16 = 1;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Run {
    agent: String,
    tries: u32,
}
impl Row for Run {
    const SCHEMA: u16 = 2;
}

const RUNS_V1: Table<u64, RunV1> = Table::new("runs");
const RUNS: Table<u64, Run> = Table::new("runs");
const LOG: Table<String, u64> = Table::new("log");

fn first(txn: &mut WriteTxn<'_>) -> Result<(), StoreError> {
    txn.put(&LOG, &"first".to_owned(), &1)
}

fn add_tries(txn: &mut WriteTxn<'_>) -> Result<(), StoreError> {
    for (id, RunV1 { agent }) in txn.range(&RUNS_V1, .., usize::MAX)? {
        txn.put(&RUNS, &id, &Run { agent, tries: 0 })?;
    }
    Ok(())
}

fn fails(txn: &mut WriteTxn<'_>) -> Result<(), StoreError> {
    txn.put(&LOG, &"half".to_owned(), &1)?;
    Err(StoreError::Reentrant)
}

const V1: &[Migration] = &[Migration {
    version: 1,
    name: "begin",
    run: first,
}];
const V2: &[Migration] = &[
    V1[0],
    Migration {
        version: 2,
        name: "count tries",
        run: add_tries,
    },
];
const V3_BROKEN: &[Migration] = &[
    V2[0],
    V2[1],
    Migration {
        version: 3,
        name: "breaks",
        run: fails,
    },
];

fn agent(name: &str, tries: u32) -> Run {
    let agent = name.to_owned();
    Run { agent, tries }
}

fn migrations_run_once_in_order_and_whole_or_not_at_all(lab: &Lab) {
    let open = |steps| lab.open(&StoreOptions::new("test").migrations(steps));
    let store = open(V1).unwrap();
    store
        .write_blocking(|txn| {
            txn.put(&LOG, &"first".to_owned(), &2)?;
            let agent = "a".to_owned();
            txn.put(&RUNS_V1, &7, &RunV1 { agent })
        })
        .unwrap();
    drop(store);

    let error = open(V3_BROKEN).unwrap_err();
    assert!(
        matches!(error, OpenError::Migration { version: 3, .. }),
        "{error}"
    );
    let store = open(V2).unwrap();
    let (run, log) = store
        .read_blocking(|rows| {
            let run = rows.get(&RUNS, &7)?;
            Ok::<_, StoreError>((run, rows.range(&LOG, .., 10)?))
        })
        .unwrap();
    assert_eq!(run, Some(agent("a", 0)));
    assert_eq!(
        log,
        [("first".to_owned(), 2)],
        "run again, or a half step left"
    );
    drop(store);

    let error = open(V1).unwrap_err();
    let (stored, known) = match error {
        OpenError::SchemaTooNew { stored, known, .. } => (stored, known),
        other => panic!("{other}"),
    };
    assert_eq!((stored, known), (2, 1));
}

#[test]
fn migrations_out_of_order_are_refused() {
    const ODD: &[Migration] = &[V2[1], V2[0]];
    let error = Store::in_memory(&StoreOptions::new("test").migrations(ODD)).unwrap_err();
    let expected = "migration count tries has version 2, expected 1; keep them in order";
    assert_eq!(error.to_string(), expected);
}

/// Waits until the writer has carried out what was queued before.
fn settle(store: &Store) {
    store.write_blocking(|_| Ok::<_, StoreError>(())).unwrap();
}

fn w32_a_poisonous_row_is_quarantined_and_the_store_goes_on_after_a_restart(lab: &Lab) {
    let store = lab.store();
    store
        .write_blocking(|txn| {
            for id in 0..5 {
                txn.put(&RUNS, &id, &agent("good", 1))?;
            }
            // A row of another schema where a run is expected.
            txn.put(
                &RUNS_V1,
                &2,
                &RunV1 {
                    agent: "old".into(),
                },
            )
        })
        .unwrap();
    drop(store);
    match lab.is_postgres() {
        true => damage_in_postgres(lab),
        false => damage(&lab.folder(), 3),
    }

    for _restart in 0..3 {
        let store = lab.store();
        let rows = store
            .read_blocking(|rows| rows.range(&RUNS, .., 10))
            .unwrap();
        let _: &Vec<(u64, Run)> = &rows;
        assert_eq!(rows.iter().map(|r| r.0).collect::<Vec<_>>(), [0, 1, 4]);
        settle(&store);
        assert_eq!(store.health().quarantined, 2);
        let (known, kept) = store
            .read_blocking(|rows| {
                let known = rows.contains(&RUNS, &2)?;
                Ok::<_, StoreError>((known, rows.quarantined(None, 10)?))
            })
            .unwrap();
        assert!(
            known,
            "a quarantined row still answers whether it was there"
        );
        assert_eq!(kept[0].1.why, "schema 1, this program reads 2");
        assert_eq!(kept[1].1.why, "damaged: checksum differs");
        assert_eq!(kept[0].0.0, "runs");
    }
}

/// The same in a server.
fn damage_in_postgres(lab: &Lab) {
    lab.sql(
        "UPDATE test.rows SET value = set_byte(value, length(value) - 1, \
         get_byte(value, length(value) - 1) # 1) \
         WHERE tbl = 'runs' AND key = '\\x0000000000000003'",
    );
}

/// Flips a byte of a stored run, as a program gone wrong would: in its body, past redb's checksums.
fn damage(folder: &std::path::Path, id: u64) {
    const RAW: redb::TableDefinition<'_, &[u8], &[u8]> = redb::TableDefinition::new("runs");
    use redb::ReadableTable as _;
    let db = redb::Database::open(folder.join("store.redb")).unwrap();
    let txn = db.begin_write().unwrap();
    {
        let mut table = txn.open_table(RAW).unwrap();
        let key = id.to_be_bytes();
        let mut row = table.get(key.as_slice()).unwrap().unwrap().value().to_vec();
        *row.last_mut().unwrap() ^= 1;
        table.insert(key.as_slice(), row.as_slice()).unwrap();
    }
    txn.commit().unwrap();
}

fn retention_bounds_by_count_and_by_age_a_bit_at_a_time(lab: &Lab) {
    const EVENTS: Table<(u64, u64), u64> = Table::new("events");
    let store = lab.store();
    let pass = |max_rows, age_ms: Option<u64>, now: u64, limit| {
        let max_age = age_ms.map(Duration::from_millis);
        let keep = TableRetention { max_rows, max_age };
        let pass = store
            .write_blocking(move |txn| txn.retain(&EVENTS, keep, now, limit, |(time, _), _| *time));
        pass.unwrap_or_else(|e: StoreError| panic!("{e}"))
    };
    store
        .write_blocking(|txn| (0..100).try_for_each(|n| txn.put(&EVENTS, &(1000 + n, n), &n)))
        .unwrap();
    let removed = |by_count, by_age, more| RemovedRows {
        by_count,
        by_age,
        more,
    };
    assert_eq!(pass(None, None, 5000, 10), removed(0, 0, false));
    assert_eq!(pass(Some(85), None, 5000, 10), removed(10, 0, true));
    assert_eq!(pass(Some(85), None, 5000, 10), removed(5, 0, false));
    // 85 rows, times 1015 to 1099; older than 80 at 1100 are those before 1020.
    assert_eq!(pass(Some(83), Some(80), 1100, 10), removed(2, 3, false));
    // A clock that went back an hour removes nothing.
    assert_eq!(pass(None, Some(80), 0, 10), removed(0, 0, false));
    // A clock far ahead removes all, a bit at a time.
    assert_eq!(pass(None, Some(80), u64::MAX, 50), removed(0, 50, true));
    assert_eq!(pass(None, Some(80), u64::MAX, 50), removed(0, 30, false));
    let left = store.read_blocking(|rows| rows.len(&EVENTS));
    assert_eq!(left, Ok::<_, StoreError>(0));
}

over_both_engines!(
    migrations_run_once_in_order_and_whole_or_not_at_all,
    w32_a_poisonous_row_is_quarantined_and_the_store_goes_on_after_a_restart,
    retention_bounds_by_count_and_by_age_a_bit_at_a_time,
);
