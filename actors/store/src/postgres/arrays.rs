//! A group on its way to the server.

use super::changed_tables::ChangedTables;
use super::connection::Connection;
use super::fault::Fault;
use crate::blobs::Extent;
use crate::write::GroupChanges;

const COMMIT: &str =
    "SELECT commit_group($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";

/// A group as the arrays of one statement.
pub(super) struct Arrays<'g> {
    put: (Vec<&'g str>, Vec<&'g [u8]>, Vec<&'g [u8]>),
    cut: (Vec<&'g str>, Vec<&'g [u8]>),
    blobs: (Vec<i64>, Vec<i64>, Vec<&'g [u8]>),
    gone: (Vec<i64>, Vec<i64>, Vec<i64>),
    emptied: Vec<i64>,
}

impl<'g> Arrays<'g> {
    pub(super) fn of(changed: &'g ChangedTables, group: &'g GroupChanges) -> Self {
        let mut arrays = Self {
            put: Default::default(),
            cut: Default::default(),
            blobs: Default::default(),
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
        for (extent, bytes) in group.parts.blobs().filter(|(extent, _)| extent.len > 0) {
            let (segment, start, _) = at(extent);
            arrays.blobs.0.push(segment);
            arrays.blobs.1.push(start);
            arrays.blobs.2.push(bytes.as_ref());
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
        let sent = connection.rows(
            COMMIT,
            &[
                &epoch, &group, &put.0, &put.1, &put.2, &cut.0, &cut.1, &blobs.0, &blobs.1,
                &blobs.2, &gone.0, &gone.1, &gone.2, emptied,
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
