//! Where a repository is fetched from: a URL that cannot be wrong, and what is needed to get in.

use std::net::IpAddr;

use config_core::Secret;
use url::Url;

/// Which ways git may take beside `https`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Transports {
    /// Unencrypted `http`: for forges on the same machine or network.
    pub http: bool,
    /// Folders of this machine: for working trees on a laptop and for tests.
    pub file: bool,
}

impl Transports {
    /// The list in git's `GIT_ALLOW_PROTOCOL` form.
    pub(crate) fn allowed(self) -> String {
        let mut names = vec!["https"];
        names.extend(self.http.then_some("http"));
        names.extend(self.file.then_some("file"));
        names.join(":")
    }
}

/// Why a URL is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// It cannot be read as a URL.
    #[error("`{0}` is no URL")]
    NotAUrl(String),
    /// A transport that is not allowed, or a remote helper (`ext::`).
    #[error("clone URLs with `{scheme}` are not allowed, only {allowed}")]
    Scheme {
        /// What stands before the colon.
        scheme: String,
        /// The allowed ones.
        allowed: String,
    },
    /// User name or password inside the URL: they would show in logs and process lists.
    #[error("the clone URL holds a user name or password; configure a token instead")]
    Credentials,
    /// No host, or control characters.
    #[error("the clone URL {0}")]
    Malformed(&'static str),
}

/// A repository to fetch from.
#[derive(Debug, Clone)]
pub struct Remote {
    url: Url,
    transports: Transports,
    token: Option<Secret<String>>,
    user: String,
    pins: Vec<IpAddr>,
}

