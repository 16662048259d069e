//! Calls of the forge's API that jobs make: decided on, passed on, and their answers as a job sees
//! them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use forge_graphql_core::{is_missing_reference, translated, translated_answer};
use http_clients::http::{HttpClient, Method, Request, Response};
use runner_core::gateway::{
    ApiAddress, CREDENTIALS, ForgeCall, PullCheck, ShownAnswer, check_decision, checked_body,
    decide, filter_answer, is_address_key, is_of_releases, is_upload, rewritten_link,
    with_upload_urls,
};

use runner_core::workflow::PermissionLevel;
use serde_json::Value;

use tokio::sync::OwnedSemaphorePermit;

use super::forge::{CALL_TIMEOUT, ForgeApi, ForgeGrant, ForgePermissions, GatewayRefusal, refusal};
use super::gateway_request::{GatewayAnswer, GatewayBody, GatewayRequest, send};
use super::release_files::{asks_for_file, check_published, file_of, form_of, guarded};
use super::{BASE, JobServices, recorded_calls};
use crate::clock::now_ms;

/// Headers of an answer that a job sees.
const SHOWN: [&str; 13] = [
    "content-type",
    "content-disposition",
    "etag",
    "last-modified",
    "retry-after",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-used",
    "x-ratelimit-resource",
    "x-github-request-id",
    "x-github-media-type",
    "x-total-count",
];

/// An upload may take a minute, and a second more for each of these many bytes.
const UPLOAD_RATE: u64 = 256 << 10;

impl JobServices {
    /// Where jobs find the forge's API and its GraphQL; nothing where they have no token.
    pub(crate) fn forge_addresses(&self) -> Option<(String, String)> {
        let forge = self.shared.forge.as_ref()?;
        Some((forge.address(BASE).gateway, format!("{BASE}api/graphql")))
    }

    /// Waits until a call of a job may be read, which is decided on by its path before that.
    ///
    /// # Errors
    /// The token is of no job that runs, or the job may not make such a call.
    pub async fn forge_turn(
        &self,
        token: &str,
        method: &str,
        path: &str,
    ) -> Result<OwnedSemaphorePermit, GatewayRefusal> {
        let grant = self.forge_grant(token)?;
        if path != "/graphql" {
            let may = &grant.may;
            let decided = decide(method, path, &may.repository, &may.permissions);
            decided.map_err(|refused| refusal(403, refused.to_string()))?;
        }
        let turn = Arc::clone(&grant.bodies).acquire_owned().await;
        turn.map_err(|_| unknown_token())
    }

    pub(super) fn forge_grant(&self, token: &str) -> Result<Arc<ForgeGrant>, GatewayRefusal> {
        let key = blake3::hash(token.as_bytes());
        let grant = self.shared.forge_jobs.lock().get(&key).cloned();
        grant.ok_or_else(unknown_token)
    }

    /// Passes a call on, as far as the job may make it.
    ///
    /// # Errors
    /// Why it is not passed on, or that the forge gives no answer.
    pub async fn call_forge(
        &self,
        http: &HttpClient,
        asked: GatewayRequest,
    ) -> Result<GatewayAnswer, GatewayRefusal> {
        let grant = self.forge_grant(&asked.token)?;
        let Some(forge) = &self.shared.forge else {
            return Err(unknown_token());
        };
        if asked.path == "/graphql" {
            return self.answer_graphql(http, forge, &grant, asked).await;
        }
        let (method, path) = (asked.method.clone(), asked.path.clone());
        let asked = as_forge_has_it(forge, asked);
        let mut answer = self.pass_on(http, forge, &grant, asked).await?;
        if is_missing_reference(forge.kind(), &method, &path, &answer.body) {
            return Err(refusal(404, "Not Found"));
        }
        if let Some(body) = translated_answer(forge.kind(), &method, &path, &answer.body) {
            answer.body = body.into();
        }
        let guard = forge.guard();
        let mut texts = answer.headers.iter().map(|(_, value)| value.as_bytes());
        if guard.finds(&answer.body) || texts.any(|text| guard.finds(text)) {
            return Err(refusal(
                502,
                "the forge's answer holds a token that is not the job's, and is not passed on",
            ));
        }
        Ok(answer)
    }

