//! Files of releases, as clients of GitHub's API ask for them: by the file's address, for bytes.
//!
//! GitHub answers with where they are stored, which `gh` could not reach: all that it asks for goes
//! to the gateway. Gitea and Forgejo answer with a description.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http_clients::http::{HttpClient, Method, Response};
use runner_core::gateway::{FormGuard, release_file};
use serde_json::Value;

use super::forge::{ForgeApi, GatewayRefusal, refusal};
use super::gateway_request::{GatewayRequest, send};

/// Bytes of a file on their way.
type Chunks = Pin<Box<dyn Stream<Item = std::io::Result<Bytes>>>>;

/// What looks at the fields of an upload, where it is a form.
pub(super) fn form_of(headers: &[(&'static str, String)]) -> Result<Option<FormGuard>, String> {
    let mut headers = headers.iter();
    let kind = headers.find(|(name, _)| *name == "content-type");
    let form = kind.map_or(Ok(None), |(_, kind)| FormGuard::for_content_type(kind));
    form.map_err(str::to_owned)
}

/// The same bytes, up to where a field is not passed on.
pub(super) fn guarded(mut form: FormGuard, chunks: Chunks) -> Chunks {
    Box::pin(chunks.map(move |chunk| {
        let chunk = chunk?;
        form.push(&chunk).map_err(std::io::Error::other)?;
        Ok(chunk)
    }))
}

/// Whether a call asks for the bytes of a file that the gateway has to fetch.
pub(super) fn asks_for_file(forge: &ForgeApi, asked: &GatewayRequest) -> bool {
    let is_file = |path: &str| {
        let parts: Vec<&str> = path.split('/').collect();
        matches!(parts.as_slice(), ["", "repos", _, _, "releases", .., "assets", id] if !id.is_empty())
    };
    let wants_bytes = asked
        .headers
        .iter()
        .any(|(name, value)| *name == "accept" && value.contains("application/octet-stream"));
    asked.method == "GET" && wants_bytes && is_file(&asked.path) && forge.serves_files(asked.is_gh)
}

/// Refuses files of a release that is not published, for a job that may not write: they are as if
/// they were not there.
///
/// # Errors
/// It is a draft's, or the forge gives no answer.
pub(super) async fn check_published(
    forge: &ForgeApi,
    http: &HttpClient,
    path: &str,
) -> Result<(), GatewayRefusal> {
    let parts: Vec<&str> = path.split('/').collect();
    let about = match parts.as_slice() {
        ["", "repos", _, _, "releases", "assets", _] => path.to_owned(),
        ["", "repos", owner, name, "releases", id, "assets", ..] => {
            format!("/repos/{owner}/{name}/releases/{id}")
        }
        _ => return Ok(()),
    };
    let request = forge.request(Method::Get, &about, None);
    let request = request.ok_or_else(|| refusal(404, "Not Found"))?;
    let answer: Value = send(http, request).await?.json().unwrap_or_default();
    // Of a file GitHub does not say whose it is; drafts have no tag in its address.
    let address = answer["browser_download_url"].as_str().unwrap_or_default();
    match answer["draft"] == true || address.contains("/releases/download/untagged-") {
        true => Err(refusal(404, "Not Found")),
        false => Ok(()),
    }
}

/// The file of a release of `repository` that an answer tells of; the answer itself where it tells
/// of none.
///
/// # Errors
/// When it cannot be had.
pub(super) async fn file_of(
    forge: &ForgeApi,
    http: &HttpClient,
    answer: Response,
    repository: &str,
) -> Result<Response, GatewayRefusal> {
    let request = match answer.headers.get("location") {
        Some(location) if (300..400).contains(&answer.status) => forge.stored(location),
        _ if answer.is_success() => {
            let about: Value = answer.json().unwrap_or_default();
            let address = release_file(&about, forge.base(), repository);
            address.map(|address| forge.authorized(Method::Get, address))
        }
        _ => None,
    };
    match request {
        Some(request) => send(http, request).await,
        None => Ok(answer),
    }
}
