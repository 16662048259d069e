//! Segments in memory.

use super::segments::SegmentStorage;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

/// Segments that end with the process: for tests and dry runs.
#[derive(Debug, Default)]
pub struct SegmentsInMemory(Mutex<BTreeMap<u32, Vec<u8>>>);

/// An offset as an index; segments in memory never come near the limit.
fn index(at: u64) -> io::Result<usize> {
    usize::try_from(at).map_err(|_| ErrorKind::FileTooLarge.into())
}

impl SegmentStorage for SegmentsInMemory {
    fn write(&self, segment: u32, at: u64, parts: &[&[u8]]) -> io::Result<()> {
        let (at, bytes) = (index(at)?, parts.concat());
        let mut segments = self.0.lock();
        let held = segments.entry(segment).or_default();
        held.resize(held.len().max(at + bytes.len()), 0);
        held[at..at + bytes.len()].copy_from_slice(&bytes);
        Ok(())
    }

    fn read(&self, segment: u32, at: u64, out: &mut [u8]) -> io::Result<()> {
        let at = index(at)?;
        let segments = self.0.lock();
        let held = segments.get(&segment).ok_or(ErrorKind::NotFound)?;
        let part = held.get(at..at + out.len());
        out.copy_from_slice(part.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn len(&self, segment: u32) -> io::Result<u64> {
        let segments = self.0.lock();
        let held = segments.get(&segment).ok_or(ErrorKind::NotFound)?;
        Ok(held.len() as u64)
    }

    fn list(&self) -> io::Result<Vec<u32>> {
        Ok(self.0.lock().keys().copied().collect())
    }

    fn remove(&self, segment: u32) -> io::Result<()> {
        self.0.lock().remove(&segment);
        Ok(())
    }
}
