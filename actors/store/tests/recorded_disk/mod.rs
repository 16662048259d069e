//! A disk in memory that records what happens to it, and the images that a power cut leaves.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use store::StorageBackend;

/// What a disk writes whole.
const SECTOR: usize = 512;

/// What happened to the disk, and what was promised meanwhile.
#[allow(dead_code, reason = "not each test records each")]
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Write(usize, Vec<u8>),
    Resize(usize),
    Sync,
    /// Bytes of a segment, and their sync.
    Blob(u32, usize, Vec<u8>),
    BlobSync(u32),
    Removed(u32),
    /// A request of this group ran: from now on the group may be found.
    Began(u64),
    /// A request of this group was answered: from now on the group must be found.
    Acked(u64),
}

/// The disk: reads see every write at once, as through a page cache.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    pub(crate) live: Vec<u8>,
    pub(crate) log: Vec<Event>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder(pub(crate) Arc<Mutex<Disk>>);

impl Recorder {
    pub(crate) fn over(image: Vec<u8>) -> Self {
        let log = Vec::new();
        Self(Arc::new(Mutex::new(Disk { live: image, log })))
    }

    pub(crate) fn log(&self, event: Event) {
        self.0.lock().unwrap().log.push(event);
    }
}

impl StorageBackend for Recorder {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().live.len() as u64)
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let start = offset as usize;
        let disk = self.0.lock().unwrap();
        let part = disk.live.get(start..start + out.len());
        out.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        disk.live.resize(len as usize, 0);
        disk.log.push(Event::Resize(len as usize));
        Ok(())
    }
    fn sync_data(&self) -> io::Result<()> {
        self.log(Event::Sync);
        Ok(())
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let start = offset as usize;
        let mut disk = self.0.lock().unwrap();
        disk.live[start..start + data.len()].copy_from_slice(data);
        disk.log.push(Event::Write(start, data.to_vec()));
        Ok(())
    }
}

/// How much of the writes since the last sync a cut leaves.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mode {
    /// Nothing.
    Lost,
    /// The first few, the last of them torn.
    Prefix,
    /// Some whole ones, some torn, in any order.
    Subset,
    /// Of each sector any version it ever had since.
    Sectors,
    /// Everything.
    All,
}

/// The image that a cut leaves of `durable` and the later events.
pub(crate) fn cut(durable: &[u8], pending: &[Event], dice: &mut Dice) -> (Vec<u8>, Mode) {
    use Mode::{All, Lost, Prefix, Sectors, Subset};
    let mode = [Lost, Prefix, Subset, Sectors, Sectors, All][dice.below(6)];
    let mut image = durable.to_vec();
    let first = dice.below(pending.len() + 1);
    for (n, event) in pending.iter().enumerate() {
        let whole = match mode {
            Lost => break,
            All => true,
            Prefix if n > first => break,
            Prefix => n < first,
            Subset => dice.chance(50),
            Sectors => false,
        };
        match event {
            Event::Resize(len) if whole || dice.chance(50) => image.resize(*len, 0),
            Event::Write(at, data) => land(&mut image, *at, data, whole, dice),
            _ => {}
        }
    }
    if matches!(mode, Subset | Sectors) {
        // What was written first may also land last.
        for event in pending.iter().rev() {
            if let Event::Write(at, data) = event
                && dice.chance(10)
            {
                land(&mut image, *at, data, false, dice);
            }
        }
    }
    (image, mode)
}

/// Writes `data`, or each of its sectors with even odds; beyond the end nothing lands.
pub(crate) fn land(image: &mut [u8], at: usize, data: &[u8], whole: bool, dice: &mut Dice) {
    for sector in sectors(at..at + data.len()) {
        if sector.end <= image.len() && (whole || dice.chance(50)) {
            image[sector.clone()].copy_from_slice(&data[sector.start - at..sector.end - at]);
        }
    }
}

/// A range, split where sectors begin.
fn sectors(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let first = range.start / SECTOR;
    let last = range.end.div_ceil(SECTOR);
    (first..last).map(move |n| {
        let sector = n * SECTOR..(n + 1) * SECTOR;
        sector.start.max(range.start)..sector.end.min(range.end)
    })
}

/// A small generator (splitmix64): cuts must be the same for the same seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}
