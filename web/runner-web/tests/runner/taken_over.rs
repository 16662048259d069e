//! A runner that has lost its store to another process, and is still asked: what it cannot store it
//! takes in for the next leader, and what it cannot answer it passes on.

use cluster_actors::replica::{RoleControl, RoleEvent, StoreSight};
use scripted_peers::postgres::PostgresServer;
use serde_json::{Value, json};
use store::{SharedStore, StoreOptions};

use crate::harness::{Runner, Setup, Site, push, within};

const SCHEMA: &str = "taken_over";

/// One process beside the store.
fn beside(server: &PostgresServer, address: &str) -> (SharedStore, RoleControl) {
    let options = StoreOptions::new("workflow-runner").schema(SCHEMA);
    let key = format!("the key of {address}");
    let url = server.url().parse().unwrap();
    let shared = SharedStore::new(&url, &options, (address, &key)).unwrap();
    (shared, RoleControl::new(address))
}

fn leading(site: &Site, beside: &(SharedStore, RoleControl), data: &str) -> Runner {
    site.start_with(Setup {
        shared: Some(beside.clone()),
        data: Some(site.folder.path().join(data)),
        ..Setup::default()
    })
}

fn body(n: u8) -> Value {
    push("https://forge.invalid/a/b.git", &n.to_string().repeat(40))
}

/// Another process has the next epoch, and its server has not told the one before.
fn lose(server: &PostgresServer) {
    server.sql(&format!(
        "UPDATE {SCHEMA}.owner SET epoch = epoch + 1, program = 'other'"
    ));
}

fn deliveries(runner: &Runner) -> Vec<String> {
    let runs = runner.get("/runs").json();
    let runs = runs.as_array().cloned().unwrap_or_default();
    let delivery = |run: &Value| run["delivery"].as_str().unwrap_or_default().to_owned();
    let mut found: Vec<String> = runs.iter().map(delivery).collect();
    found.sort();
    found
}

#[test]
fn i18_a_leader_that_lost_the_store_takes_webhooks_in_for_the_next_one() {
    let server = PostgresServer::start();
    let site = Site::new();
    let first = beside(&server, "127.0.0.1:1");
    let runner = leading(&site, &first, "first");
    assert_eq!(runner.deliver("push", "one", &body(1)).code, 202);
    lose(&server);
    // The first it hears of it is that this one is not stored.
    for delivery in ["two", "three"] {
        let n = u8::try_from(delivery.len()).unwrap();
        let taken = runner.deliver("push", delivery, &body(n));
        assert_eq!(taken.code, 202, "{}", taken.body);
        assert_eq!(taken.json()["status"], "accepted", "{}", taken.body);
    }
    let again = runner.deliver("push", "two", &body(3));
    assert_eq!(again.code, 200, "{}", again.body);
    assert_eq!(again.json()["status"], "duplicate", "{}", again.body);
    let forged = runner.ask("POST", "/webhook", &[("x-gitea-event", "push")], b"{}");
    assert_eq!(forged.code, 403, "{}", forged.body);
    runner.stop();
    let runner = leading(&site, &beside(&server, "127.0.0.1:2"), "second");
    let all = ["one", "three", "two"];
    assert!(
        within(|| deliveries(&runner) == all),
        "{:?}",
        deliveries(&runner)
    );
    let again = runner.deliver("push", "two", &body(3));
    assert_eq!(again.code, 200, "{}", again.body);
    assert!(again.json()["run"].is_string(), "{}", again.body);
}

#[test]
fn i18_a_leader_that_lost_the_store_passes_on_what_it_cannot_answer() {
    let server = PostgresServer::start();
    let site = Site::new();
    let first = beside(&server, "127.0.0.1:1");
    let former = leading(&site, &first, "first");
    assert_eq!(former.deliver("push", "one", &body(1)).code, 202);
    lose(&server);
    assert_eq!(former.deliver("push", "two", &body(2)).code, 202);
    let second = beside(&server, "127.0.0.1:2");
    let next = leading(&site, &second, "second");
    let (_, control) = &first;
    control.apply(RoleEvent::StoreLost);
    // As the standby of its process sees it.
    let mut seen = second.0.leadership().unwrap();
    seen.address = next.address.to_string();
    control.publish(StoreSight {
        epoch: seen.epoch,
        leader: Some(seen),
        trouble: None,
    });
    let all = ["one", "two"];
    assert!(
        within(|| deliveries(&former) == all),
        "{}",
        former.get("/runs").body
    );
    let unknown = former.ask("POST", "/runs/nothing/cancel", &[], b"");
    assert_eq!(unknown.code, 404, "{}", unknown.body);
    let health = former.get("/health").json();
    assert_eq!(health["replica"]["role"], "standby", "its own: {health}");
    // The leader's word comes back to whoever asked the former one.
    let taken = former.deliver("push", "three", &body(3));
    assert_eq!(taken.code, 202, "{}", taken.body);
    let run = taken.json()["run"].clone();
    assert!(run.is_string(), "{}", taken.body);
    let again = next.deliver("push", "three", &body(3));
    assert_eq!((again.code, &again.json()["run"]), (200, &run));
    let again = former.deliver("push", "one", &body(1));
    assert_eq!(again.code, 200, "{}", again.body);
    // No circles: who was asked by another process passes nothing on.
    let key = [("orrery-replica-key", "the key of 127.0.0.1:1")];
    let passed_on = former.ask("GET", "/runs", &key, b"");
    assert_eq!(passed_on.code, 503, "{}", passed_on.body);
    assert_eq!(
        passed_on.json()["type"],
        json!("urn:orrery:problem:no-leader"),
        "{}",
        passed_on.body
    );
}
