//! Segments that no row needs any more.

use super::RedbEngine;
use crate::blobs::{BlobEnd, segment_of_key};
use crate::engine::alone;
use crate::error::{OpenError, StoreError};
use crate::row_source::RowSource;
use crate::rows::raw::KeyRange;
use crate::write::{BLOB_END, META};
use std::collections::HashSet;
use std::ops::Bound;

impl RedbEngine {
    /// Removes segments that no row needs: a previous incarnation ended before it could. Where the
    /// one that was written last is gone, the next blobs go into a new one.
    pub(super) fn sweep(&mut self) -> Result<(), OpenError> {
        let listed = self.database.segments.list();
        let listed = listed.map_err(|e| self.failure(redb::Error::Io(e)))?;
        if self.head.end > 0 && !listed.contains(&self.head.segment) {
            let (place, segment) = (&self.database.place, self.head.segment);
            tracing::error!(
                event = "store.segment_missing", %place, segment,
                "the file of the last pieces is gone, and what they held is lost; a new one is begun"
            );
            let next = BlobEnd {
                segment: segment.wrapping_add(1),
                end: 0,
            };
            alone(self, |txn| {
                txn.raw_put(META, BLOB_END.to_vec(), &next.to_bytes())
            })?;
            self.head = next;
        }
        if listed.is_empty() {
            return Ok(());
        }
        let used = self.used_segments()?;
        let unused = |segment: &u32| *segment != self.head.segment && !used.contains(segment);
        self.remove_segments(&listed.into_iter().filter(unused).collect::<Vec<_>>());
        Ok(())
    }

    fn used_segments(&self) -> Result<HashSet<u32>, StoreError> {
        let db = self.database.open.read_recursive();
        let mut rows = self.database.snapshot_of(&db)?;
        let all = KeyRange {
            from: Bound::Unbounded,
            to: Bound::Unbounded,
            backward: false,
        };
        let rows = rows.scan(META, &all, usize::MAX)?;
        let segments = rows.iter().filter_map(|(key, _)| segment_of_key(key));
        Ok(segments.collect())
    }

    /// Writes bytes where they stood in the segment of another store: what stands between them and
    /// the end of the segment so far is zero.
    pub(super) fn write_segment(
        &self,
        segment: u32,
        at: u64,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        let segments = &self.database.segments;
        let write = || {
            let end = match segments.len(segment) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                end => Some(end?),
            };
            if end.is_none() && at > 0 {
                segments.write(segment, 0, &[&[0]])?;
            }
            segments.write(segment, at, &[bytes])
        };
        write().map_err(|e| self.failure(redb::Error::Io(e)))
    }

    /// What cannot be removed is tried again at the next start.
    pub(super) fn remove_segments(&self, segments: &[u32]) {
        for segment in segments {
            if let Err(error) = self.database.segments.remove(*segment) {
                let place = &self.database.place;
                tracing::warn!(event = "store.segment_left", %place, segment, %error);
            }
        }
    }
}
