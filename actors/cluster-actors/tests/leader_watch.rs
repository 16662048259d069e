//! The actor that watches the leader, with a database and a clock that the test moves.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use cluster_actors::replica::{
    AcquiredStore, DrainRefusal, Election, ReplicaRole, RoleAction, RoleControl, RoleEvent,
    leader_watch_by,
};
use parking_lot::Mutex;
use store::{Leadership, StandbyCounts, Store, StoreOptions};
use supervision::{Root, SupervisorSpec};
use tokio::sync::{mpsc, watch};

/// A database of one row.
struct Table {
    row: Mutex<Result<Leadership, String>>,
    looks: AtomicUsize,
    ended: AtomicUsize,
    /// Why nobody gets it.
    refusal: Mutex<Option<String>>,
    tries: AtomicUsize,
    beside: Mutex<StandbyCounts>,
}

impl Election for Table {
    fn leadership(&self) -> Result<Leadership, String> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        self.row.lock().clone()
    }

    fn end_holder(&self) -> Result<(), String> {
        self.ended.fetch_add(1, Ordering::SeqCst);
        if let Ok(row) = &mut *self.row.lock() {
            row.is_locked = false;
        }
        Ok(())
    }

    fn standby_counts(&self) -> Result<StandbyCounts, String> {
        Ok(*self.beside.lock())
    }

    fn broadcast_settings_reload(&self) -> Result<(), String> {
        Ok(())
    }

    fn try_take(
        &self,
        may_take: &dyn Fn(&Leadership) -> bool,
    ) -> Result<Option<AcquiredStore>, String> {
        self.tries.fetch_add(1, Ordering::SeqCst);
        if let Some(refusal) = &*self.refusal.lock() {
            return Err(refusal.clone());
        }
        let mut row = self.row.lock();
        let row = row.as_mut().map_err(|error| error.clone())?;
        if row.is_locked || !may_take(row) {
            return Ok(None);
        }
        row.epoch += 1;
        row.is_locked = true;
        let store = Store::in_memory(&StoreOptions::new("test")).unwrap();
        let epoch = row.epoch;
        Ok(Some(AcquiredStore { store, epoch }))
    }
}

struct Stage {
    table: Arc<Table>,
    control: RoleControl,
    time: Arc<AtomicU64>,
    hints: watch::Sender<u64>,
    taken: mpsc::UnboundedReceiver<AcquiredStore>,
    _root: Root,
}

impl Stage {
    fn start(row: Leadership) -> Self {
        let table = Arc::new(Table {
            row: Mutex::new(Ok(row)),
            looks: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            refusal: Mutex::default(),
            tries: AtomicUsize::new(0),
            beside: Mutex::default(),
        });
        let (control, time) = (RoleControl::new("own:1"), Arc::new(AtomicU64::new(0)));
        let (hints, heard) = watch::channel(0);
        #[expect(clippy::disallowed_methods, reason = "a test looks at a few")]
        let (sender, taken) = mpsc::unbounded_channel();
        let read = Arc::clone(&time);
        let clock = Arc::new(move || Duration::from_millis(read.load(Ordering::SeqCst)));
        let election: Arc<dyn Election> = table.clone();
        let watch = leader_watch_by(clock, election, &control, sender, heard);
        let root = Root::start_named("test", vec![SupervisorSpec::new("standby").child(watch)]);
        Self {
            table,
            control,
            time,
            hints,
            taken,
            _root: root,
        }
    }

