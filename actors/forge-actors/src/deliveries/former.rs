//! Rows of former versions: one for each id, body and subject, and one more to find it by time.

use serde::{Deserialize, Serialize};
use store::{ReadRows, Row, Store, StoreError, Table, WriteTxn};

use super::index::key_after;
use super::rows::{DeliveryRow, SEEN};

pub(super) const ID: u8 = 0;
/// By SHA-256, which later versions could not compare with their own digests.
pub(super) const OTHER_DIGEST: u8 = 1;
pub(super) const SUBJECT: u8 = 2;
pub(super) const BODY: u8 = 3;

/// An entry: what was seen, and when.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    at: u64,
    /// For an id: the digest of the body it came with last.
    body: Option<[u8; 32]>,
}

impl Row for Entry {
    const SCHEMA: u16 = 1;
}

/// An entry in the order of time.
#[derive(Debug, Serialize, Deserialize)]
struct Dated;

impl Row for Dated {
    const SCHEMA: u16 = 1;
}

const ENTRIES: Table<(u8, Vec<u8>), Entry> = Table::new("forge_seen");
const BY_TIME: Table<(u64, u8, Vec<u8>), Dated> = Table::new("forge_seen_by_time");

/// Entries moved in one transaction.
const BATCH: usize = 1000;

/// Moves all entries to today's rows. Goes on where it was interrupted.
pub(super) fn move_over(store: &Store) -> Result<(), StoreError> {
    let is_left = || {
        store.read_blocking(|rows| {
            Ok::<_, StoreError>(rows.len(&BY_TIME)? > 0 || rows.len(&ENTRIES)? > 0)
        })
    };
    while is_left()? {
        store.write_blocking(move_some)?;
    }
    Ok(())
}

fn move_some(rows: &mut WriteTxn<'_>) -> Result<(), StoreError> {
    let mut last = rows.last(&SEEN)?.map_or(0, |(key, _)| key);
    let dated = rows.range(&BY_TIME, .., BATCH)?;
    let mut entries: Vec<_> = dated.into_iter().map(|(key, Dated)| key).collect();
    if entries.is_empty() {
        let undated = rows.range(&ENTRIES, .., BATCH)?;
        entries.extend(
            undated
                .into_iter()
                .map(|((kind, key), of)| (of.at, kind, key)),
        );
    }
    for (at, kind, key) in entries {
        let seen = seen_of(rows, kind, &key)?;
        remove(rows, at, kind, key)?;
        if let Some(seen) = seen {
            last = key_after(last, at);
            rows.put(&SEEN, &last, &seen)?;
        }
    }
    Ok(())
}

/// The row that an entry becomes; `None`: it says nothing, or went along with its id, which comes
/// before.
fn seen_of(
    rows: &mut WriteTxn<'_>,
    kind: u8,
    key: &[u8],
) -> Result<Option<DeliveryRow>, StoreError> {
    let mut seen = DeliveryRow {
        id: None,
        body: None,
        subject: None,
        led_to: None,
    };
    let text = || String::from_utf8(key.to_vec()).ok();
    let place = (kind, key.to_vec());
    match kind {
        ID => {
            let entry = rows.get(&ENTRIES, &place)?;
            let Some(digest) = entry.and_then(|entry| entry.body) else {
                return Ok(None);
            };
            seen.id = text();
            seen.body = take_body(rows, digest)?;
        }
        // Those in quarantine too: the key says it all.
        BODY if rows.contains(&ENTRIES, &place)? => seen.body = key.try_into().ok(),
        SUBJECT if rows.contains(&ENTRIES, &place)? => seen.subject = text(),
        _ => {}
    }
    let says = seen.lookup_keys().next().is_some();
    Ok(says.then_some(seen))
}

/// The body that an id came with, its own entry removed; `None` if it cannot be compared.
fn take_body(rows: &mut WriteTxn<'_>, digest: [u8; 32]) -> Result<Option<[u8; 32]>, StoreError> {
    if rows.contains(&ENTRIES, &(OTHER_DIGEST, digest.to_vec()))? {
        return Ok(None);
    }
    if let Some(entry) = rows.get(&ENTRIES, &(BODY, digest.to_vec()))? {
        remove(rows, entry.at, BODY, digest.to_vec())?;
    }
    Ok(Some(digest))
}

fn remove(rows: &mut WriteTxn<'_>, at: u64, kind: u8, key: Vec<u8>) -> Result<(), StoreError> {
    rows.delete(&BY_TIME, &(at, kind, key.clone()))?;
    rows.delete(&ENTRIES, &(kind, key))?;
    Ok(())
}

/// Writes an entry as a former version did.
#[cfg(test)]
pub(super) fn remember(
    rows: &mut WriteTxn<'_>,
    at: u64,
    (kind, key): (u8, &[u8]),
    body: Option<[u8; 32]>,
) -> Result<(), StoreError> {
    rows.put(&BY_TIME, &(at, kind, key.to_vec()), &Dated)?;
    rows.put(&ENTRIES, &(kind, key.to_vec()), &Entry { at, body })
}

/// How many entries there are, by either table.
#[cfg(test)]
pub(super) fn left(store: &Store) -> [u64; 2] {
    let left =
        store.read_blocking(|rows| Ok::<_, StoreError>([rows.len(&ENTRIES)?, rows.len(&BY_TIME)?]));
    left.unwrap()
}
