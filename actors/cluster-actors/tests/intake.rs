//! What the leader makes of the intake, where some of it is not for this version of the program or
//! not for now.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use cluster_actors::replica::{DeliveryDecider, IntakeDecision, StoredDelivery, intake_follower};
use forge_core::Delivery;
use futures_util::future::LocalBoxFuture;
use parking_lot::Mutex;
use scripted_peers::postgres::PostgresServer;
use store::{IntakeHandle, SharedStore, StoreOptions, TakenIn};
use supervision::{Root, SupervisorSpec};

/// A product that knows some deliveries, and takes nothing while it is full.
#[derive(Default)]
struct Product {
    asked: Mutex<Vec<String>>,
    is_full: Mutex<bool>,
    /// What it was asked about while it was full.
    unsaid: Mutex<BTreeSet<String>>,
}

impl DeliveryDecider for Product {
    fn decide(
        &self,
        delivery: Delivery,
        body: &[u8],
        again: bool,
    ) -> LocalBoxFuture<'static, IntakeDecision> {
        assert_eq!(body, BODY);
        let id = delivery.id.to_string();
        assert_eq!(again, self.unsaid.lock().contains(&id), "{id}");
        let decision = match id.as_str() {
            _ if *self.is_full.lock() => {
                self.unsaid.lock().insert(id.clone());
                IntakeDecision::NotNow
            }
            newer if newer.starts_with("newer") => IntakeDecision::NotHere("newer".to_owned()),
            _ => IntakeDecision::Outcome(b"done".to_vec()),
        };
        self.asked.lock().push(id);
        Box::pin(std::future::ready(decision))
    }

    fn lost(&self) -> Vec<u8> {
        b"lost".to_vec()
    }
}

const BODY: &[u8] = br#"{"zen":"x"}"#;

/// A delivery as a standby takes it in.
fn content(id: &str) -> Vec<u8> {
    let headers = [
        ("x-github-event", &b"ping"[..]),
        ("x-github-delivery", id.as_bytes()),
    ];
    // Digests are made with secrets; any bytes will do.
    let digest = serde_json::from_value(serde_json::json!([7; 32].to_vec())).unwrap();
    StoredDelivery::new(headers, digest, BODY)
        .to_bytes()
        .unwrap()
}

async fn take_in(intake: &IntakeHandle, id: &str) -> u64 {
    take_in_content(intake, id, content(id)).await
}

async fn take_in_content(intake: &IntakeHandle, id: &str, content: Vec<u8>) -> u64 {
    let taken = intake.take_in(id.to_owned(), vec![1], content);
    match taken.await.unwrap() {
        TakenIn::New(seq) => seq,
        known => panic!("{known:?}"),
    }
}

fn follow(shared: &SharedStore, product: &Arc<Product>) -> Root {
    let decide: Arc<dyn DeliveryDecider> = Arc::clone(product) as _;
    let follower = intake_follower(shared.intake(), &shared.hints(), decide);
    Root::start_named("test", vec![SupervisorSpec::new("intake").child(follower)])
}

fn shared(server: &PostgresServer) -> SharedStore {
    let options = StoreOptions::new("intake-test").schema("intake_test");
    SharedStore::new(&server.url().parse().unwrap(), &options, ("", "")).unwrap()
}

/// More than a page of them, so that they hold up what comes behind.
#[test]
fn i18_what_a_newer_version_took_in_waits_and_holds_nothing_up() {
    let server = PostgresServer::start();
    let shared = shared(&server);
    actix::System::new().block_on(async {
        let intake = shared.intake();
        let newer: Vec<_> = (0..200).map(|n| format!("newer-{n}")).collect();
        for id in &newer {
            take_in(intake, id).await;
        }
        let seq = take_in(intake, "known").await;
        let product = Arc::new(Product::default());
        let _root = follow(&shared, &product);
        let outcome = tokio::time::timeout(Duration::from_secs(60), intake.outcome(seq)).await;
        assert_eq!(outcome.unwrap().as_deref(), Some(&b"done"[..]));
        // The rest is there as it came, and was asked about once.
        let seq = take_in(intake, "another").await;
        assert!(intake.outcome(seq).await.is_some());
        let waiting = intake.undecided(1000, Vec::new()).await.unwrap().entries;
        let left: Vec<_> = waiting.iter().map(|entry| entry.delivery.clone()).collect();
        assert_eq!(left, newer);
        assert!(waiting.iter().all(|entry| !entry.content.is_empty()));
        let mut asked = product.asked.lock().clone();
        asked.retain(|asked| asked.starts_with("newer"));
        assert_eq!(asked, newer);
    });
}

