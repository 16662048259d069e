//! Requests of the forge's own address on their way to the forge, and its answers back, both bodies
//! as they come.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use actix_web::body::SizedStream;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::{Bytes, BytesMut};
use edge_web::relay::{end_to_end, framed, length};
use futures_util::{Stream, StreamExt as _, stream};
use http_clients::forward::{ForwardBody, ForwardOptions, ForwardedResponse, Forwarder};
use http_clients::http::HttpError;
use runner_actors::{ForwardedRequest, TokenGuard};
use url::Url;

use super::front::ForgeConnection;

/// A file may take this long on its way, before the forge answers; where nothing moves, the machine
/// breaks off sooner.
const HEAD_TIMEOUT: Duration = Duration::from_secs(3600);
/// Connections to one forge, of one worker.
const CONNECTIONS: usize = 128;

/// What clients of registries send that is passed on with the runner's token: nothing by which a
/// forge, or what stands before it, knows somebody. Answers come as they are, to be looked at.
const OF_PACKAGES: [&str; 13] = [
    "accept",
    "content-disposition",
    "content-encoding",
    "content-length",
    "content-md5",
    "content-range",
    "content-type",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "range",
    "transfer-encoding",
    "user-agent",
];
const BEGINNINGS_OF_PACKAGES: [&str; 5] = [
    "docker-",
    "npm-",
    "x-checksum-",
    "x-nuget-client-version",
    "x-nuget-protocol-version",
];
/// Of an answer to the runner's token: a session would be its account's, and who asks is known.
const OF_THE_ACCOUNT: [&str; 3] = ["set-cookie", "set-cookie2", "www-authenticate"];

pub(super) type ForwardedChunks = Pin<Box<dyn Stream<Item = io::Result<Bytes>>>>;

/// One worker's ways to forges.
#[derive(Clone, Default)]
pub(super) struct ForgeWays(Rc<RefCell<HashMap<(String, bool), Forwarder>>>);

impl ForgeWays {
    fn to(&self, url: &Url, keep_host: bool) -> Option<Forwarder> {
        let key = (url.origin().ascii_serialization(), keep_host);
        if let Some(known) = self.0.borrow().get(&key) {
            return Some(known.clone());
        }
        let options = ForwardOptions {
            connect: Duration::from_secs(10),
            head: HEAD_TIMEOUT,
            connections: CONNECTIONS,
            keep_host,
            ..ForwardOptions::default()
        };
        let way = Forwarder::to(url, options)?;
        self.0.borrow_mut().insert(key, way.clone());
        Some(way)
    }
}

/// Passes a request on as it came; `anonymous`: without what it shows, to this path and query.
pub(super) async fn pass(
    request: &HttpRequest,
    payload: web::Payload,
    led: &ForgeConnection,
    (ways, anonymous): (&ForgeWays, Option<&str>),
) -> HttpResponse {
    let Some(way) = ways.to(&led.base, true) else {
        return refused(StatusCode::BAD_GATEWAY, UNANSWERED);
    };
    let is_shown = |name: &str| matches!(name, "authorization" | "x-nuget-apikey");
    let is_left_out = |name: &str| anonymous.is_some() && is_shown(name);
    let headers = end_to_end(request.headers(), is_left_out);
    let own = request.uri().path_and_query();
    let target = anonymous.unwrap_or_else(|| own.map_or("/", |target| target.as_str()));
    let method = request.method().clone();
    let sent = way.send(method.clone(), target, &headers, body(request, payload));
    match sent.await {
        Ok(answer) => {
            let headers = end_to_end(&answer.headers, |_| false);
            respond(answer, headers, &method, |chunks| chunks)
        }
        Err(error) => unanswered(&error),
    }
}

/// Passes a request of a registry, or of a file, on with the runner's token; `own` is the address
/// that the job asks.
pub(super) async fn pass_package(
    request: &HttpRequest,
    payload: web::Payload,
    own: &Url,
    way: (&ForgeWays, ForwardedRequest),
) -> HttpResponse {
    let is_passed = |name: &str| {
        let mut beginnings = BEGINNINGS_OF_PACKAGES.iter();
        OF_PACKAGES.contains(&name) || beginnings.any(|begin| name.starts_with(begin))
    };
    let headers = end_to_end(request.headers(), |name| !is_passed(name));
    let body = body(request, payload);
    passed(request.method(), headers, body, own, way).await
}

/// The same with these headers, and no others.
pub(super) async fn passed(
    method: &Method,
    mut headers: HeaderMap,
    body: ForwardBody<ForwardedChunks>,
    own: &Url,
    (ways, passage): (&ForgeWays, ForwardedRequest),
) -> HttpResponse {
    let ForwardedRequest {
        base,
        target,
        authorization,
        guard,
        turn,
        is_file,
    } = passage;
    let authorization = HeaderValue::from_str(authorization.expose());
    let (Some(way), Ok(mut authorization)) = (ways.to(&base, false), authorization) else {
        return refused(StatusCode::BAD_GATEWAY, UNANSWERED);
    };
    authorization.set_sensitive(true);
    headers.insert(header::AUTHORIZATION, authorization);
    let sent = way.send(method.clone(), &target, &headers, body);
    let answer = match sent.await {
        Ok(answer) if is_file && answer.status >= 400 => return no_file(answer.status),
        Ok(answer) if answer.status == 401 => {
            return refused(StatusCode::FORBIDDEN, NO_SCOPE);
        }
        Ok(answer) => answer,
        Err(error) => return unanswered(&error),
    };
    let mut shown = HeaderMap::new();
    for (name, value) in &end_to_end(&answer.headers, |name| OF_THE_ACCOUNT.contains(&name)) {
        if guard.finds(value.as_bytes()) {
            continue;
        }
        let value = match name == header::LOCATION {
            true => at_own_address(value, &base, own),
            false => value.clone(),
        };
        shown.append(name.clone(), value);
    }
    respond(answer, shown, method, |chunks| {
        let guarded = guarded(chunks, guard);
        // The turn ends with the answer.
        Box::pin(guarded.inspect(move |_| {
            let _ = &turn;
        }))
    })
}

