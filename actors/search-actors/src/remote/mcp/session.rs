//! A session: which generation is spoken, which tool searches, what resources there are.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use http_clients::http::HttpError;
use search_sources_core::mcp::client::{self, Generation};
use search_sources_core::mcp::rpc::{RpcError, UNSUPPORTED_VERSION};
use search_sources_core::remote::{
    mcp_resource_text, mcp_resources, mcp_search_arguments, mcp_search_tool, mcp_tool_result,
};
use search_sources_core::{ParsedItems, SourceItem};
use serde_json::{Value, json};

use super::endpoint::McpEndpoint;
use super::error::McpError;
use super::wire::Wire;

/// Time for one step of the start.
const STEP_TIMEOUT: Duration = Duration::from_secs(15);
/// Pages of a list that are read.
const MAX_PAGES: usize = 20;
/// Resources whose text is read.
const MAX_RESOURCES_READ: usize = 64;
/// All texts of resources together, in bytes.
const MAX_RESOURCE_BYTES: usize = 4 << 20;
/// Resources are listed again after so long.
const RESOURCES_TTL: Duration = Duration::from_secs(300);

/// A server that answers.
pub(super) struct McpSession {
    wire: Wire,
    generation: Generation,
    tool: Option<(String, Value)>,
    arguments: Vec<(String, String)>,
    has_resources: bool,
    resources: RefCell<Vec<SourceItem>>,
    listed: Cell<Instant>,
}

impl McpSession {
    /// Reaches the server, finds out how to speak to it and what it has.
    pub(super) async fn connect(place: &McpEndpoint) -> Result<Self, McpError> {
        let (wire, generation, introduction) = handshake(place).await?;
        let mut session = Self {
            wire,
            generation,
            tool: None,
            arguments: place.arguments.clone(),
            has_resources: client::offers(&introduction, "resources"),
            resources: RefCell::default(),
            listed: Cell::new(Instant::now()),
        };
        let tools = if client::offers(&introduction, "tools") {
            session.list("tools/list", "tools").await?
        } else {
            Vec::new()
        };
        let tools = Value::Array(tools);
        session.tool = mcp_search_tool(&tools, place.tool.as_deref());
        session.check(place, &tools)?;
        session.read_resources().await?;
        Ok(session)
    }

