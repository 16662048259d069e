//! A server whose index cannot be written: it says so, and goes on when it can.

use serde_json::json;

use crate::harness::Home;

#[test]
fn u1_readiness_is_degraded_while_an_indexer_is_down_and_a_reindex_is_accepted() {
    let home = Home::new();
    home.write("pump.md", "# Pump\n\nIt moves water.\n");
    // A file stands where the indexes are to be.
    let place = home.path().join("index");
    std::fs::write(&place, "in the way").expect("a file");
    let server = home.launch(&home.role("BM25F"), |_| {});
    server.eventually("readiness says why", || {
        let answer = server.get("/readyz");
        let detail = answer.json()["checks"][1]["detail"].to_string();
        answer.status == 503 && detail.contains("degraded: source") && detail.contains("Files")
    });
    let health = server.get("/health").json();
    assert_eq!(health["status"], "degraded", "{health}");
    std::fs::remove_file(&place).expect("removed");
    // It is never "being restarted".
    let answer = server.send("POST", "/api/sources/Test/Files/reindex", &[], b"");
    assert_eq!(answer.status, 202, "{}", answer.json());
    server.eventually("it works", || server.get("/readyz").status == 200);
    let answer = server.search(&json!({"search_term": "pump"}));
    assert_eq!(
        (&answer["total"], &answer["status"]),
        (&json!(1), &json!("success"))
    );
    assert_eq!(server.get("/health").json()["status"], "ok");
}
