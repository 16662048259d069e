//! A database that stalls for longer than a lease, with a leader that is well and one that is not.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::sync::Arc;
use std::time::Duration;

use cluster_actors::replica::{AcquiredStore, Election, RoleControl, leader_watch};
use scripted_peers::postgres::PostgresServer;
use store::{SharedStore, Store, StoreError, StoreOptions, Table};
use supervision::{Root, SupervisorSpec};
use tokio::sync::mpsc;

const ROWS: Table<u64, u64> = Table::new("rows");

fn shared(server: &PostgresServer, name: &str) -> SharedStore {
    let options = StoreOptions::new("slow-test").schema("slow_test");
    let url = server.url().parse().unwrap();
    SharedStore::new(&url, &options, (&format!("{name}:1"), name)).unwrap()
}

fn put(store: &Store, id: u64) -> Result<(), StoreError> {
    store.write_blocking(move |rows| rows.put(&ROWS, &id, &id))
}

/// A process that stands by.
struct Standby {
    control: RoleControl,
    taken: mpsc::UnboundedReceiver<AcquiredStore>,
    _root: Root,
}

impl Standby {
    fn start(server: &PostgresServer) -> Self {
        let store = shared(server, "standby");
        let (control, hints) = (RoleControl::new("standby:1"), store.hints());
        #[expect(clippy::disallowed_methods, reason = "a test looks at a few")]
        let (sender, taken) = mpsc::unbounded_channel();
        let election: Arc<dyn Election> = Arc::new(store);
        let watch = leader_watch(election, &control, sender, hints);
        Self {
            _root: Root::start_named("test", vec![SupervisorSpec::new("standby").child(watch)]),
            control,
            taken,
        }
    }

    /// Waits until it has seen the leader silent for so long, or leads itself.
    async fn sees_silence(&mut self, silence: Duration) -> Option<AcquiredStore> {
        let mut sights = self.control.sights();
        loop {
            let sight = sights.borrow_and_update().leader.clone();
            if sight.is_some_and(|leader| leader.silent > silence) {
                return None;
            }
            tokio::select! {
                taken = self.taken.recv() => return taken,
                changed = sights.changed() => changed.unwrap(),
            }
        }
    }
}

#[test]
fn i18_a_commit_that_waits_for_a_slow_database_costs_no_leader() {
    let server = PostgresServer::start();
    let leader = shared(&server, "leader");
    let (store, epoch) = leader.try_take(|_| true).unwrap().unwrap();
    put(&store, 1).unwrap();
    actix::System::new().block_on(async {
        let mut standby = Standby::start(&server);
        let stall = server.transaction("LOCK TABLE slow_test.rows IN EXCLUSIVE MODE");
        let writer = store.clone();
        let writing = tokio::task::spawn_blocking(move || put(&writer, 2));
        let taken = standby.sees_silence(Duration::from_secs(6)).await;
        assert!(taken.is_none(), "the standby has taken over");
        drop(stall);
        assert_eq!(writing.await.unwrap(), Ok(()));
        assert_eq!(store.health().reopened, 0, "its session was ended");
        assert_eq!(leader.leadership().unwrap().epoch, epoch);
        assert!(standby.taken.try_recv().is_err());
    });
}
