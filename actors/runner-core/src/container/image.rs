//! Names of container images, as `docker pull` takes them.

use std::fmt;
use std::str::FromStr;

/// The registry of names without one.
const DEFAULT_REGISTRY: &str = "docker.io";
/// Longest name in bytes: what registries take, and a digest.
const MAX_NAME: usize = 512;

/// `[registry/]repository[:tag][@digest]`, written out: `docker.io/library/redis:7`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageReference {
    registry: String,
    repository: String,
    tag: String,
    digest: Option<String>,
}

/// Why a text is no name of an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is no name of an image: {what}", config_core::quoted(.text))]
pub struct ImageReferenceError {
    text: String,
    what: &'static str,
}

impl ImageReference {
    /// The registry's host, with its port if it has one.
    #[must_use]
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The repository in the registry: `library/redis`.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// What is asked of a registry: the digest where there is one, else the tag.
    #[must_use]
    pub fn version(&self) -> &str {
        self.digest.as_deref().unwrap_or(&self.tag)
    }

    /// The digest that pins it: `sha256:…`.
    #[must_use]
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// The name without a digest, by which the engine in the machine knows it.
    #[must_use]
    pub fn local_name(&self) -> String {
        format!("{}/{}:{}", self.registry, self.repository, self.tag)
    }

    /// The name as people write it: without what is the default.
    #[must_use]
    pub fn familiar(&self) -> String {
        let name = match (self.registry.as_str(), self.repository.as_str()) {
            (DEFAULT_REGISTRY, repository) => {
                let short = repository.strip_prefix("library/");
                short.unwrap_or(repository).to_owned()
            }
            (registry, repository) => format!("{registry}/{repository}"),
        };
        match (&self.digest, self.tag.as_str()) {
            (Some(digest), "latest") => format!("{name}@{digest}"),
            (Some(digest), tag) => format!("{name}:{tag}@{digest}"),
            (None, tag) => format!("{name}:{tag}"),
        }
    }
}

impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.local_name())?;
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

impl FromStr for ImageReference {
    type Err = ImageReferenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |what| ImageReferenceError {
            text: text.to_owned(),
            what,
        };
        let trimmed = text.trim();
        let trimmed = trimmed.strip_prefix("docker://").unwrap_or(trimmed);
        if trimmed.is_empty() {
            return Err(wrong("it is empty"));
        }
        if trimmed.len() > MAX_NAME {
            return Err(wrong("it is too long"));
        }
        let (name, digest) = match trimmed.split_once('@') {
            Some((name, digest)) => (name, Some(digest)),
            None => (trimmed, None),
        };
        if digest.is_some_and(|digest| !is_digest(digest)) {
            return Err(wrong("a digest is `sha256:` and 64 hexadecimal digits"));
        }
        let (name, tag) = match name.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, tag),
            _ => (name, "latest"),
        };
        if !is_tag(tag) {
            return Err(wrong("a tag has letters, digits and `._-`, 128 at most"));
        }
        let (registry, path) = match name.split_once('/') {
            Some((host, path)) if is_host(host) => (host, path.to_owned()),
            Some(_) => (DEFAULT_REGISTRY, name.to_owned()),
            None => (DEFAULT_REGISTRY, format!("library/{name}")),
        };
        if !path.split('/').all(is_component) {
            return Err(wrong(
                "a repository is made of lower-case letters, digits and `._-`",
            ));
        }
        let registry = match registry {
            "index.docker.io" | "registry-1.docker.io" => DEFAULT_REGISTRY,
            other => other,
        };
        Ok(Self {
            registry: registry.to_ascii_lowercase(),
            repository: path,
            tag: tag.to_owned(),
            digest: digest.map(str::to_owned),
        })
    }
}

/// The first part is a registry when it looks like a host, as with Docker.
fn is_host(text: &str) -> bool {
    let shaped = text.contains('.') || text.contains(':') || text == "localhost";
    let first = text.bytes().next();
    shaped
        && first.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'[')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte))
}

fn is_component(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = text.bytes().next().is_some_and(inner) && text.bytes().last().is_some_and(inner);
    ends && text
        .bytes()
        .all(|byte| inner(byte) || b"._-".contains(&byte))
}

fn is_tag(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=128).contains(&text.len())
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|byte| word(byte) || b".-".contains(&byte))
}

/// Whether a text is `sha256:` and its digits.
#[must_use]
pub fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|digits| {
        digits.len() == 64
            && digits
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    })
}

/// What is said of an image that is not there: the command that adds it.
#[must_use]
pub fn how_to_add_image(image: &ImageReference) -> String {
    let name = image.familiar();
    format!(
        "the image {name} is not in the runner's store of images; the operator adds it with `workflow-runner images add {name}`, from a folder or archive with `--from`"
    )
}