    /// Passes a call of the REST API on: that of a job, or one that answers a document of GraphQL.
    pub(super) async fn pass_on(
        &self,
        http: &HttpClient,
        forge: &ForgeApi,
        grant: &Arc<ForgeGrant>,
        asked: GatewayRequest,
    ) -> Result<GatewayAnswer, GatewayRefusal> {
        let method = method(&asked.method)
            .ok_or_else(|| refusal(405, "GET, HEAD, POST, PUT, PATCH and DELETE are passed on"))?;
        let permitted = permitted(forge, grant, &asked);
        let (call, mut body) = permitted.map_err(|message| refusal(403, message))?;
        grant.count(now_ms())?;
        let turn = Arc::clone(&grant.at_once).acquire_owned().await;
        if let Some(answer) = self.answer_of_artifacts(forge, grant, &asked).await? {
            return Ok(answer);
        }
        if let Some(answer) = self.answer_of_caches(grant, &asked).await? {
            return Ok(answer);
        }
        if let Some(answer) = self.answer_of_runs(forge, grant, &asked, &body).await? {
            return Ok(answer);
        }
        if let Some(check) = &call.check {
            check_pull(forge, http, check).await?;
        }
        let request = forge.request(method, &call.path, asked.query.as_deref());
        let request = request.ok_or_else(|| refusal(400, "the address of the call is wrong"))?;
        let may = &grant.may;
        let writes = may.permissions.allows("contents", PermissionLevel::Write);
        if !writes && is_of_releases(&call.path) {
            check_published(forge, http, &call.path).await?;
        }
        let (word, path) = (asked.method.clone(), call.path.as_str());
        self.check_target(http, (forge, grant), (&word, path), &mut body)
            .await?;
        let is_file_wanted = asks_for_file(forge, &asked);
        let (request, body) = written(request, asked, &body);
        let moved = (word.as_str(), path, body.as_ref());
        let made = recorded_calls::make(self, http, &may.repository, moved, request, turn.ok());
        let response = made.await?;
        let (api, repository) = (forge.address(BASE), &may.repository);
        let response = match is_file_wanted {
            true => file_of(forge, http, response, repository).await?,
            false => visible(response, path, (&api, repository), writes)?,
        };
        Ok(to_gateway_answer(response, &api, repository))
    }
}

/// The request with the headers and the body of a call, and its body where that is no file.
fn written(mut request: Request, asked: GatewayRequest, body: &Value) -> (Request, Bytes) {
    let is_file = matches!(asked.body, GatewayBody::File { .. });
    let form = form_of(&asked.headers).ok().flatten();
    for (name, value) in asked.headers {
        // What is no file is JSON, whatever the client calls it.
        let is_type = name == "content-type";
        if is_file && is_type && value.to_ascii_lowercase().contains("urlencoded") {
            // What programs say who know no better: read as a form, it would be no file.
            request = request.header(name, "application/octet-stream".to_owned());
        } else if is_file || !is_type {
            request = request.header(name, value);
        }
    }
    let whole = match body.is_null() {
        true => Bytes::new(),
        false => Bytes::from(body.to_string()),
    };
    request = match asked.body {
        GatewayBody::Whole(_) if whole.is_empty() => request,
        GatewayBody::Whole(_) => {
            let request = request.header("content-type", "application/json".to_owned());
            request.body(whole.clone())
        }
        GatewayBody::File { bytes, chunks } => {
            let chunks = match form {
                Some(form) => guarded(form, chunks),
                None => chunks,
            };
            let within = CALL_TIMEOUT + Duration::from_secs(bytes / UPLOAD_RATE);
            request.sized_chunks(bytes, chunks).with_deadline(within)
        }
    };
    (request, whole)
}

/// An answer with what the job may see of it; `writes`: drafts too.
fn visible(
    mut response: Response,
    path: &str,
    (api, repository): (&ApiAddress, &str),
    writes: bool,
) -> Result<Response, GatewayRefusal> {
    // Files of releases are uploaded where the answer says.
    if is_of_releases(path)
        && let Some(body) = with_upload_urls(&response.body, api, repository)
    {
        response.body = body.into();
    }
    match filter_answer(path, &response.body, repository, writes) {
        ShownAnswer::Whole => {}
        ShownAnswer::Part(body) => response.body = body.into(),
        ShownAnswer::Nothing => return Err(refusal(404, "Not Found")),
    }
    Ok(response)
}

fn unknown_token() -> GatewayRefusal {
    refusal(401, "Bad credentials: the token is of no job that runs")
}

