//! Which keys the tables have, as the holder of the store knows without asking: only it writes.
//!
//! Most requests look for a key that is not there yet, or ask how many rows a table has. Each such
//! question would be a round trip to the server, one behind the other within a group. So the keys
//! of a table are read once, when it is asked for the first time, and kept as 16 bytes each.

use super::changed_tables::ChangedTables;
use super::queries;
use super::session::WriterSession;
use crate::error::StoreError;
use std::collections::{HashMap, HashSet};

/// Tables with more rows are asked for each key: 500,000 keys take some 16 MB.
const MOST_KEYS: u64 = 500_000;

/// The tables that were asked for so far.
#[derive(Debug, Default)]
pub(super) struct KnownKeys(HashMap<String, TableKeys>);

/// What is known of a table.
#[derive(Debug)]
struct TableKeys {
    /// Its number of rows.
    count: u64,
    /// Digests of its keys; none where there are too many.
    keys: Option<HashSet<u128>>,
}

impl KnownKeys {
    /// Makes a table known; its number of committed rows.
    pub(super) fn load(
        &mut self,
        table: &str,
        session: &mut WriterSession,
    ) -> Result<u64, StoreError> {
        if let Some(known) = self.0.get(table) {
            return Ok(known.count);
        }
        let count = queries::count(&session.rows(queries::LEN, &[&table])?);
        let keys = match count {
            0 => Some(HashSet::new()),
            1..=MOST_KEYS => {
                let rows = session.rows(queries::KEYS, &[&table])?;
                Some(rows.iter().map(|row| digest(row.get(0))).collect())
            }
            _ => None,
        };
        self.0.insert(table.to_owned(), TableKeys { count, keys });
        Ok(count)
    }

    /// Whether a key of a table that is known has a committed row; `None`: only the server knows.
    pub(super) fn contains(&self, table: &str, key: &[u8]) -> Option<bool> {
        let keys = self.0.get(table)?.keys.as_ref()?;
        Some(keys.contains(&digest(key)))
    }

    /// What was committed.
    pub(super) fn apply(&mut self, changed: &ChangedTables) {
        for (table, changes) in changed {
            let Some(known) = self.0.get_mut(table) else {
                continue;
            };
            let Some(keys) = &mut known.keys else {
                // How many of the changed rows are new is the server's to say.
                self.0.remove(table);
                continue;
            };
            for (key, row) in changes {
                match row {
                    Some(_) => known.count += u64::from(keys.insert(digest(key))),
                    None => known.count -= u64::from(keys.remove(&digest(key))),
                }
            }
            if known.count > MOST_KEYS {
                known.keys = None;
            }
        }
    }

    /// Forgets everything: nobody knows what is committed.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

fn digest(key: &[u8]) -> u128 {
    let digest = blake3::hash(key);
    let (first, _) = digest.as_bytes().split_at(16);
    u128::from_le_bytes(first.try_into().expect("16 bytes"))
}