/// The page that says so is one of the runner's account.
fn no_file(status: u16) -> HttpResponse {
    let shown = match StatusCode::from_u16(status) {
        // The token that it does not take is the runner's.
        Ok(StatusCode::UNAUTHORIZED) | Err(_) => StatusCode::FORBIDDEN,
        Ok(shown) => shown,
    };
    refused(
        shown,
        &format!("the forge does not give or take the file (status {status})"),
    )
}

/// Where an answer leads, by the address that the job asked.
fn at_own_address(location: &HeaderValue, base: &Url, own: &Url) -> HeaderValue {
    let changed = location.to_str().ok().and_then(|text| {
        let mut url = Url::parse(text).ok()?;
        if !url.username().is_empty() || url.password().is_some() {
            url.set_username("").ok()?;
            url.set_password(None).ok()?;
        }
        if url.origin() == base.origin() {
            let rest = &url[url::Position::BeforePath..];
            return Some(format!("{}{rest}", own.origin().ascii_serialization()));
        }
        Some(url.into())
    });
    let changed = changed.and_then(|text| HeaderValue::from_str(&text).ok());
    changed.unwrap_or_else(|| location.clone())
}

const UNANSWERED: &str = "the forge gives no answer that could be passed on";
const NO_SCOPE: &str = "the forge does not accept the runner's token (FORGE_TOKEN) for its registries: it needs the scope of packages (`write:package`)";

/// A refusal in words, of which programs show the body.
pub(super) fn refused(status: StatusCode, text: &str) -> HttpResponse {
    HttpResponse::build(status)
        .content_type("text/plain; charset=utf-8")
        .body(format!("{text}\n"))
}

fn unanswered(error: &HttpError) -> HttpResponse {
    tracing::debug!(event = "run.forge_unreached", %error, "a job's call of the forge has no answer");
    refused(StatusCode::BAD_GATEWAY, UNANSWERED)
}

fn body(request: &HttpRequest, payload: web::Payload) -> ForwardBody<ForwardedChunks> {
    let chunks: ForwardedChunks = Box::pin(payload.map(|chunk| chunk.map_err(io::Error::other)));
    framed(request.headers(), chunks)
}

fn respond(
    answer: ForwardedResponse,
    headers: HeaderMap,
    method: &Method,
    through: impl FnOnce(ForwardedChunks) -> ForwardedChunks,
) -> HttpResponse {
    let Ok(status) = StatusCode::from_u16(answer.status) else {
        return refused(StatusCode::BAD_GATEWAY, UNANSWERED);
    };
    let length = length(&answer.headers);
    let mut response = HttpResponse::build(status);
    for (name, value) in headers {
        response.append_header((name, value));
    }
    let is_head = method == Method::HEAD;
    let is_bare = status.is_informational()
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if is_bare || is_head && length.is_none() {
        return response.finish();
    }
    let chunks: ForwardedChunks = match is_head {
        // Its length is that of what `GET` gives.
        true => Box::pin(stream::empty()),
        false => {
            let body = answer.into_body();
            Box::pin(body.map(|chunk| chunk.map_err(io::Error::other)))
        }
    };
    let chunks = through(chunks);
    match length {
        Some(length) => response.body(SizedStream::new(length, chunks)),
        None => response.streaming(chunks),
    }
}

/// Breaks off before a token is seen that is not the job's.
fn guarded(chunks: ForwardedChunks, guard: TokenGuard) -> impl Stream<Item = io::Result<Bytes>> {
    let state = (chunks, BytesMut::new(), guard, false);
    stream::unfold(state, |(mut chunks, mut kept, guard, ended)| async move {
        if ended {
            return None;
        }
        loop {
            let next = chunks.next().await;
            match next {
                Some(Ok(chunk)) => {
                    kept.extend_from_slice(&chunk);
                    if guard.finds(&kept) {
                        let error = io::Error::other("the answer holds a token");
                        return Some((Err(error), (chunks, BytesMut::new(), guard, true)));
                    }
                    let ready = kept.len().saturating_sub(guard.overlap());
                    if ready > 0 {
                        let piece = kept.split_to(ready).freeze();
                        return Some((Ok(piece), (chunks, kept, guard, false)));
                    }
                }
                Some(Err(error)) => {
                    return Some((Err(error), (chunks, BytesMut::new(), guard, true)));
                }
                None if kept.is_empty() => return None,
                None => {
                    let rest = std::mem::take(&mut kept).freeze();
                    return Some((Ok(rest), (chunks, kept, guard, true)));
                }
            }
        }
    })
}
