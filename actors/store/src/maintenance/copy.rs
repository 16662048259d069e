//! Copies a store into an empty one of either engine, and compares both.

use super::lost_blobs::lost_blobs;
use super::place::StoreSource;
use super::{MaintenanceError, StorePlace, TableDigest, digest_table, for_each_part, for_each_row};
use crate::engine::{Engine, SnapshotSource, alone};
use crate::error::{OpenError, StoreError};
use crate::extent_table::ExtentTable;
use crate::identity::record_move;
use crate::options::StoreOptions;
use crate::row_source::StoreSnapshot;
use crate::write::{BALLAST, BLOB_END, COPYING, GROUP, ID, META, MOVED, MOVED_IN, SCHEMA};

/// Bytes of rows that are committed together.
const BATCH_BYTES: usize = 4 << 20;
/// Rows that are.
const BATCH_ROWS: usize = 4096;

/// What a store says of itself, and not of what it holds.
const OWN: [&[u8]; 7] = [GROUP, BLOB_END, BALLAST, COPYING, MOVED, ID, MOVED_IN];

/// What was copied, and compared with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyReport {
    /// Every table with rows, but for the store's own numbers.
    pub tables: Vec<TableDigest>,
    /// Bytes of blobs.
    pub blob_bytes: u64,
    /// Blobs that rows of [`StoreOptions::extents`] name and that the source has lost, so that the
    /// copy lacks them, too.
    pub faults: Vec<String>,
}

/// A row of some table.
type NamedRow = (String, Vec<u8>, Vec<u8>);

/// Copies the store `from` into the empty store `to`, and compares every table (count and digest)
/// and every blob. Neither may be in use, nor may standbys take anything in for it. The source
/// stays as it is: do not start a program on it afterwards.
///
/// # Errors
/// See [`MaintenanceError`]. A copy that did not end is refused by [`crate::Store`] and as a
/// source, and begun anew by the next one.
pub fn copy(
    from: &StorePlace,
    to: &StorePlace,
    options: &StoreOptions,
) -> Result<CopyReport, MaintenanceError> {
    // A standby that still runs would take in what the copy lacks.
    copy_from(&mut from.source(options)?, to, options, |_, _| {
        from.all_decided(options)
    })
}

/// [`copy`], after which the source says where it was moved, and no program starts on it again: it
/// would go on where the copy was made, unseen. It can still be checked and copied.
///
/// # Errors
/// As there.
pub fn migrate(
    from: &StorePlace,
    to: &StorePlace,
    options: &StoreOptions,
) -> Result<CopyReport, MaintenanceError> {
    copy_from(&mut from.source(options)?, to, options, |source, target| {
        from.all_decided(options)?;
        record_move(target)?;
        let before = in_snapshot(&*source.snapshots, |rows| Ok(rows.get(META, MOVED)?))?;
        let Some(engine) = &mut source.engine else {
            return Ok(());
        };
        // Before the target can be used. Killed in between neither can, until it is repeated.
        mark_moved(&mut **engine, Some(to.to_string().as_bytes()))?;
        let settled = from.none_taken_in_since(options);
        if settled.is_err() {
            // Whoever leads next decides what waits.
            mark_moved(&mut **engine, before.as_deref())?;
        }
        settled
    })
}

/// Has a store say where it was moved, or that it was not.
fn mark_moved(engine: &mut dyn Engine, place: Option<&[u8]>) -> Result<(), StoreError> {
    alone(engine, |txn| match place {
        Some(place) => txn.import(META, MOVED, place),
        None => txn.expunge(META, MOVED),
    })
}

/// [`copy`], as of now: a store in PostgreSQL may be in use.
///
/// # Errors
/// As there.
pub fn backup(
    from: &StorePlace,
    to: &StorePlace,
    options: &StoreOptions,
) -> Result<CopyReport, MaintenanceError> {
    copy_from(&mut from.live_source(options)?, to, options, |_, _| Ok(()))
}

/// Copies, and unmarks the copy if all is `well` then.
fn copy_from(
    source: &mut StoreSource,
    to: &StorePlace,
    options: &StoreOptions,
    well: impl FnOnce(&mut StoreSource, &mut dyn Engine) -> Result<(), MaintenanceError>,
) -> Result<CopyReport, MaintenanceError> {
    refuse_half_copied(&*source.snapshots)?;
    let mut target = to.target(options)?;
    empty(&mut *target, to)?;
    let mut report = Err(to.missing());
    source.snapshots.snapshot(&mut |rows| {
        report = match rows {
            Ok(rows) => copy_rows((rows.snapshot(), options.extents), &mut *target, to),
            Err(error) => Err(error.into()),
        };
    });
    let report = report?;
    well(source, &mut *target)?;
    alone(&mut *target, |txn| txn.expunge(META, COPYING))?;
    target.close();
    Ok(report)
}

/// A copy that did not end is no source: what it lacks would be missing in the next one, unseen.
fn refuse_half_copied(source: &dyn SnapshotSource) -> Result<(), MaintenanceError> {
    match in_snapshot(source, |rows| Ok(rows.get(META, COPYING)?))? {
        None => Ok(()),
        Some(_) => {
            let place = source.place().to_owned();
            Err(OpenError::HalfCopied { place }.into())
        }
    }
}

/// What one snapshot answers.
fn in_snapshot<T>(
    snapshots: &dyn SnapshotSource,
    mut ask: impl FnMut(&mut dyn StoreSnapshot) -> Result<T, MaintenanceError>,
) -> Result<T, MaintenanceError> {
    let mut answer = Err(MaintenanceError::Store(StoreError::Closed));
    snapshots.snapshot(&mut |rows| {
        answer = match rows {
            Ok(rows) => ask(rows.snapshot()),
            Err(error) => Err(error.into()),
        };
    });
    answer
}

