//! Limits of a source: refused early, shown in the health, and search goes on.

use std::time::Duration;

use search_actors::{LearningRests, SearchLimits};
use serde_json::{Value, json};

use crate::harness::{Home, Running, keys};

const DOCUMENTS: usize = 240;

fn home() -> Home {
    let home = Home::new();
    for number in 0..DOCUMENTS {
        let text = format!("# Note {number}\n\nheron number{number} stands in the water");
        home.write(&format!("d{}/n{number:03}.md", number % 4), text);
    }
    home
}

fn started(home: &Home, limits: SearchLimits) -> Running {
    home.start_within(&home.role("ServiceGraph"), LearningRests::default(), limits)
}

fn limit(server: &Running, reason: &str) -> Option<String> {
    let health = server.health();
    let limits = health[0]["limits"].as_array().cloned().unwrap_or_default();
    let found = limits.iter().find(|limit| limit["reason"] == reason)?;
    Some(found["detail"].as_str().expect("a detail").to_owned())
}

fn finds(server: &Running, number: usize) -> Vec<String> {
    keys(&server.search(&json!({"search_term": format!("number{number}"), "limit": 3})))
}

#[test]
fn i16_a_source_with_more_documents_than_are_learnt_from_is_ranked_by_words() {
    let home = home();
    let server = started(
        &home,
        SearchLimits {
            learnt_documents: 239,
            ..SearchLimits::default()
        },
    );
    server.eventually("the limit is told", || {
        limit(&server, "learnt_documents").is_some()
    });
    server.eventually("nothing is learnt", || {
        server.health()[0]["concepts"]["state"] == "off"
    });
    let told = limit(&server, "learnt_documents").expect("told");
    assert!(told.contains("240 documents, more than 239"), "{told}");
    assert_eq!(finds(&server, 7)[0], "d3/n007.md");
    // One document less, and it is learnt from.
    std::fs::remove_file(home.files().join("d0/n000.md")).expect("removed");
    server.eventually("the limit is not told any more", || {
        limit(&server, "learnt_documents").is_none()
    });
    server.eventually("it is learnt", || {
        server.health()[0]["concepts"]["state"] == "ready"
    });
}

#[test]
fn i16_a_graph_that_is_full_says_so_and_the_rest_is_found() {
    let home = home();
    let limits = SearchLimits {
        graph_documents: 100,
        ..SearchLimits::default()
    };
    let server = started(&home, limits);
    server.eventually("the limit is told", || {
        limit(&server, "graph_documents").is_some()
    });
    for number in [0, 120, 239] {
        let key = format!("d{}/n{number:03}.md", number % 4);
        assert_eq!(finds(&server, number)[0], key);
    }
}

#[test]
fn i16_a_source_of_too_many_folders_says_that_it_is_polled() {
    let home = home();
    let limits = SearchLimits {
        watched_folders: 3,
        ..SearchLimits::default()
    };
    let server = started(&home, limits);
    server.eventually("the limit is told", || {
        limit(&server, "watched_folders").is_some()
    });
    assert_eq!(finds(&server, 9)[0], "d1/n009.md");
    drop(server);
    let server = started(&home, SearchLimits::default());
    let limits: Value = server.health()[0]["limits"].clone();
    assert!(limits.is_null(), "{limits}");
}

#[test]
fn i16_a_source_that_is_polled_says_nothing_while_nothing_changes() {
    let home = home();
    // Of a kind that is looked at in each comparison.
    let binary = |name: &str| home.write(name, [0; 100]);
    binary("a.bin");
    let limits = SearchLimits {
        watched_folders: 3,
        poll_interval: Duration::from_millis(10),
        ..SearchLimits::default()
    };
    let server = home.start_within(&home.role("BM25F"), LearningRests::default(), limits);
    home.write("egret.md", "an egret");
    server.eventually("a comparison finds it", || {
        keys(&server.search(&json!({"search_term": "egret"}))) == ["egret.md"]
    });
    let counted = |number: u64| {
        server.eventually("it is counted", || {
            let health = server.health();
            assert_eq!(health[0]["state"], "ready");
            health[0]["skipped"]["binary"] == number
        });
    };
    binary("b.bin");
    counted(2);
    let version = server.version();
    binary("c.bin");
    counted(3);
    assert_eq!(server.version(), version);
}