    /// Has it look twice: the second look began after this was called.
    async fn looks(&self) {
        let before = self.table.looks.load(Ordering::SeqCst);
        while self.table.looks.load(Ordering::SeqCst) < before + 3 {
            self.hints.send_modify(|count| *count += 1);
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn pass(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap();
        self.time.fetch_add(millis, Ordering::SeqCst);
    }

    fn set(&self, change: impl FnOnce(&mut Leadership)) {
        change(self.table.row.lock().as_mut().unwrap());
    }
}

fn held(silent: Duration) -> Leadership {
    Leadership {
        epoch: 4,
        by: "other on host (pid 1)".to_owned(),
        address: "other:1".to_owned(),
        forward_key: "key".to_owned(),
        is_released: false,
        silent,
        is_locked: true,
        worked_for: None,
        is_anothers: false,
        closed: None,
    }
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn i18_a_leader_that_is_well_keeps_the_store_and_one_that_is_silent_is_followed() {
    actix::System::new().block_on(async {
        let mut stage = Stage::start(held(Duration::ZERO));
        stage.looks().await;
        stage.pass(LONG);
        stage.looks().await;
        assert!(stage.taken.try_recv().is_err());
        assert_eq!(stage.control.status().leader.as_deref(), Some("other:1"));
        stage.set(|row| row.silent = Duration::from_secs(7));
        let taken = stage.taken.recv().await.unwrap();
        assert_eq!(taken.epoch, 5);
        assert_eq!(stage.table.ended.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn i18_a_database_that_was_away_says_nothing_against_the_leader() {
    actix::System::new().block_on(async {
        let mut stage = Stage::start(held(Duration::ZERO));
        stage.looks().await;
        *stage.table.row.lock() = Err("the server is away".to_owned());
        stage.looks().await;
        assert!(stage.control.sight().trouble.is_some());
        assert_eq!(stage.control.status().leader, None);
        stage.pass(LONG);
        // Every session has ended, and nobody could say that he is well.
        *stage.table.row.lock() = Ok(Leadership {
            is_locked: false,
            ..held(LONG)
        });
        stage.looks().await;
        stage.pass(Duration::from_secs(3));
        stage.looks().await;
        assert!(
            stage.taken.try_recv().is_err(),
            "the leader may be coming back"
        );
        stage.pass(Duration::from_secs(2));
        assert_eq!(stage.taken.recv().await.unwrap().epoch, 5);
    });
}

#[test]
fn i18_a_store_that_was_given_free_is_taken_at_once_unless_it_was_drained_here() {
    actix::System::new().block_on(async {
        let free = Leadership {
            is_locked: false,
            is_released: true,
            ..held(Duration::ZERO)
        };
        let mut stage = Stage::start(free.clone());
        assert_eq!(stage.taken.recv().await.unwrap().epoch, 5);
        assert_eq!(
            stage.control.apply(RoleEvent::Took(5)),
            RoleAction::StartTree
        );
        assert_eq!(stage.control.role(), ReplicaRole::Standby);
        assert!(stage.control.status().starting);
        stage.control.apply(RoleEvent::TreeStarted);
        assert_eq!(stage.control.role(), ReplicaRole::Leader);
        assert_eq!(stage.control.drain(false).await, Ok(()));
        stage.control.apply(RoleEvent::DrainAsked);
        stage.control.apply(RoleEvent::TreeEnded);
        *stage.table.row.lock() = Ok(Leadership {
            epoch: 5,
            ..free.clone()
        });
        stage.looks().await;
        assert!(
            stage.taken.try_recv().is_err(),
            "others have the first chance"
        );
        // Another has led, and given it free.
        *stage.table.row.lock() = Ok(Leadership { epoch: 6, ..free });
        assert_eq!(stage.taken.recv().await.unwrap().epoch, 7);
    });
}

/// Two ask at once, the first request ends the leadership: the second is not for the next one.
#[test]
fn i18_a_request_to_hand_over_is_for_one_leadership() {
    actix::System::new().block_on(async {
        let control = RoleControl::new("own:1");
        control.apply(RoleEvent::Took(5));
        control.apply(RoleEvent::TreeStarted);
        let (first, second) = tokio::join!(control.drain(true), control.drain(true));
        assert_eq!((first, second), (Ok(()), Ok(())));
        control.drain_asked().await;
        control.apply(RoleEvent::DrainAsked);
        assert_eq!(control.drain(true).await, Err(DrainRefusal::NotLeading));
        control.apply(RoleEvent::TreeEnded);
        control.apply(RoleEvent::Took(7));
        control.apply(RoleEvent::TreeStarted);
        let asked = tokio::time::timeout(Duration::from_millis(200), control.drain_asked());
        assert!(asked.await.is_err(), "nobody has asked this leader");
        assert_eq!(control.drain(true).await, Ok(()));
        control.drain_asked().await;
    });
}

/// Each attempt raises the epoch, and writes a line.
#[test]
fn i18_a_store_that_is_not_to_be_had_is_tried_after_a_pause() {
    actix::System::new().block_on(async {
        let free = Leadership {
            is_locked: false,
            is_released: true,
            ..held(Duration::ZERO)
        };
        let mut stage = Stage::start(held(Duration::ZERO));
        stage.looks().await;
        *stage.table.refusal.lock() = Some("its rows are of a newer version".to_owned());
        *stage.table.row.lock() = Ok(free);
        stage.looks().await;
        stage.looks().await;
        assert_eq!(stage.table.tries.load(Ordering::SeqCst), 1);
        let trouble = stage.control.sight().trouble;
        assert_eq!(trouble.as_deref(), Some("its rows are of a newer version"));
        stage.pass(Duration::from_millis(250));
        stage.looks().await;
        assert_eq!(stage.table.tries.load(Ordering::SeqCst), 2);
        *stage.table.refusal.lock() = None;
        stage.looks().await;
        assert!(stage.taken.try_recv().is_err());
        stage.pass(Duration::from_millis(500));
        assert_eq!(stage.taken.recv().await.unwrap().epoch, 5);
    });
}

#[test]
fn i18_a_store_that_was_moved_is_not_waited_for() {
    actix::System::new().block_on(async {
        let stage = Stage::start(Leadership {
            is_locked: false,
            is_released: true,
            closed: Some("it was moved to there".to_owned()),
            ..held(Duration::ZERO)
        });
        let refused = tokio::time::timeout(LONG, stage.control.refused()).await;
        assert_eq!(refused.unwrap(), "it was moved to there");
        stage.looks().await;
        assert_eq!(stage.table.tries.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn i18_a_leader_hands_over_to_those_only_that_say_nothing_is_wrong_with_them() {
    actix::System::new().block_on(async {
        let stage = Stage::start(held(Duration::ZERO));
        let control = RoleControl::with_standbys("own:1", stage.table.clone());
        control.apply(RoleEvent::Took(5));
        control.apply(RoleEvent::TreeStarted);
        for (all, fit, expected) in [
            (0, 0, Err(DrainRefusal::NobodyBeside)),
            (2, 0, Err(DrainRefusal::NobodyFit)),
            (2, 1, Ok(())),
        ] {
            *stage.table.beside.lock() = StandbyCounts { all, fit };
            assert_eq!(control.drain(false).await, expected);
        }
        *stage.table.beside.lock() = StandbyCounts { all: 2, fit: 0 };
        assert_eq!(control.drain(true).await, Ok(()));
    });
}