    fn check(&self, place: &McpEndpoint, tools: &Value) -> Result<(), McpError> {
        let names = tools.as_array().into_iter().flatten();
        let names: Vec<&str> = names
            .filter_map(|tool| tool["name"].as_str())
            .take(30)
            .collect();
        let names = search_sources_core::mcp::rpc::one_line(&names.join(", "));
        match (&self.tool, &place.tool) {
            (None, Some(wanted)) => Err(McpError::NothingToSearch(format!(
                "it has no tool {wanted:?}; it has: {names}"
            ))),
            (None, None) if !self.has_resources => Err(McpError::NothingToSearch(format!(
                "it has neither resources nor a tool that looks like a search; name one with `tool`; it has: {names}"
            ))),
            _ => Ok(()),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.wire.is_open()
    }

    pub(super) fn end_error(&self) -> McpError {
        self.wire.end_error()
    }

    /// What the tool finds, and the resources that hold a word.
    pub(super) async fn search(
        &self,
        words: &str,
        limit: usize,
        within: Duration,
    ) -> Result<ParsedItems, McpError> {
        let began = Instant::now();
        let mut parsed = match &self.tool {
            Some((name, schema)) => self.call(name, schema, words, limit, within).await?,
            None => ParsedItems::default(),
        };
        if self.has_resources && self.listed.get().elapsed() > RESOURCES_TTL {
            let left = within.saturating_sub(began.elapsed());
            // What was read before is better than nothing.
            if let Ok(read) = tokio::time::timeout(left, self.read_resources()).await {
                read?;
            }
        }
        let wanted: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        let resources = self.resources.borrow();
        let holding = resources.iter().filter(|item| contains_word(item, &wanted));
        parsed.items.extend(holding.cloned());
        Ok(parsed)
    }

    async fn call(
        &self,
        name: &str,
        schema: &Value,
        words: &str,
        limit: usize,
        within: Duration,
    ) -> Result<ParsedItems, McpError> {
        let arguments = mcp_search_arguments(schema, words, limit, &self.arguments);
        let params = json!({"name": name, "arguments": arguments});
        let result = self.send_request("tools/call", params, within).await?;
        Ok(mcp_tool_result(&result)?)
    }

    async fn send_request(
        &self,
        method: &str,
        params: Value,
        within: Duration,
    ) -> Result<Value, McpError> {
        let make = |id| self.generation.request(id, method, params);
        self.wire
            .send_request(make, Some(&self.generation), within)
            .await
    }

    /// All pages of a list, within reason.
    async fn list(&self, method: &str, field: &str) -> Result<Vec<Value>, McpError> {
        let mut all = Vec::new();
        let mut params = json!({});
        for _ in 0..MAX_PAGES {
            let mut page = self.send_request(method, params, STEP_TIMEOUT).await?;
            if let Some(Value::Array(list)) = page.get_mut(field).map(Value::take) {
                all.extend(list);
            }
            match page.get("nextCursor").filter(|cursor| cursor.is_string()) {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => break,
            }
        }
        Ok(all)
    }

    async fn read_resources(&self) -> Result<(), McpError> {
        if !self.has_resources {
            return Ok(());
        }
        let listed = self.list("resources/list", "resources").await?;
        let mut items = mcp_resources(&Value::Array(listed));
        let mut bytes = 0;
        for item in items.iter_mut().take(MAX_RESOURCES_READ) {
            if bytes > MAX_RESOURCE_BYTES {
                break;
            }
            let params = json!({"uri": item.key});
            match self
                .send_request("resources/read", params, STEP_TIMEOUT)
                .await
            {
                Ok(result) => {
                    let text = mcp_resource_text(&result);
                    bytes += text.len();
                    item.body = format!("{}\n{text}", item.body).trim().to_owned();
                }
                // One that cannot be read is found by its name.
                Err(McpError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        *self.resources.borrow_mut() = items;
        self.listed.set(Instant::now());
        Ok(())
    }
}

/// Whether an item holds one of the words; which items are results is decided by the query itself.
fn contains_word(item: &SourceItem, words: &[String]) -> bool {
    let text = format!("{}\n{}\n{}", item.title, item.key, item.body).to_lowercase();
    words.iter().any(|word| text.contains(word))
}

/// The generation that is spoken, and what the server says of itself.
async fn handshake(place: &McpEndpoint) -> Result<(Wire, Generation, Value), McpError> {
    let mut wire = Wire::open(place)?;
    let stateless = Generation::Stateless;
    let discovered = wire
        .send_request(client::discover, Some(&stateless), STEP_TIMEOUT)
        .await;
    match discovered {
        Ok(result) if client::is_stateless(&result) => return Ok((wire, stateless, result)),
        Err(McpError::Http(error)) if !may_be_older(&error) => return Err(error.into()),
        // A server that fails over a question it does not know is asked again, the older way.
        Err(McpError::Ended { .. } | McpError::Unreadable(_)) => wire = Wire::open(place)?,
        _ => {}
    }
    let initialized = match wire
        .send_request(client::initialize, None, STEP_TIMEOUT)
        .await
    {
        // The question came late to a server that knows it.
        Err(McpError::Refused {
            error: RpcError { code, .. },
            ..
        }) if code == UNSUPPORTED_VERSION => {
            let result = wire
                .send_request(client::discover, Some(&stateless), STEP_TIMEOUT)
                .await?;
            return Ok((wire, stateless, result));
        }
        answered => answered?,
    };
    let generation = client::agreed(&initialized).map_err(McpError::Revision)?;
    wire.notify(&client::initialized(), &generation, STEP_TIMEOUT)
        .await?;
    Ok((wire, generation, initialized))
}

/// Whether a refusal can be that of a server which only knows the handshake.
fn may_be_older(error: &HttpError) -> bool {
    matches!(error, HttpError::Status { status, .. } if !matches!(status, 401 | 403 | 429 | 500..=599))
}
