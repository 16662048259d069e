//! Summaries over HTTP, with and without a model.

use super::*;

const TEXT: &str = "The supervisor restarts children that fail. A child that fails too often is parked by its supervisor. \
    The weather was pleasant on that day. Supervisors count the failures of children and back off before they restart them.";

#[test]
fn summaries_without_a_model_are_sentences_of_the_text_and_made_once() {
    let home = home();
    let server = home.start();
    let summarise = |body: &Value| {
        let answer = server.post("/api/documents/summarize", body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    let first = summarise(&json!({"content": TEXT, "role": "Test", "max_length": 120}));
    let summary = first["summary"].as_str().expect("text");
    assert!(
        summary.contains("child") && !summary.contains("weather"),
        "{summary}"
    );
    assert!(summary.chars().count() <= 120);
    assert_eq!(
        (&first["provider"], &first["model"], &first["cached"]),
        (&json!("extractive"), &Value::Null, &json!(false))
    );
    let again = summarise(&json!({"content": TEXT, "max_length": 120}));
    assert_eq!(
        (&again["summary"], &again["cached"]),
        (&first["summary"], &json!(true))
    );
    assert_eq!(
        summarise(&json!({"content": TEXT, "max_length": 60}))["cached"],
        false
    );
    let id = server.search(&json!({"search_term": "pump"}))["results"][0]["id"].clone();
    let document = summarise(&json!({"document_id": id}));
    assert!(
        document["summary"]
            .as_str()
            .is_some_and(|text| text.contains("eleven litres")),
        "{document}"
    );
    assert_eq!(document["citations"][0]["id"], id);
    server
        .post(
            "/api/documents/summarize",
            &json!({"document_id": "deadbeef/none.md"}),
        )
        .problem(404);
    server
        .post(
            "/api/documents/summarize",
            &json!({"content": "x", "role": "Nobody"}),
        )
        .problem(422);
    server
        .post("/api/documents/summarize", &json!({"content": " "}))
        .problem(422);
    server.get("/api/documents/summarize").problem(405);
}

#[test]
fn a_model_writes_a_summary_once_and_within_the_length() {
    let home = home();
    let model = Model::ollama(answer_text(&"much ".repeat(1000)));
    let server = start(&home, &model);
    let ask = || {
        server
            .post(
                "/api/documents/summarize",
                &json!({"content": TEXT, "max_length": 50}),
            )
            .json()
    };
    let (first, again) = (ask(), ask());
    assert_eq!(
        (&first["provider"], &first["model"]),
        (&json!("localllm"), &json!("tiny"))
    );
    assert!(
        first["summary"]
            .as_str()
            .is_some_and(|text| text.chars().count() <= 50),
        "{first}"
    );
    assert_eq!(
        (&again["cached"], &again["summary"]),
        (&json!(true), &first["summary"])
    );
    assert_eq!(model.asked().len(), 1, "the model is asked once");
}
