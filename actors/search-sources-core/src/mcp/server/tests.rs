//! Both generations, well and badly spoken.

use serde_json::{Value, json};

use super::{RoutingHeaders, ServerMessage, ToolCall, receive};
use crate::mcp::client::{Generation, discover, is_stateless, offers, routing_name};
use crate::mcp::rpc::{
    HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, UNSUPPORTED_VERSION,
};

fn reply(message: &Value, routing: Option<RoutingHeaders<'_>>) -> (u16, Value) {
    match receive(message, routing) {
        ServerMessage::Reply(reply) => (reply.status, reply.message),
        other => panic!("{message}: {other:?}"),
    }
}

fn code(message: &Value, routing: Option<RoutingHeaders<'_>>) -> (u16, i64) {
    let (status, reply) = reply(message, routing);
    (status, reply["error"]["code"].as_i64().unwrap_or_default())
}

#[test]
fn a_handshake_agrees_on_a_revision_that_is_known() {
    for (wanted, agreed) in [("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")] {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": wanted}});
        let (status, reply) = reply(&message, None);
        assert_eq!(
            (status, reply["result"]["protocolVersion"].as_str()),
            (200, Some(agreed))
        );
        assert!(reply["result"]["resultType"].is_null());
    }
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(receive(&told, None), ServerMessage::Nothing);
    assert_eq!(
        receive(&json!({"id": 1, "result": {}}), None),
        ServerMessage::Nothing
    );
}

#[test]
fn a_stateless_request_is_served_with_its_headers_and_refused_with_others() {
    let message = discover(7);
    let right = RoutingHeaders {
        version: Some("2026-07-28"),
        method: Some("server/discover"),
        name: None,
    };
    let (_, found) = reply(&message, Some(right));
    assert!(is_stateless(&found["result"]) && offers(&found["result"], "tools"));
    assert_eq!(found["result"]["resultType"], "complete");
    for wrong in [
        RoutingHeaders {
            version: None,
            ..right
        },
        RoutingHeaders {
            method: Some("ping"),
            ..right
        },
        RoutingHeaders {
            version: Some("2025-11-25"),
            ..right
        },
    ] {
        assert_eq!(code(&message, Some(wrong)), (400, HEADER_MISMATCH));
    }
    let call = Generation::Stateless.request(
        8,
        "tools/call",
        json!({"name": "search", "arguments": {"query": "x"}}),
    );
    let name = routing_name(&call);
    let routing = RoutingHeaders {
        method: Some("tools/call"),
        name: name.as_deref(),
        ..right
    };
    assert!(matches!(
        receive(&call, Some(routing)),
        ServerMessage::Call(_)
    ));
    let routing = RoutingHeaders {
        name: Some("fetch"),
        ..routing
    };
    assert_eq!(code(&call, Some(routing)), (400, HEADER_MISMATCH));
}

