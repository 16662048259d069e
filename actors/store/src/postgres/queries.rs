//! The statements that read, for the writer and for readers.

use crate::blobs::Extent;
use crate::blobs::packing;
use crate::error::StoreError;
use crate::rows::raw::{KeyRange, RangeEnd, RawRow};
use std::borrow::Cow;
use std::ops::Bound;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// As [`packing::MOST_ROWS`], as the server counts.
pub(super) const MOST_ROWS: i64 = packing::MOST_ROWS as i64;

/// The row of a key.
pub(super) const GET: &str = "SELECT value FROM rows WHERE tbl = $1 AND key = $2";

/// The keys of a table.
pub(super) const KEYS: &str = "SELECT key FROM rows WHERE tbl = $1";

/// The number of rows of a table.
pub(super) const LEN: &str = "SELECT rows FROM tables WHERE name = $1";

/// The tables there ever was a row in.
pub(super) const TABLES: &str = "SELECT name, rows FROM tables ORDER BY name";

/// Which of some keys there are.
pub(super) const KEYS_THERE: &str = "SELECT count(*) FROM unnest($2::bytea[]) AS k (key) JOIN rows r ON r.tbl = $1 AND r.key = k.key";

/// The rows that hold bytes of a segment from $2 on, $3 of them: parts of blobs, or what was copied
/// in parts of another size. What was packed is read from its first row on.
const PARTS: &str = "SELECT start, bytes, length FROM blobs WHERE segment = $1 AND start >= coalesce(\
    (SELECT max(start) FROM blobs WHERE segment = $1 AND start <= $2 \
    AND (length IS NULL OR length > 0)), 0) AND start < $2 + $3 ORDER BY start";

/// The segments.
pub(super) const SEGMENTS: &str = "SELECT DISTINCT segment FROM blobs ORDER BY segment";

/// The first rows of a segment that stand at $2 or behind, $3 of them.
pub(super) const NEXT_PARTS: &str = "SELECT start, bytes, length FROM blobs WHERE segment = $1 AND start >= $2 ORDER BY start LIMIT $3";

/// What asks: a statement and its parameters, in order.
pub(super) type BoundStatement<'a> = &'a mut dyn FnMut(&str, &[&(dyn ToSql + Sync)]) -> QueryRows;
/// The rows, or why there are none.
pub(super) type QueryRows = Result<Vec<Row>, StoreError>;

/// The value of a one-row, one-column answer.
pub(super) fn value(rows: &[Row]) -> Option<Vec<u8>> {
    rows.first().map(|row| row.get(0))
}

/// A count that is absent where nothing was ever counted.
pub(super) fn count(rows: &[Row]) -> u64 {
    let count: i64 = rows.first().map_or(0, |row| row.get(0));
    u64::try_from(count).unwrap_or_default()
}

/// Rows of a range, by ascending or descending key.
pub(super) fn scan(
    ask: BoundStatement<'_>,
    table: &str,
    range: &KeyRange,
    limit: usize,
) -> Result<Vec<RawRow>, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = "SELECT key, value FROM rows WHERE tbl = $1".to_owned();
    let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&table, &limit];
    for (edge, inclusive, exclusive) in [(&range.from, ">=", ">"), (&range.to, "<=", "<")] {
        let (key, comparison) = match edge {
            RangeEnd::Included(key) => (key, inclusive),
            RangeEnd::Excluded(key) => (key, exclusive),
            Bound::Unbounded => continue,
        };
        parameters.push(key);
        statement.push_str(&format!(" AND key {comparison} ${}", parameters.len()));
    }
    let order = if range.backward { "DESC" } else { "ASC" };
    statement.push_str(&format!(" ORDER BY key {order} LIMIT $2"));
    let rows = ask(&statement, &parameters)?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Fills `out` from `at` of a segment; `false` if not all of it is there.
pub(super) fn segment_read(
    ask: BoundStatement<'_>,
    segment: u32,
    at: u64,
    out: &mut [u8],
) -> Result<bool, StoreError> {
    let (segment, start) = (i64::from(segment), signed(at));
    let len = signed(out.len() as u64);
    // One that begins before the end may go on behind it.
    let rows = ask(PARTS, &[&segment, &start, &(len + MOST_ROWS)])?;
    let mut filled = 0;
    for rows in pieces(&rows) {
        if filled == out.len() {
            break;
        }
        let Some((begin, bytes)) = piece(rows, segment) else {
            break;
        };
        let wanted = at + filled as u64;
        // Parts stand in order; what is missing between two stays missing.
        let Some(skip) = wanted
            .checked_sub(begin)
            .and_then(|n| usize::try_from(n).ok())
        else {
            break;
        };
        let part = bytes.get(skip..).unwrap_or_default();
        let take = part.len().min(out.len() - filled);
        out[filled..filled + take].copy_from_slice(&part[..take]);
        filled += take;
    }
    Ok(filled == out.len())
}

/// The rows of `blobs`, those together whose bytes were packed together.
pub(super) fn pieces(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(|_, next| packing::goes_on(next.get(2)))
}

/// Where the bytes of such rows begin, and the bytes; none, with a line in the log, if they cannot
/// be unpacked.
pub(super) fn piece(rows: &[Row], segment: i64) -> Option<(u64, Cow<'_, [u8]>)> {
    let (start, length): (i64, Option<i32>) = (rows[0].get(0), rows[0].get(2));
    let bytes = |row| -> &[u8] { Row::get(row, 1) };
    let unpacked = match rows {
        [row] => packing::unpacked(bytes(row), length),
        rows => {
            let packed = rows.iter().map(bytes).collect::<Vec<_>>().concat();
            let unpacked = packing::unpacked(&packed, length);
            unpacked.map(|bytes| Cow::Owned(bytes.into_owned()))
        }
    };
    if unpacked.is_none() {
        tracing::warn!(
            event = "store.piece_damaged",
            segment,
            offset = start,
            "cannot be unpacked"
        );
    }
    Some((u64::try_from(start).unwrap_or_default(), unpacked?))
}

/// A committed blob.
pub(super) fn blob(
    ask: BoundStatement<'_>,
    extent: &Extent,
) -> Result<Option<Vec<u8>>, StoreError> {
    let mut bytes = vec![0; extent.len as usize];
    let there = bytes.is_empty()
        || segment_read(ask, extent.segment, u64::from(extent.offset), &mut bytes)?;
    Ok(extent.checked(there.then_some(bytes)))
}

/// A number as the server counts.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number of the server's.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
