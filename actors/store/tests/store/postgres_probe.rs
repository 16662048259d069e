//! A store in PostgreSQL that is only asked about: whether it could be opened or made.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use scripted_peers::postgres::{PostgresServer, Stop};
use store::{Store, StoreOptions, probe};

fn asked(url: &str) -> Result<(), (bool, String)> {
    let asked = probe(&url.parse().unwrap(), &StoreOptions::new("test"));
    asked.map_err(|error| (error.is_away(), error.to_string()))
}

#[test]
fn i18_a_probe_says_what_a_role_may_not_do_and_makes_nothing() {
    let server = PostgresServer::start();
    server.sql("CREATE ROLE guest LOGIN PASSWORD 'guest'");
    let database = server.sql("SELECT current_database()");
    let guest = server.url_of("guest", "guest", &database);
    let refusal = |url: &str| {
        let (is_away, reason) = asked(url).unwrap_err();
        assert!(!is_away, "{reason}");
        reason
    };

    asked(&server.url()).unwrap();
    assert_eq!(server.sql("SELECT to_regnamespace('test') IS NULL"), "t");
    let none = refusal(&guest);
    assert!(
        none.contains("the role may not make the schema test; give the role CREATE on the"),
        "{none}"
    );
    let password = refusal(&server.url_of("guest", "wrong", &database));
    assert!(password.contains("look at user and password"), "{password}");
    let elsewhere = refusal(&server.url_of("guest", "guest", "nowhere"));
    assert!(elsewhere.contains("CREATE DATABASE"), "{elsewhere}");

    // A schema of its own is enough, for the check and for the start.
    server.sql("CREATE SCHEMA test AUTHORIZATION guest");
    asked(&guest).unwrap();
    let options = StoreOptions::new("test");
    Store::open_postgres(&guest.parse().unwrap(), &options)
        .unwrap()
        .close();
    asked(&guest).unwrap();

    server.sql("CREATE ROLE other LOGIN PASSWORD 'other'; GRANT USAGE ON SCHEMA test TO other");
    server.sql("GRANT SELECT ON ALL TABLES IN SCHEMA test TO other");
    let other = server.url_of("other", "other", &database);
    let rights = refusal(&other);
    assert!(
        rights.contains("INSERT the table rows") && rights.contains("UPDATE the table owner"),
        "{rights}"
    );
    server.sql("INSERT INTO test.layout VALUES (9999)");
    let newer = refusal(&guest);
    assert!(
        newer.contains("has schema 9999, this program knows"),
        "{newer}"
    );
}

#[test]
fn i18_a_probe_tells_a_server_that_is_away_from_one_that_is_named_wrongly() {
    let mut server = PostgresServer::start();
    let url = server.url();
    server.stop(Stop::Fast);
    let (is_away, reason) = asked(&url).unwrap_err();
    assert!(
        is_away && reason.contains("see that the server runs"),
        "{reason}"
    );
    server.start_again();
    asked(&url).unwrap();
}
