//! Idempotency keys: a request that is sent twice makes one VM, also across a restart.
//!
//! A key belongs to who sent it. It is *pending* until its VM is there, then names that VM, and is
//! remembered as *ended* for a day after, so that a request which was late on its way does not make
//! a VM nobody waits for. A restart forgets keys whose VM it ended: the request can be sent again.

use serde::{Deserialize, Serialize};
use store::{ReadRows, Row, Store, StoreError, Table, WriteTxn};
use vm_core::{UnixMs, VmId};

/// How long an ended key is remembered, in milliseconds.
const REMEMBERED_MS: u64 = 24 * 3600 * 1000;

/// The most keys kept; past it the ended ones go, oldest first.
const MOST: usize = 20_000;

/// The most characters of a key.
pub const MAX_KEY: usize = 200;

/// A key as its sender wrote it, and what it was sent with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Who sent it: the token's subject.
    pub subject: String,
    /// The header `Idempotency-Key`.
    pub key: String,
    /// A hash of the request.
    pub digest: [u8; 32],
}

impl IdempotencyKey {
    fn row_key(&self) -> (String, String) {
        (self.subject.clone(), self.key.clone())
    }
}

/// What is remembered of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KeyRow {
    digest: [u8; 32],
    /// The VM; absent while it is being made.
    vm: Option<String>,
    /// Whether the VM has ended.
    ended: bool,
    /// The last change, in milliseconds since 1970.
    at: u64,
}

impl Row for KeyRow {
    const SCHEMA: u16 = 1;
}

const KEYS: Table<(String, String), KeyRow> = Table::new("vm_order_keys");

/// What a key that comes (again) means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It was never seen: make the VM.
    Fresh,
    /// The VM of this request is being made.
    Pending,
    /// This VM is the request's.
    Made(String),
    /// The request's VM has ended.
    Ended(String),
    /// The key came with another request.
    OtherRequest,
}

/// Looks the key up, and makes it pending when it was never seen.
///
/// # Errors
/// The store's.
pub fn claim(
    txn: &mut WriteTxn<'_>,
    key: &IdempotencyKey,
    now: UnixMs,
) -> Result<Claim, StoreError> {
    let row_key = key.row_key();
    let Some(row) = txn.get(&KEYS, &row_key)? else {
        let row = KeyRow {
            digest: key.digest,
            vm: None,
            ended: false,
            at: now.0,
        };
        txn.put(&KEYS, &row_key, &row)?;
        return Ok(Claim::Fresh);
    };
    Ok(match row.vm {
        _ if row.digest != key.digest => Claim::OtherRequest,
        None => Claim::Pending,
        Some(vm) if row.ended => Claim::Ended(vm),
        Some(vm) => Claim::Made(vm),
    })
}

/// The request's VM is there.
///
/// # Errors
/// The store's.
pub fn record_vm(
    txn: &mut WriteTxn<'_>,
    key: &IdempotencyKey,
    vm: &VmId,
    now: UnixMs,
) -> Result<(), StoreError> {
    change(txn, key, |row| {
        row.vm = Some(vm.to_string());
        row.at = now.0;
    })
}

/// The request's VM has ended.
///
/// # Errors
/// The store's.
pub fn record_end(
    txn: &mut WriteTxn<'_>,
    key: &IdempotencyKey,
    now: UnixMs,
) -> Result<(), StoreError> {
    change(txn, key, |row| {
        row.ended = true;
        row.at = now.0;
    })
}

fn change(
    txn: &mut WriteTxn<'_>,
    key: &IdempotencyKey,
    change: impl FnOnce(&mut KeyRow),
) -> Result<(), StoreError> {
    let row_key = key.row_key();
    if let Some(mut row) = txn.get(&KEYS, &row_key)? {
        change(&mut row);
        txn.put(&KEYS, &row_key, &row)?;
    }
    Ok(())
}

/// The request failed: sent again, it is a new one.
///
/// # Errors
/// The store's.
pub fn forget(txn: &mut WriteTxn<'_>, key: &IdempotencyKey) -> Result<(), StoreError> {
    txn.delete(&KEYS, &key.row_key())?;
    Ok(())
}

