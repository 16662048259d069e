//! The language-model client against a scripted server.

use std::time::Duration;

use bytes::Bytes;
use config_core::Secret;
use http_clients::http::{HttpClient, HttpOptions};
use http_clients::llm::{
    AnswerFormat, ChatEvent, ChatReply, ChatRequest, ChatRole, LlmClient, LlmError, LlmMessage,
    LlmProtocol, StopReason, TokenUsage,
};
use scripted_peers::{Answer, ScriptedLlm};
use serde_json::{Value, json};

use crate::common::{LONG, options};

fn client(server: &ScriptedLlm, protocol: LlmProtocol) -> LlmClient {
    let http = HttpClient::new(HttpOptions {
        deadline: LONG,
        idle: Duration::from_millis(300),
        ..options()
    });
    let key = Some(Secret::new("k-1".to_owned()));
    LlmClient::new(http, protocol, server.url().parse().unwrap(), key)
}

fn question() -> ChatRequest {
    ChatRequest {
        model: "tiny".into(),
        messages: vec![
            LlmMessage::new(ChatRole::System, "be brief"),
            LlmMessage::new(ChatRole::User, "hello"),
        ],
        ..ChatRequest::default()
    }
}

fn reply(content: &str) -> ChatReply {
    ChatReply {
        content: content.into(),
        stop: StopReason::Complete,
        usage: TokenUsage {
            prompt_tokens: 5,
            completion_tokens: 2,
        },
    }
}

/// What a llama.cpp server sent for a short answer.
const SSE: &str = concat!(
    ": a comment\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Grü\"}}]}\n\n",
    "event: message\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ße\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"delta\":{}}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n",
    "data: [DONE]\n\n",
);

const NDJSON: &str = concat!(
    "{\"model\":\"tiny\",\"message\":{\"role\":\"assistant\",\"content\":\"Grü\"},\"done\":false}\n",
    "{\"model\":\"tiny\",\"message\":{\"role\":\"assistant\",\"content\":\"ße\"},\"done\":false}\n",
    "{\"model\":\"tiny\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,",
    "\"done_reason\":\"stop\",\"prompt_eval_count\":5,\"eval_count\":2}\n",
);

/// Protocol, path of chats, content type and body of a stream.
const STREAMS: [(LlmProtocol, &str, &str, &str); 2] = [
    (
        LlmProtocol::OpenAi,
        "/v1/chat/completions",
        "text/event-stream",
        SSE,
    ),
    (
        LlmProtocol::Ollama,
        "/api/chat",
        "application/x-ndjson",
        NDJSON,
    ),
];

