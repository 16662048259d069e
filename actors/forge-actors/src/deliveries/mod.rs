//! Which webhook deliveries were seen already.
//!
//! A delivery is known by its id and by the digest of its body: forges repeat an id when somebody
//! redelivers, and send one event under several ids when several hooks lead here. Digests are made
//! under the webhook's secret: once that was changed, the ids of former deliveries decide alone.
//!
//! Each is one row, and keys rise with time: rows come in at the end of their table and leave it
//! at the front. What finds them by id, body or subject is an index in memory, made from the rows
//! at start.

mod index;
#[cfg(test)]
mod model;
mod rows;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forge_core::{BodyDigest, DeliveryId};
use parking_lot::Mutex;
use store::{ReadRows, Store, StoreError, Table, WriteTxn};

use self::index::{Index, time_of};
use self::rows::{DeliveryRow, LookupKey, SEEN};
use crate::age_clock::{AgeClock, StoredTime};

/// What becomes of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryAdmission {
    /// It is new.
    Fresh,
    /// It was seen: same id and body, same body under another id, or another delivery about the
    /// same. Nothing is to be done.
    Duplicate {
        /// What the first one led to, if that was said.
        led_to: Option<String>,
    },
    /// Its id was seen with another body. It is new, and somebody should look at it.
    SameIdOtherBody,
}

impl DeliveryAdmission {
    /// Whether it is to be worked on.
    #[must_use]
    pub fn is_new(&self) -> bool {
        !matches!(self, Self::Duplicate { .. })
    }
}

/// A delivery that asks to be admitted.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// Its id.
    pub id: &'a DeliveryId,
    /// The digest of its body.
    pub body: &'a BodyDigest,
    /// What it is about, if that is to be worked on once: see [`Deliveries::admit_subject`].
    pub subject: Option<&'a str>,
    /// What comes of it if it is new: told to whoever sends it again.
    pub leads_to: Option<&'a str>,
}

impl<'a> Arrival<'a> {
    /// A delivery that is known by its id and body alone.
    #[must_use]
    pub fn new(id: &'a DeliveryId, body: &'a BodyDigest) -> Self {
        Self {
            id,
            body,
            subject: None,
            leads_to: None,
        }
    }
}

/// How long deliveries are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryRetention {
    /// At most so many: deliveries, and subjects that were admitted by themselves.
    pub max_entries: u64,
    /// None older than this, by a time that a jump of the clock does not move: see
    /// [`forge_core::retention`].
    pub max_age: Duration,
}

impl Default for DeliveryRetention {
    /// 150,000 deliveries, 30 days.
    fn default() -> Self {
        Self {
            max_entries: 150_000,
            max_age: Duration::from_secs(30 * 24 * 3600),
        }
    }
}

/// Most rows removed beside one admission.
const PRUNED: usize = 16;

/// The deliveries seen by one service. Clones are the same; it is opened once over a store, since
/// two would not know of each other's rows.
#[derive(Clone)]
pub struct Deliveries(Arc<Inner>);

struct Inner {
    bounds: DeliveryRetention,
    /// Used by the store's writer alone, so nobody waits for it.
    index: Mutex<Index>,
    clock: AgeClock,
}

const CLOCK: Table<u8, StoredTime> = Table::new("forge_deliveries_clock");

impl Deliveries {
    /// Reads what the store remembers. Blocks.
    ///
    /// # Errors
    /// The store's.
    pub fn open(store: &Store, bounds: DeliveryRetention) -> Result<Self, StoreError> {
        Self::open_with(store, bounds, Index::default(), Instant::now)
    }

    fn open_with(
        store: &Store,
        bounds: DeliveryRetention,
        mut index: Index,
        monotonic: fn() -> Instant,
    ) -> Result<Self, StoreError> {
        let clock = store.read_blocking(|rows| {
            let mut newest = None;
            rows.for_each(&SEEN, .., |key, seen| {
                index.add(key, &seen);
                newest = Some(time_of(key));
                ControlFlow::Continue(())
            })?;
            AgeClock::open_with(rows, CLOCK, newest, monotonic)
        })?;
        Ok(Self(Arc::new(Inner {
            bounds,
            index: Mutex::new(index),
            clock,
        })))
    }