/// After a restart: keys of VMs that were still there are forgotten, they were ended with
/// the previous incarnation of the manager. Blocks.
///
/// # Errors
/// The store's.
pub fn forget_unfinished(store: &Store) -> Result<(), StoreError> {
    store.write_blocking(|txn| {
        for (key, row) in txn.range(&KEYS, .., usize::MAX)? {
            if !row.ended {
                txn.delete(&KEYS, &key)?;
            }
        }
        Ok(())
    })
}

/// Removes what is no longer remembered.
///
/// # Errors
/// The store's.
pub fn sweep(txn: &mut WriteTxn<'_>, now: UnixMs) -> Result<(), StoreError> {
    let rows = txn.range(&KEYS, .., usize::MAX)?;
    let excess = rows.len().saturating_sub(MOST);
    let mut ended: Vec<_> = rows.into_iter().filter(|(_, row)| row.ended).collect();
    ended.sort_by_key(|(_, row)| row.at);
    for (number, (key, row)) in ended.into_iter().enumerate() {
        if number < excess || now.0.saturating_sub(row.at) > REMEMBERED_MS {
            txn.delete(&KEYS, &key)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::StoreOptions;

    fn key(digest: u8) -> IdempotencyKey {
        IdempotencyKey {
            subject: "runner".to_owned(),
            key: "k1".to_owned(),
            digest: [digest; 32],
        }
    }

    fn store() -> Store {
        Store::in_memory(&StoreOptions::new("test")).unwrap()
    }

    fn claimed(store: &Store, key: &IdempotencyKey) -> Claim {
        let key = key.clone();
        store
            .write_blocking(move |txn| claim(txn, &key, UnixMs(5)))
            .unwrap()
    }

    #[test]
    fn a_key_goes_from_fresh_to_ended_and_another_order_is_told_apart() {
        let store = store();
        let vm: VmId = "vm-1".parse().unwrap();
        assert_eq!(claimed(&store, &key(1)), Claim::Fresh);
        assert_eq!(claimed(&store, &key(1)), Claim::Pending);
        assert_eq!(claimed(&store, &key(2)), Claim::OtherRequest);
        let of_another = IdempotencyKey {
            subject: "other".to_owned(),
            ..key(2)
        };
        assert_eq!(claimed(&store, &of_another), Claim::Fresh);
        store
            .write_blocking(move |txn| record_vm(txn, &key(1), &vm, UnixMs(6)))
            .unwrap();
        assert_eq!(claimed(&store, &key(1)), Claim::Made("vm-1".to_owned()));
        store
            .write_blocking(|txn| record_end(txn, &key(1), UnixMs(7)))
            .unwrap();
        assert_eq!(claimed(&store, &key(1)), Claim::Ended("vm-1".to_owned()));
        store.write_blocking(|txn| forget(txn, &key(1))).unwrap();
        assert_eq!(claimed(&store, &key(1)), Claim::Fresh);
    }

    #[test]
    fn a_restart_forgets_what_it_ended_and_a_day_forgets_the_rest() {
        let store = store();
        let ended_key = IdempotencyKey {
            key: "done".to_owned(),
            ..key(1)
        };
        assert_eq!(claimed(&store, &key(1)), Claim::Fresh);
        assert_eq!(claimed(&store, &ended_key), Claim::Fresh);
        let vm: VmId = "vm-1".parse().unwrap();
        let done = ended_key.clone();
        store
            .write_blocking(move |txn| {
                record_vm(txn, &done, &vm, UnixMs(6))?;
                record_end(txn, &done, UnixMs(7))
            })
            .unwrap();
        forget_unfinished(&store).unwrap();
        assert_eq!(claimed(&store, &key(1)), Claim::Fresh);
        let is_ended = Claim::Ended("vm-1".to_owned());
        store
            .write_blocking(|txn| sweep(txn, UnixMs(7 + REMEMBERED_MS)))
            .unwrap();
        assert_eq!(claimed(&store, &ended_key), is_ended);
        store
            .write_blocking(|txn| sweep(txn, UnixMs(8 + REMEMBERED_MS)))
            .unwrap();
        assert_eq!(claimed(&store, &ended_key), Claim::Fresh);
    }
}