/// Sees that the target holds nothing but what an earlier copy left, and removes that.
fn empty(target: &mut dyn Engine, place: &StorePlace) -> Result<(), MaintenanceError> {
    let snapshots = target.snapshots();
    let (tables, is_left, schema) = in_snapshot(&*snapshots, |rows| {
        let tables = rows.tables()?;
        let is_left = rows.get(META, COPYING)?.is_some();
        Ok((tables, is_left, rows.get(META, SCHEMA)?))
    })?;
    let others = tables
        .iter()
        .filter(|(name, rows)| name != META && *rows > 0);
    if !is_left && let Some((name, rows)) = others.max_by_key(|(_, rows)| *rows) {
        return Err(MaintenanceError::NotEmpty {
            place: place.to_string(),
            found: format!("table {name} has {rows} rows"),
        });
    }
    if !is_left && schema.is_some() {
        return Err(MaintenanceError::NotEmpty {
            place: place.to_string(),
            found: "a program has prepared it".to_owned(),
        });
    }
    alone(target, |txn| txn.import(META, COPYING, b"copying"))?;
    for (name, _) in tables {
        let keys = in_snapshot(&*snapshots, |rows| {
            let mut keys = Vec::new();
            for_each_row(rows, &name, |key, _| {
                keys.push(key.to_vec());
                Ok::<_, StoreError>(())
            })?;
            Ok(keys)
        })?;
        for keys in keys.chunks(BATCH_ROWS) {
            alone(target, |txn| {
                let keys = keys.iter().filter(|key| name != META || *key != COPYING);
                keys.into_iter().try_for_each(|key| txn.expunge(&name, key))
            })?;
        }
    }
    Ok(target.clear_segments()?)
}

fn copy_rows(
    (rows, extents): (&mut dyn StoreSnapshot, &[ExtentTable]),
    target: &mut dyn Engine,
    to: &StorePlace,
) -> Result<CopyReport, MaintenanceError> {
    let group = rows.get(META, GROUP)?.and_then(|row| row.try_into().ok());
    let blob_end = rows.get(META, BLOB_END)?.unwrap_or_default();
    target.continue_from(group.map_or(0, u64::from_be_bytes), &blob_end)?;
    let mut blob_bytes = 0;
    for segment in rows.segments()? {
        for_each_part(rows, segment, |_, at, bytes| {
            blob_bytes += bytes.len() as u64;
            target.import_segment(segment, at, bytes)
        })?;
    }
    let mut tables = Vec::new();
    for (name, _) in rows.tables()? {
        tables.extend(copy_table(rows, target, &name)?);
    }
    compare(rows, &tables, target, to)?;
    Ok(CopyReport {
        tables,
        blob_bytes,
        faults: lost_blobs(rows, extents)?,
    })
}

/// Copies one table; its digest as it was read.
fn copy_table(
    rows: &mut dyn StoreSnapshot,
    target: &mut dyn Engine,
    name: &str,
) -> Result<Option<TableDigest>, MaintenanceError> {
    let mut batch: Vec<NamedRow> = Vec::new();
    let mut bytes = 0;
    let mut failed = Ok(());
    let digest = digest_table(rows, name, |key, row| {
        // The target counts its own groups, and knows where blobs end.
        let own = OWN.contains(&key);
        if (name == META && own) || failed.is_err() {
            return;
        }
        bytes += key.len() + row.len();
        batch.push((name.to_owned(), key.to_vec(), row.to_vec()));
        if bytes >= BATCH_BYTES || batch.len() >= BATCH_ROWS {
            failed = write(target, &mut batch);
            bytes = 0;
        }
    })?;
    failed?;
    write(target, &mut batch)?;
    Ok((name != META && digest.rows > 0).then_some(digest))
}

fn write(target: &mut dyn Engine, batch: &mut Vec<NamedRow>) -> Result<(), StoreError> {
    let rows = std::mem::take(batch);
    if rows.is_empty() {
        return Ok(());
    }
    alone(target, |txn| {
        let mut rows = rows.iter();
        rows.try_for_each(|(table, key, row)| txn.import(table, key, row))
    })
}

/// Reads the copy, and compares it with what was read of the source.
fn compare(
    source: &mut dyn StoreSnapshot,
    tables: &[TableDigest],
    target: &dyn Engine,
    to: &StorePlace,
) -> Result<(), MaintenanceError> {
    let differs = |what: String| MaintenanceError::Differs {
        place: to.to_string(),
        what,
    };
    in_snapshot(&*target.snapshots(), |copy| {
        for expected in tables {
            let name = &expected.name;
            let found = digest_table(copy, name, |_, _| {})?;
            if found.rows != expected.rows {
                let (rows, wanted) = (found.rows, expected.rows);
                return Err(differs(format!(
                    "table {name} has {rows} rows, not {wanted}"
                )));
            }
            if found != *expected {
                return Err(differs(format!("table {name} has another digest")));
            }
        }
        let more = copy.tables()?.into_iter().find(|(name, rows)| {
            let known = tables.iter().any(|table| table.name == *name);
            name != META && *rows > 0 && !known
        });
        if let Some((name, _)) = more {
            return Err(differs(format!("table {name} is not in the source")));
        }
        for segment in source.segments()? {
            for_each_part(source, segment, |_, at, bytes| {
                let mut found = vec![0; bytes.len()];
                let same = copy.segment_read(segment, at, &mut found)? && found == bytes;
                match same {
                    true => Ok(()),
                    false => Err(differs(format!("segment {segment} at {at}"))),
                }
            })?;
        }
        Ok(())
    })
}
