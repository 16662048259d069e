//! A real OpenAI-style server: llama.cpp with a random model of half a megabyte. What it says makes
//! no sense; that it streams, keeps to a schema, asks for its key and embeds is what is tested.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use config_core::Secret;
use http_clients::http::{HttpClient, HttpOptions};
use http_clients::llm::{
    AnswerFormat, ChatEvent, ChatRequest, ChatRole, LlmClient, LlmError, LlmMessage, LlmProtocol,
};
use serde_json::{Value, json};

use super::chat::{home, with_model};

/// Ended when dropped, whatever the test did.
struct TinyModel {
    child: Child,
    url: String,
    _folder: tempfile::TempDir,
}

impl TinyModel {
    fn start(arguments: &[&str]) -> Self {
        let python = std::env::var_os("ORRERY_PYTHON").expect(
            "ORRERY_PYTHON is not set: `cargo xtask test` installs a Python with the PyPI packages xllamacpp and gguf",
        );
        let folder = tempfile::tempdir().expect("a folder");
        let script =
            std::path::absolute("tests/chats/tiny_model_server.py").expect("a folder to work in");
        let mut child = Command::new(python)
            .arg(script)
            .arg(folder.path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python starts");
        let mut url = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("its output"));
        out.read_line(&mut url).expect("its address");
        assert!(
            url.starts_with("http://"),
            "the model server did not start: {url:?}; are xllamacpp and gguf installed?"
        );
        Self {
            child,
            url: url.trim().to_owned(),
            _folder: folder,
        }
    }

    fn client(&self, key: &str) -> LlmClient {
        LlmClient::new(
            HttpClient::new(HttpOptions::default()),
            LlmProtocol::OpenAi,
            self.url.parse().expect("a URL"),
            Some(Secret::new(key.to_owned())),
        )
    }
}

impl Drop for TinyModel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn question() -> ChatRequest {
    ChatRequest {
        model: "tiny".to_owned(),
        messages: vec![LlmMessage::new(
            ChatRole::User,
            "How much does the pump move?",
        )],
        max_tokens: Some(24),
        temperature: Some(0.0),
        seed: Some(1),
        ..ChatRequest::default()
    }
}

#[actix_rt::test]
async fn a_real_model_streams_keeps_to_a_schema_and_wants_its_key() {
    let model = TinyModel::start(&["k3y"]);
    let client = model.client("k3y");
    let mut stream = client.chat_stream(&question()).await.expect("a stream");
    let mut deltas = 0;
    while let Some(event) = stream.next().await {
        deltas += usize::from(matches!(event.expect("an event"), ChatEvent::Delta(_)));
    }
    assert!(deltas > 1, "it came in {deltas} pieces");

    let schema = json!({"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"], "additionalProperties": false});
    let strict = ChatRequest {
        format: AnswerFormat::Schema {
            name: "answer".to_owned(),
            schema,
        },
        max_tokens: Some(400),
        ..question()
    };
    let reply = client.chat(&strict).await.expect("a reply");
    let answer: Value =
        serde_json::from_str(&reply.content).expect("JSON, though the model is random");
    assert!(answer["yes"].is_boolean(), "{answer}");

    let refused = model.client("wrong").chat(&question()).await;
    assert!(
        matches!(refused, Err(LlmError::Unauthorised(_))),
        "{refused:?}"
    );
}

#[actix_rt::test]
async fn a_real_model_embeds() {
    let model = TinyModel::start(&["--embeddings", "k3y"]);
    let texts = ["pump".to_owned(), "orbit".to_owned(), "pump".to_owned()];
    let vectors = model
        .client("k3y")
        .embed("tiny", &texts)
        .await
        .expect("vectors");
    assert_eq!((vectors.len(), vectors[0].len()), (3, 64));
    assert_ne!(vectors[0], vectors[1]);
    let same = vectors[0]
        .iter()
        .zip(&vectors[2])
        .all(|(a, b)| (a - b).abs() < 1e-4);
    assert!(same, "the same text has the same vector");
}

#[test]
fn documents_are_embedded_by_a_real_server() {
    let model = TinyModel::start(&["--embeddings"]);
    let home = home();
    // More tokens than it takes at once: it is refused, and cut.
    let long = "The pump of the well is tested every year. ".repeat(40);
    home.write("long.md", format!("# Pumps\n\n{long}"));
    let mut role = home.role("ServiceGraph");
    role["extra"] = json!({"embedding_server_url": model.url, "embedding_server_model": "tiny"});
    let server = home.start_with(&role, |_| {});
    let concepts = || server.get("/health").json()["sources"][0]["concepts"].clone();
    server.eventually("all documents are embedded", || {
        assert!(concepts()["error"].is_null(), "{}", concepts());
        concepts()["embedded"] == true
    });
    let answer = server.search(&json!({"search_term": "pump", "explain": true}));
    let results = answer["results"].as_array().cloned().unwrap_or_default();
    assert!(results.len() > 1 && answer["notes"].is_null(), "{answer}");
    for result in results {
        let parts = result["explanation"]["parts"].to_string();
        assert!(parts.contains("by the embedding model"), "{parts}");
    }
}

#[test]
fn chats_and_summaries_of_the_server_are_answered_by_a_real_model() {
    let model = TinyModel::start(&[]);
    let home = home();
    let server = home.start_with(&with_model(&home, &model.url), |_| {});
    let question = json!({"message": "How much does the pump move?"});
    let answer = server.post("/api/chat", &question);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = answer.json();
    assert_eq!(
        (&answer["provider"], &answer["model"]),
        (&json!("localllm"), &json!("tiny"))
    );
    let mut streamed = question;
    streamed["stream"] = true.into();
    let stream = server.post("/api/chat", &streamed).text();
    assert!(
        stream.contains("event: delta") && stream.contains("event: done"),
        "{stream}"
    );
    let summary = server.post(
        "/api/documents/summarize",
        &json!({"content": "A pump. It moves water."}),
    );
    assert_eq!(summary.status, 200, "{}", summary.text());
    assert_eq!(summary.json()["provider"], "localllm");
}
