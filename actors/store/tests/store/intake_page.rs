//! How much of an intake is read at once, and how long it is known who had a store.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use scripted_peers::postgres::PostgresServer;
use store::{SharedStore, StoreOptions};

fn shared(server: &PostgresServer) -> SharedStore {
    let options = StoreOptions::new("page-test").schema("page_test");
    SharedStore::new(&server.url().parse().unwrap(), &options, ("", "")).unwrap()
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(work)
}

#[test]
fn i18_a_page_of_the_intake_is_bounded_by_bytes() {
    let server = PostgresServer::start();
    let shared = shared(&server);
    shared.leadership().unwrap();
    let page = |limit, except: &[u64]| {
        let page = shared.intake().undecided(limit, except.to_vec());
        let page = wait(page).unwrap();
        let seqs: Vec<u64> = page.entries.iter().map(|entry| entry.seq).collect();
        (seqs, page.may_have_more)
    };
    assert_eq!(page(100, &[]), (Vec::new(), false));
    server.sql(
        "INSERT INTO page_test.intake (delivery, digest, content) \
         SELECT 'large-' || n, 'x', convert_to(repeat('x', 5 << 20), 'UTF8') \
         FROM generate_series(1, 10) AS n",
    );
    assert_eq!(
        page(100, &[]),
        (vec![1, 2, 3, 4], true),
        "16 MiB and what goes over"
    );
    assert_eq!(page(2, &[]), (vec![1, 2], true));
    assert_eq!(page(100, &[1, 2, 4, 5, 6, 7]), (vec![3, 8, 9, 10], true));
    assert_eq!(page(100, &[1, 2, 4, 5, 6, 7, 10]), (vec![3, 8, 9], false));
}

#[test]
fn i18_who_had_a_store_is_forgotten_after_a_month_but_for_the_last_two() {
    let server = PostgresServer::start();
    let shared = shared(&server);
    let take = || shared.try_take(|_| true).unwrap().unwrap().0.close();
    for _ in 0..4 {
        take();
    }
    server.sql("UPDATE page_test.epochs SET taken = taken - interval '31 days'");
    take();
    let left = "SELECT string_agg(epoch::text, ',' ORDER BY epoch) FROM page_test.epochs";
    assert_eq!(server.sql(left), "4,5");
    // Whoever may not remove them leads all the same.
    server.sql(
        "UPDATE page_test.epochs SET taken = taken - interval '31 days'; \
         CREATE FUNCTION page_test.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ \
         BEGIN RAISE EXCEPTION 'they stay' USING ERRCODE = '42501'; END $$; \
         CREATE TRIGGER refuse BEFORE DELETE ON page_test.epochs \
         EXECUTE FUNCTION page_test.refuse()",
    );
    take();
    assert_eq!(server.sql(left), "4,5,6");
}
