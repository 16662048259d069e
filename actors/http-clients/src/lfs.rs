//! Git LFS servers: objects are asked for in batches, and read and stored by the basic transfer.
//!
//! Source: "Git LFS API" (batch) and "Basic Transfer API" of the Git LFS specification.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use bytes::Bytes;
use config_core::Secret;
use futures_util::Stream;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::http::{HttpClient, HttpError, Request};

/// The media type of requests and answers.
const MEDIA_TYPE: &str = "application/vnd.git-lfs+json";
/// Objects of one request.
const BATCH: usize = 100;
/// Headers of the connection, which a server cannot ask for.
const OWN_HEADERS: [&str; 7] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "te",
    "upgrade",
    "trailer",
];

/// Why an object did not come.
#[derive(Debug, thiserror::Error)]
pub enum LfsError {
    /// The call failed.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The server refuses the credentials, or wants some.
    #[error("its LFS server refuses (status {0})")]
    Refused(u16),
    /// The server gives no such object.
    #[error("its LFS server does not give the object {oid}: {reason}")]
    Missing {
        /// The object.
        oid: String,
        /// What the server says.
        reason: String,
    },
    /// The server takes no such object.
    #[error("its LFS server does not take the object {oid}: {reason}")]
    NotTaken {
        /// The object.
        oid: String,
        /// What the server says.
        reason: String,
    },
    /// It leads where nothing is read from.
    #[error("its LFS server leads to {0}, which is not followed")]
    Address(String),
    /// More or fewer bytes than the object has.
    #[error("the object {oid} has not the {size} bytes that its pointer says")]
    Size {
        /// The object.
        oid: String,
        /// Its size, in bytes.
        size: u64,
    },
    /// It cannot be written.
    #[error("an object cannot be written: {0}")]
    Write(std::io::Error),
}

/// An object: its SHA-256 in hexadecimal, and its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LfsObject {
    /// Its SHA-256 in hexadecimal.
    pub oid: String,
    /// In bytes.
    pub size: u64,
}

/// Where an object is read.
#[derive(Debug, Clone)]
pub struct LfsDownload {
    /// The object.
    pub object: LfsObject,
    target: ActionTarget,
}

/// The LFS server of one repository. It belongs to one thread.
pub struct LfsClient {
    http: HttpClient,
    /// `https://forge.example/owner/name.git/info/lfs/`
    endpoint: Url,
    authorization: Option<Secret<String>>,
    /// Whether objects may lie where there is no TLS.
    plain: bool,
}

#[derive(Serialize)]
struct BatchRequest<'a> {
    operation: &'static str,
    transfers: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    r#ref: Option<BatchRef<'a>>,
    objects: &'a [LfsObject],
    hash_algo: &'static str,
}

#[derive(Serialize)]
struct BatchRef<'a> {
    name: &'a str,
}

#[derive(Deserialize)]
struct BatchAnswer {
    #[serde(default)]
    transfer: Option<String>,
    #[serde(default)]
    objects: Vec<AnsweredObject>,
}

impl BatchAnswer {
    fn object(&self, object: &LfsObject) -> Option<&AnsweredObject> {
        let mut answered = self.objects.iter();
        answered.find(|it| it.oid.eq_ignore_ascii_case(&object.oid))
    }
}

#[derive(Deserialize)]
struct AnsweredObject {
    oid: String,
    #[serde(default)]
    actions: Option<Actions>,
    #[serde(default)]
    error: Option<ObjectError>,
}

#[derive(Deserialize)]
struct Actions {
    #[serde(default)]
    download: Option<Action>,
    #[serde(default)]
    upload: Option<Action>,
    #[serde(default)]
    verify: Option<Action>,
}

