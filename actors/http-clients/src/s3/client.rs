//! The client.

use std::time::Duration;

use bytes::Bytes;
use config_core::Secret;
use jiff::Timestamp;
use url::Url;

use super::error::{S3Error, is_no_object, refusal};
use super::listing::{self, ObjectInfo, ObjectList};
use super::sign::{self, Keys, Signed};
use crate::http::{HttpClient, Method, Request, Response, RetryPolicy, authority};

/// The largest page of a list, in bytes.
const PAGE: usize = 8 << 20;
/// Objects a page.
const PAGE_OBJECTS: usize = 1000;
/// The longest name, in bytes.
const KEY: usize = 1024;
/// All calls are idempotent; they are made so often.
const RETRIES: RetryPolicy = RetryPolicy {
    attempts: 3,
    first: Duration::from_millis(300),
    longest: Duration::from_secs(5),
};

/// Where objects are kept, and with whose keys.
#[derive(Debug, Clone)]
pub struct S3Options {
    /// The server: `https://s3.eu-central-1.amazonaws.com`, `http://127.0.0.1:9000`.
    pub endpoint: Url,
    /// Its region; `us-east-1` where a server has none.
    pub region: String,
    /// The bucket.
    pub bucket: String,
    /// The public half of the keys.
    pub access_key: Secret<String>,
    /// The secret half.
    pub secret_key: Secret<String>,
}

/// On what a write depends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Condition {
    /// On nothing.
    #[default]
    None,
    /// There is no such object yet.
    Absent,
    /// The object is the one with this `ETag`.
    Is(String),
}

/// An object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// What it holds.
    pub body: Bytes,
    /// Its version.
    pub etag: Option<String>,
}

/// A bucket. Clones share the connections.
#[derive(Clone)]
pub struct S3Client {
    http: HttpClient,
    options: S3Options,
}

impl S3Client {
    /// A client of a bucket. The largest object it reads is `http`'s largest body.
    #[must_use]
    pub fn new(http: HttpClient, options: S3Options) -> Self {
        Self { http, options }
    }

    /// Stores an object; gives its version.
    ///
    /// # Errors
    /// [`S3Error::Changed`] when the condition does not hold; otherwise see [`S3Error`].
    pub async fn put(
        &self,
        key: &str,
        body: Bytes,
        condition: &Condition,
    ) -> Result<Option<String>, S3Error> {
        let mut headers = vec![("content-type", "application/octet-stream")];
        match condition {
            Condition::None => {}
            Condition::Absent => headers.push(("if-none-match", "*")),
            Condition::Is(etag) => headers.push(("if-match", etag)),
        }
        let sent = self.send(Method::Put, key, &[], &headers, body).await?;
        if sent.is_success() {
            return Ok(etag(&sent));
        }
        if sent.status == 404 && matches!(condition, Condition::Is(_)) && is_no_object(&sent) {
            return Err(S3Error::Changed("it is gone".to_owned()));
        }
        Err(refusal(&sent))
    }

    /// Reads an object; `None`: there is none.
    ///
    /// # Errors
    /// See [`S3Error`].
    pub async fn get(&self, key: &str) -> Result<Option<Object>, S3Error> {
        let sent = self.send(Method::Get, key, &[], &[], Bytes::new()).await?;
        if sent.is_success() {
            return Ok(Some(Object {
                etag: etag(&sent),
                body: sent.body,
            }));
        }
        absent_or(&sent)
    }

    /// What is known about an object; `None`: there is none.
    ///
    /// # Errors
    /// See [`S3Error`].
    pub async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, S3Error> {
        let sent = self.send(Method::Head, key, &[], &[], Bytes::new()).await?;
        if sent.is_success() {
            return Ok(Some(ObjectInfo {
                key: key.to_owned(),
                size: sent.headers.number("content-length").unwrap_or(0),
                etag: etag(&sent),
            }));
        }
        absent_or(&sent)
    }

    /// Removes an object; one that is not there is well.
    ///
    /// # Errors
    /// See [`S3Error`].
    pub async fn delete(&self, key: &str) -> Result<(), S3Error> {
        let sent = self
            .send(Method::Delete, key, &[], &[], Bytes::new())
            .await?;
        if sent.is_success() {
            return Ok(());
        }
        absent_or::<()>(&sent).map(drop)
    }