impl Remote {
    /// Checks a clone URL as a webhook or a configuration gives it.
    ///
    /// # Errors
    /// When its transport is not allowed, it holds credentials, or it is malformed.
    pub fn parse(text: &str, transports: Transports) -> Result<Self, RemoteError> {
        if text.len() > 2048 || text.chars().any(|c| c.is_control() || c == ' ') {
            return Err(RemoteError::Malformed(
                "holds blanks or control characters, or is too long",
            ));
        }
        let scheme = |found: &str| RemoteError::Scheme {
            scheme: found.to_owned(),
            allowed: transports.allowed().replace(':', ", "),
        };
        if let Some((helper, _)) = text.split_once("::") {
            // `ext::sh -c …` and its like: git hands the rest to a program.
            if helper
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-')
            {
                return Err(scheme(helper));
            }
        }
        let url = Url::parse(text).map_err(|_| RemoteError::NotAUrl(text.to_owned()))?;
        let allowed = match url.scheme() {
            "https" => true,
            "http" => transports.http,
            "file" => transports.file,
            _ => false,
        };
        if !allowed {
            return Err(scheme(url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(RemoteError::Credentials);
        }
        if url.scheme() != "file" && url.host_str().is_none_or(|host| host.starts_with('-')) {
            return Err(RemoteError::Malformed("names no host"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(RemoteError::Malformed("has a query or a fragment"));
        }
        Ok(Self {
            url,
            transports,
            token: None,
            user: "oauth2".to_owned(),
            pins: Vec::new(),
        })
    }

    /// Lets git in with this token, and this user name (forges that take tokens ignore it, some
    /// want it not empty).
    #[must_use]
    pub fn with_token(mut self, user: &str, token: Secret<String>) -> Self {
        self.user = user.to_owned();
        self.token = Some(token);
        self
    }

    /// Lets git connect to these addresses only, whatever the name resolves to later: the caller
    /// has checked them, so a name that changes its answer (DNS rebinding) leads nowhere else.
    #[must_use]
    pub fn pinned(mut self, addresses: Vec<IpAddr>) -> Self {
        self.pins = addresses;
        self
    }

    /// The user's name and the token that let git in.
    pub fn credentials(&self) -> Option<(&str, &Secret<String>)> {
        self.token.as_ref().map(|token| (self.user.as_str(), token))
    }

    /// The checked URL.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Host and port to resolve and check; `None` for a folder.
    pub fn host_and_port(&self) -> Option<(&str, u16)> {
        Some((self.url.host_str()?, self.url.port_or_known_default()?))
    }

    pub(crate) fn transports(&self) -> Transports {
        self.transports
    }

    /// `-c` settings for this remote: the credential helper for its host, the pinned addresses.
    pub(crate) fn settings(&self) -> Vec<String> {
        let mut settings = vec!["credential.helper=".to_owned()];
        if self.token.is_some() {
            let origin = self.url.origin().ascii_serialization();
            settings.push(format!("credential.{origin}.helper={HELPER}"));
        }
        // A name can lead elsewhere, an address cannot; curl takes no address in the place of a
        // name, least of all one with colons.
        let is_name = matches!(self.url.host(), Some(url::Host::Domain(_)));
        if let Some((host, port)) = self.host_and_port()
            && is_name
            && !self.pins.is_empty()
        {
            let addresses: Vec<String> = self.pins.iter().map(shown).collect();
            settings.push(format!(
                "http.curloptResolve={host}:{port}:{}",
                addresses.join(",")
            ));
        }
        settings
    }

    /// Environment for this remote: what the helper prints.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let token = self.token.as_ref();
        let token = token.map(|token| {
            [
                ("ORRERY_GIT_USER", self.user.clone()),
                ("ORRERY_GIT_TOKEN", token.expose().clone()),
            ]
        });
        token.into_iter().flatten().collect()
    }
}

/// The helper is git's own way to run a line of shell; the line is a constant, and the secrets are
/// variables of it.
const HELPER: &str = "!f() { test \"$1\" = get && printf 'username=%s\\npassword=%s\\n' \"$ORRERY_GIT_USER\" \"$ORRERY_GIT_TOKEN\"; }; f";

/// curl wants IPv6 addresses in brackets.
fn shown(address: &IpAddr) -> String {
    match address {
        IpAddr::V4(four) => four.to_string(),
        IpAddr::V6(six) => format!("[{six}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Transports = Transports {
        http: true,
        file: true,
    };

    #[test]
    fn r04_only_allowed_transports_and_no_options_in_disguise() {
        for (text, why) in [
            ("file:///etc", "file"),
            ("ext::sh -c touch% /tmp/x", "blank"),
            ("ext::sh", "ext"),
            ("ssh://-oProxyCommand=x/y", "ssh"),
            ("git://example.org/x", "git"),
            ("--upload-pack=touch", "URL"),
            ("git@example.org:x/y", "URL"),
            ("https://user:pass@example.org/x", "password"),
            ("https://token@example.org/x", "password"),
            ("https://example.org/x?y=1", "query"),
            ("http://example.org/x", "http"),
            ("https://example.org/\nx", "control"),
            ("https://-x.example/x", "host"),
        ] {
            let error = Remote::parse(text, Transports::default()).expect_err(text);
            assert!(error.to_string().contains(why), "{text}: {error}");
        }
        assert!(Remote::parse("https://example.org/a/b.git", Transports::default()).is_ok());
        assert!(Remote::parse("http://127.0.0.1:3000/a/b.git", ALL).is_ok());
        assert!(Remote::parse("file:///srv/a.git", ALL).is_ok());
    }

    #[test]
    fn t11_addresses_are_not_pinned_to_themselves() {
        for host in ["[2001:db8::1]", "192.0.2.1"] {
            let remote = Remote::parse(&format!("https://{host}:8443/a/b.git"), ALL).unwrap();
            let remote = remote.pinned(vec!["192.0.2.1".parse().unwrap()]);
            let settings = remote.settings().join("\n");
            assert!(!settings.contains("curloptResolve"), "{settings}");
        }
    }

    #[test]
    fn a_token_is_in_the_environment_only() {
        let remote = Remote::parse("https://example.org:8443/a/b.git", ALL)
            .unwrap()
            .with_token("bot", Secret::new("s3cret".to_owned()))
            .pinned(vec![
                "192.0.2.1".parse().unwrap(),
                "2001:db8::1".parse().unwrap(),
            ]);
        let settings = remote.settings().join("\n");
        assert!(!settings.contains("s3cret"), "{settings}");
        assert!(settings.contains("credential.https://example.org:8443.helper=!f()"));
        assert!(settings.contains("http.curloptResolve=example.org:8443:192.0.2.1,[2001:db8::1]"));
        assert!(!format!("{remote:?}").contains("s3cret"));
        assert_eq!(remote.environment()[1].1, "s3cret");
    }
}