#[derive(Deserialize)]
struct Action {
    href: String,
    #[serde(default)]
    header: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct ObjectError {
    #[serde(default)]
    code: u16,
    #[serde(default)]
    message: String,
}

impl ObjectError {
    fn describe(&self) -> String {
        let message = self.message.chars().filter(|c| !c.is_control());
        format!("{} {}", self.code, message.take(200).collect::<String>())
    }
}

/// Where an action leads, and what it has to show.
#[derive(Debug, Clone)]
struct ActionTarget {
    url: Url,
    headers: Vec<(String, Secret<String>)>,
}

impl LfsClient {
    /// The server at `endpoint` (`…/info/lfs`), with a user's name and password or token. Which
    /// addresses and redirects are followed is `http`'s to say; `plain` allows objects without TLS.
    #[must_use]
    pub fn new(
        http: HttpClient,
        mut endpoint: Url,
        credentials: Option<(&str, &Secret<String>)>,
        plain: bool,
    ) -> Self {
        use base64::Engine as _;
        if !endpoint.path().ends_with('/') {
            let path = format!("{}/", endpoint.path());
            endpoint.set_path(&path);
        }
        let authorization = credentials.map(|(user, token)| {
            let pair = format!("{user}:{}", token.expose());
            let pair = base64::engine::general_purpose::STANDARD.encode(pair);
            Secret::new(format!("Basic {pair}"))
        });
        Self {
            http,
            endpoint,
            authorization,
            plain,
        }
    }

    /// Asks where objects are; `reference` is the one for which they are read.
    ///
    /// # Errors
    /// See [`LfsError`]; one object that is not there is one too.
    pub async fn locate(
        &self,
        objects: &[LfsObject],
        reference: Option<&str>,
    ) -> Result<Vec<LfsDownload>, LfsError> {
        let mut found = Vec::with_capacity(objects.len());
        for objects in objects.chunks(BATCH) {
            found.extend(self.locate_some(objects, reference).await?);
        }
        Ok(found)
    }

    async fn locate_some(
        &self,
        objects: &[LfsObject],
        reference: Option<&str>,
    ) -> Result<Vec<LfsDownload>, LfsError> {
        let answer = self.batch("download", objects, reference).await?;
        objects
            .iter()
            .map(|object| self.download_of(object, answer.object(object)))
            .collect()
    }

    async fn batch(
        &self,
        operation: &'static str,
        objects: &[LfsObject],
        reference: Option<&str>,
    ) -> Result<BatchAnswer, LfsError> {
        let address = |_| LfsError::Address(self.endpoint.to_string());
        let url = self.endpoint.join("objects/batch").map_err(address)?;
        let asked = BatchRequest {
            operation,
            transfers: ["basic"],
            r#ref: reference.map(|name| BatchRef { name }),
            objects,
            hash_algo: "sha256",
        };
        let request = Request::post(url).json(&asked).idempotent();
        let request = request.header("content-type", MEDIA_TYPE);
        let request = self.authorized(request.header("accept", MEDIA_TYPE));
        let answer = self.http.call(request).await?;
        if matches!(answer.status, 401 | 403 | 404) {
            return Err(LfsError::Refused(answer.status));
        }
        let answer: BatchAnswer = answer.ok()?.json()?;
        if answer.transfer.as_ref().is_some_and(|it| it != "basic") {
            let place = format!("{} (another transfer than `basic`)", self.endpoint);
            return Err(LfsError::Address(place));
        }
        Ok(answer)
    }

    fn download_of(
        &self,
        object: &LfsObject,
        answered: Option<&AnsweredObject>,
    ) -> Result<LfsDownload, LfsError> {
        let missing = |reason: String| LfsError::Missing {
            oid: object.oid.clone(),
            reason,
        };
        let answered = answered.ok_or_else(|| missing("it says nothing of it".to_owned()))?;
        if let Some(error) = &answered.error {
            return Err(missing(error.describe()));
        }
        let action = answered
            .actions
            .as_ref()
            .and_then(|it| it.download.as_ref());
        let action = action.ok_or_else(|| missing("it says no place".to_owned()))?;
        Ok(LfsDownload {
            object: object.clone(),
            target: self.target(action)?,
        })
    }