    /// The objects whose names begin with `prefix`, by name, at most `limit`.
    ///
    /// # Errors
    /// See [`S3Error`].
    pub async fn list(&self, prefix: &str, limit: usize) -> Result<ObjectList, S3Error> {
        let mut list = ObjectList::default();
        let mut next: Option<String> = None;
        loop {
            let left = limit - list.objects.len();
            let size = left.clamp(1, PAGE_OBJECTS).to_string();
            let mut query = vec![("list-type", "2"), ("max-keys", &*size), ("prefix", prefix)];
            if let Some(token) = &next {
                query.push(("continuation-token", token));
            }
            let sent = self
                .send(Method::Get, "", &query, &[], Bytes::new())
                .await?;
            if !sent.is_success() {
                return Err(refusal(&sent));
            }
            let page = listing::read(&sent.body)?;
            let empty = page.objects.is_empty();
            list.objects.extend(page.objects);
            next = page.next;
            if list.objects.len() > limit || next.is_none() || empty || list.objects.len() == limit
            {
                list.more = next.is_some() || list.objects.len() > limit;
                list.objects.truncate(limit);
                return Ok(list);
            }
        }
    }

    /// Signs and sends; an empty key is the bucket itself.
    async fn send(
        &self,
        method: Method,
        key: &str,
        query: &[(&str, &str)],
        headers: &[(&'static str, &str)],
        body: Bytes,
    ) -> Result<Response, S3Error> {
        let url = self.address(key, query)?;
        let digest = sign::digest_of(&body);
        let stamp = sign::stamp(Timestamp::now());
        let host = authority(&url);
        let mut signed: Vec<(&str, &str)> = headers.to_vec();
        signed.extend([
            ("host", &*host),
            ("x-amz-content-sha256", &*digest),
            ("x-amz-date", &*stamp),
        ]);
        signed.sort_unstable();
        let keys = Keys {
            access: self.options.access_key.expose().clone(),
            secret: self.options.secret_key.clone(),
            region: self.options.region.clone(),
        };
        let what = Signed {
            method: method.as_str(),
            path: url.path(),
            query: url.query().unwrap_or_default(),
            headers: &signed,
            digest: &digest,
        };
        let authorization = sign::authorization(&keys, &what, &stamp);
        let listing = key.is_empty();
        let mut request = Request::new(method, url.clone())
            .secret_header("authorization", Secret::new(authorization))
            .header("x-amz-content-sha256", digest.clone())
            .header("x-amz-date", stamp.clone());
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        if method == Method::Put {
            request = request.body(body);
        }
        if listing {
            request = request.at_most(PAGE);
        }
        Ok(self.http.call_retrying(request, &RETRIES).await?)
    }

    /// The address of an object. What was escaped stays as it was signed.
    fn address(&self, key: &str, query: &[(&str, &str)]) -> Result<Url, S3Error> {
        let bad = || S3Error::BadKey {
            key: key.to_owned(),
        };
        let dots = |part: &str| part == "." || part == "..";
        if key.len() > KEY || key.starts_with('/') || key.split('/').any(dots) {
            return Err(bad());
        }
        if key.is_empty() && query.is_empty() {
            return Err(bad());
        }
        let base = self.options.endpoint.path().trim_end_matches('/');
        let bucket = &self.options.bucket;
        let path = match key {
            "" => sign::escape_path(&format!("{base}/{bucket}")),
            key => sign::escape_path(&format!("{base}/{bucket}/{key}")),
        };
        let mut url = self.options.endpoint.clone();
        url.set_path(&path);
        let query = sign::query(query);
        url.set_query((!query.is_empty()).then_some(&query));
        if url.path() != path {
            return Err(bad());
        }
        Ok(url)
    }
}

fn etag(response: &Response) -> Option<String> {
    response.headers.get("etag").map(str::to_owned)
}

fn absent_or<T>(response: &Response) -> Result<Option<T>, S3Error> {
    if is_no_object(response) {
        Ok(None)
    } else {
        Err(refusal(response))
    }
}
