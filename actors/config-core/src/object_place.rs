//! Where objects are: what settings say, checked.

use std::path::PathBuf;

use url::{Host, Url};

use crate::environment::Environment;
use crate::secret::Secret;

/// The keys of an S3-compatible server; they come from the environment only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectKeys {
    /// `AWS_ACCESS_KEY_ID`.
    pub access: Secret<String>,
    /// `AWS_SECRET_ACCESS_KEY`.
    pub secret: Secret<String>,
    /// `AWS_SESSION_TOKEN`, of keys that end.
    pub session: Option<Secret<String>>,
}

/// A place for objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectPlace {
    /// A folder, which every process of an installation sees.
    Folder(PathBuf),
    /// A bucket of an S3-compatible server.
    Bucket(Box<Bucket>),
}

/// A bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// Its name.
    pub name: String,
    /// What all names in it begin with; empty, or without a slash at its ends.
    pub prefix: String,
    /// The server; none: Amazon's of the region.
    pub endpoint: Option<Url>,
    /// The region; `us-east-1` where a server has none.
    pub region: String,
    /// Whose they are.
    pub keys: ObjectKeys,
}

/// Why a place is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The address has another form.
    #[error("`{0}` is no place for objects: write s3://bucket/prefix or file:///folder")]
    Address(String),
    /// No keys.
    #[error(
        "s3:// needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment; they are \
         written into no file"
    )]
    NoKeys,
    /// A server without TLS.
    #[error(
        "`{0}` has no TLS; what is kept there would cross the network for everybody to read: use \
         https, or set `allow_http = true` for a network that you trust"
    )]
    Plain(String),
    /// The server's address has another form.
    #[error("`{0}` is no server: write https://host or https://host:port")]
    Endpoint(String),
}

impl ObjectKeys {
    /// Those of the environment; none where the key or its secret is not set.
    #[must_use]
    pub fn from_environment(environment: &Environment) -> Option<Self> {
        Self::from_prefixed_environment(environment, "")
    }

    /// The same of variables whose names begin with a further word, for a second storage.
    #[must_use]
    pub fn from_prefixed_environment(environment: &Environment, word: &str) -> Option<Self> {
        let secret = |name: &str| {
            let text = environment.text(&format!("{word}{name}"));
            text.map(|text| Secret::new(text.to_owned()))
        };
        Some(Self {
            access: secret("AWS_ACCESS_KEY_ID")?,
            secret: secret("AWS_SECRET_ACCESS_KEY")?,
            session: secret("AWS_SESSION_TOKEN"),
        })
    }
}

impl ObjectPlace {
    /// A place, from what settings say. `http` is taken for this machine itself, elsewhere with
    /// `allow_http` only.
    ///
    /// # Errors
    /// What is wrong, and what to write.
    pub fn new(
        url: &str,
        endpoint: Option<&str>,
        region: Option<&str>,
        allow_http: bool,
        keys: Option<ObjectKeys>,
    ) -> Result<Self, PlaceError> {
        let wrong = || PlaceError::Address(url.to_owned());
        let parsed = Url::parse(url).map_err(|_| wrong())?;
        let extra = parsed.query().is_some()
            || parsed.fragment().is_some()
            || !parsed.username().is_empty()
            || parsed.password().is_some()
            || parsed.port().is_some();
        match parsed.scheme() {
            "file" if !extra => parsed
                .to_file_path()
                .map(Self::Folder)
                .map_err(|()| wrong()),
            "s3" if !extra => {
                let name = parsed.host_str().filter(|name| !name.is_empty());
                Ok(Self::Bucket(Box::new(Bucket {
                    name: name.ok_or_else(wrong)?.to_owned(),
                    prefix: parsed.path().trim_matches('/').to_owned(),
                    endpoint: endpoint.map(|text| server(text, allow_http)).transpose()?,
                    region: region.unwrap_or("us-east-1").to_owned(),
                    keys: keys.ok_or(PlaceError::NoKeys)?,
                })))
            }
            _ => Err(wrong()),
        }
    }

    /// As people write it.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Folder(_) => self.url(),
            Self::Bucket(bucket) => {
                let server = bucket.endpoint.as_ref().map(|url| format!(" at {url}"));
                self.url() + &server.unwrap_or_default()
            }
        }
    }

    /// Its name, without the server, which hosts may reach in different ways.
    #[must_use]
    pub fn url(&self) -> String {
        match self {
            Self::Folder(folder) => format!("file://{}", folder.display()),
            Self::Bucket(bucket) => {
                let slash = if bucket.prefix.is_empty() { "" } else { "/" };
                format!("s3://{}{slash}{}", bucket.name, bucket.prefix)
            }
        }
    }
}

fn server(text: &str, allow_http: bool) -> Result<Url, PlaceError> {
    let wrong = || PlaceError::Endpoint(text.to_owned());
    let url = Url::parse(text).map_err(|_| wrong())?;
    let bare = matches!(url.path(), "" | "/") && url.query().is_none() && url.username().is_empty();
    if !bare || !matches!(url.scheme(), "http" | "https") {
        return Err(wrong());
    }
    let own = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => return Err(wrong()),
    };
    if url.scheme() == "http" && !own && !allow_http {
        return Err(PlaceError::Plain(text.to_owned()));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Option<ObjectKeys> {
        Some(ObjectKeys {
            access: Secret::new("key".to_owned()),
            secret: Secret::new("secret".to_owned()),
            session: None,
        })
    }

    #[test]
    fn i18_places_are_checked_and_never_show_keys() {
        let s3 = |url, endpoint| ObjectPlace::new(url, endpoint, None, false, keys());
        let shown = |place: Result<ObjectPlace, PlaceError>| place.map(|place| place.describe());
        assert_eq!(
            shown(s3("s3://ci/team/", Some("http://127.0.0.1:9000"))).unwrap(),
            "s3://ci/team at http://127.0.0.1:9000/"
        );
        assert_eq!(shown(s3("s3://ci", None)).unwrap(), "s3://ci");
        assert_eq!(shown(s3("file:///srv/ci", None)).unwrap(), "file:///srv/ci");
        let place = s3("s3://ci", None).unwrap();
        assert!(!format!("{place:?}").contains("secret\""), "{place:?}");
        for url in [
            "ci",
            "s3://",
            "https://ci",
            "s3://ci?x",
            "s3://u:p@ci",
            "file://host/x",
        ] {
            let refused = s3(url, None).unwrap_err();
            assert_eq!(refused, PlaceError::Address(url.to_owned()));
        }
        for endpoint in ["127.0.0.1:9000", "ftp://x", "https://x/path"] {
            let refused = s3("s3://ci", Some(endpoint)).unwrap_err();
            assert_eq!(refused, PlaceError::Endpoint(endpoint.to_owned()));
        }
        let plain = s3("s3://ci", Some("http://store.lan:9000")).unwrap_err();
        assert!(plain.to_string().contains("allow_http"), "{plain}");
        let allowed = ObjectPlace::new("s3://ci", Some("http://store.lan"), None, true, keys());
        assert!(allowed.is_ok());
        let none = ObjectPlace::new("s3://ci", None, None, false, None).unwrap_err();
        assert_eq!(none, PlaceError::NoKeys);
    }
}
