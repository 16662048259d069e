//! The server that documents are put into.

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow, bail};
use http_clients::http::{HttpClient, HttpOptions, Request, Response};
use search_core::bulk::{BulkItem, ItemOutcome, mapping, outcomes, remote_id};
use url::Url;

use crate::arguments::ExportOptions;

/// How often something is sent before the export ends.
const ATTEMPTS: u32 = 8;
/// Before the second attempt; then twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause, and the longest that a server may ask for.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// The status of an answer to a request that is too large.
const TOO_LARGE: u16 = 413;
/// The longest a batch may take.
const BATCH_DEADLINE: Duration = Duration::from_secs(120);

/// An index of a server.
pub(super) struct ExportTarget {
    http: HttpClient,
    index: Url,
    authorization: Option<String>,
}

/// The index as the server has it.
pub(super) struct RemoteIndex {
    /// What the server calls it, where it says so; one that was made anew has another one.
    pub(super) id: Option<String>,
    /// It was made just now.
    pub(super) is_new: bool,
}

/// Why a batch was not sent.
enum SendFailure {
    /// It has more bytes than the server takes.
    TooLarge(String),
    Other(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for SendFailure {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

/// The id of a document there.
pub(super) fn remote_name(id: &str) -> String {
    remote_id(id, |id| blake3::hash(id.as_bytes()).to_hex().to_string())
}

impl ExportTarget {
    pub(super) fn new(options: &ExportOptions) -> anyhow::Result<Self> {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        let is_plain = !options.index.starts_with(['-', '_', '.']);
        if options.index.is_empty() || !is_plain || !options.index.chars().all(is_name) {
            bail!(
                "--index: {:?} is no name of an index: use a-z, 0-9, - and _",
                options.index
            );
        }
        let base = options.elasticsearch.trim_end_matches('/');
        let index = Url::parse(&format!("{base}/{}", options.index));
        let index = index.with_context(|| format!("--elasticsearch: {base:?} is no URL"))?;
        if !matches!(index.scheme(), "http" | "https") {
            bail!("--elasticsearch: write http://host:port or https://host:port");
        }
        let authorization = options.authorization_file.as_ref().map(|path| {
            let text = std::fs::read_to_string(path);
            text.with_context(|| format!("--authorization-file {}", path.display()))
        });
        let authorization = authorization
            .transpose()?
            .map(|text| text.trim().to_owned());
        let http = HttpClient::new(HttpOptions {
            deadline: BATCH_DEADLINE,
            ..HttpOptions::default()
        });
        Ok(Self {
            http,
            index,
            authorization,
        })
    }

    fn with_authorization(&self, request: Request) -> Request {
        match &self.authorization {
            Some(value) => request.header("authorization", value.clone()),
            None => request,
        }
    }

    /// Makes the index where there is none.
    pub(super) async fn prepare(&self) -> anyhow::Result<RemoteIndex> {
        if let Some(id) = self.identity().await? {
            return Ok(RemoteIndex { id, is_new: false });
        }
        let body = mapping().to_string();
        let made = self.call(|| {
            Request::put(self.index.clone())
                .header("content-type", "application/json")
                .body(body.clone())
        });
        let made = made.await?;
        // Another one was faster.
        let is_there = String::from_utf8_lossy(&made.body).contains("resource_already_exists");
        if !made.is_success() && !is_there {
            bail!("{} cannot be made: {}", self.index, refusal(&made));
        }
        Ok(RemoteIndex {
            id: self.identity().await?.flatten(),
            is_new: true,
        })
    }

    /// What the server calls the index, where it says so; `None` where there is none.
    async fn identity(&self) -> anyhow::Result<Option<Option<String>>> {
        let found = self.call(|| Request::get(self.index.clone())).await?;
        if found.status == 404 {
            return Ok(None);
        }
        if !found.is_success() {
            bail!("{}: {}", self.index, refusal(&found));
        }
        Ok(Some(index_uuid(&found.body)))
    }

    /// Sends a batch until each of its items is done or refused; gives the reasons, and why it
    /// ended early. What is too large together is sent in halves; a document that is too large
    /// alone is refused.
    pub(super) async fn send(
        &self,
        batch: Vec<BulkItem>,
    ) -> (Vec<(BulkItem, Option<String>)>, Option<anyhow::Error>) {
        let mut ended = Vec::with_capacity(batch.len());
        let mut waiting = vec![batch];
        while let Some(mut batch) = waiting.pop() {
            match self.send_at_once(&mut batch, &mut ended).await {
                Ok(()) => {}
                Err(SendFailure::TooLarge(reason)) if batch.len() == 1 => {
                    ended.extend(batch.pop().map(|item| (item, Some(reason))));
                }
                Err(SendFailure::TooLarge(_)) => {
                    let second = batch.split_off(batch.len() / 2);
                    waiting.extend([second, batch]);
                }
                Err(SendFailure::Other(error)) => return (ended, Some(error)),
            }
        }
        (ended, None)
    }

    /// The same of items that are sent together; those that are left in `batch` were not taken.
    async fn send_at_once(
        &self,
        batch: &mut Vec<BulkItem>,
        ended: &mut Vec<(BulkItem, Option<String>)>,
    ) -> Result<(), SendFailure> {
        let url = format!("{}/_bulk", self.index);
        let url = Url::parse(&url).context(url)?;
        for attempt in 0..ATTEMPTS {
            let body: String = batch.iter().map(|item| item.lines.as_str()).collect();
            let answer = self.call(|| {
                Request::post(url.clone())
                    .header("content-type", "application/x-ndjson")
                    .body(body.clone())
            });
            let answer = answer.await?;
            if answer.status == TOO_LARGE {
                return Err(SendFailure::TooLarge(refusal(&answer)));
            }
            if !answer.is_success() {
                return Err(anyhow!("{url}: {}", refusal(&answer)).into());
            }
            let all = outcomes(&answer.body, batch.len())?;
            let mut again = Vec::new();
            for (item, outcome) in batch.drain(..).zip(all) {
                match outcome {
                    ItemOutcome::Done => ended.push((item, None)),
                    ItemOutcome::Refused(reason) => ended.push((item, Some(reason))),
                    ItemOutcome::Again => again.push(item),
                }
            }
            *batch = again;
            if batch.is_empty() {
                return Ok(());
            }
            actix_rt::time::sleep(pause(attempt, None)).await;
        }
        let busy = anyhow!(
            "{url}: the server has had too much to do for {ATTEMPTS} attempts; what it has is \
             noted, run this again later"
        );
        Err(busy.into())
    }

    /// Asks until the server answers with anything but 429, 502, 503 and 504. Documents have ids,
    /// so what is sent twice is there once.
    async fn call(&self, request: impl Fn() -> Request) -> anyhow::Result<Response> {
        let mut attempt = 0;
        loop {
            let answer = self.http.call(self.with_authorization(request())).await;
            let is_last = attempt + 1 >= ATTEMPTS;
            let wanted = match answer {
                Ok(answer) if !matches!(answer.status, 429 | 502..=504) || is_last => {
                    return Ok(answer);
                }
                Ok(answer) => answer.headers.retry_after(SystemTime::now()),
                Err(error) if is_last => return Err(error.into()),
                Err(_) => None,
            };
            actix_rt::time::sleep(pause(attempt, wanted)).await;
            attempt += 1;
        }
    }
}

fn pause(attempt: u32, wanted: Option<Duration>) -> Duration {
    let own = FIRST_PAUSE * (1 << attempt.min(10));
    wanted.unwrap_or(own).min(MAX_PAUSE)
}

fn refusal(answer: &Response) -> String {
    let text = String::from_utf8_lossy(&answer.body);
    let text: String = text.chars().take(300).collect();
    format!("{} {text}", answer.status)
}

/// The `uuid` in what a server says of an index, below the name that it has there.
fn index_uuid(body: &[u8]) -> Option<String> {
    let said: serde_json::Value = serde_json::from_slice(body).ok()?;
    let index = said.as_object()?.values().next()?;
    Some(index["settings"]["index"]["uuid"].as_str()?.to_owned())
}
