//! The search server as a server of the Model Context Protocol: one message a POST, nothing
//! remembered between two.
//!
//! `Host`, `Origin` and token are checked by the edge, as for every route.

use actix_web::http::StatusCode;
use actix_web::http::header::{self, ContentType, HeaderMap};
use actix_web::{HttpRequest, HttpResponse, web};
use edge_web::{ApiJson, Problem};
use search_actors::messages::{ReadDocument, Search};
use search_engine::answering::DocumentRequest;
use search_sources_core::mcp::server::{
    McpReply, PendingToolCall, RoutingHeaders, ServerMessage, ToolCall, receive,
};
use serde::Serialize;
use serde_json::Value;

use crate::concepts::read_role;
use crate::state::{SearchState, ask_problem, search_problem};
use crate::wire::SearchBody;

/// Suggestions that the tool gives.
const SUGGESTIONS: usize = 20;

/// Takes one message of the Model Context Protocol (streamable HTTP, both generations) and answers
/// it.
///
/// Tools: `search`, `fetch`, `autocomplete`. The server has no stream of its own: GET and DELETE
/// are not served.
#[utoipa::path(
    post, path = "/mcp", tag = "search", request_body = Object,
    responses(
        (status = 200, description = "The answer, a JSON-RPC message.", body = Object),
        (status = 202, description = "A notification was taken."),
        (status = 400, description = "A refusal, as a JSON-RPC message."),
        (status = 406, description = "The client does not take JSON."),
    )
)]
pub(crate) async fn mcp(
    state: web::Data<SearchState>,
    request: HttpRequest,
    body: ApiJson<Value>,
) -> Result<HttpResponse, Problem> {
    if !accepts_json(request.headers()) {
        return Err(Problem::new(
            StatusCode::NOT_ACCEPTABLE,
            "send Accept: application/json, text/event-stream",
        ));
    }
    let text = |name: &str| {
        request
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let routing = RoutingHeaders {
        version: text("mcp-protocol-version"),
        method: text("mcp-method"),
        name: text("mcp-name"),
    };
    Ok(match receive(&body.0, Some(routing)) {
        ServerMessage::Nothing => HttpResponse::Accepted().finish(),
        ServerMessage::Reply(reply) => written(&reply),
        ServerMessage::Call(call) => written(&handle_call(&state, call).await),
    })
}

async fn handle_call(state: &SearchState, call: PendingToolCall) -> McpReply {
    let outcome = run(state, &call.tool).await;
    call.reply(outcome.map_err(|problem| problem_text(&problem)))
}

async fn run(state: &SearchState, tool: &ToolCall) -> Result<Value, Problem> {
    match tool {
        ToolCall::Search {
            query,
            limit,
            role,
            budget_tokens,
            skip,
        } => {
            let body = SearchBody {
                skip: skip.map(Into::into),
                budget_tokens: budget_tokens.map(Into::into),
                search_term: query.clone(),
                limit: limit.map(Into::into),
                role: role.clone(),
                ..SearchBody::default()
            };
            let answer = state.search.ask(Search(body.check()?)).await;
            let answer = answer.map_err(|error| ask_problem(&error))?;
            let answer = answer.map_err(|failure| search_problem(&failure))?;
            state.metrics.record_answer(&answer);
            json(&answer)
        }
        ToolCall::Fetch { id, role, part } => {
            let request = DocumentRequest {
                id: id.clone(),
                role: role.clone(),
                query: String::new(),
                original: false,
                // Every part is one of the same text, so that lines that are told lead on in it.
                by_lines: true,
                line: part.line.and_then(|line| usize::try_from(line).ok()),
            };
            let answer = state.search.ask(ReadDocument(request)).await;
            let answer = answer.map_err(|error| ask_problem(&error))?;
            json(&answer.map_err(|failure| search_problem(&failure))?)
        }
        ToolCall::Autocomplete { q, role } => {
            let q: String = q.chars().take(200).collect();
            let found = read_role(state, role.clone(), move |entry| {
                entry.suggestions(&q, SUGGESTIONS)
            });
            json(&found.await?)
        }
    }
}

fn json(answer: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(answer).map_err(|_| Problem::internal())
}

/// A problem in words, for a model.
fn problem_text(problem: &Problem) -> String {
    let document = serde_json::to_value(problem.document(None)).unwrap_or_default();
    let text = ["detail", "title"]
        .iter()
        .find_map(|key| document[*key].as_str());
    text.unwrap_or("it failed").to_owned()
}

/// Clients of the protocol say that they take JSON; those that say nothing take anything.
fn accepts_json(headers: &HeaderMap) -> bool {
    let accept = headers.get_all(header::ACCEPT);
    let mut accept = accept.filter_map(|value| value.to_str().ok()).peekable();
    accept.peek().is_none()
        || accept.flat_map(|value| value.split(',')).any(|one| {
            let kind = one.split(';').next().unwrap_or_default().trim();
            matches!(kind, "application/json" | "application/*" | "*/*")
        })
}

fn written(reply: &McpReply) -> HttpResponse {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
    HttpResponse::build(status)
        .insert_header(ContentType::json())
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(reply.message.to_string())
}
