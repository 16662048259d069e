//! The Model Context Protocol on standard streams: one message a line, handed to the server's
//! `/mcp`.

use std::io::{BufRead, Read, Write};
use std::time::Duration;

use search_sources_core::mcp::client::routing_name;
use search_sources_core::mcp::rpc::{INTERNAL_ERROR, failure};
use search_sources_core::mcp::server::not_json;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::client::Client;
use crate::failure::ClientFailure;
use crate::place::OpenTarget;

/// Longest message, in bytes: the server takes no longer ones.
const MAX_LINE: u64 = 2 << 20;

/// Where the revision stands in a message without handshake.
const VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

/// Longest time that the first call waits for an index which is still being made; after that it is
/// answered with what there is.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves standard input until it ends. The first call of a tool waits for a private server's
/// index.
///
/// # Errors
/// When standard input cannot be read, or a line is too long.
pub async fn serve(opened: &OpenTarget) -> Result<(), ClientFailure> {
    let client = &opened.client;
    let mut is_settled = !opened.is_private();
    let (sender, mut lines) = mpsc::channel(4);
    // Not joined: it may wait for a line that never comes.
    std::thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || read_lines(&sender))
        .map_err(|error| ClientFailure::Other(error.to_string()))?;
    while let Some(line) = lines.recv().await {
        let line = line.map_err(ClientFailure::Other)?;
        if !is_settled && is_call(&line) {
            is_settled = true;
            let whole = async {
                client.settled().await?;
                client.concepts_read().await
            };
            let _ = tokio::time::timeout(DRAIN_TIMEOUT, whole).await;
        }
        let Some(answer) = answer(client, &line).await else {
            continue;
        };
        let mut out = std::io::stdout().lock();
        let written = writeln!(out, "{answer}").and_then(|()| out.flush());
        if written.is_err() {
            return Ok(());
        }
    }
    Ok(())
}

fn is_call(line: &[u8]) -> bool {
    let message: Value = serde_json::from_slice(line).unwrap_or_default();
    message["method"] == "tools/call"
}

async fn answer(client: &Client, line: &[u8]) -> Option<Value> {
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        return Some(not_json().message);
    };
    match client.mcp(&message, &headers(&message)).await {
        Ok(answer) => answer,
        Err(error) => {
            let id = message.get("id")?;
            Some(failure(id, INTERNAL_ERROR, &error.to_string(), Value::Null))
        }
    }
}

/// What a message without handshake has to say in headers too.
fn headers(message: &Value) -> Vec<(&'static str, String)> {
    let Some(version) = message.pointer(VERSION).and_then(Value::as_str) else {
        return Vec::new();
    };
    let method = message["method"].as_str().unwrap_or_default();
    let name = routing_name(message).map(|name| ("mcp-name", name));
    let always = [
        ("mcp-protocol-version", version.to_owned()),
        ("mcp-method", method.to_owned()),
    ];
    always.into_iter().chain(name).collect()
}

fn read_lines(sender: &mpsc::Sender<Result<Vec<u8>, String>>) {
    let mut stdin = std::io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let read = stdin
            .by_ref()
            .take(MAX_LINE + 1)
            .read_until(b'\n', &mut line);
        let came = match read {
            Ok(0) => return,
            Ok(read) if read as u64 > MAX_LINE => {
                Err(format!("a message is longer than {MAX_LINE} bytes"))
            }
            Ok(_) if line.trim_ascii().is_empty() => continue,
            Ok(_) => Ok(line),
            Err(error) => Err(error.to_string()),
        };
        let last = came.is_err();
        if sender.blocking_send(came).is_err() || last {
            return;
        }
    }
}
