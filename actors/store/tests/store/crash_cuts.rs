//! F02: the power is cut, ten thousand times.
//!
//! A disk in memory records every write, resize and sync while a workload runs over the real
//! store. A cut at any point of that record leaves what was synchronised before, and of the later
//! writes any part: lost, reordered, torn at sectors. Each such image is opened again, and must
//! hold exactly the rows as of one group, no earlier than the last one answered. Some of the
//! images carry on and are cut again, so that recovery is cut as well.

#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::recorded_disk::{Dice, Event, Recorder, cut};
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::catch_unwind;
use std::sync::Arc;
use store::{RawBytes, ReadRows, StorageBackend, Store, StoreError, StoreOptions, Table, WriteTxn};

const TABLES: [Table<u64, RawBytes>; 2] = [Table::new("even"), Table::new("odd")];

/// Cuts of one record, records of one chain, chains: ten thousand cuts in all.
const CUTS: usize = 25;
const RECORDS: usize = 4;
const CHAINS: u64 = 100;

/// The real store over a recorded disk.
fn open(disk: &Recorder) -> Result<Store, String> {
    let disk = disk.clone();
    let mut options = StoreOptions::new("test");
    options.readers = 1;
    options.cache_bytes = 1024 * 1024;
    let factory = Arc::new(move || Ok(Box::new(disk.clone()) as Box<dyn StorageBackend>));
    Store::open_with("recorded disk", factory, &options).map_err(|e| e.to_string())
}

/// The rows that the store should hold.
type Rows = BTreeMap<u64, Vec<u8>>;

/// The rows after each group.
type History = BTreeMap<u64, Rows>;

/// A request: rows to set or remove, and whether it then refuses itself.
#[derive(Debug, Clone)]
struct Ask {
    changes: Vec<(u64, Option<Vec<u8>>)>,
    refuse: bool,
}

impl Ask {
    fn roll(dice: &mut Dice) -> Self {
        let mut changes: Vec<_> = (0..=dice.below(4))
            .map(|_| (dice.below(60) as u64, Self::row(dice)))
            .collect();
        // Removing what is not there changes nothing, and what changes nothing is not committed.
        changes.push((60, Some(dice.next().to_le_bytes().to_vec())));
        let refuse = dice.chance(15);
        Self { changes, refuse }
    }

    /// Mostly small rows, some of several pages, some removals.
    fn row(dice: &mut Dice) -> Option<Vec<u8>> {
        let len = match dice.below(10) {
            0..3 => return None,
            3 => 20_000,
            _ => 700,
        };
        let (len, fill) = (dice.below(len), dice.next().to_le_bytes());
        Some(fill.into_iter().cycle().take(len).collect())
    }

    fn apply(&self, txn: &mut WriteTxn<'_>) -> Result<u64, StoreError> {
        for (id, row) in &self.changes {
            let table = &TABLES[(id % 2) as usize];
            match row {
                Some(row) => txn.put(table, id, &RawBytes(row.clone()))?,
                None => drop(txn.delete(table, id)?),
            }
        }
        match self.refuse {
            true => Err(StoreError::Reentrant),
            false => Ok(txn.group()),
        }
    }

    fn apply_to(self, rows: &mut Rows) {
        for (id, row) in self.changes {
            match row {
                Some(row) => drop(rows.insert(id, row)),
                None => drop(rows.remove(&id)),
            }
        }
    }
}

/// Opens `image`, runs requests in bursts, closes; the events and the history they made.
fn record(image: Vec<u8>, mut history: History, dice: &mut Dice) -> (Vec<Event>, History) {
    let disk = Recorder::over(image);
    let store = open(&disk).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    for _ in 0..4 + dice.below(6) {
        let burst: Vec<Ask> = (0..=dice.below(6)).map(|_| Ask::roll(dice)).collect();
        let ask = |ask: &Ask| {
            let (ask, disk) = (ask.clone(), disk.clone());
            store.write(move |txn| {
                disk.log(Event::Began(txn.group()));
                ask.apply(txn)
            })
        };
        let asked: Vec<_> = burst.iter().map(ask).collect();
        for (ask, answer) in burst.into_iter().zip(asked) {
            let Ok(group) = runtime.block_on(answer) else {
                continue;
            };
            disk.log(Event::Acked(group));
            let before = history.last_key_value().map(|(_, rows)| rows.clone());
            ask.apply_to(history.entry(group).or_insert(before.unwrap()));
        }
    }
    drop(store);
    let mut disk = disk.0.lock().unwrap();
    (std::mem::take(&mut disk.log), history)
}

