//! `CacheService`, and the first version of the cache service beside it.

use actix_web::http::header::{CONTENT_RANGE, HeaderMap};
use actix_web::{HttpRequest, HttpResponse, web};
use runner_actors::{JobServices, JobSession, ServiceFault};
use serde::Deserialize;
use serde_json::{Value, json};

use super::blobs::receive;
use super::twirp::{MethodRequest, Number, TwirpError, no_method, on_disk, read, session};

/// What calls say; each has a part of it.
#[derive(Debug, Deserialize)]
pub(super) struct CacheRequest {
    #[serde(default)]
    key: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    restore_keys: Vec<String>,
    #[serde(default)]
    size_bytes: Number,
    #[serde(default)]
    size: Number,
}

impl MethodRequest for CacheRequest {
    fn answer(self, session: &JobSession, method: &str) -> Result<Value, ServiceFault> {
        let (key, version) = (&self.key, &self.version);
        Ok(match method {
            "CreateCacheEntry" => {
                let (address, _) = session.create_cache(key, version)?;
                json!({"ok": true, "signed_upload_url": address})
            }
            "FinalizeCacheEntryUpload" => {
                let number = session.finalize_cache(key, version, self.size_bytes.0)?;
                json!({"ok": true, "entry_id": number.to_string()})
            }
            "GetCacheEntryDownloadURL" => {
                match session.find_cache(key, &self.restore_keys, version)? {
                    Some((address, key)) => {
                        json!({"ok": true, "signed_download_url": address, "matched_key": key})
                    }
                    None => json!({"ok": false, "signed_download_url": "", "matched_key": ""}),
                }
            }
            other => return Err(no_method(other)),
        })
    }
}

/// What is looked for, in the first version.
#[derive(Debug, Deserialize)]
pub(super) struct CacheQuery {
    keys: String,
    version: String,
}

/// `GET cache?keys=…&version=…`.
pub(super) async fn find(
    request: HttpRequest,
    services: web::Data<JobServices>,
    wanted: web::Query<CacheQuery>,
) -> Result<HttpResponse, TwirpError> {
    let session = session(&request, &services)?;
    let CacheQuery { keys, version } = wanted.into_inner();
    let found = on_disk(move || {
        let mut keys = keys.split(',').map(str::to_owned);
        let key = keys.next().unwrap_or_default();
        let prefixes: Vec<String> = keys.collect();
        session.find_cache(&key, &prefixes, &version)
    })
    .await?;
    Ok(match found {
        Some((address, key)) => {
            HttpResponse::Ok().json(json!({"archiveLocation": address, "cacheKey": key}))
        }
        None => HttpResponse::NoContent().finish(),
    })
}

/// `POST caches`.
pub(super) async fn reserve(
    request: HttpRequest,
    services: web::Data<JobServices>,
    body: web::Bytes,
) -> Result<HttpResponse, TwirpError> {
    let session = session(&request, &services)?;
    let request: CacheRequest = read(&body)?;
    let (_, number) = on_disk(move || session.create_cache(&request.key, &request.version)).await?;
    Ok(HttpResponse::Created().json(json!({"cacheId": number})))
}

/// `PATCH caches/{number}` with `Content-Range`.
pub(super) async fn piece(
    request: HttpRequest,
    services: web::Data<JobServices>,
    number: web::Path<u64>,
    payload: web::Payload,
) -> Result<HttpResponse, TwirpError> {
    let session = session(&request, &services)?;
    let begins = begins(request.headers())
        .ok_or_else(|| ServiceFault::Wrong("`Content-Range` does not say where".to_owned()))?;
    let number = number.into_inner();
    let writer = on_disk(move || session.cache_piece(number, begins)).await?;
    receive(writer, payload).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// The first byte of `bytes 0-199/*`.
fn begins(headers: &HeaderMap) -> Option<u64> {
    let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    let (first, _) = text.strip_prefix("bytes ")?.split_once('-')?;
    first.parse().ok()
}

/// `POST caches/{number}`.
pub(super) async fn commit(
    request: HttpRequest,
    services: web::Data<JobServices>,
    number: web::Path<u64>,
    body: web::Bytes,
) -> Result<HttpResponse, TwirpError> {
    let session = session(&request, &services)?;
    let request: CacheRequest = read(&body)?;
    let number = number.into_inner();
    on_disk(move || session.commit_cache(number, request.size.0)).await?;
    Ok(HttpResponse::NoContent().finish())
}
