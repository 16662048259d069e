//! A folder that vanishes while it is searched.

use serde_json::json;

use crate::harness::Home;

#[test]
fn a_folder_that_vanishes_is_told_of_and_taken_up_when_it_is_back() {
    let home = Home::new();
    home.write("pump.md", "# Pump\n\nIt moves water.\n");
    let server = home.start(&home.role("BM25F"));
    let away = home.path().join("away");
    std::fs::rename(home.files(), &away).expect("moved");
    server.eventually("the search says that the folder is gone", || {
        let answer = server.search(&json!({"search_term": "pump"}));
        let error = answer["sources"][0]["error"].to_string();
        answer["status"] == "partial_success"
            && error.contains("not there any more")
            // What it held last is found.
            && answer["total"] == 1
    });
    std::fs::rename(&away, home.files()).expect("moved back");
    home.write("valve.md", "# Valve\n\nOf the pump.\n");
    server.eventually("the folder is searched again", || {
        let answer = server.search(&json!({"search_term": "pump"}));
        answer["status"] == "success" && answer["total"] == 2
    });
}
