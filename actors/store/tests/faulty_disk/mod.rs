//! A disk in memory that runs full and fails on command, with a page cache over a platter.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex};
use store::{BackendFactory, StorageBackend};

const BLOCK: usize = 4096;

/// Clones are the same disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct FaultyDisk(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// What reads see.
    cache: Vec<u8>,
    /// What a power cut leaves.
    platter: Vec<u8>,
    /// Blocks written since the last sync.
    dirty: BTreeSet<usize>,
    /// Blocks with space on the disk; the file's other blocks are holes.
    allocated: BTreeSet<usize>,
    /// Blocks that may still be allocated; `None`: any number.
    space: Option<usize>,
    /// Operations until one fails.
    fuse: Option<usize>,
}

impl FaultyDisk {
    pub(crate) fn factory(&self) -> BackendFactory {
        let disk = self.clone();
        Arc::new(move || Ok(Box::new(disk.clone())))
    }

    /// Leaves space for so many more blocks.
    pub(crate) fn limit(&self, blocks: Option<usize>) {
        self.0.lock().unwrap().space = blocks;
    }

    /// Has one of the coming operations fail, after `n` that do not.
    pub(crate) fn fail_after(&self, n: usize) {
        self.0.lock().unwrap().fuse = Some(n);
    }

    /// Fails no more.
    pub(crate) fn heal(&self) {
        self.0.lock().unwrap().fuse = None;
    }

    /// Another disk, with what a power cut would leave of this one.
    pub(crate) fn platter(&self) -> Self {
        let platter = self.0.lock().unwrap().platter.clone();
        let inner = Inner {
            cache: platter.clone(),
            platter,
            ..Inner::default()
        };
        Self(Arc::new(Mutex::new(inner)))
    }
}

impl Inner {
    fn burn(&mut self) -> io::Result<()> {
        match &mut self.fuse {
            Some(0) => {
                self.fuse = None;
                Err(io::Error::other("the disk failed, as the test wished"))
            }
            Some(n) => {
                *n -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn allocate(&mut self, block: usize) -> io::Result<()> {
        if self.allocated.contains(&block) {
            return Ok(());
        }
        match &mut self.space {
            Some(0) => return Err(ErrorKind::StorageFull.into()),
            Some(n) => *n -= 1,
            None => {}
        }
        self.allocated.insert(block);
        Ok(())
    }
}

impl StorageBackend for FaultyDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().cache.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let inner = self.0.lock().unwrap();
        let start = offset as usize;
        let part = inner.cache.get(start..start + out.len());
        out.copy_from_slice(part.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    /// A journalled change of the file's size: it holds at once, as holes do.
    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut inner = self.0.lock().unwrap();
        inner.burn()?;
        inner.cache.resize(len as usize, 0);
        inner.platter.resize(len as usize, 0);
        inner.allocated.retain(|block| block * BLOCK < len as usize);
        inner.dirty.retain(|block| block * BLOCK < len as usize);
        Ok(())
    }

    /// A failed sync keeps nothing, and the next one does not try again: the pages count as clean.
    fn sync_data(&self) -> io::Result<()> {
        let mut inner = self.0.lock().unwrap();
        let dirty = std::mem::take(&mut inner.dirty);
        inner.burn()?;
        for block in dirty {
            let end = (block + 1) * BLOCK;
            let range = block * BLOCK..end.min(inner.cache.len());
            let Inner { cache, platter, .. } = &mut *inner;
            platter[range.clone()].copy_from_slice(&cache[range]);
        }
        Ok(())
    }

    /// Block by block: one without space leaves those before it written.
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut inner = self.0.lock().unwrap();
        inner.burn()?;
        let start = offset as usize;
        let mut done = 0;
        while done < data.len() {
            let block = (start + done) / BLOCK;
            let end = ((block + 1) * BLOCK - start).min(data.len());
            inner.allocate(block)?;
            inner.dirty.insert(block);
            inner.cache[start + done..start + end].copy_from_slice(&data[done..end]);
            done = end;
        }
        Ok(())
    }
}
