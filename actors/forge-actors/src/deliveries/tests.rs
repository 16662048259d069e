//! Tests of what is admitted.

use forge_core::WebhookSecrets;
use store::StoreOptions;

use super::*;

const DAY: u64 = 24 * 3600 * 1000;

fn store() -> Store {
    Store::in_memory(&StoreOptions::new("test")).unwrap()
}

fn open(store: &Store) -> Deliveries {
    Deliveries::open(store, DeliveryRetention::default()).unwrap()
}

/// A monotonic clock that goes forward by a year with each look: the time of a test is believed.
pub(super) fn years() -> Instant {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    static LOOKS: AtomicU32 = AtomicU32::new(0);
    *START + Duration::from_secs(365 * 24 * 3600) * LOOKS.fetch_add(1, Ordering::Relaxed)
}

fn opened() -> (Store, Deliveries) {
    let store = store();
    let keep = open(&store);
    (store, keep)
}

/// A body's digest under a webhook's secret.
pub(super) fn digest_under(secret: &str, body: &[u8]) -> BodyDigest {
    WebhookSecrets::new(secret).unwrap().digest(body)
}

fn digest(body: &str) -> BodyDigest {
    digest_under("a secret", body.as_bytes())
}

const DUPLICATE: DeliveryAdmission = DeliveryAdmission::Duplicate { led_to: None };

fn led_to(what: &str) -> DeliveryAdmission {
    DeliveryAdmission::Duplicate {
        led_to: Some(what.to_owned()),
    }
}

/// A delivery and what it is about and leads to.
fn admit_all(
    (store, keep): (&Store, &Deliveries),
    (id, body): (&str, &str),
    of: (Option<&'static str>, Option<&'static str>),
    now: u64,
) -> DeliveryAdmission {
    admit_digest((store, keep), (id.parse().unwrap(), digest(body)), of, now)
}

fn admit_digest(
    (store, keep): (&Store, &Deliveries),
    (id, body): (DeliveryId, BodyDigest),
    (subject, leads_to): (Option<&'static str>, Option<&'static str>),
    now: u64,
) -> DeliveryAdmission {
    let keep = keep.clone();
    let admitted = store.write_blocking(move |rows| {
        let arrival = Arrival {
            subject,
            leads_to,
            ..Arrival::new(&id, &body)
        };
        keep.admit(rows, &arrival, now)
    });
    admitted.unwrap()
}

fn admit(store: &Store, keep: &Deliveries, id: &str, body: &str, now: u64) -> DeliveryAdmission {
    admit_all((store, keep), (id, body), (None, None), now)
}

fn admit_subject(store: &Store, keep: &Deliveries, subject: &'static str) -> bool {
    let keep = keep.clone();
    let admitted = store.write_blocking(move |rows| keep.admit_subject(rows, subject, 1));
    admitted.unwrap()
}

/// Admits, and fails afterwards.
fn fail(store: &Store, keep: &Deliveries, id: &'static str, body: &'static str, now: u64) {
    let keep = keep.clone();
    let failed: Result<(), StoreError> = store.write_blocking(move |rows| {
        let id = id.parse().expect("an id");
        let body = digest(body);
        keep.admit(rows, &Arrival::new(&id, &body), now)?;
        Err(StoreError::Closed)
    });
    assert_eq!(failed, Err(StoreError::Closed));
}

fn rows(store: &Store) -> u64 {
    store.read_blocking(|rows| rows.len(&SEEN)).unwrap()
}

/// W13 to W15, in this order.
const SEQUENCE: [(&str, &str, DeliveryAdmission); 7] = [
    ("a", "1", DeliveryAdmission::Fresh),
    ("a", "1", DUPLICATE),
    ("b", "1", DUPLICATE),
    ("a", "2", DeliveryAdmission::SameIdOtherBody),
    ("a", "2", DUPLICATE),
    ("a", "1", DUPLICATE),
    ("c", "3", DeliveryAdmission::Fresh),
];

#[test]
fn w13_w14_w15_ids_and_bodies_are_known_again() {
    let (store, keep) = opened();
    for (now, (id, body, expected)) in (1..).zip(SEQUENCE) {
        assert_eq!(admit(&store, &keep, id, body, now), expected, "{id} {body}");
    }
    assert_eq!(rows(&store), 3, "one row a delivery");
}

#[test]
fn w13_w14_w15_hold_if_all_hashes_are_the_same() {
    for mask in [0, 1] {
        let store = store();
        let index = Index::sized(mask, 6);
        let keep =
            Deliveries::open_with(&store, DeliveryRetention::default(), index, years).unwrap();
        for (now, (id, body, expected)) in (1..).zip(SEQUENCE) {
            assert_eq!(admit(&store, &keep, id, body, now), expected, "{id} {body}");
        }
    }
}

#[test]
fn w13_w14_w15_hold_over_restarts() {
    let store = store();
    for (now, (id, body, expected)) in (1..).zip(SEQUENCE) {
        let keep = open(&store);
        assert_eq!(admit(&store, &keep, id, body, now), expected, "{id} {body}");
    }
}

#[test]
fn a_duplicate_tells_what_the_first_one_led_to() {
    let (store, keep) = opened();
    let of = (Some("pull 1"), Some("run 1"));
    assert_eq!(
        admit_all((&store, &keep), ("a", "1"), of, 1),
        DeliveryAdmission::Fresh
    );
    for keep in [&keep, &open(&store)] {
        assert_eq!(admit(&store, keep, "b", "1", 2), led_to("run 1"));
    }
    let of = (Some("pull 1"), Some("run 2"));
    let admitted = admit_all((&store, &keep), ("a", "2"), of, 3);
    assert_eq!(admitted, led_to("run 1"), "another delivery about the same");
    assert_eq!(admit(&store, &keep, "c", "2", 4), led_to("run 1"));
    assert!(!admit_subject(&store, &keep, "pull 1"));
    assert_eq!(rows(&store), 2);
}

