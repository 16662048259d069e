//! Reads a whole store and says what is wrong with it.

use super::lost_blobs::lost_blobs;
use super::{MaintenanceError, StorePlace, TableDigest, digest_table, digits};
use crate::blobs::segment_of_key;
use crate::codec::is_whole;
use crate::engine::SnapshotSource;
use crate::handle::{directory_engine, holds_store};
use crate::options::StoreOptions;
use crate::quarantine::QUARANTINE;
use crate::row_source::StoreSnapshot;
use crate::write::{COPYING, META};
use std::collections::BTreeSet;

/// Faulty rows that are named one by one.
const NAMED_FAULTS: usize = 20;

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreCheckReport {
    /// Every table.
    pub tables: Vec<TableDigest>,
    /// Segments of blobs.
    pub segments: u64,
    /// Rows in quarantine: kept, and used by nobody.
    pub quarantined: u64,
    /// What is wrong; nothing if the store is whole.
    pub faults: Vec<String>,
}

/// Reads every row of the store and compares checksums and counts, and every blob that a row of
/// [`StoreOptions::extents`] names. A store in redb must not be in use; one in PostgreSQL is read
/// as of now, while its program runs, with what standbys took in.
///
/// # Errors
/// The store cannot be opened or read. What is wrong with its rows is in the report.
pub fn check(
    place: &StorePlace,
    options: &StoreOptions,
) -> Result<StoreCheckReport, MaintenanceError> {
    let mut faults = Vec::new();
    if let StorePlace::Directory(folder) = place {
        if !holds_store(folder) {
            return Err(place.missing());
        }
        faults = directory_engine(folder, options)?.check_integrity()?;
    }
    let source = place.current_source(options)?;
    let mut report = read(&*source.snapshots, options)?;
    place.read_intake(options)?;
    faults.append(&mut report.faults);
    Ok(StoreCheckReport { faults, ..report })
}

fn read(
    snapshots: &dyn SnapshotSource,
    options: &StoreOptions,
) -> Result<StoreCheckReport, MaintenanceError> {
    let mut report = Err(MaintenanceError::Missing {
        place: snapshots.place().to_owned(),
    });
    snapshots.snapshot(&mut |rows| {
        report = match rows {
            Ok(rows) => report_of(rows.snapshot(), options),
            Err(error) => Err(error.into()),
        };
    });
    report
}

fn report_of(
    rows: &mut dyn StoreSnapshot,
    options: &StoreOptions,
) -> Result<StoreCheckReport, MaintenanceError> {
    let mut faults = Vec::new();
    let mut tables = Vec::new();
    let mut quarantined = 0;
    for (name, counted) in rows.tables()? {
        let mut damaged = 0;
        let is_typed = name != META;
        let table = digest_table(rows, &name, |key, row| {
            if is_typed && !is_whole(row) {
                damaged += 1;
                if faults.len() < NAMED_FAULTS {
                    faults.push(format!(
                        "table {name}: the row of key {} is damaged",
                        digits(key)
                    ));
                }
            }
        })?;
        if damaged as usize > NAMED_FAULTS {
            faults.push(format!("table {name}: {damaged} rows are damaged"));
        }
        if table.rows != counted {
            let there = table.rows;
            faults.push(format!(
                "table {name}: {counted} rows are counted, {there} are there"
            ));
        }
        if name == QUARANTINE.name() {
            quarantined = table.rows;
        }
        tables.push(table);
    }
    if rows.get(META, COPYING)?.is_some() {
        faults.push("it holds part of a copy that did not end".to_owned());
    }
    let segments: BTreeSet<u32> = rows.segments()?.into_iter().collect();
    for segment in used_segments(rows)?.difference(&segments) {
        faults.push(format!("segment {segment} of blobs is missing"));
    }
    faults.append(&mut lost_blobs(rows, options.extents)?);
    Ok(StoreCheckReport {
        tables,
        segments: segments.len() as u64,
        quarantined,
        faults,
    })
}

/// The segments that hold blobs in use.
fn used_segments(rows: &mut dyn StoreSnapshot) -> Result<BTreeSet<u32>, MaintenanceError> {
    let mut used = BTreeSet::new();
    super::for_each_row(rows, META, |key, row| {
        let is_used = row.iter().any(|byte| *byte != 0);
        used.extend(segment_of_key(key).filter(|_| is_used));
        Ok::<_, MaintenanceError>(())
    })?;
    Ok(used)
}