    fn target(&self, action: &Action) -> Result<ActionTarget, LfsError> {
        let elsewhere = || LfsError::Address(config_core::quoted(&action.href));
        let url = self.endpoint.join(&action.href).map_err(|_| elsewhere())?;
        let allowed = match url.scheme() {
            "https" => true,
            "http" => self.plain,
            _ => false,
        };
        if !allowed {
            return Err(elsewhere());
        }
        let headers = action.header.iter().filter(|(name, _)| {
            let name = name.to_ascii_lowercase();
            !OWN_HEADERS.contains(&name.as_str())
        });
        let headers = headers.map(|(name, value)| (name.clone(), Secret::new(value.clone())));
        Ok(ActionTarget {
            url,
            headers: headers.collect(),
        })
    }

    /// Stores an object within a time: of one that the server has already nothing is sent. That
    /// `content` is the object is the caller's to know.
    ///
    /// # Errors
    /// See [`LfsError`].
    pub async fn upload(
        &self,
        object: &LfsObject,
        content: impl Stream<Item = Result<Bytes, std::io::Error>> + 'static,
        within: Duration,
    ) -> Result<(), LfsError> {
        let not_taken = |reason: String| LfsError::NotTaken {
            oid: object.oid.clone(),
            reason,
        };
        let answer = self.batch("upload", std::slice::from_ref(object), None);
        let answer = answer.await?;
        let answered = answer.object(object);
        let answered = answered.ok_or_else(|| not_taken("it says nothing of it".to_owned()))?;
        if let Some(error) = &answered.error {
            return Err(not_taken(error.describe()));
        }
        let actions = answered.actions.as_ref();
        // Of one that it has it says no place.
        let Some(upload) = actions.and_then(|actions| actions.upload.as_ref()) else {
            return Ok(());
        };
        let target = self.target(upload)?;
        let mut put = self.forwarded(Request::put(target.url.clone()), &target);
        let is_typed = |(name, _): &(String, _)| name.eq_ignore_ascii_case("content-type");
        if !target.headers.iter().any(is_typed) {
            put = put.header("content-type", "application/octet-stream");
        }
        let put = put.sized_chunks(object.size, content).with_deadline(within);
        self.http.call(put).await?.ok()?;
        if let Some(verify) = actions.and_then(|actions| actions.verify.as_ref()) {
            let target = self.target(verify)?;
            let request = Request::post(target.url.clone()).json(object);
            let request = request.header("content-type", MEDIA_TYPE);
            let request = self.forwarded(request.header("accept", MEDIA_TYPE), &target);
            self.http.call(request).await?.ok()?;
        }
        Ok(())
    }

    /// With the headers that an action wants; the forge's own address takes the credentials that
    /// its batches took.
    fn forwarded(&self, mut request: Request, target: &ActionTarget) -> Request {
        let mut is_authorized = false;
        for (name, value) in &target.headers {
            is_authorized |= name.eq_ignore_ascii_case("authorization");
            request = request.secret_header(name.clone(), value.clone());
        }
        match !is_authorized && target.url.origin() == self.endpoint.origin() {
            true => self.authorized(request),
            false => request,
        }
    }

    /// Reads an object, written as it comes. Its digest is the caller's to check.
    ///
    /// # Errors
    /// See [`LfsError`].
    pub async fn download(
        &self,
        download: &LfsDownload,
        out: &mut impl Write,
    ) -> Result<(), LfsError> {
        let LfsObject { oid, size } = &download.object;
        let request = self.forwarded(Request::get(download.target.url.clone()), &download.target);
        let mut streaming = match self.http.open_or_read(request).await? {
            Ok(streaming) => streaming,
            Err(answer) => return Err(answer.into_error().into()),
        };
        let wrong = || LfsError::Size {
            oid: oid.clone(),
            size: *size,
        };
        let mut left = *size;
        while let Some(chunk) = streaming.next_chunk().await {
            let chunk = chunk?;
            left = left.checked_sub(chunk.len() as u64).ok_or_else(wrong)?;
            out.write_all(&chunk).map_err(LfsError::Write)?;
        }
        if left > 0 {
            return Err(wrong());
        }
        out.flush().map_err(LfsError::Write)
    }

    fn authorized(&self, request: Request) -> Request {
        match &self.authorization {
            Some(value) => request.secret_header("authorization", value.clone()),
            None => request,
        }
    }
}
