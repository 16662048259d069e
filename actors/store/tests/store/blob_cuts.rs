//! F02 for appended blobs: the power is cut, and no row tells of a blob that is not there whole.
//!
//! Database and segments lie on one recorded disk. A cut leaves of both what was synchronised, and
//! of the later writes any part. Each image is opened again: every row's blob must have the bytes
//! that were appended for it, no group that was answered may be missing, and the store must go on
//! from there. Segments are small, so that they are left and removed.

#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::recorded_disk::{Dice, Disk, Event, Recorder, cut, land};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex};
use store::{
    Blob, Extent, ReadRows, SegmentStorage, StorageBackend, Store, StoreError, StoreOptions, Table,
    WriteTxn,
};

const EXTENTS: Table<u64, Extent> = Table::new("extents");
const CUTS: usize = 20;
const RECORDS: usize = 5;
const CHAINS: u64 = 30;
const KEYS: usize = 12;
const SEGMENT_BYTES: u64 = 64 * 1024;

type Segments = BTreeMap<u32, Vec<u8>>;

/// Segments that tell the recorder of the database what happens to them.
#[derive(Debug, Clone)]
struct Recorded {
    live: Arc<Mutex<Segments>>,
    disk: Recorder,
}

impl SegmentStorage for Recorded {
    fn write(&self, segment: u32, at: u64, parts: &[&[u8]]) -> io::Result<()> {
        let (mut at, mut live) = (at as usize, self.live.lock().unwrap());
        let held = live.entry(segment).or_default();
        for part in parts {
            overwrite(held, at, part);
            self.disk.log(Event::Blob(segment, at, part.to_vec()));
            at += part.len();
        }
        self.disk.log(Event::BlobSync(segment));
        Ok(())
    }