#[test]
fn once_the_secret_was_changed_the_ids_of_former_deliveries_decide_alone() {
    let (store, keep) = opened();
    let admit = |id: &str, secret: &str, body: &[u8]| {
        let of = (None, Some("run 1"));
        let delivery = (id.parse().unwrap(), digest_under(secret, body));
        admit_digest((&store, &keep), delivery, of, 1)
    };
    assert_eq!(admit("a", "former", b"1"), DeliveryAdmission::Fresh);
    assert_eq!(admit("b", "former", b"1"), led_to("run 1"));
    assert_eq!(
        admit("a", "former", b"2"),
        DeliveryAdmission::SameIdOtherBody
    );
    for body in [b"1", b"2", b"3"] {
        assert_eq!(admit("a", "new", body), led_to("run 1"), "{body:?}");
    }
    assert_eq!(admit("c", "new", b"1"), DeliveryAdmission::Fresh);
    assert_eq!(admit("d", "new", b"1"), led_to("run 1"));
    assert_eq!(admit("c", "new", b"2"), DeliveryAdmission::SameIdOtherBody);
}

#[test]
fn w19_an_error_after_the_admission_leaves_the_delivery_new() {
    let (store, keep) = opened();
    for now in 1..4 {
        fail(&store, &keep, "a", "1", now);
    }
    assert_eq!(rows(&store), 0);
    assert_eq!(admit(&store, &keep, "a", "1", 5), DeliveryAdmission::Fresh);
    assert_eq!(admit(&store, &keep, "a", "1", 6), DUPLICATE);
    fail(&store, &keep, "a", "2", 7);
    assert_eq!(
        admit(&store, &keep, "a", "3", 8),
        DeliveryAdmission::SameIdOtherBody,
        "the row before the one that was undone is found"
    );
}

#[test]
fn w20_a_subject_is_admitted_once() {
    let (store, keep) = opened();
    let comment = "comment/acme/site/17";
    let admit = |subject| admit_subject(&store, &keep, subject);
    assert_eq!([admit(comment), admit(comment)], [true, false]);
    assert!(admit("comment/acme/site/18"));
    assert!(!admit_subject(&store, &open(&store), comment));
}

#[test]
fn the_oldest_are_forgotten_by_age_and_by_number() {
    let bounds = DeliveryRetention {
        max_entries: 3,
        max_age: Duration::from_secs(10 * 24 * 3600),
    };
    let store = store();
    let keep = Deliveries::open_with(&store, bounds, Index::default(), years).unwrap();
    for (now, id) in (0..).zip(["a", "b", "c"]) {
        assert_eq!(admit(&store, &keep, id, id, now), DeliveryAdmission::Fresh);
    }
    assert_eq!(admit(&store, &keep, "a", "a", 4), DUPLICATE);
    assert_eq!(admit(&store, &keep, "d", "d", 5), DeliveryAdmission::Fresh);
    assert_eq!(
        admit(&store, &keep, "a", "a", 6),
        DeliveryAdmission::Fresh,
        "pushed out"
    );
    assert_eq!(admit(&store, &keep, "d", "d", 7), DUPLICATE);
    assert_eq!(
        admit(&store, &keep, "e", "e", 11 * DAY),
        DeliveryAdmission::Fresh
    );
    assert_eq!(
        admit(&store, &keep, "d", "d", 11 * DAY),
        DeliveryAdmission::Fresh,
        "too old"
    );
    assert_eq!(rows(&store), 2);
}

#[test]
fn what_was_removed_by_a_request_that_failed_is_still_known() {
    let bounds = DeliveryRetention {
        max_entries: 2,
        ..DeliveryRetention::default()
    };
    let store = store();
    let keep = Deliveries::open(&store, bounds).unwrap();
    for (now, id) in (1..).zip(["a", "b"]) {
        assert_eq!(admit(&store, &keep, id, id, now), DeliveryAdmission::Fresh);
    }
    for now in 3..6 {
        fail(&store, &keep, "c", "c", now);
        assert_eq!(admit(&store, &keep, "a", "a", now), DUPLICATE);
    }
    assert_eq!(admit(&store, &keep, "c", "c", 7), DeliveryAdmission::Fresh);
    assert_eq!(admit(&store, &keep, "b", "b", 8), DUPLICATE);
    assert_eq!(admit(&store, &keep, "a", "a", 9), DeliveryAdmission::Fresh);
}

#[test]
fn u8_a_clock_that_jumps_ahead_forgets_no_delivery() {
    let now = 20_000 * DAY;
    let (store, keep) = opened();
    for (number, id) in (0..).zip(["a", "b"]) {
        assert_eq!(
            admit(&store, &keep, id, id, now + number),
            DeliveryAdmission::Fresh
        );
    }
    // A year ahead.
    let later = now + 365 * DAY;
    assert_eq!(
        admit(&store, &keep, "c", "c", later),
        DeliveryAdmission::Fresh
    );
    // And once more after a restart, when the newest row is of then.
    let keep = open(&store);
    assert_eq!(
        admit(&store, &keep, "d", "d", later),
        DeliveryAdmission::Fresh
    );
    for known in ["a", "b", "c", "d"] {
        let admitted = admit(&store, &keep, known, known, now + 3);
        assert_eq!(admitted, DUPLICATE, "{known}");
    }
    assert_eq!(rows(&store), 4);
}