#[actix_rt::test]
async fn an_answer_comes_whole() {
    let openai = json!({
        "choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    });
    let ollama = json!({
        "message": {"role": "assistant", "content": "hi"}, "done": true, "done_reason": "stop",
        "prompt_eval_count": 5, "eval_count": 2,
    });
    for (protocol, path, body) in [
        (LlmProtocol::OpenAi, "/v1/chat/completions", openai),
        (LlmProtocol::Ollama, "/api/chat", ollama),
    ] {
        let server = ScriptedLlm::start();
        server.answer(path, Answer::json(&body));
        let answer = client(&server, protocol).chat(&question()).await.unwrap();
        assert_eq!(answer, reply("hi"), "{protocol:?}");
        let sent = &server.requests()[0];
        assert_eq!(sent.authorization.as_deref(), Some("Bearer k-1"));
        let sent = sent.json();
        assert_eq!(sent["model"], "tiny");
        assert_eq!(sent["stream"], false);
        assert_eq!(
            sent["messages"][1],
            json!({"role": "user", "content": "hello"})
        );
    }
}

#[actix_rt::test]
async fn y12_an_answer_whose_usage_lacks_counts_is_taken() {
    for usage in [
        json!({"completion_tokens": 2}),
        json!({"prompt_tokens": null, "completion_tokens": 2, "cost": 0.1}),
        json!({"prompt_tokens": "5", "total_tokens": 7}),
        json!({"prompt_tokens": -1}),
        json!([5, 2]),
        json!(null),
    ] {
        let server = ScriptedLlm::start();
        let body = json!({
            "choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
            "usage": usage,
        });
        server.answer("/v1/chat/completions", Answer::json(&body));
        let client = client(&server, LlmProtocol::OpenAi);
        let answer = client.chat(&question()).await.expect("the answer is whole");
        assert_eq!(answer.content, "hi", "{body}");
        assert_eq!(answer.usage.prompt_tokens, 0, "{body}");
    }
}

#[actix_rt::test]
async fn forms_and_limits_are_asked_for_in_each_protocols_way() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let request = ChatRequest {
        format: AnswerFormat::Schema {
            name: "plan".into(),
            schema: schema.clone(),
        },
        temperature: Some(0.0),
        max_tokens: Some(9),
        seed: Some(3),
        ..question()
    };
    let sent = async |protocol, path, request: &ChatRequest| -> Value {
        let server = ScriptedLlm::start();
        server.answer(path, Answer::json(&json!({})));
        let _ = client(&server, protocol).chat(request).await;
        server.requests()[0].json()
    };
    let openai = sent(LlmProtocol::OpenAi, "/v1/chat/completions", &request).await;
    let form = &openai["response_format"];
    assert_eq!(form["type"], "json_schema");
    assert_eq!(form["json_schema"]["schema"], schema);
    assert_eq!(
        [
            &openai["temperature"],
            &openai["max_tokens"],
            &openai["seed"]
        ],
        [&json!(0.0), &json!(9), &json!(3)]
    );
    let ollama = sent(LlmProtocol::Ollama, "/api/chat", &request).await;
    assert_eq!(ollama["format"], schema);
    assert_eq!(
        ollama["options"],
        json!({"temperature": 0.0, "num_predict": 9, "seed": 3})
    );
    let any = ChatRequest {
        format: AnswerFormat::Json,
        ..question()
    };
    let openai = sent(LlmProtocol::OpenAi, "/v1/chat/completions", &any).await;
    assert_eq!(openai["response_format"], json!({"type": "json_object"}));
    let ollama = sent(LlmProtocol::Ollama, "/api/chat", &any).await;
    assert_eq!(ollama["format"], "json");
}

#[actix_rt::test]
async fn a_stream_is_the_same_cut_at_every_byte() {
    for (protocol, path, content_type, body) in STREAMS {
        let server = ScriptedLlm::start();
        let client = client(&server, protocol);
        for at in (0..body.len()).step_by(7).chain([body.len() - 1]) {
            let (a, b) = body.as_bytes().split_at(at);
            let chunks = [a, b].map(Bytes::copy_from_slice);
            // Each answer but the last is given once.
            server.answer(path, Answer::chunks(content_type, chunks));
        }
        for at in (0..body.len()).step_by(7) {
            let stream = client.chat_stream(&question()).await.unwrap();
            let answer = stream.collect().await.unwrap();
            assert_eq!(answer, reply("Grüße"), "{protocol:?} cut at {at}");
        }
        assert_eq!(server.requests()[0].json()["stream"], true);
    }
}

#[actix_rt::test]
async fn deltas_come_one_by_one() {
    for (protocol, path, content_type, body) in STREAMS {
        let server = ScriptedLlm::start();
        server.answer(path, Answer::chunks(content_type, [body]));
        let stream = client(&server, protocol).chat_stream(&question()).await;
        let mut stream = stream.unwrap();
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(event.unwrap());
        }
        let done = ChatEvent::Done {
            stop: StopReason::Complete,
            usage: reply("").usage,
        };
        let delta = |text: &str| ChatEvent::Delta(text.into());
        assert_eq!(events, [delta("Grü"), delta("ße"), done], "{protocol:?}");
    }
}

#[actix_rt::test]
async fn r09_an_answer_that_breaks_off_or_fails_is_an_error() {
    for (protocol, path, content_type, body) in STREAMS {
        // Whole lines, but no end; half a line; an error in the middle; silence.
        let second_line = body
            .match_indices('\n')
            .nth(4)
            .map_or(100, |(at, _)| at + 1);
        let error = match protocol {
            LlmProtocol::OpenAi => {
                "data: {\"error\":{\"code\":500,\"message\":\"out of memory\"}}\n\n"
            }
            LlmProtocol::Ollama => "{\"error\":\"out of memory\"}\n",
        };
        let begun = match protocol {
            LlmProtocol::OpenAi => &body[..second_line],
            LlmProtocol::Ollama => &body[..body.find('\n').unwrap() + 1],
        };
        let half = &begun[..begun.len() - 3];
        let table = [
            (Answer::chunks(content_type, [begun]), "bad_reply"),
            (Answer::chunks(content_type, [half]).cut(), "bad_reply"),
            (Answer::chunks(content_type, [begun, error]), "failed"),
            (
                Answer::chunks(content_type, [begun]).hang(LONG),
                "timed_out",
            ),
            (
                Answer::chunks(content_type, ["data: nonsense\n", "nonsense\n"]),
                "bad_reply",
            ),
        ];
        for (answer, class) in table {
            let server = ScriptedLlm::start();
            server.answer(path, answer);
            let stream = client(&server, protocol).chat_stream(&question()).await;
            let error = stream.unwrap().collect().await.unwrap_err();
            assert_eq!(error.class(), class, "{protocol:?}: {error}");
        }
    }
}