#[test]
fn what_does_not_fit_is_refused_by_its_code() {
    let envelope = |version: Value| {
        json!({"io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {}})
    };
    let of = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    for (message, expected) in [
        (json!([]), (400, INVALID_REQUEST)),
        (json!({"id": 1}), (400, INVALID_REQUEST)),
        (json!({"id": {}, "method": "ping"}), (400, INVALID_REQUEST)),
        (of("ping", json!([])), (400, INVALID_PARAMS)),
        (of("resources/list", json!({})), (200, METHOD_NOT_FOUND)),
        (
            of("nothing", json!({"_meta": envelope(json!("2026-07-28"))})),
            (404, METHOD_NOT_FOUND),
        ),
        (
            of("ping", json!({"_meta": envelope(json!("2031-01-01"))})),
            (400, UNSUPPORTED_VERSION),
        ),
        (
            of("ping", json!({"_meta": envelope(json!(3))})),
            (400, INVALID_PARAMS),
        ),
        (of("server/discover", json!({})), (400, INVALID_PARAMS)),
        (of("tools/call", json!({})), (400, INVALID_PARAMS)),
    ] {
        assert_eq!(code(&message, None), expected, "{message}");
    }
    let old = RoutingHeaders {
        version: Some("2023-01-01"),
        ..RoutingHeaders::default()
    };
    assert_eq!(
        code(&of("tools/list", json!({})), Some(old)),
        (400, UNSUPPORTED_VERSION)
    );
}

#[test]
fn tools_say_what_is_wrong_with_their_arguments() {
    let call = |name: &str, arguments: Value| {
        let message = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": name, "arguments": arguments}});
        receive(&message, None)
    };
    for (name, arguments, said) in [
        (
            "nothing",
            json!({}),
            "there are: search, fetch, autocomplete",
        ),
        ("search", json!({}), "needs `query`"),
        ("search", json!({"query": 1}), "`query` is a text"),
        ("search", json!({"query": "x", "limit": 0}), "from 1 to 100"),
        (
            "search",
            json!({"query": "x", "budget_tokens": 100_001}),
            "`budget_tokens` is a whole number from 1 to 100000",
        ),
        ("fetch", json!({"id": "x", "more": 1}), "takes no argument"),
        ("fetch", json!([]), "an object"),
    ] {
        let ServerMessage::Reply(reply) = call(name, arguments) else {
            panic!("{name}")
        };
        assert_eq!(
            reply.message["result"]["isError"], true,
            "{}",
            reply.message
        );
        let text = reply.message["result"]["content"][0]["text"].as_str();
        assert!(text.unwrap_or_default().contains(said), "{}", reply.message);
    }
    let ServerMessage::Call(call) = call("search", json!({"query": "x", "limit": 3, "role": "R"}))
    else {
        panic!("a call")
    };
    assert_eq!(
        call.tool,
        ToolCall::Search {
            query: "x".into(),
            limit: Some(3),
            role: Some("R".into()),
            budget_tokens: None,
            skip: None,
        }
    );
    let found = json!({"total": 1, "results": [{"rank": 1, "id": "i", "title": "T", "path": "a.md", "line": 3, "snippet": "s"}],
        "sources": [{"name": "N", "error": "it is gone"}]});
    let reply = call.reply(Ok(found));
    let text = reply.message["result"]["content"][0]["text"]
        .as_str()
        .unwrap();
    assert!(
        text.contains("1. T") && text.contains("a.md:3") && text.contains("not searched: N"),
        "{text}"
    );
}

#[test]
fn i16_with_a_budget_the_answer_is_passages_with_their_places() {
    let message = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "search", "arguments": {"query": "x", "budget_tokens": 500}}});
    let ServerMessage::Call(call) = receive(&message, None) else {
        panic!("a call")
    };
    let ToolCall::Search { budget_tokens, .. } = &call.tool else {
        panic!("a search")
    };
    assert_eq!(*budget_tokens, Some(500));
    let found = json!({"total": 4, "notes": ["said"],
        "results": [{"id": "s/a.rs"}, {"id": "s/c.rs", "line": 7}, {"id": "s/b"}, {"id": "s/d"}],
        "passages": [{"id": "s/a.rs", "path": "a.rs", "line": 3, "end_line": 5, "text": "fn a() {\n}"}, {"id": "s/b", "url": "http://b.example/", "text": "b"}]});
    let reply = call.reply(Ok(found));
    let text = reply.message["result"]["content"][0]["text"].as_str();
    let expected = "a.rs:3-5\nfn a() {\n}\n\nhttp://b.example/\nb\n\nalso found (ids for fetch):\ns/c.rs line 7\ns/d\n\nnote: said\n";
    assert_eq!(text, Some(expected));
}

#[test]
fn i16_a_part_far_into_a_long_document_is_fetched_by_its_lines() {
    let message = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "fetch", "arguments": {"id": "i", "line": 75790, "end_line": 75791}}});
    let ServerMessage::Call(call) = receive(&message, None) else {
        panic!("a call")
    };
    let found = json!({"id": "i", "title": "T", "first_line": 75789, "truncated": true, "goes_on": true, "body": "a\nb\nc\nd\n"});
    let reply = call.reply(Ok(found));
    let text = reply.message["result"]["content"][0]["text"].as_str();
    let expected = "T\n\nb\nc\n[lines 75790-75791 of more than 75792; go on with line 75792]";
    assert_eq!(text, Some(expected));
}

#[test]
fn i16_a_document_is_fetched_in_parts_and_once() {
    let fetched = |arguments: Value, text: &str| {
        let message = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "fetch", "arguments": arguments}});
        let ServerMessage::Call(call) = receive(&message, None) else {
            panic!("a call")
        };
        let reply = call.reply(Ok(json!({"id": "i", "title": "T", "body": text})));
        let result = &reply.message["result"];
        assert_eq!(
            result["structuredContent"],
            json!({"id": "i", "title": "T"})
        );
        let text = result["content"][0]["text"].as_str();
        text.unwrap_or_default().to_owned()
    };
    let text = "one\ntwo\nthree\nfour";
    assert_eq!(fetched(json!({"id": "i"}), text), format!("T\n\n{text}"));
    for (part, expected) in [
        (
            json!({"id": "i", "line": 2, "end_line": 3}),
            "two\nthree\n[lines 2-3 of 4; go on with line 4]",
        ),
        (json!({"id": "i", "line": 3}), "three\nfour"),
        (json!({"id": "i", "line": 9}), "[the text has 4 lines]"),
        (
            json!({"id": "i", "budget_tokens": 4}),
            "one\ntwo\n[lines 1-2 of 4; go on with line 3]",
        ),
    ] {
        assert_eq!(
            fetched(part.clone(), text),
            format!("T\n\n{expected}"),
            "{part}"
        );
    }
    let message = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "search", "arguments": {"query": "x", "skip": 20}}});
    let ServerMessage::Call(call) = receive(&message, None) else {
        panic!("a call")
    };
    assert!(matches!(
        &call.tool,
        ToolCall::Search { skip: Some(20), .. }
    ));
    let found = json!({"total": 0, "results": [], "notes": ["nothing holds it"]});
    let reply = call.reply(Ok(found));
    let text = reply.message["result"]["content"][0]["text"].as_str();
    assert!(text.unwrap_or_default().contains("note: nothing holds it"));
}
