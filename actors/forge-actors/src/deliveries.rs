//! Which webhook deliveries were seen already.
//!
//! A delivery is known by its id and by the digest of its body: forges repeat an id when somebody
//! redelivers, and send one event under several ids when several hooks lead here.

use std::time::Duration;

use forge_core::{BodyDigest, DeliveryId};
use serde::{Deserialize, Serialize};
use store::{ReadRows, Row, StoreError, Table, WriteTxn};

/// What becomes of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It is new.
    Fresh,
    /// It was seen: same id and body, or same body under another id. Nothing is to be done.
    Duplicate,
    /// Its id was seen with another body. It is new, and somebody should look at it.
    SameIdOtherBody,
}

impl Admission {
    /// Whether it is to be worked on.
    #[must_use]
    pub fn is_new(self) -> bool {
        self != Self::Duplicate
    }
}

/// How long deliveries are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deliveries {
    /// At most so many entries; a delivery has two or three (id, body, subject).
    pub max_entries: u64,
    /// None older than this.
    pub max_age: Duration,
}

impl Default for Deliveries {
    /// 300,000 entries, 30 days.
    fn default() -> Self {
        Self {
            max_entries: 300_000,
            max_age: Duration::from_secs(30 * 24 * 3600),
        }
    }
}

/// What an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Id = 0,
    /// Of earlier versions, by SHA-256.
    FormerBody = 1,
    Subject = 2,
    Body = 3,
}

/// An entry: what was seen, and when.
#[derive(Debug, Serialize, Deserialize)]
struct Seen {
    at: u64,
    /// For an id: the digest of the body it came with last.
    body: Option<[u8; 32]>,
}

impl Row for Seen {
    const SCHEMA: u16 = 1;
}

/// An entry in the order of time.
#[derive(Debug, Serialize, Deserialize)]
struct Dated;

impl Row for Dated {
    const SCHEMA: u16 = 1;
}

const SEEN: Table<(u8, Vec<u8>), Seen> = Table::new("forge_seen");
const SEEN_BY_TIME: Table<(u64, u8, Vec<u8>), Dated> = Table::new("forge_seen_by_time");

/// Most entries removed beside one admission.
const PRUNED: usize = 16;

impl Deliveries {
    /// Admits a delivery, within the transaction that stores what comes of it.
    ///
    /// # Errors
    /// The store's.
    pub fn admit(
        &self,
        rows: &mut WriteTxn<'_>,
        id: &DeliveryId,
        body: &BodyDigest,
        now: u64,
    ) -> Result<Admission, StoreError> {
        let digest = *body.as_bytes();
        if rows.contains(&SEEN, &(Kind::Body as u8, digest.to_vec()))? {
            return Ok(Admission::Duplicate);
        }
        let key = (Kind::Id as u8, id.as_str().as_bytes().to_vec());
        let admission = match rows.get(&SEEN, &key)? {
            Some(seen) if is_of_former_version(rows, &seen)? => return Ok(Admission::Duplicate),
            Some(seen) => {
                rows.delete(&SEEN_BY_TIME, &(seen.at, key.0, key.1.clone()))?;
                Admission::SameIdOtherBody
            }
            // Unreadable: the body decides alone.
            None => Admission::Fresh,
        };
        remember(rows, &key, now, Some(digest))?;
        remember(rows, &(Kind::Body as u8, digest.to_vec()), now, None)?;
        self.prune(rows, now)?;
        Ok(admission)
    }

    /// Admits what a delivery is about, where that can come in different bodies: a comment's id,
    /// sent by the hook of a repository and by that of its owner. `false`: it was seen.
    ///
    /// # Errors
    /// The store's.
    pub fn admit_subject(
        &self,
        rows: &mut WriteTxn<'_>,
        subject: &str,
        now: u64,
    ) -> Result<bool, StoreError> {
        let key = (Kind::Subject as u8, subject.as_bytes().to_vec());
        if rows.contains(&SEEN, &key)? {
            return Ok(false);
        }
        remember(rows, &key, now, None)?;
        self.prune(rows, now)?;
        Ok(true)
    }

    /// Removes the oldest entries beyond the bounds, a few at a time.
    fn prune(&self, rows: &mut WriteTxn<'_>, now: u64) -> Result<(), StoreError> {
        let age = u64::try_from(self.max_age.as_millis()).unwrap_or(u64::MAX);
        let oldest = now.saturating_sub(age);
        let mut excess = rows.len(&SEEN_BY_TIME)?.saturating_sub(self.max_entries);
        for _ in 0..PRUNED {
            // One at a time: nearly always the first one stays.
            let Some((key, _)) = rows.first(&SEEN_BY_TIME)? else {
                break;
            };
            if excess == 0 && key.0 >= oldest {
                break;
            }
            excess = excess.saturating_sub(1);
            rows.delete(&SEEN_BY_TIME, &key)?;
            rows.delete(&SEEN, &(key.1, key.2))?;
        }
        Ok(())
    }
}