#[actix_rt::test]
async fn what_came_before_an_error_comes_before_it() {
    let server = ScriptedLlm::start();
    let lines = "{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"error\":\"gone\"}\n";
    server.answer("/api/chat", Answer::chunks("application/x-ndjson", [lines]));
    let stream = client(&server, LlmProtocol::Ollama)
        .chat_stream(&question())
        .await;
    let mut stream = stream.unwrap();
    assert_eq!(stream.next().await, Some(Ok(ChatEvent::Delta("a".into()))));
    assert_eq!(
        stream.next().await,
        Some(Err(LlmError::Failed("gone".into())))
    );
    assert_eq!(stream.next().await, None);
}

#[actix_rt::test]
async fn r09_refusals_have_their_class_and_words() {
    for (protocol, path, _, _) in STREAMS {
        let server = ScriptedLlm::start();
        let client = client(&server, protocol);
        let body = match protocol {
            LlmProtocol::OpenAi => json!({"error": {"code": 0, "message": "because"}}),
            LlmProtocol::Ollama => json!({"error": "because"}),
        };
        let table = [
            (401, "unauthorised"),
            (402, "payment"),
            (403, "moderation"),
            (404, "model_not_found"),
            (429, "rate_limited"),
            (500, "failed"),
        ];
        for (status, _) in table {
            // Once for each way of asking.
            server.answer(path, Answer::json(&body).status(status));
            server.answer(path, Answer::json(&body).status(status));
        }
        server.answer(path, Answer::json(&body));
        for (status, class) in table {
            let whole = client.chat(&question()).await.unwrap_err();
            let streamed = client.chat_stream(&question()).await.unwrap_err();
            for error in [whole, streamed] {
                assert_eq!(error.class(), class, "{protocol:?} {status}");
                assert!(error.to_string().contains("because"), "{error}");
            }
        }
    }
}

#[actix_rt::test]
async fn r09_an_endless_answer_ends_at_the_limit() {
    let server = ScriptedLlm::start();
    let line = format!(
        "{{\"message\":{{\"content\":\"{}\"}}}}\n",
        "x".repeat(500_000)
    );
    let chunks = std::iter::repeat_n(line, 40);
    server.answer("/api/chat", Answer::chunks("application/x-ndjson", chunks));
    let long = "x".repeat(5 << 20);
    server.answer("/api/chat", Answer::chunks("application/x-ndjson", [long]));
    let client = client(&server, LlmProtocol::Ollama);
    for class in ["too_large", "bad_reply"] {
        let stream = client.chat_stream(&question()).await.unwrap();
        assert_eq!(stream.collect().await.unwrap_err().class(), class);
    }
}

#[actix_rt::test]
async fn texts_become_vectors_in_their_order() {
    let server = ScriptedLlm::start();
    let ollama = json!({"embeddings": [[1.0, 0.0], [0.0, 1.0]]});
    let openai = json!({"data": [
        {"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1.0, 0.0]},
    ]});
    server.answer("/api/embed", Answer::json(&ollama));
    server.answer("/v1/embeddings", Answer::json(&openai));
    server.answer("/v1/embeddings", Answer::json(&json!({"data": []})));
    let texts = ["a".to_owned(), "b".to_owned()];
    let expected = [vec![1.0, 0.0], vec![0.0, 1.0]];
    for protocol in [LlmProtocol::Ollama, LlmProtocol::OpenAi] {
        let client = client(&server, protocol);
        assert_eq!(
            client.embed("tiny", &texts).await.unwrap(),
            expected,
            "{protocol:?}"
        );
        assert!(client.embed("tiny", &[]).await.unwrap().is_empty());
    }
    let few = client(&server, LlmProtocol::OpenAi)
        .embed("tiny", &texts)
        .await;
    assert_eq!(few.unwrap_err().class(), "bad_reply");
}

#[actix_rt::test]
async fn a_base_with_a_version_is_kept() {
    let server = ScriptedLlm::start();
    let vector = json!({"data": [{"index": 0, "embedding": [1.0]}]});
    server.answer("/api/v1/embeddings", Answer::json(&vector));
    let base = format!("{}/api/v1/", server.url()).parse().unwrap();
    let http = HttpClient::new(options());
    let client = LlmClient::new(http, LlmProtocol::OpenAi, base, None);
    let texts = ["x".to_owned()];
    assert_eq!(client.embed("tiny", &texts).await.unwrap(), [[1.0]]);
}
