//! Servers of the Model Context Protocol as sources: the reference servers of npm, servers of PyPI,
//! and hostile ones.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod hostile;
mod http;
mod real;
mod session;

use std::path::PathBuf;
use std::time::Duration;

use search_actors::remote::{McpError, RemoteError, RemoteItems, RemoteSettings, RemoteSource};
use search_core::role::{Haystack, parse};

/// A server of npm, by its package's name.
fn npm_server(name: &str) -> String {
    let modules = variable(
        "ORRERY_MCP_SERVERS",
        "the npm packages @modelcontextprotocol/server-*",
    );
    let file = modules.join(format!("@modelcontextprotocol/server-{name}/dist/index.js"));
    assert!(file.is_file(), "{} is missing", file.display());
    file.display().to_string()
}

/// The Python that has the SDK `mcp` and `mcp-server-git`.
fn python() -> String {
    let python = variable(
        "ORRERY_PYTHON",
        "a Python with the PyPI packages mcp and mcp-server-git",
    );
    python.display().to_string()
}

fn variable(name: &str, what: &str) -> PathBuf {
    let value = std::env::var_os(name);
    let value =
        value.unwrap_or_else(|| panic!("{name} is not set: `cargo xtask test` installs {what}"));
    PathBuf::from(value)
}

fn file(name: &str) -> String {
    let path =
        std::path::absolute(format!("tests/remote/mcp/{name}")).expect("a folder to work in");
    path.display().to_string()
}

/// A haystack of this service.
fn haystack(location: &str, parameters: &str) -> Haystack {
    let location = serde_json::Value::from(location);
    let text = format!(
        r#"{{"name":"R","haystacks":[{{"name":"x","service":"MCP","location":{location},"extra_parameters":{parameters}}}]}}"#
    );
    let environment = config_core::Environment::default();
    let parsed = parse("role.json", text.as_bytes(), &environment);
    let parsed = parsed.unwrap_or_else(|wrong| panic!("{wrong}"));
    parsed.roles()[0].haystacks[0].clone()
}

fn source(location: &str, parameters: &str, deadline: Duration) -> RemoteSource {
    RemoteSource::new(&haystack(location, parameters), RemoteSettings { deadline })
        .unwrap()
        .unwrap()
}

/// Long enough for a server to start on a busy machine.
const PATIENT: Duration = Duration::from_secs(90);

async fn found(location: &str, parameters: &str, words: &str) -> RemoteItems {
    let source = source(location, parameters, PATIENT);
    let found = source.search(words, 10).await;
    found.unwrap_or_else(|error| panic!("{location}: {error}"))
}

fn titles(found: &RemoteItems) -> Vec<&str> {
    found.items.iter().map(|item| item.title.as_str()).collect()
}

fn mcp_error(answer: Result<RemoteItems, RemoteError>) -> McpError {
    match answer {
        Err(RemoteError::Mcp(error)) => error,
        other => panic!("{other:?}"),
    }
}
