//! What waits in the intake for a decision, as whoever decides reads it.

use super::connection::PostgresConnection;
use super::fault::Fault;
use super::queries::{signed, unsigned};
use std::time::Duration;

/// No further entry is read of a page that has so many bytes.
const PAGE_BYTES: usize = 16 << 20;

/// An entry that waits for a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntakeEntry {
    /// Its number, by which it is decided.
    pub seq: u64,
    /// The delivery's id.
    pub delivery: String,
    /// What was taken in.
    pub content: Vec<u8>,
}

/// Entries that wait for a decision, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntakePage {
    /// They.
    pub entries: Vec<IntakeEntry>,
    /// Others may wait behind them.
    pub may_have_more: bool,
}

/// What waits for a decision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IntakeBacklog {
    /// Entries.
    pub entries: u64,
    /// How long the oldest has waited, by the server's clock.
    pub oldest: Duration,
}

/// The oldest entries that wait, but for some: `limit` of them, fewer where they are large.
pub(super) fn undecided(
    connection: &mut PostgresConnection,
    limit: usize,
    except: &[u64],
) -> Result<IntakePage, Fault> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let bytes = i64::try_from(PAGE_BYTES).unwrap_or(i64::MAX);
    let except: Vec<i64> = except.iter().copied().map(signed).collect();
    // Lengths are known without reading what is that long.
    let statement = "SELECT seq, delivery, content FROM ( \
         SELECT w.*, sum(octet_length(content)) OVER (ORDER BY seq) \
         - octet_length(content) AS before FROM ( \
         SELECT seq, delivery, content FROM intake WHERE outcome IS NULL \
         AND seq <> ALL($3::bigint[]) ORDER BY seq LIMIT $1) AS w) AS p \
         WHERE before < $2 ORDER BY seq";
    let rows = connection.rows(statement, &[&most, &bytes, &except])?;
    let entry = |row: &tokio_postgres::Row| IntakeEntry {
        seq: unsigned(row.get(0)),
        delivery: row.get(1),
        content: row.get(2),
    };
    let entries: Vec<IntakeEntry> = rows.iter().map(entry).collect();
    let read: usize = entries.iter().map(|entry| entry.content.len()).sum();
    Ok(IntakePage {
        may_have_more: entries.len() >= limit || read >= PAGE_BYTES,
        entries,
    })
}

/// What waits for a decision.
pub(super) fn backlog(connection: &mut PostgresConnection) -> Result<IntakeBacklog, Fault> {
    let statement = "SELECT count(*), extract(epoch FROM clock_timestamp() - min(received))::float8 \
         FROM intake WHERE outcome IS NULL";
    let rows = connection.rows(statement, &[])?;
    let oldest: Option<f64> = rows[0].get(1);
    let oldest = Duration::try_from_secs_f64(oldest.unwrap_or_default());
    Ok(IntakeBacklog {
        entries: unsigned(rows[0].get(0)),
        oldest: oldest.unwrap_or_default(),
    })
}
