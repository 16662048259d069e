//! A registry of container images (OCI distribution specification 1.1): documents and blobs are
//! read, with the tokens that registries ask for.

mod challenge;

use std::cell::RefCell;
use std::io::Write;

use bytes::Bytes;
use config_core::Secret;
use serde::Deserialize;
use url::Url;

use crate::http::{HttpClient, HttpError, Request, Response, StreamingResponse};
use challenge::Challenge;

/// Largest index or manifest, in bytes.
const MAX_DOCUMENT: usize = 4 << 20;

/// Why a registry did not give what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The call failed.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// There is no such image.
    #[error("{0} is not in the registry")]
    Missing(String),
    /// It wants other credentials.
    #[error("the registry {0} refuses: give `credentials`, or others")]
    Refused(String),
    /// It asks for them in a way that nothing here does, or leads elsewhere.
    #[error("the registry {registry} asks for a token in a way that is not followed: {what}")]
    Challenge {
        /// Its host.
        registry: String,
        /// What it asks.
        what: String,
    },
    /// A blob cannot be written.
    #[error("writing what the registry gave: {0}")]
    Write(std::io::Error),
    /// A blob is larger than its image says.
    #[error("the registry gave more than {0} bytes")]
    TooLarge(u64),
}

/// A name and a password.
#[derive(Clone)]
pub struct RegistryCredentials {
    /// The name.
    pub username: String,
    /// The password.
    pub password: Secret<String>,
}

/// A registry. It belongs to one thread.
pub struct RegistryClient {
    http: HttpClient,
    /// `https://registry.example/`
    base: Url,
    credentials: Option<RegistryCredentials>,
    /// What it has given for the repository that was asked for last.
    authorization: RefCell<Option<Secret<String>>>,
}

/// What is answered where a token is asked for.
#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
}

impl RegistryClient {
    /// A client of the registry at `base`. Whether redirects to other hosts are followed, where
    /// many registries keep their blobs, and which addresses may be, is `http`'s to say.
    #[must_use]
    pub fn new(http: HttpClient, base: Url, credentials: Option<RegistryCredentials>) -> Self {
        Self {
            http,
            base,
            credentials,
            authorization: RefCell::default(),
        }
    }

    /// An index or a manifest: of a tag or a digest, as one of these media types.
    ///
    /// # Errors
    /// See [`RegistryError`].
    pub async fn document(
        &self,
        repository: &str,
        version: &str,
        accepted: &[&str],
    ) -> Result<Bytes, RegistryError> {
        let path = format!("v2/{repository}/manifests/{version}");
        let accepted = accepted.join(", ");
        let request = |url| {
            let request = Request::get(url).with_max_body(MAX_DOCUMENT);
            request.header("accept", accepted.clone())
        };
        let mut answer = self
            .http
            .call(self.authorized(request(self.url(&path)?)))
            .await?;
        if answer.status == 401 {
            self.authorize(&answer, repository).await?;
            answer = self
                .http
                .call(self.authorized(request(self.url(&path)?)))
                .await?;
        }
        self.check(&answer, &format!("{repository}:{version}"))?;
        Ok(answer.ok()?.body)
    }

    /// A blob, written as it comes; at most `size` bytes.
    ///
    /// # Errors
    /// See [`RegistryError`].
    pub async fn blob(
        &self,
        repository: &str,
        digest: &str,
        size: u64,
        out: &mut impl Write,
    ) -> Result<(), RegistryError> {
        let mut streaming = self.open_blob(repository, digest).await?;
        let mut left = size;
        while let Some(chunk) = streaming.next_chunk().await {
            let chunk = chunk?;
            left = left
                .checked_sub(chunk.len() as u64)
                .ok_or(RegistryError::TooLarge(size))?;
            out.write_all(&chunk).map_err(RegistryError::Write)?;
        }
        out.flush().map_err(RegistryError::Write)
    }

    async fn open_blob(
        &self,
        repository: &str,
        digest: &str,
    ) -> Result<StreamingResponse, RegistryError> {
        let path = format!("v2/{repository}/blobs/{digest}");
        for attempt in 0..2 {
            let request = self.authorized(Request::get(self.url(&path)?));
            match self.http.open_or_read(request).await? {
                Ok(streaming) => return Ok(streaming),
                Err(answer) if answer.status == 401 && attempt == 0 => {
                    self.authorize(&answer, repository).await?;
                }
                Err(answer) => {
                    self.check(&answer, digest)?;
                    return Err(answer.into_error().into());
                }
            }
        }
        Err(self.refused())
    }

    fn url(&self, path: &str) -> Result<Url, RegistryError> {
        let joined = self.base.join(path);
        joined.map_err(|_| RegistryError::Missing(path.to_owned()))
    }

    fn authorized(&self, request: Request) -> Request {
        match &*self.authorization.borrow() {
            Some(value) => request.secret_header("authorization", value.clone()),
            None => request,
        }
    }

    fn check(&self, answer: &Response, what: &str) -> Result<(), RegistryError> {
        match answer.status {
            404 => Err(RegistryError::Missing(what.to_owned())),
            401 | 403 => Err(self.refused()),
            _ => Ok(()),
        }
    }

    fn refused(&self) -> RegistryError {
        RegistryError::Refused(self.host())
    }

    fn host(&self) -> String {
        self.base.host_str().unwrap_or_default().to_owned()
    }

    fn basic(&self) -> Option<Secret<String>> {
        use base64::Engine as _;
        let credentials = self.credentials.as_ref()?;
        let pair = format!("{}:{}", credentials.username, credentials.password.expose());
        let pair = base64::engine::general_purpose::STANDARD.encode(pair);
        Some(Secret::new(format!("Basic {pair}")))
    }

    /// Does what a 401 asks for.
    async fn authorize(&self, answer: &Response, repository: &str) -> Result<(), RegistryError> {
        let challenge = answer.headers.get("www-authenticate").unwrap_or_default();
        let wrong = |what: &str| RegistryError::Challenge {
            registry: self.host(),
            what: what.to_owned(),
        };
        let value = match Challenge::parse(challenge) {
            Some(Challenge::Basic) => self.basic().ok_or_else(|| self.refused())?,
            Some(Challenge::Bearer { realm, service }) => {
                let mut url = Url::parse(&realm).map_err(|_| wrong(&realm))?;
                // A password goes to no place that is less protected than the registry.
                if self.base.scheme() == "https" && url.scheme() != "https" {
                    return Err(wrong(&realm));
                }
                url.query_pairs_mut()
                    .extend_pairs(service.iter().map(|service| ("service", service)))
                    .append_pair("scope", &format!("repository:{repository}:pull"));
                let mut request = Request::get(url);
                if let Some(basic) = self.basic() {
                    request = request.secret_header("authorization", basic);
                }
                let answer = self.http.call(request).await?;
                if matches!(answer.status, 401 | 403) {
                    return Err(self.refused());
                }
                let answer: TokenAnswer = answer.ok()?.json()?;
                let token = answer.token.or(answer.access_token);
                let token = token.ok_or_else(|| wrong("its answer holds no token"))?;
                Secret::new(format!("Bearer {token}"))
            }
            None => return Err(wrong(challenge)),
        };
        *self.authorization.borrow_mut() = Some(value);
        Ok(())
    }
}