    /// Admits a delivery, within the transaction that stores what comes of it.
    ///
    /// # Errors
    /// The store's.
    pub fn admit(
        &self,
        rows: &mut WriteTxn<'_>,
        arrival: &Arrival<'_>,
        now: u64,
    ) -> Result<DeliveryAdmission, StoreError> {
        let index = &mut *self.0.index.lock();
        let body = arrival.body.as_bytes();
        if let Some(DeliveryRow { led_to, .. }) = index.find(rows, LookupKey::Body(body))? {
            return Ok(DeliveryAdmission::Duplicate { led_to });
        }
        let same_id = index.find(rows, LookupKey::Id(arrival.id.as_str()))?;
        if let Some(seen) = &same_id
            && !seen.is_comparable_with(arrival.body)
        {
            let led_to = seen.led_to.clone();
            return Ok(DeliveryAdmission::Duplicate { led_to });
        }
        let first = match arrival.subject {
            Some(subject) => index.find(rows, LookupKey::Subject(subject))?,
            None => None,
        };
        let is_first = first.is_none();
        let seen = DeliveryRow {
            id: Some(arrival.id.to_string()),
            body: Some(*body),
            subject: arrival.subject.filter(|_| is_first).map(str::to_owned),
            led_to: first.map_or_else(|| arrival.leads_to.map(str::to_owned), |seen| seen.led_to),
        };
        self.record(index, rows, &seen, now)?;
        Ok(match (is_first, same_id) {
            (false, _) => DeliveryAdmission::Duplicate {
                led_to: seen.led_to,
            },
            (true, Some(_)) => DeliveryAdmission::SameIdOtherBody,
            (true, None) => DeliveryAdmission::Fresh,
        })
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
        let index = &mut *self.0.index.lock();
        if index.find(rows, LookupKey::Subject(subject))?.is_some() {
            return Ok(false);
        }
        let seen = DeliveryRow {
            id: None,
            body: None,
            subject: Some(subject.to_owned()),
            led_to: None,
        };
        self.record(index, rows, &seen, now)?;
        Ok(true)
    }

    fn record(
        &self,
        index: &mut Index,
        rows: &mut WriteTxn<'_>,
        seen: &DeliveryRow,
        now: u64,
    ) -> Result<(), StoreError> {
        let key = index.next_key(now);
        // The index first: it may know too much, never too little.
        index.add(key, seen);
        rows.put(&SEEN, &key, seen)?;
        self.prune(index, rows, now)
    }

    /// Removes the oldest rows beyond the bounds, a few at a time.
    fn prune(
        &self,
        index: &mut Index,
        rows: &mut WriteTxn<'_>,
        now: u64,
    ) -> Result<(), StoreError> {
        let DeliveryRetention {
            max_entries,
            max_age,
        } = self.0.bounds;
        let age = u64::try_from(max_age.as_millis()).unwrap_or(u64::MAX);
        let oldest = self.0.clock.now(rows, now)?.saturating_sub(age);
        let excess = rows.len(&SEEN)?.saturating_sub(max_entries);
        let excess = usize::try_from(excess).map_or(PRUNED, |excess| excess.min(PRUNED));
        let is_any_old = time_of(index.no_row_before()) < oldest;
        let looked_at = if is_any_old { PRUNED } else { excess };
        let page = rows.range(&SEEN, .., looked_at)?;
        if let Some((first, _)) = page.first() {
            index.first_row_is(*first, rows.group());
        }
        for (nth, (key, _)) in page.into_iter().enumerate() {
            if nth >= excess && time_of(key) >= oldest {
                break;
            }
            index.removes_rows(rows.group());
            rows.delete(&SEEN, &key)?;
        }
        Ok(())
    }
}