/// Opens an image and finds the group it is at, which must be one of `allowed`.
fn verify(image: Vec<u8>, allowed: Range<u64>, history: &History) -> Result<u64, String> {
    let disk = Recorder::over(image);
    let store = open(&disk)?;
    let rows = dump(&store).map_err(|e| e.to_string())?;
    let probe = store.write_blocking(|txn| {
        txn.put(&TABLES[0], &1000, &RawBytes::default())?;
        Ok::<_, StoreError>(txn.group())
    });
    let group = probe.map_err(|e| e.to_string())? - 1;
    drop(store);
    if !allowed.contains(&group) {
        return Err(format!("at group {group}, allowed {allowed:?}"));
    }
    let known = history.range(..=group).next_back();
    if known.map(|(_, rows)| rows) != Some(&rows) {
        return Err(format!("rows are not those of group {group}"));
    }
    intact(&disk)?;
    Ok(group)
}

fn dump(store: &Store) -> Result<Rows, StoreError> {
    store.read_blocking(|rows| {
        let mut all = Rows::new();
        for table in &TABLES {
            let found = rows.range(table, .., usize::MAX)?;
            all.extend(found.into_iter().map(|(id, RawBytes(row))| (id, row)));
        }
        Ok(all)
    })
}

/// redb's own look at every page.
fn intact(disk: &Recorder) -> Result<(), String> {
    let db = redb::Database::builder().create_with_backend(disk.clone());
    let mut db = db.map_err(|e| e.to_string())?;
    match db.check_integrity() {
        Ok(true) => Ok(()),
        other => Err(format!("integrity: {other:?}")),
    }
}

/// What holds at each point of a record.
struct Moment {
    durable: Vec<u8>,
    /// Where the writes begin that are not yet synchronised.
    since: usize,
    acked: u64,
    began: u64,
}

impl Moment {
    fn start(image: Vec<u8>, group: u64) -> Self {
        Self {
            durable: image,
            since: 0,
            acked: group,
            began: group,
        }
    }

    /// Goes past event `n`; a disk that lies keeps nothing at a sync.
    fn pass(&mut self, log: &[Event], n: usize, lie: bool) {
        match &log[n] {
            Event::Began(group) => self.began = self.began.max(*group),
            Event::Acked(group) => self.acked = self.acked.max(*group),
            Event::Sync if !lie => {
                for event in &log[self.since..n] {
                    match event {
                        Event::Write(at, data) => {
                            self.durable[*at..at + data.len()].copy_from_slice(data);
                        }
                        Event::Resize(len) => self.durable.resize(*len, 0),
                        _ => {}
                    }
                }
                self.since = n + 1;
            }
            _ => {}
        }
    }
}

/// Cuts a record at random points; the last image opened, for the next record to go on from.
fn cut_record(
    image: Vec<u8>,
    group: u64,
    (log, history): &(Vec<Event>, History),
    dice: &mut Dice,
    lie: bool,
) -> Result<(Vec<u8>, u64), String> {
    let mut points: Vec<usize> = (0..CUTS).map(|_| dice.below(log.len() + 1)).collect();
    points.sort_unstable();
    let mut moment = Moment::start(image, group);
    let mut passed = 0;
    let mut last = None;
    for point in points {
        while passed < point {
            moment.pass(log, passed, lie);
            passed += 1;
        }
        let pending = &log[moment.since..point];
        let (image, mode) = cut(&moment.durable, pending, dice);
        let allowed = moment.acked..moment.began + 1;
        let found = verify(image.clone(), allowed, history);
        let found = found.map_err(|e| format!("cut at {point} of {}, {mode:?}: {e}", log.len()))?;
        last = Some((image, found));
    }
    Ok(last.unwrap())
}

/// A disk with an empty store on it. (How a file comes to be is not cut here: it gets its name
/// when it is whole.)
fn blank() -> Vec<u8> {
    let disk = Recorder::default();
    drop(open(&disk).unwrap());
    std::mem::take(&mut disk.0.lock().unwrap().live)
}

/// Records and cuts, one after the other on the same disk.
fn chain(seed: u64, lie: bool) -> Result<(), String> {
    let mut dice = Dice(seed);
    let (mut image, mut group) = (blank(), 0);
    let mut history = History::from([(0, Rows::new())]);
    for n in 0..RECORDS {
        let recorded = record(image.clone(), history, &mut dice);
        let left = cut_record(image, group, &recorded, &mut dice, lie);
        (image, group) = left.map_err(|e| format!("seed {seed}, record {n}: {e}"))?;
        history = recorded.1;
        history.retain(|known, _| *known <= group);
    }
    Ok(())
}

#[test]
fn f02_ten_thousand_power_cuts_lose_no_answered_group_and_leave_no_half_one() {
    assert_eq!(CUTS * RECORDS * CHAINS as usize, 10_000);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    std::thread::scope(|scope| {
        for first in 0..threads {
            scope.spawn(move || {
                for seed in (first..CHAINS).step_by(threads as usize) {
                    chain(seed, false).unwrap();
                }
            });
        }
    });
}

#[test]
fn f02_a_disk_that_lies_about_syncs_is_found_out() {
    let chain = |seed| catch_unwind(|| chain(seed, true));
    // Damage that a panic of redb's tells is found out, too.
    let found_out = (0..5)
        .filter(|seed| !matches!(chain(*seed), Ok(Ok(()))))
        .count();
    assert_eq!(found_out, 5, "the check above would miss losses");
}
