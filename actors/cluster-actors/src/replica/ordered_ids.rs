//! Ids in the order in which they are made, whichever process makes them and whatever its clock
//! says: the one that leads goes on behind the newest that the former one made.

use std::sync::atomic::{AtomicU64, Ordering};

use supervision::unix_ms;
use uuid::{Builder, Uuid};

/// The time in the newest id, in milliseconds of the Unix epoch: no later one is below it.
static NEWEST: AtomicU64 = AtomicU64::new(0);

/// An id (UUID of version 7) that sorts behind all that this process has made or knows of. Its time
/// is the clock's, unless an id of that time or a later one is there already.
#[must_use]
pub fn ordered_id() -> Uuid {
    let now = unix_ms();
    let later = |newest: u64| now.max(newest + 1);
    let newest = NEWEST.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |at| Some(later(at)));
    let millis = newest.map_or(now, later);
    let noise = Uuid::new_v4().into_bytes();
    let mut random = [0; 10];
    random.copy_from_slice(&noise[..10]);
    Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}

/// Has all ids from now on sort behind this one: it is the newest of a store that this process
/// begins to lead.
pub fn follow_id(newest: &str) {
    let time = Uuid::parse_str(newest)
        .ok()
        .and_then(|id| id.get_timestamp());
    if let Some(time) = time {
        let (seconds, nanos) = time.to_unix();
        let millis = seconds * 1000 + u64::from(nanos) / 1_000_000;
        NEWEST.fetch_max(millis, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_ids_go_on_behind_those_of_a_leader_whose_clock_was_ahead() {
        let first = ordered_id();
        let ahead = unix_ms() + 900_000;
        let of_former = Builder::from_unix_timestamp_millis(ahead, &[0xff; 10]).into_uuid();
        assert!(first < of_former);
        follow_id("no id");
        follow_id(&of_former.to_string());
        let mut before = of_former;
        for _ in 0..1000 {
            let next = ordered_id();
            assert!(next > before && next.to_string() > before.to_string());
            assert_eq!(next.get_version_num(), 7);
            before = next;
        }
        follow_id(&first.to_string());
        assert!(ordered_id() > before);
    }
}
