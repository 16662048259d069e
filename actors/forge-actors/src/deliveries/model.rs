//! Random groups of requests, some of which fail alone and some with their whole group, and
//! restarts, against a model of a few lines without an index.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use parking_lot::RwLock;
use proptest::prelude::*;
use store::{BackendFactory, StorageBackend, StoreOptions};

use super::tests::{digest_under, years};
use super::*;

const HOUR: u64 = 3600 * 1000;
const BOUNDS: DeliveryRetention = DeliveryRetention {
    max_entries: 5,
    max_age: Duration::from_secs(48 * 3600),
};

#[derive(Debug, Clone)]
enum Step {
    /// Requests of one commit.
    Group {
        requests: Vec<Request>,
        disk_fails: bool,
    },
    Hours(u64),
    Restart,
    /// The webhook has another secret from here on.
    Rotation,
}

#[derive(Debug, Clone)]
struct Request {
    asks: RequestKind,
    /// Whether it returns an error after all.
    fails: bool,
}

#[derive(Debug, Clone)]
enum RequestKind {
    Delivery {
        id: u8,
        body: u8,
        subject: Option<u8>,
    },
    Subject(u8),
}

fn request() -> impl Strategy<Value = Request> {
    let delivery = (0..6u8, 0..10u8, prop::option::of(0..4u8))
        .prop_map(|(id, body, subject)| RequestKind::Delivery { id, body, subject });
    let asks = prop_oneof![4 => delivery, 1 => (0..4u8).prop_map(RequestKind::Subject)];
    (asks, prop::bool::weighted(0.25)).prop_map(|(asks, fails)| Request { asks, fails })
}

fn step() -> impl Strategy<Value = Step> {
    let group = (
        prop::collection::vec(request(), 1..8),
        prop::bool::weighted(0.25),
    );
    let group = group.prop_map(|(requests, disk_fails)| Step::Group {
        requests,
        disk_fails,
    });
    prop_oneof![8 => group, 2 => (0..30u64).prop_map(Step::Hours), 1 => Just(Step::Restart),
        1 => Just(Step::Rotation)]
}

#[derive(Debug, Clone, PartialEq)]
enum Answer {
    Delivery(DeliveryAdmission),
    Subject(bool),
}

/// What is remembered, in the order of its coming, with its time.
#[derive(Debug, Clone, Default)]
struct Model {
    rows: BTreeMap<usize, (u64, DeliveryRow)>,
    next: usize,
}

impl Model {
    fn find(&self, is: impl Fn(&DeliveryRow) -> bool) -> Option<&DeliveryRow> {
        let mut newest = self.rows.values().rev();
        newest.find(|(_, seen)| is(seen)).map(|(_, seen)| seen)
    }

    fn record(&mut self, now: u64, seen: DeliveryRow) {
        self.rows.insert(self.next, (now, seen));
        self.next += 1;
        let excess = self.rows.len().saturating_sub(5);
        for nth in 0..PRUNED {
            let Some(first) = self.rows.first_entry() else {
                return;
            };
            if nth < excess || first.get().0 + 48 * HOUR < now {
                first.remove();
            }
        }
    }

    fn answer(&mut self, asks: &RequestKind, leads_to: &str, (now, secret): (u64, u8)) -> Answer {
        let (id, body, subject) = match asks {
            RequestKind::Subject(subject) => (None, None, Some(subject.to_string())),
            RequestKind::Delivery { id, body, subject } => {
                let body = *under(secret, *body).as_bytes();
                let subject = subject.as_ref().map(u8::to_string);
                (Some(id.to_string()), Some(body), subject)
            }
        };
        let duplicate = |of: &DeliveryRow| {
            Answer::Delivery(DeliveryAdmission::Duplicate {
                led_to: of.led_to.clone(),
            })
        };
        if let Some(seen) = self.find(|seen| body.is_some() && seen.body == body) {
            return duplicate(seen);
        }
        let same_id = self.find(|seen| id.is_some() && seen.id == id);
        if let Some(seen) = same_id.filter(|seen| seen.body.map(key_of) != body.map(key_of)) {
            return duplicate(seen);
        }
        let same_id = same_id.is_some();
        let first = self
            .find(|seen| subject.is_some() && seen.subject == subject)
            .cloned();
        if id.is_none() && first.is_some() {
            return Answer::Subject(false);
        }
        let mut seen = DeliveryRow {
            id,
            body,
            subject,
            led_to: Some(leads_to.to_owned()),
        };
        let answer = match &first {
            _ if seen.id.is_none() => Answer::Subject(true),
            Some(first) => duplicate(first),
            None if same_id => Answer::Delivery(DeliveryAdmission::SameIdOtherBody),
            None => Answer::Delivery(DeliveryAdmission::Fresh),
        };
        if let Some(first) = first {
            (seen.subject, seen.led_to) = (None, first.led_to);
        } else if seen.id.is_none() {
            seen.led_to = None;
        }
        self.record(now, seen);
        answer
    }
}

/// A body's digest under one of several secrets.
fn under(secret: u8, body: u8) -> BodyDigest {
    digest_under(&format!("secret {secret}"), &[body])
}

/// What names the key of a digest.
fn key_of(digest: [u8; 32]) -> Vec<u8> {
    digest[..8].to_vec()
}

