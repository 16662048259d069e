//! A group on its way to the server.

use super::changed_tables::ChangedTables;
use super::connection::Connection;
use super::fault::Fault;
use crate::blobs::Extent;
use crate::blobs::packing::Part;
use crate::write::GroupChanges;
use std::borrow::Cow;

const COMMIT: &str =
    "SELECT commit_group($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";

/// The rows of appended blobs.
#[derive(Default)]
struct Blobs<'g> {
    segments: Vec<i64>,
    starts: Vec<i64>,
    bytes: Vec<Cow<'g, [u8]>>,
    lengths: Vec<Option<i32>>,
}

/// A group as the arrays of one statement.
pub(super) struct Arrays<'g> {
    put: (Vec<&'g str>, Vec<&'g [u8]>, Vec<&'g [u8]>),
    cut: (Vec<&'g str>, Vec<&'g [u8]>),
    blobs: Blobs<'g>,
    gone: (Vec<i64>, Vec<i64>, Vec<i64>),
    emptied: Vec<i64>,
}

impl<'g> Arrays<'g> {
    pub(super) fn of(changed: &'g ChangedTables, group: &'g GroupChanges) -> Self {
        let mut arrays = Self {
            put: Default::default(),
            cut: Default::default(),
            blobs: Blobs::default(),
            gone: Default::default(),
            emptied: group.emptied.iter().copied().map(i64::from).collect(),
        };
        for (table, changes) in changed {
            for (key, row) in changes {
                match row {
                    Some(row) => arrays.put(table, key, row),
                    None => {
                        arrays.cut.0.push(table);
                        arrays.cut.1.push(key);
                    }
                }
            }
        }
        // A blob of no bytes has none to keep, and the place of the one behind it.
        for (extent, blob) in group.parts.blobs().filter(|(extent, _)| extent.len > 0) {
            let (segment, start, _) = at(extent);
            let mut put = |part: Part<'g>| {
                arrays.blobs.segments.push(segment);
                arrays.blobs.starts.push(start + behind(part.offset));
                arrays.blobs.bytes.push(part.bytes);
                arrays.blobs.lengths.push(part.length);
            };
            match blob.parts() {
                Cow::Borrowed(parts) => parts.iter().map(Part::borrowed).for_each(&mut put),
                Cow::Owned(parts) => parts.into_iter().for_each(&mut put),
            }
        }
        for (segment, start, len) in group.released.iter().map(at) {
            arrays.gone.0.push(segment);
            arrays.gone.1.push(start);
            arrays.gone.2.push(len);
        }
        arrays
    }

    fn put(&mut self, table: &'g str, key: &'g [u8], row: &'g [u8]) {
        self.put.0.push(table);
        self.put.1.push(key);
        self.put.2.push(row);
    }

    pub(super) fn send(
        &self,
        connection: &mut Connection,
        epoch: i64,
        group: i64,
    ) -> Result<(), Fault> {
        let Self {
            put,
            cut,
            blobs,
            gone,
            emptied,
        } = self;
        let bytes: Vec<&[u8]> = blobs.bytes.iter().map(AsRef::as_ref).collect();
        let sent = connection.rows(
            COMMIT,
            &[
                &epoch,
                &group,
                &put.0,
                &put.1,
                &put.2,
                &cut.0,
                &cut.1,
                &blobs.segments,
                &blobs.starts,
                &bytes,
                &blobs.lengths,
                &gone.0,
                &gone.1,
                &gone.2,
                emptied,
            ],
        );
        sent.map(drop)
    }
}

fn at(extent: &Extent) -> (i64, i64, i64) {
    (
        i64::from(extent.segment),
        i64::from(extent.offset),
        i64::from(extent.len),
    )
}

fn behind(offset: usize) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX)
}
