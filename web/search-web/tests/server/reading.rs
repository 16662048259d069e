//! Documents that a model reads in parts, by calls of the tool `fetch` over HTTP.

use serde_json::{Value, json};

use crate::harness::{Home, Server};

/// The text of a part, without the title above it.
fn fetched(server: &Server, arguments: &Value) -> String {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "fetch", "arguments": arguments}});
    let answer = server.post("/mcp", &call);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let result = &answer.json()["result"];
    assert_eq!(result["isError"], false, "{result}");
    let text = result["content"][0]["text"].as_str().expect("a text");
    text.split_once("\n\n").expect("a title").1.to_owned()
}

/// The parts of a document, each asked for where the one before says, joined.
fn joined(server: &Server, id: &str, budget: u64) -> (String, usize) {
    let mut arguments = json!({"id": id, "budget_tokens": budget});
    let (mut whole, mut parts) = (String::new(), 0);
    loop {
        let given = fetched(server, &arguments);
        parts += 1;
        assert!(parts < 200, "it ends: {given}");
        let Some((shown, place)) = given.rsplit_once("\n[") else {
            return (whole + &given, parts);
        };
        whole.push_str(shown);
        let number = |word: &str| -> Option<u64> {
            let digits = place.split_once(word)?.1;
            let end = digits.find(|c: char| !c.is_ascii_digit())?;
            digits[..end].parse().ok()
        };
        arguments["line"] = json!(number("go on with line ").expect("where to go on"));
        match number(", column ") {
            Some(column) => arguments["column"] = json!(column),
            None => {
                whole.push('\n');
                arguments["column"] = Value::Null;
            }
        }
    }
}

#[test]
fn i16_parts_of_a_document_that_lead_on_are_one_text() {
    let home = Home::new();
    let markdown = format!(
        "---\ntitle: Tides\n---\n\n# Tides\n\n{}",
        "The *moon* pulls.\n\n\n- And the [sun](http://sun.example/).\n".repeat(40)
    );
    let long = "One line without an end, naïve; ".repeat(300);
    home.write("notes.md", &markdown);
    home.write("long.txt", &long);
    home.write(
        "page.html",
        format!(
            "<html><head><title>Tides</title><style>p {{}}</style></head><body>{}</body></html>",
            "<p>The moon <b>pulls</b> the sea.</p>\n\n".repeat(60)
        ),
    );
    let server = home.start();
    let answer = server.search(&json!({"search_term": "moon OR naïve", "limit": 10}));
    let results = answer["results"].as_array().expect("results");
    let id = |name: &str| {
        let ids = results.iter().filter_map(|one| one["id"].as_str());
        ids.clone().find(|id| id.ends_with(name)).expect(name)
    };
    for (name, expected) in [("notes.md", &markdown), ("long.txt", &long)] {
        let (whole, parts) = joined(&server, id(name), 150);
        assert_eq!(&whole, expected, "{name}");
        assert!(parts > 3, "{name}: {parts}");
    }
    let page = id("page.html");
    let (whole, parts) = joined(&server, page, 150);
    assert_eq!(whole, fetched(&server, &json!({"id": page})));
    assert!(parts > 3 && !whole.contains('<'), "{whole}");
}