/// Asks the deliveries what the model was asked.
fn ask(
    keep: &Deliveries,
    rows: &mut WriteTxn<'_>,
    asks: &RequestKind,
    leads_to: &str,
    (now, secret): (u64, u8),
) -> Result<Answer, StoreError> {
    match asks {
        RequestKind::Subject(subject) => keep
            .admit_subject(rows, &subject.to_string(), now)
            .map(Answer::Subject),
        RequestKind::Delivery { id, body, subject } => {
            let id = id.to_string().parse().expect("an id");
            let body = under(secret, *body);
            let subject = subject.as_ref().map(u8::to_string);
            let arrival = Arrival {
                subject: subject.as_deref(),
                leads_to: Some(leads_to),
                ..Arrival::new(&id, &body)
            };
            keep.admit(rows, &arrival, now).map(Answer::Delivery)
        }
    }
}

struct SystemUnderTest {
    store: Store,
    disk: Disk,
    keep: Deliveries,
    mask: u64,
    room: usize,
    model: Model,
    now: u64,
    secret: u8,
    asked: usize,
}

impl SystemUnderTest {
    fn new(mask: u64, room: usize) -> Self {
        let disk = Disk::default();
        let options = StoreOptions {
            linger: Duration::ZERO,
            probe_every: Duration::ZERO,
            ..StoreOptions::new("model")
        };
        let store = Store::open_with("disk", disk.factory(), &options).unwrap();
        Self {
            keep: Deliveries::open_with(&store, BOUNDS, Index::sized(mask, room), years).unwrap(),
            store,
            disk,
            mask,
            room,
            model: Model::default(),
            now: 1_795_255_200_000,
            secret: 0,
            asked: 0,
        }
    }

    /// Has the requests share one commit: they come while the store is held up.
    fn group(&mut self, requests: &[Request], disk_fails: bool) {
        let (began, begins) = mpsc::channel();
        let (go, goes) = mpsc::channel::<()>();
        let held = self.store.write(move |_| {
            let _ = began.send(());
            let _ = goes.recv();
            Ok::<_, StoreError>(())
        });
        begins.recv().unwrap();
        let before = self.model.clone();
        let (mut expected, mut answers) = (Vec::new(), Vec::new());
        for Request { asks, fails } in requests.iter().cloned() {
            self.asked += 1;
            let (keep, name) = (self.keep.clone(), self.asked.to_string());
            let now = (self.now, self.secret);
            let unchanged = self.model.clone();
            let answer = self.model.answer(&asks, &name, now);
            if fails {
                self.model = unchanged;
            }
            expected.push((!fails).then_some(answer));
            answers.push(self.store.write(move |rows| {
                let answer = ask(&keep, rows, &asks, &name, now)?;
                let failed = Err(StoreError::Reentrant);
                if fails { failed } else { Ok(answer) }
            }));
        }
        let disk = self.disk.clone();
        let last = self.store.write(move |_| {
            disk.fails.store(disk_fails, Ordering::SeqCst);
            Ok::<_, StoreError>(())
        });
        go.send(()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let ended = runtime.block_on(async {
            held.await.unwrap();
            let mut answered = Vec::new();
            for answer in answers {
                answered.push(answer.await);
            }
            (answered, last.await)
        });
        // A group that changes nothing asks nothing of the disk.
        self.disk.fails.store(false, Ordering::SeqCst);
        match ended {
            (answered, Ok(())) => {
                let answered: Vec<_> = answered.into_iter().map(Result::ok).collect();
                assert_eq!(answered, expected);
            }
            (answered, Err(_)) => {
                assert!(disk_fails && answered.iter().all(Result::is_err));
                self.model = before;
            }
        }
        self.compare();
    }

    /// What is stored is what the model remembers.
    fn compare(&self) {
        let rows = self.store.read_blocking(|rows| rows.range(&SEEN, .., 100));
        let stored = rows
            .unwrap()
            .into_iter()
            .map(|(key, seen)| (time_of(key), seen));
        let expected: Vec<_> = self.model.rows.values().cloned().collect();
        assert_eq!(stored.collect::<Vec<_>>(), expected);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Group {
                requests,
                disk_fails,
            } => self.group(requests, *disk_fails),
            Step::Hours(hours) => self.now += hours * HOUR,
            Step::Rotation => self.secret ^= 1,
            Step::Restart => {
                let index = Index::sized(self.mask, self.room);
                self.keep = Deliveries::open_with(&self.store, BOUNDS, index, years).unwrap();
            }
        }
    }
}

proptest! {
    #[test]
    fn deliveries_are_known_whatever_fails(
        steps in prop::collection::vec(step(), 1..40),
        mask in prop_oneof![Just(u64::MAX), Just(0), Just(1)],
        room in 3..12usize,
    ) {
        let mut world = SystemUnderTest::new(mask, room);
        for step in &steps {
            world.step(step);
        }
    }
}

/// Storage in memory, whose next synchronisation can be made to fail.
#[derive(Debug, Clone, Default)]
struct Disk {
    bytes: Arc<RwLock<Vec<u8>>>,
    fails: Arc<AtomicBool>,
}

impl Disk {
    fn factory(&self) -> BackendFactory {
        let disk = self.clone();
        Arc::new(move || Ok(Box::new(disk.clone())))
    }
}

fn index_of(offset: u64) -> usize {
    usize::try_from(offset).expect("a small store")
}

impl StorageBackend for Disk {
    fn len(&self) -> std::io::Result<u64> {
        Ok(self.bytes.read().len() as u64)
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        let start = index_of(offset);
        out.copy_from_slice(&self.bytes.read()[start..start + out.len()]);
        Ok(())
    }
    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.bytes.write().resize(index_of(len), 0);
        Ok(())
    }
    fn sync_data(&self) -> std::io::Result<()> {
        if self.fails.swap(false, Ordering::SeqCst) {
            return Err(std::io::Error::other("the disk fails"));
        }
        Ok(())
    }
    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        let start = index_of(offset);
        self.bytes.write()[start..start + data.len()].copy_from_slice(data);
        Ok(())
    }
}