    fn read(&self, segment: u32, at: u64, out: &mut [u8]) -> io::Result<()> {
        let (at, live) = (at as usize, self.live.lock().unwrap());
        let held = live.get(&segment).ok_or(ErrorKind::NotFound)?;
        let part = held.get(at..at + out.len());
        out.copy_from_slice(part.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<u32>> {
        Ok(self.live.lock().unwrap().keys().copied().collect())
    }

    fn remove(&self, segment: u32) -> io::Result<()> {
        self.live.lock().unwrap().remove(&segment);
        self.disk.log(Event::Removed(segment));
        Ok(())
    }
}

fn overwrite(held: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    held.resize(held.len().max(at + bytes.len()), 0);
    held[at..at + bytes.len()].copy_from_slice(bytes);
}

/// What a power cut left.
#[derive(Debug, Clone, Default)]
struct Image {
    file: Vec<u8>,
    segments: Segments,
}

/// The real store over what a cut left.
fn open(image: Image) -> Result<(Store, Recorded), String> {
    let disk = Recorder::over(image.file);
    let live = Arc::new(Mutex::new(image.segments));
    let segments = Recorded { live, disk };
    let mut options = StoreOptions::new("test");
    options.readers = 1;
    options.cache_bytes = 1024 * 1024;
    options.segment_bytes = SEGMENT_BYTES;
    let disk = segments.disk.clone();
    let factory = Arc::new(move || Ok(Box::new(disk.clone()) as Box<dyn StorageBackend>));
    let storage = (factory as _, Arc::new(segments.clone()) as _);
    let store = Store::open_over("recorded disk", storage, &options);
    Ok((store.map_err(|e| e.to_string())?, segments))
}

type Rows = BTreeMap<u64, Vec<u8>>;
/// The rows after each group.
type History = BTreeMap<u64, Rows>;

/// Puts, replaces or forgets a blob, and perhaps refuses itself then.
#[derive(Debug, Clone)]
struct Ask {
    id: u64,
    bytes: Option<Vec<u8>>,
    refuse: bool,
}

impl Ask {
    fn roll(dice: &mut Dice) -> Self {
        let len = [0, 300, 5_000, 20_000, 70_000][dice.below(5)];
        let (len, fill) = (dice.below(len + 1), dice.next().to_le_bytes());
        let bytes = fill.into_iter().cycle().take(len).collect();
        Self {
            id: dice.below(KEYS) as u64,
            bytes: dice.chance(75).then_some(bytes),
            refuse: dice.chance(15),
        }
    }

    fn apply(&self, txn: &mut WriteTxn<'_>) -> Result<u64, StoreError> {
        if let Some(former) = txn.get(&EXTENTS, &self.id)? {
            txn.release(&former);
            txn.delete(&EXTENTS, &self.id)?;
        }
        if let Some(bytes) = &self.bytes {
            let extent = txn.append(&Blob::new(bytes.clone().into()))?;
            assert_eq!(txn.blob(&extent)?.as_ref(), Some(bytes), "not written yet");
            txn.put(&EXTENTS, &self.id, &extent)?;
        }
        // What changes nothing is not committed.
        let mark = txn.append(&Blob::new(vec![1].into()))?;
        if let Some(former) = txn.get(&EXTENTS, &1000)? {
            txn.release(&former);
        }
        txn.put(&EXTENTS, &1000, &mark)?;
        match self.refuse {
            true => Err(StoreError::Reentrant),
            false => Ok(txn.group()),
        }
    }

    fn apply_to(self, rows: &mut Rows) {
        rows.insert(1000, vec![1]);
        match self.bytes {
            Some(bytes) => drop(rows.insert(self.id, bytes)),
            None => drop(rows.remove(&self.id)),
        }
    }
}

/// Opens `image`, runs requests in bursts, closes; the events and the history they made.
fn record(image: Image, mut history: History, dice: &mut Dice) -> (Vec<Event>, History) {
    let (store, Recorded { disk, .. }) = open(image).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    for _ in 0..4 + dice.below(6) {
        let burst: Vec<Ask> = (0..=dice.below(5)).map(|_| Ask::roll(dice)).collect();
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
    let Disk { log, .. } = &mut *disk.0.lock().unwrap();
    (std::mem::take(log), history)
}

/// What holds at a point of a record.
struct Moment {
    durable: Image,
    /// Where the database's writes begin that are not yet synchronised.
    since: usize,
    /// The same of the segments.
    blobs_since: usize,
    /// Segments whose removal may or may not have reached the disk.
    removed: Segments,
    acked: u64,
    began: u64,
}

impl Moment {
    fn pass(&mut self, log: &[Event], n: usize) {
        match &log[n] {
            Event::Began(group) => self.began = self.began.max(*group),
            Event::Acked(group) => self.acked = self.acked.max(*group),
            Event::Sync => {
                for event in &log[self.since..n] {
                    match event {
                        Event::Write(at, data) => {
                            self.durable.file[*at..at + data.len()].copy_from_slice(data);
                        }
                        Event::Resize(len) => self.durable.file.resize(*len, 0),
                        _ => {}
                    }
                }
                self.since = n + 1;
            }
            Event::BlobSync(_) => {
                for event in &log[self.blobs_since..n] {
                    if let Event::Blob(segment, at, data) = event {
                        let held = self.durable.segments.entry(*segment).or_default();
                        overwrite(held, *at, data);
                    }
                }
                self.blobs_since = n + 1;
            }
            Event::Removed(segment) => {
                let held = self.durable.segments.remove(segment);
                self.removed.extend(held.map(|held| (*segment, held)));
            }
            _ => {}
        }
    }

    /// The image that a cut before event `point` leaves.
    fn cut(&self, log: &[Event], point: usize, dice: &mut Dice) -> Image {
        let (file, _) = cut(&self.durable.file, &log[self.since..point], dice);
        let mut segments = self.durable.segments.clone();
        for event in &log[self.blobs_since.min(point)..point] {
            if let Event::Blob(segment, at, data) = event
                && dice.chance(70)
            {
                let held = segments.entry(*segment).or_default();
                held.resize(held.len().max(at + dice.below(data.len() + 1)), 0);
                land(held, *at, data, dice.chance(30), dice);
            }
        }
        for (segment, held) in &self.removed {
            if dice.chance(50) {
                segments.entry(*segment).or_insert_with(|| held.clone());
            }
        }
        Image { file, segments }
    }
}

fn dump(store: &Store) -> Result<Rows, StoreError> {
    store.read_blocking(|rows| {
        let mut all = Rows::new();
        for (id, extent) in rows.range(&EXTENTS, .., usize::MAX)? {
            let blob = rows.blob(&extent)?;
            all.insert(id, blob.unwrap_or_else(|| b"LOST".to_vec()));
        }
        Ok(all)
    })
}

/// Opens an image; the group it is at, which must be one that may be found, with its rows.
fn verify(image: Image, moment: &Moment, history: &History) -> Result<u64, String> {
    let (store, segments) = open(image)?;
    let rows = dump(&store).map_err(|e| e.to_string())?;
    let probe = Ask {
        id: 2000,
        bytes: Some(vec![9; 5000]),
        refuse: false,
    };
    let group = store.write_blocking(move |txn| probe.apply(txn));
    let group = group.map_err(|e| e.to_string())? - 1;
    if !(moment.acked..=moment.began).contains(&group) {
        return Err(format!("at group {group}, answered {}", moment.acked));
    }
    let known = history.range(..=group).next_back();
    if known.map(|(_, rows)| rows) != Some(&rows) {
        return Err(format!("pieces are not those of group {group}"));
    }
    // It goes on: nothing of what was there is overwritten.
    let mut after = dump(&store).map_err(|e| e.to_string())?;
    after.remove(&2000);
    after.extend(rows.get(&1000).map(|mark| (1000, mark.clone())));
    if known.is_some_and(|(_, rows)| rows.contains_key(&1000)) && after != rows {
        return Err("the next group overwrote pieces".to_owned());
    }
    let used = rows.values().map(Vec::len).sum::<usize>() / SEGMENT_BYTES as usize;
    let there = segments.live.lock().unwrap().len();
    // Each blob may hold a segment of its own, beside the one that is written to.
    match there <= rows.len() + used + 2 {
        true => Ok(group),
        false => Err(format!("{there} segments for {} pieces", rows.len())),
    }
}

fn blank() -> Image {
    let (store, Recorded { disk, .. }) = open(Image::default()).unwrap();
    drop(store);
    let file = std::mem::take(&mut disk.0.lock().unwrap().live);
    let segments = Segments::new();
    Image { file, segments }
}

/// Records and cuts, one after the other on the same disk; how many segments were removed.
fn chain(seed: u64) -> Result<usize, String> {
    let mut dice = Dice(seed);
    let (mut image, mut group, mut removed) = (blank(), 0, 0);
    let mut history = History::from([(0, Rows::new())]);
    for n in 0..RECORDS {
        let (log, made) = record(image.clone(), history, &mut dice);
        removed += log
            .iter()
            .filter(|e| matches!(e, Event::Removed(_)))
            .count();
        let mut moment = Moment {
            durable: image.clone(),
            since: 0,
            blobs_since: 0,
            removed: Segments::new(),
            acked: group,
            began: group,
        };
        let mut points: Vec<usize> = (0..CUTS).map(|_| dice.below(log.len() + 1)).collect();
        points.sort_unstable();
        let mut passed = 0;
        for point in points {
            while passed < point {
                moment.pass(&log, passed);
                passed += 1;
            }
            image = moment.cut(&log, point, &mut dice);
            let found = verify(image.clone(), &moment, &made);
            group = found.map_err(|e| format!("seed {seed}, record {n}, cut at {point}: {e}"))?;
        }
        history = made;
        history.retain(|known, _| *known <= group);
    }
    Ok(removed)
}

#[test]
fn f02_three_thousand_power_cuts_lose_no_blob_that_a_row_tells_of() {
    assert_eq!(CUTS * RECORDS * CHAINS as usize, 3_000);
    let removed: usize = (0..CHAINS).map(|seed| chain(seed).unwrap()).sum();
    assert!(removed > 100, "segments were hardly left: {removed}");
}

/// Segments that lose what was written last, as if nothing had been synchronised.
#[test]
fn f02_blobs_that_are_not_synchronised_are_found_out() {
    let lost = |seed| {
        let mut dice = Dice(seed);
        let (log, made) = record(blank(), History::from([(0, Rows::new())]), &mut dice);
        let mut moment = Moment {
            durable: blank(),
            since: 0,
            blobs_since: 0,
            removed: Segments::new(),
            acked: 0,
            began: 0,
        };
        (0..log.len())
            .filter(|n| !matches!(log[*n], Event::BlobSync(_)))
            .for_each(|n| moment.pass(&log, n));
        moment.durable.segments.clear();
        verify(moment.durable.clone(), &moment, &made).is_err()
    };
    assert!((0..5).all(lost), "the check above would miss losses");
}