/// A call of GitHub's API as this forge has it.
fn as_forge_has_it(forge: &ForgeApi, mut asked: GatewayRequest) -> GatewayRequest {
    let accept = asked.headers.iter().find(|(name, _)| *name == "accept");
    let accept = accept.map_or("", |(_, value)| value.as_str());
    let query = asked.query.as_deref();
    let call = translated(forge.kind(), &asked.method, &asked.path, query, accept);
    if let GatewayBody::Whole(body) = &asked.body
        && let Some(body) = call.body(body)
    {
        asked.body = GatewayBody::Whole(body.into());
    }
    (asked.method, asked.path, asked.query) = (call.method, call.path, call.query);
    asked
}

/// The call as it is passed on, with its body as it is sent, or why it is not.
fn permitted(
    forge: &ForgeApi,
    grant: &Arc<ForgeGrant>,
    asked: &GatewayRequest,
) -> Result<(ForgeCall, Value), String> {
    let ForgePermissions {
        repository,
        permissions,
        ..
    } = &grant.may;
    let call = decide(&asked.method, &asked.path, repository, permissions);
    let call = call.map_err(|refused| refused.to_string())?;
    let query = asked.query.as_deref().unwrap_or_default();
    for (name, _) in url::form_urlencoded::parse(query.as_bytes()) {
        if CREDENTIALS
            .iter()
            .any(|one| one.eq_ignore_ascii_case(&name))
        {
            return Err(format!(
                "the query names `{name}`: the token of the job is a header"
            ));
        }
        if is_address_key(&name) {
            return Err(format!(
                "the query names `{name}`: files of releases are no addresses"
            ));
        }
    }
    let body = match &asked.body {
        GatewayBody::Whole(bytes) if bytes.is_empty() => Value::Null,
        GatewayBody::Whole(bytes) => {
            let body = checked_body(&asked.path, repository, bytes);
            body.map_err(|refused| refused.to_string())?
        }
        // It is not read, so it must be what nothing is decided by.
        GatewayBody::File { .. } if is_upload(&asked.method, &asked.path) => {
            form_of(&asked.headers)?;
            Value::Null
        }
        GatewayBody::File { .. } => return Err("only files of releases are passed on".to_owned()),
    };
    let decided = check_decision(
        forge.kind(),
        (&asked.method, &asked.path),
        &body,
        forge.approves(),
    );
    decided.map_err(|refused| refused.to_string())?;
    Ok((call, body))
}

/// Whether it belongs to a pull request, where only those are permitted.
async fn check_pull(
    forge: &ForgeApi,
    http: &HttpClient,
    check: &PullCheck,
) -> Result<(), GatewayRefusal> {
    let (PullCheck::Number(path) | PullCheck::Comment(path)) = check;
    let request = forge.request(Method::Get, path, None);
    let request = request.ok_or_else(|| refusal(400, "the address of the call is wrong"))?;
    let answer = send(http, request).await?;
    let holds = answer.is_success()
        && match check {
            PullCheck::Number(_) => true,
            PullCheck::Comment(_) => is_of_pull(&answer),
        };
    if holds {
        return Ok(());
    }
    let message = "Resource not accessible by integration: the job's `permissions` have `pull-requests`, and this is none; they lack `issues`";
    Err(refusal(403, message))
}

/// Whether a comment is of a pull request, as its forge says.
fn is_of_pull(answer: &Response) -> bool {
    let Ok(comment) = answer.json::<serde_json::Value>() else {
        return false;
    };
    let text = |name: &str| comment[name].as_str().unwrap_or_default();
    !text("pull_request_url").is_empty() || text("html_url").contains("/pull/")
}

fn to_gateway_answer(response: Response, api: &ApiAddress, repository: &str) -> GatewayAnswer {
    let known = SHOWN.iter().filter_map(|name| {
        let value = response.headers.get(name)?;
        Some((*name, value.to_owned()))
    });
    let mut headers: Vec<(&'static str, String)> = known.collect();
    if let Some(link) = response.headers.get("link") {
        headers.push(("link", rewritten_link(link, api, repository)));
    }
    if let Some(location) = response.headers.get("location") {
        headers.push(("location", api.for_job(location, repository)));
    }
    GatewayAnswer {
        status: response.status,
        headers,
        body: response.body,
    }
}

fn method(word: &str) -> Option<Method> {
    Some(match word {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        _ => return None,
    })
}