/// Whether an id came with a body that an earlier version digested: that cannot be compared, so the id decides alone.
fn is_of_former_version(rows: &mut WriteTxn<'_>, seen: &Seen) -> Result<bool, StoreError> {
    let Some(digest) = seen.body else {
        return Ok(false);
    };
    rows.contains(&SEEN, &(Kind::FormerBody as u8, digest.to_vec()))
}

fn remember(
    rows: &mut WriteTxn<'_>,
    key: &(u8, Vec<u8>),
    at: u64,
    body: Option<[u8; 32]>,
) -> Result<(), StoreError> {
    rows.put(&SEEN_BY_TIME, &(at, key.0, key.1.clone()), &Dated)?;
    rows.put(&SEEN, key, &Seen { at, body })
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::{Options, Store};

    const DAY: u64 = 24 * 3600 * 1000;

    fn store() -> Store {
        Store::in_memory(&Options::new("test")).unwrap()
    }

    fn admit(store: &Store, keep: Deliveries, id: &str, body: &str, now: u64) -> Admission {
        let id: DeliveryId = id.parse().unwrap();
        let body = BodyDigest::of(body.as_bytes());
        let admitted = store.write_blocking(move |rows| keep.admit(rows, &id, &body, now));
        admitted.unwrap()
    }

    #[test]
    fn w13_w14_w15_ids_and_bodies_are_known_again() {
        let (store, keep) = (store(), Deliveries::default());
        let table = [
            ("a", "1", Admission::Fresh),
            ("a", "1", Admission::Duplicate),
            ("b", "1", Admission::Duplicate),
            ("a", "2", Admission::SameIdOtherBody),
            ("a", "2", Admission::Duplicate),
            ("a", "1", Admission::Duplicate),
            ("c", "3", Admission::Fresh),
        ];
        for (now, (id, body, expected)) in (1..).zip(table) {
            assert_eq!(admit(&store, keep, id, body, now), expected, "{id} {body}");
        }
    }

    #[test]
    fn a_delivery_of_an_earlier_version_is_known_by_its_id() {
        let (store, keep) = (store(), Deliveries::default());
        let former = store.write_blocking(|rows| {
            let digest = [7; 32];
            remember(rows, &(Kind::Id as u8, b"a".to_vec()), 1, Some(digest))?;
            remember(rows, &(Kind::FormerBody as u8, digest.to_vec()), 1, None)
        });
        former.unwrap();
        assert_eq!(admit(&store, keep, "a", "1", 2), Admission::Duplicate);
        assert_eq!(admit(&store, keep, "b", "1", 3), Admission::Fresh);
        for id in ["c", "a"] {
            assert_eq!(admit(&store, keep, id, id, 31 * DAY), Admission::Fresh);
        }
        let left = store.read_blocking(|rows| rows.len(&SEEN)).unwrap();
        assert_eq!(left, 4, "the former rows are gone");
    }

    #[test]
    fn w19_an_error_after_the_admission_leaves_the_delivery_new() {
        let (store, keep) = (store(), Deliveries::default());
        let failed: Result<(), StoreError> = store.write_blocking(move |rows| {
            let id = "a".parse().expect("an id");
            keep.admit(rows, &id, &BodyDigest::of(b"1"), 1)?;
            Err(StoreError::Closed)
        });
        assert_eq!(failed, Err(StoreError::Closed));
        assert_eq!(admit(&store, keep, "a", "1", 2), Admission::Fresh);
    }

    #[test]
    fn w20_a_subject_is_admitted_once() {
        let (store, keep) = (store(), Deliveries::default());
        let admit = |subject: &'static str| {
            let admitted = store.write_blocking(move |rows| keep.admit_subject(rows, subject, 1));
            admitted.unwrap()
        };
        let comment = "comment/acme/site/17";
        assert_eq!([admit(comment), admit(comment)], [true, false]);
        assert!(admit("comment/acme/site/18"));
    }

    #[test]
    fn the_oldest_are_forgotten_by_age_and_by_number() {
        let keep = Deliveries {
            max_entries: 6,
            max_age: Duration::from_secs(10 * 24 * 3600),
        };
        let store = store();
        for (now, id) in (0..).zip(["a", "b", "c"]) {
            assert_eq!(admit(&store, keep, id, id, now), Admission::Fresh);
        }
        assert_eq!(admit(&store, keep, "a", "a", 4), Admission::Duplicate);
        assert_eq!(admit(&store, keep, "d", "d", 5), Admission::Fresh);
        assert_eq!(
            admit(&store, keep, "a", "a", 6),
            Admission::Fresh,
            "pushed out"
        );
        assert_eq!(admit(&store, keep, "d", "d", 7), Admission::Duplicate);
        assert_eq!(admit(&store, keep, "e", "e", 11 * DAY), Admission::Fresh);
        assert_eq!(
            admit(&store, keep, "d", "d", 11 * DAY),
            Admission::Fresh,
            "too old"
        );
        let left = store.read_blocking(|rows| rows.len(&SEEN)).unwrap();
        let dated = store.read_blocking(|rows| rows.len(&SEEN_BY_TIME)).unwrap();
        assert_eq!((left, dated), (4, 4));
    }
}
