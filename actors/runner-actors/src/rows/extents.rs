//! Which rows hold extents, for those who look whether all blobs are there.

use store::{Extent, ExtentTable, HoldsExtents};

use super::{RUNS, RunRow, TRIGGERS, Trigger};
use crate::{summary_rows, test_rows};

impl HoldsExtents for Trigger {
    fn extents(&self) -> Vec<Extent> {
        vec![self.body]
    }
}

impl HoldsExtents for RunRow {
    fn extents(&self) -> Vec<Extent> {
        let trigger = self.trigger.as_ref();
        trigger.map(HoldsExtents::extents).unwrap_or_default()
    }
}

/// The tables whose rows hold extents: bodies of deliveries, results of tests, and
/// summaries of steps.
pub const EXTENT_TABLES: &[ExtentTable] = &[
    ExtentTable::new(RUNS),
    ExtentTable::new(TRIGGERS),
    test_rows::EXTENT_TABLE,
    summary_rows::EXTENT_TABLE,
];