/// One that is damaged is nobody's, one that a newer program wrote is its.
#[test]
fn i14_what_cannot_be_read_is_decided_without_the_product() {
    let server = PostgresServer::start();
    let shared = shared(&server);
    actix::System::new().block_on(async {
        let intake = shared.intake();
        take_in_content(intake, "newer", b"\x81anything".to_vec()).await;
        let damaged = take_in_content(intake, "damaged", b"\x02damaged".to_vec()).await;
        let product = Arc::new(Product::default());
        let _root = follow(&shared, &product);
        let outcome = tokio::time::timeout(Duration::from_secs(60), intake.outcome(damaged)).await;
        assert_eq!(outcome.unwrap().as_deref(), Some(&b"lost"[..]));
        let waiting = intake.undecided(9, Vec::new()).await.unwrap().entries;
        let left: Vec<_> = waiting.iter().map(|entry| &*entry.delivery).collect();
        assert_eq!(left, ["newer"]);
        assert!(product.asked.lock().is_empty());
    });
}

#[test]
fn i18_while_the_product_is_full_one_entry_is_asked_about_at_a_time() {
    let server = PostgresServer::start();
    let shared = shared(&server);
    actix::System::new().block_on(async {
        let intake = shared.intake();
        let mut last = 0;
        for n in 0..50 {
            last = take_in(intake, &format!("known-{n}")).await;
        }
        let product = Arc::new(Product::default());
        *product.is_full.lock() = true;
        let _root = follow(&shared, &product);
        let asked = || product.asked.lock().len();
        while asked() < 53 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let behind_the_first_page: Vec<_> = product.asked.lock()[50..].to_vec();
        assert!(
            behind_the_first_page.iter().all(|asked| asked == "known-0"),
            "{behind_the_first_page:?}"
        );
        *product.is_full.lock() = false;
        assert!(intake.outcome(last).await.is_some());
        assert!(
            intake
                .undecided(1, Vec::new())
                .await
                .unwrap()
                .entries
                .is_empty()
        );
    });
}

/// The database refuses to note outcomes for a while, and says how often it was asked to.
#[test]
fn i18_what_was_decided_and_cannot_be_noted_is_noted_later_and_not_decided_again() {
    let server = PostgresServer::start();
    let shared = shared(&server);
    actix::System::new().block_on(async {
        let intake = shared.intake();
        let seq = take_in(intake, "known").await;
        server.sql(
            "SET search_path = intake_test; CREATE SEQUENCE attempts; \
             CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             PERFORM nextval('intake_test.attempts'); RAISE EXCEPTION 'not now'; END $$; \
             CREATE TRIGGER refuse BEFORE UPDATE ON intake \
             FOR EACH ROW EXECUTE FUNCTION refuse()",
        );
        let product = Arc::new(Product::default());
        let _root = follow(&shared, &product);
        let attempts = || {
            let attempts = server.sql("SELECT last_value FROM intake_test.attempts");
            attempts.trim().parse::<u32>().unwrap()
        };
        while attempts() < 3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        server.sql("DROP TRIGGER refuse ON intake_test.intake");
        let outcome = tokio::time::timeout(Duration::from_secs(60), intake.outcome(seq)).await;
        assert_eq!(outcome.unwrap().as_deref(), Some(&b"done"[..]));
        assert_eq!(*product.asked.lock(), ["known"]);
    });
}
