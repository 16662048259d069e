//! Where a repository is fetched from: a URL that cannot be wrong, and what is needed to get in.

use std::net::IpAddr;

use config_core::Secret;
use url::Url;

use crate::ssh::SshAccess;

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
pub enum RemoteUrlError {
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
    ssh: Option<SshRemote>,
}

/// A remote that is reached by SSH.
#[derive(Debug, Clone)]
struct SshRemote {
    /// As git takes it: the short form leads from the user's home folder, a URL does not.
    address: String,
    access: SshAccess,
}

impl Remote {
    /// Checks a clone URL as a webhook or a configuration gives it.
    ///
    /// # Errors
    /// When its transport is not allowed, it holds credentials, or it is malformed.
    pub fn parse(text: &str, transports: Transports) -> Result<Self, RemoteUrlError> {
        if text.len() > 2048 || text.chars().any(|c| c.is_control() || c == ' ') {
            return Err(RemoteUrlError::Malformed(
                "holds blanks or control characters, or is too long",
            ));
        }
        let scheme = |found: &str| RemoteUrlError::Scheme {
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
        let url = Url::parse(text).map_err(|_| RemoteUrlError::NotAUrl(text.to_owned()))?;
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
            return Err(RemoteUrlError::Credentials);
        }
        if url.scheme() != "file" && url.host_str().is_none_or(|host| host.starts_with('-')) {
            return Err(RemoteUrlError::Malformed("names no host"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(RemoteUrlError::Malformed("has a query or a fragment"));
        }
        Ok(Self {
            url,
            transports,
            token: None,
            user: "oauth2".to_owned(),
            pins: Vec::new(),
            ssh: None,
        })
    }

    /// Checks an address of SSH, `user@host:path` or `ssh://user@host:port/path`.
    ///
    /// # Errors
    /// When it is none, or malformed.
    pub fn ssh(address: &str, access: SshAccess) -> Result<Self, RemoteUrlError> {
        let checked = |c: char| !c.is_control() && !matches!(c, ' ' | '\'' | '"' | '`' | '\\');
        if address.len() > 2048 || !address.chars().all(checked) {
            return Err(RemoteUrlError::Malformed(
                "holds blanks, quotes or control characters, or is too long",
            ));
        }
        let not_a_url = || RemoteUrlError::NotAUrl(address.to_owned());
        let url = match address.strip_prefix("ssh://") {
            Some(_) => address.to_owned(),
            None => {
                let (host, path) = address.split_once(':').ok_or_else(not_a_url)?;
                format!("ssh://{host}/{}", path.trim_start_matches('/'))
            }
        };
        let url = Url::parse(&url).map_err(|_| not_a_url())?;
        let plain = |text: &str| {
            let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            !text.is_empty() && !text.starts_with('-') && text.chars().all(known)
        };
        let is_host = |host: &str| plain(host) || matches!(url.host(), Some(url::Host::Ipv6(_)));
        if !url.host_str().is_some_and(is_host) || !plain(url.username()) {
            return Err(RemoteUrlError::Malformed("names no user or no host"));
        }
        if url.password().is_some() {
            return Err(RemoteUrlError::Credentials);
        }
        if matches!(url.path(), "" | "/") || url.path().starts_with("/-") {
            return Err(RemoteUrlError::Malformed("names no repository"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(RemoteUrlError::Malformed("has a query or a fragment"));
        }
        Ok(Self {
            url,
            transports: Transports::default(),
            token: None,
            user: String::new(),
            pins: Vec::new(),
            ssh: Some(SshRemote {
                address: address.to_owned(),
                access,
            }),
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

    /// The address as git takes it.
    pub fn address(&self) -> &str {
        let ssh = self.ssh.as_ref();
        ssh.map_or(self.url.as_str(), |ssh| ssh.address.as_str())
    }

    /// Host and port to resolve and check; `None` for a folder.
    pub fn host_and_port(&self) -> Option<(&str, u16)> {
        let default = self.ssh.as_ref().map(|_| SSH_PORT);
        let port = self.url.port_or_known_default().or(default)?;
        Some((self.url.host_str()?, port))
    }

    /// The protocols that git may use, in the form of its `GIT_ALLOW_PROTOCOL`.
    pub(crate) fn protocols(&self) -> String {
        match self.ssh {
            Some(_) => "ssh".to_owned(),
            None => self.transports.allowed(),
        }
    }

    /// `-c` settings for this remote: the credential helper for its host, the pinned addresses.
    pub(crate) fn settings(&self) -> Vec<String> {
        let mut settings = vec!["credential.helper=".to_owned()];
        if let (Some(ssh), Some((host, port))) = (&self.ssh, self.host_and_port()) {
            let command = ssh.access.command(host, port, self.pins.first());
            settings.push(format!("core.sshCommand={command}"));
            settings.push("ssh.variant=ssh".to_owned());
            return settings;
        }
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
            let addresses: Vec<String> = self.pins.iter().map(url_host).collect();
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

const SSH_PORT: u16 = 22;

/// The helper is git's own way to run a line of shell; the line is a constant, and the secrets are
/// variables of it.
const HELPER: &str = "!f() { test \"$1\" = get && printf 'username=%s\\npassword=%s\\n' \"$ORRERY_GIT_USER\" \"$ORRERY_GIT_TOKEN\"; }; f";

/// curl wants IPv6 addresses in brackets.
fn url_host(address: &IpAddr) -> String {
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
    fn i17_addresses_of_ssh_are_checked_and_stay_as_they_are_written() {
        let access = || SshAccess::new(&Secret::new("key".to_owned()), "", true).unwrap();
        for (text, host, port) in [
            ("git@example.org:acme/rocket.git", "example.org", 22),
            ("git@example.org:/srv/rocket.git", "example.org", 22),
            ("ssh://git@example.org:2222/acme/x", "example.org", 2222),
            ("ssh://git@[2001:db8::1]/acme/x", "[2001:db8::1]", 22),
        ] {
            let remote = Remote::ssh(text, access()).unwrap();
            assert_eq!(remote.address(), text);
            assert_eq!(remote.host_and_port(), Some((host, port)), "{text}");
            assert_eq!(remote.protocols(), "ssh");
        }
        for (text, why) in [
            ("/srv/rocket.git", "no URL"),
            ("git@-oProxyCommand=x:a/b", "no user or no host"),
            ("ssh://-oProxyCommand=x/a/b", "no user or no host"),
            ("-x@example.org:a/b", "no user or no host"),
            ("example.org:a/b", "no user or no host"),
            ("git@example.org:", "no repository"),
            ("git@example.org:--upload-pack=x", "no repository"),
            ("git@example.org:a'b", "quotes"),
            ("git@example.org:a b", "blanks"),
            ("ssh://git:pw@example.org/a/b", "password"),
            ("ssh://git@example.org/a?b", "query"),
        ] {
            let error = Remote::ssh(text, access()).expect_err(text);
            assert!(error.to_string().contains(why), "{text}: {error}");
        }
        let pinned = Remote::ssh("git@example.org:a/b", access()).unwrap();
        let pinned = pinned.pinned(vec!["192.0.2.1".parse().unwrap()]);
        let settings = pinned.settings().join("\n");
        assert!(settings.contains("'HostName=192.0.2.1'"), "{settings}");
        assert!(settings.contains("ssh.variant=ssh"), "{settings}");
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
