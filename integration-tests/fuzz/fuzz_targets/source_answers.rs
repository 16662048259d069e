//! What other servers answer: the first byte chooses the service, the rest is the answer. Any
//! answer ends in items that can be shown or in an error, and a hostile one leads nowhere but to
//! the web.
#![no_main]

use libfuzzer_sys::fuzz_target;
use search_sources_core::mcp::server::{ServerMessage, receive};
use search_sources_core::mcp::sse::Events;
use search_sources_core::{ParsedItems, SourceDataError, docs, remote, tasks};

const BASE: &str = "https://base.example/docs";

fuzz_target!(|input: &[u8]| {
    let Some((&kind, body)) = input.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(body);
    match kind % 16 {
        0 => check(remote::discourse(BASE, &text)),
        1 => check(remote::stack_exchange(&text).map(|(parsed, _)| parsed)),
        2 => check(remote::hacker_news(&text)),
        3 => check(remote::query_rs(&text)),
        4 => check(remote::atomic_search(BASE, &text)),
        5 => check(remote::vikunja(BASE, &text)),
        6 => check(remote::clickup(&text).map(|(parsed, _)| parsed)),
        7 => check(remote::elastic(
            &["title^2".to_owned(), "body".to_owned()],
            &text,
        )),
        8 => check(docs::sphinx_names(BASE, body)),
        9 => check(docs::rustdoc_names(BASE, &text)),
        10 => check(docs::devdocs_names(Some(BASE), &text)),
        11 => check(tasks::taskwarrior(&text)),
        12 => check(Ok(tasks::todo_txt(&text))),
        13 => check(Ok(tasks::beads(&text))),
        14 => model_context(&text),
        _ => events(body),
    }
});

fn check(parsed: Result<ParsedItems, SourceDataError>) {
    match parsed {
        Ok(parsed) => {
            for item in parsed.normalized().items {
                assert!(!item.key.is_empty() && !item.title.is_empty());
                assert!(item.title.chars().count() <= 1000 && !item.title.contains('\n'));
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// As a client reads it, and as a server.
fn model_context(text: &str) {
    let Ok(value) = serde_json::from_str(text) else {
        return;
    };
    if let Some((name, schema)) = remote::mcp_search_tool(&value, None) {
        let arguments = [("path".to_owned(), "{query}".to_owned())];
        let made = remote::mcp_search_arguments(&schema, "words", 5, &arguments);
        assert!(!name.is_empty() && made.is_object());
    }
    let _ = remote::mcp_resource_text(&value);
    for item in remote::mcp_resources(&value) {
        assert!(item.url.is_none_or(|url| url.starts_with("http")));
    }
    if let Ok(parsed) = remote::mcp_tool_result(&value) {
        assert!(parsed.items.len() <= 1_000_000);
    }
    if let ServerMessage::Reply(reply) = receive(&value, None) {
        assert!(reply.message["jsonrpc"] == "2.0" && (200..500).contains(&reply.status));
    }
}

/// However a stream is cut, the same events come out.
fn events(bytes: &[u8]) {
    let whole = Events::new(1 << 20).push(bytes);
    let mut pieces = Events::new(1 << 20);
    let cut: Result<Vec<_>, _> = bytes.chunks(3).map(|chunk| pieces.push(chunk)).collect();
    if let (Ok(whole), Ok(cut)) = (whole, cut) {
        assert_eq!(whole, cut.concat());
    }
}
