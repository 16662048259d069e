//! Signed addresses: Put Blob, Put Block, Put Block List and Get Blob, as far as clients use them.

use std::sync::Arc;

use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_RANGE, RANGE};
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures_util::StreamExt as _;
use jiff::fmt::strtime;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use runner_actors::{BlockWriter, JobServices, ServiceFault, SignedBlob};
use serde::Deserialize;

use super::twirp::{MAX_BODY, TwirpError, on_disk};
use crate::file_chunks::FileChunks;

/// Bytes that are collected before they are written.
const BATCH: usize = 1 << 20;
/// The name of the one block of a blob that comes whole.
const ONLY: &str = "whole";

/// What stands behind an address.
#[derive(Debug, Deserialize)]
pub(super) struct Operation {
    #[serde(default)]
    sig: String,
    comp: Option<String>,
    blockid: Option<String>,
}

/// A block, a list of blocks, or all at once.
pub(super) async fn put(
    services: web::Data<JobServices>,
    id: web::Path<String>,
    operation: web::Query<Operation>,
    payload: web::Payload,
) -> Result<HttpResponse, TwirpError> {
    let blob = services.blob(&id, &operation.sig)?;
    match (operation.comp.as_deref(), &operation.blockid) {
        (Some("block"), Some(block)) => block_of(blob, block.clone(), payload).await?,
        (Some("blocklist"), _) => {
            let list = payload.to_bytes_limited(MAX_BODY).await;
            let list = list.ok().and_then(Result::ok);
            let list = list.ok_or_else(|| {
                ServiceFault::Wrong("the list of blocks could not be read".to_owned())
            })?;
            let names = block_list(&list)
                .ok_or_else(|| ServiceFault::Wrong("this is no list of blocks".to_owned()))?;
            on_disk(move || blob.commit(&names)).await?;
        }
        (None, _) => {
            block_of(Arc::clone(&blob), ONLY.to_owned(), payload).await?;
            on_disk(move || blob.commit(&[ONLY.to_owned()])).await?;
        }
        _ => {
            let text = "of blobs only blocks and their lists are known here".to_owned();
            return Err(ServiceFault::Wrong(text).into());
        }
    }
    let id = uuid::Uuid::new_v4().simple().to_string();
    Ok(HttpResponse::Created()
        .insert_header(("ETag", format!("\"{id}\"")))
        .insert_header(("Last-Modified", http_time()))
        .insert_header(("x-ms-request-id", id))
        .insert_header(("x-ms-version", "2024-11-04"))
        .finish())
}

async fn block_of(
    blob: Arc<SignedBlob>,
    name: String,
    payload: web::Payload,
) -> Result<(), TwirpError> {
    let writer = on_disk(move || blob.block(&name)).await?;
    receive(writer, payload).await
}

/// Writes a body to the disk as it comes.
pub(super) async fn receive(
    mut writer: BlockWriter,
    mut payload: web::Payload,
) -> Result<(), TwirpError> {
    let mut batch = Vec::new();
    loop {
        let next = payload.next().await;
        let end = next.is_none();
        if let Some(bytes) = next {
            let broken = |error: actix_web::error::PayloadError| {
                ServiceFault::Wrong(format!("the body broke off: {error}"))
            };
            batch.extend_from_slice(&bytes.map_err(broken)?);
        }
        if batch.len() < BATCH && !end {
            continue;
        }
        let full = std::mem::take(&mut batch);
        writer = on_disk(move || writer.write(&full).map(|()| writer)).await?;
        if end {
            return on_disk(move || writer.finish()).await;
        }
    }
}

/// The names in `<BlockList><Latest>…</Latest>…</BlockList>`: base64, so that nothing is escaped.
fn block_list(xml: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(xml).ok()?;
    let (_, list) = text.split_once("<BlockList>")?;
    let (list, _) = list.split_once("</BlockList>")?;
    let mut names = Vec::new();
    let mut rest = list.trim();
    while !rest.is_empty() {
        let (kind, behind) = rest.strip_prefix('<')?.split_once('>')?;
        if !matches!(kind, "Latest" | "Uncommitted" | "Committed") {
            return None;
        }
        let (name, behind) = behind.split_once("</")?;
        let behind = behind.strip_prefix(kind)?.strip_prefix('>')?;
        names.push(name.trim().to_owned());
        rest = behind.trim();
    }
    Some(names)
}

