//! Blobs that rows name and that are not there, or not as they were.

use super::{digits, for_each_row};
use crate::error::StoreError;
use crate::extent_table::ExtentTable;
use crate::row_source::StoreSnapshot;

/// Lost blobs of a table that are named one by one.
const NAMED: usize = 20;

/// Reads every blob that a row of these tables names; what is wrong.
pub(super) fn lost_blobs(
    rows: &mut dyn StoreSnapshot,
    tables: &[ExtentTable],
) -> Result<Vec<String>, StoreError> {
    let mut faults = Vec::new();
    for table in tables {
        let name = table.name;
        let mut named = Vec::new();
        for_each_row(rows, name, |key, row| {
            let extents = (table.extents)(row).into_iter();
            named.extend(extents.map(|extent| (key.to_vec(), extent)));
            Ok::<_, StoreError>(())
        })?;
        let mut lost = 0;
        for (key, extent) in named {
            if rows.blob(&extent)?.is_some() {
                continue;
            }
            lost += 1;
            if lost <= NAMED {
                let (segment, bytes) = (extent.segment, extent.len);
                faults.push(format!(
                    "table {name}: the blob of key {} ({bytes} bytes of segment {segment}) is lost",
                    digits(&key)
                ));
            }
        }
        if lost > NAMED {
            faults.push(format!("table {name}: {lost} blobs are lost"));
        }
    }
    Ok(faults)
}
