//! A group on its way to the server.

use super::changed_tables::ChangedTables;
use super::connection::PostgresConnection;
use super::fault::Fault;
use super::known_keys::KnownKeys;
use crate::blobs::Extent;
use crate::blobs::packing::BlobPart;
use crate::write::GroupChanges;
use std::borrow::Cow;

const COMMIT: &str = "SELECT commit_group($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, \
     $16, $17, $18)";

/// Tables, keys and values of rows.
type RowArrays<'g> = (Vec<&'g str>, Vec<&'g [u8]>, Vec<&'g [u8]>);

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
    /// Rows whose keys nothing is stored under, as far as is known without asking.
    new: RowArrays<'g>,
    put: RowArrays<'g>,
    cut: (Vec<&'g str>, Vec<&'g [u8]>),
    blobs: Blobs<'g>,
    gone: (Vec<i64>, Vec<i64>, Vec<i64>),
    emptied: Vec<i64>,
}

impl<'g> Arrays<'g> {
    /// `keys`: before the group.
    pub(super) fn from_changes(
        changed: &'g ChangedTables,
        group: &'g GroupChanges,
        keys: &KnownKeys,
    ) -> Self {
        let mut arrays = Self {
            new: Default::default(),
            put: Default::default(),
            cut: Default::default(),
            blobs: Blobs::default(),
            gone: Default::default(),
            emptied: group.emptied.iter().copied().map(i64::from).collect(),
        };
        for (table, changes) in changed {
            for (key, row) in changes {
                match row {
                    Some(row) => {
                        let is_new = keys.contains(table, key) == Some(false);
                        let rows = if is_new {
                            &mut arrays.new
                        } else {
                            &mut arrays.put
                        };
                        rows.0.push(table);
                        rows.1.push(key);
                        rows.2.push(row);
                    }
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
            let mut put = |part: BlobPart<'g>| {
                arrays.blobs.segments.push(segment);
                arrays.blobs.starts.push(start + behind(part.offset));
                arrays.blobs.bytes.push(part.bytes);
                arrays.blobs.lengths.push(part.length);
            };
            match blob.parts() {
                Cow::Borrowed(parts) => parts.iter().map(BlobPart::borrowed).for_each(&mut put),
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

    pub(super) fn send(
        &self,
        connection: &mut PostgresConnection,
        epoch: i64,
        group: i64,
    ) -> Result<(), Fault> {
        let Self {
            new,
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
                &new.0,
                &new.1,
                &new.2,
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