/// All of a file, or one range of it.
pub(super) async fn get(
    request: HttpRequest,
    services: web::Data<JobServices>,
    id: web::Path<String>,
    operation: web::Query<Operation>,
) -> Result<HttpResponse, TwirpError> {
    let blob = services.blob(&id, &operation.sig)?;
    let download = blob.download()?;
    let total = download.bytes;
    let headers = request.headers();
    let range = headers.get("x-ms-range").or_else(|| headers.get(RANGE));
    let range = range.and_then(|value| value.to_str().ok());
    let asked = range.map(|text| part(text, total));
    let (first, length) = match asked {
        None => (0, total),
        Some(Some(part)) => part,
        Some(None) => {
            return Ok(HttpResponse::RangeNotSatisfiable()
                .insert_header((CONTENT_RANGE, format!("bytes */{total}")))
                .finish());
        }
    };
    let mut answer = match asked {
        None => HttpResponse::Ok(),
        Some(_) => HttpResponse::PartialContent(),
    };
    if asked.is_some() {
        let last = (first + length).saturating_sub(1);
        answer.insert_header((CONTENT_RANGE, format!("bytes {first}-{last}/{total}")));
    }
    answer
        .content_type(download.content_type.as_str())
        .insert_header((CONTENT_DISPOSITION, disposition(&download.name)))
        .insert_header(("Accept-Ranges", "bytes"))
        .no_chunking(length);
    let chunks = FileChunks {
        path: download.path.clone(),
        at: first,
    };
    // The blob is kept while it is read.
    let state = (chunks, length, Arc::clone(&blob));
    Ok(answer.streaming(futures_util::stream::unfold(
        state,
        |(mut chunks, left, blob)| async move {
            if left == 0 {
                return None;
            }
            let read = chunks.next().await.and_then(|bytes| match bytes.len() {
                0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
                _ => Ok(bytes),
            });
            let (read, left): (std::io::Result<Bytes>, u64) = match read {
                Ok(mut bytes) => {
                    let most = usize::try_from(left).unwrap_or(usize::MAX);
                    bytes.truncate(most);
                    let left = left - bytes.len() as u64;
                    (Ok(bytes), left)
                }
                Err(error) => (Err(error), 0),
            };
            Some((read, (chunks, left, blob)))
        },
    )))
}

/// First byte and length of `bytes=0-99`; `None`: it lies outside.
fn part(text: &str, total: u64) -> Option<(u64, u64)> {
    let (first, last) = text.trim().strip_prefix("bytes=")?.split_once('-')?;
    if first.is_empty() {
        let length = last.parse::<u64>().ok()?.min(total);
        return (length > 0).then_some((total - length, length));
    }
    let first: u64 = first.parse().ok()?;
    let last = match last {
        "" => total.checked_sub(1)?,
        last => last.parse::<u64>().ok()?.min(total.checked_sub(1)?),
    };
    (first <= last).then(|| (first, last - first + 1))
}

/// The file's name in both ways that clients read it.
fn disposition(name: &str) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
    let escaped = utf8_percent_encode(name, ESCAPED);
    format!("attachment; filename*=UTF-8''{escaped}")
}

fn http_time() -> String {
    let now = jiff::Zoned::now().with_time_zone(jiff::tz::TimeZone::UTC);
    strtime::format("%a, %d %b %Y %H:%M:%S GMT", &now).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_blocks_and_ranges_are_read_as_azure_writes_them() {
        let list = b"<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?><BlockList><Latest>QQ==</Latest>\n<Uncommitted>Qg==</Uncommitted></BlockList>";
        assert_eq!(block_list(list), Some(vec!["QQ==".into(), "Qg==".into()]));
        assert_eq!(block_list(b"<BlockList/>"), None);
        assert_eq!(block_list(b"<BlockList></BlockList>"), Some(Vec::new()));
        assert_eq!(block_list(b"<BlockList><Other>x</Other></BlockList>"), None);
        for (text, found) in [
            ("bytes=0-99", Some((0, 10))),
            ("bytes=3-4", Some((3, 2))),
            ("bytes=9-", Some((9, 1))),
            ("bytes=-4", Some((6, 4))),
            ("bytes=10-", None),
            ("bytes=4-3", None),
            ("lines=1-2", None),
        ] {
            assert_eq!(part(text, 10), found, "{text}");
        }
        assert_eq!(part("bytes=0-", 0), None);
        assert_eq!(
            disposition("a b\u{e4}.zip"),
            "attachment; filename*=UTF-8''a%20b%C3%A4.zip"
        );
    }
}
