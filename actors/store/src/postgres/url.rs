//! The address of a store in PostgreSQL: a connection URI with two parameters of our own.

use crate::error::OpenError;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// Longest name of a schema, PostgreSQL's limit for identifiers.
const LONGEST_SCHEMA: usize = 63;

/// Where a store lies in PostgreSQL. Printed, it has no password.
///
/// A connection URI as
/// [PostgreSQL has it](https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING),
/// several hosts included, with `schema=NAME` (the program's name unless said), `sslrootcert=FILE`,
/// `sslcert=FILE` and `sslkey=FILE` beside its parameters. TLS is used for every host but this
/// machine's, and the server's certificate is checked, unless `sslmode=disable`.
///
/// ```
/// use store::PostgresUrl;
/// let url: PostgresUrl = "postgresql://orrery:secret@db.test/ci?schema=runs".parse().unwrap();
/// assert_eq!(url.to_string(), "postgresql://orrery:***@db.test/ci?schema=runs");
/// ```
#[derive(Clone)]
pub struct PostgresUrl {
    pub(super) config: Box<Config>,
    /// Where the store's tables are; that of the program if none is given.
    pub(super) schema: Option<String>,
    /// Whose certificates are trusted; those of the system without it.
    pub(super) root_certificates: Option<PathBuf>,
    /// By what this client shows who it is.
    pub(super) client: Option<ClientFiles>,
    shown: String,
}

/// The files of a client's certificate, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClientFiles {
    /// The certificate, and those between it and the authority.
    pub(super) certificate: PathBuf,
    /// Its key.
    pub(super) key: PathBuf,
}

impl PostgresUrl {
    /// Whether `text` names PostgreSQL, and not a folder.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        text.starts_with("postgresql://") || text.starts_with("postgres://")
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresUrl({self})")
    }
}

impl FromStr for PostgresUrl {
    type Err = OpenError;

    fn from_str(text: &str) -> Result<Self, OpenError> {
        let wrong = |reason: String| OpenError::Url { reason };
        if !Self::is_one(text) {
            return Err(wrong("it does not begin with postgresql://".to_owned()));
        }
        let (rest, mut own) = split(text);
        let config: Result<Config, _> = rest.parse();
        let mut config = config.map_err(|error| wrong(reason(&error)))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(wrong("it names no host".to_owned()));
        }
        if config.get_dbname().is_none() {
            return Err(wrong("it names no database".to_owned()));
        }
        if let Some(schema) = &own.schema {
            check_schema(schema).map_err(wrong)?;
        }
        let client = own.client().map_err(wrong)?;
        match own.verified.take() {
            Some(()) => drop(config.ssl_mode(SslMode::Require)),
            None if config.get_ssl_mode() == SslMode::Prefer => {
                let mode = match is_local(&config) {
                    true => SslMode::Disable,
                    false => SslMode::Require,
                };
                config.ssl_mode(mode);
            }
            None => {}
        }
        Ok(Self {
            config: Box::new(config),
            schema: own.schema,
            root_certificates: own.root_certificates,
            client,
            shown: masked(text),
        })
    }
}

/// What a client says and what caused it.
fn reason(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// The parameters that the client does not know.
#[derive(Default)]
struct OwnParameters {
    schema: Option<String>,
    root_certificates: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    /// `sslmode` is one of those by which libpq checks certificates, which is always done here.
    verified: Option<()>,
}

impl OwnParameters {
    /// The client's certificate, which is of no use without its key.
    fn client(&mut self) -> Result<Option<ClientFiles>, String> {
        match (self.certificate.take(), self.key.take()) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => Ok(Some(ClientFiles { certificate, key })),
            (Some(_), None) => Err("sslcert= needs the certificate's key in sslkey=".to_owned()),
            (None, Some(_)) => Err("sslkey= needs the key's certificate in sslcert=".to_owned()),
        }
    }
}

/// Takes our own parameters out of the URI.
fn split(text: &str) -> (String, OwnParameters) {
    let mut own = OwnParameters::default();
    let Some((before, query)) = text.split_once('?') else {
        return (text.to_owned(), own);
    };
    let mut others = Vec::new();
    for parameter in query.split('&') {
        match parameter.split_once('=') {
            Some(("schema", value)) => own.schema = Some(value.to_owned()),
            Some(("sslrootcert", value)) => own.root_certificates = Some(value.into()),
            Some(("sslcert", value)) => own.certificate = Some(value.into()),
            Some(("sslkey", value)) => own.key = Some(value.into()),
            Some(("sslmode", "verify-full" | "verify-ca")) => own.verified = Some(()),
            _ => others.push(parameter),
        }
    }
    match others.is_empty() {
        true => (before.to_owned(), own),
        false => (format!("{before}?{}", others.join("&")), own),
    }
}

/// The schema stands in statements as it is, so its name is a plain one.
fn check_schema(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    if begins && name.len() <= LONGEST_SCHEMA && name.chars().all(plain) {
        return Ok(());
    }
    Err(format!(
        "schema={name} is no plain name: lower-case letters, digits and _, {LONGEST_SCHEMA} at most"
    ))
}

/// Whether no host is another machine.
fn is_local(config: &Config) -> bool {
    let hosts = config.get_hosts().iter().all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
        }
    });
    hosts && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// The URI without its password, wherever that stands.
fn masked(text: &str) -> String {
    let (before, query) = text.split_once('?').unwrap_or((text, ""));
    let mut shown = match before.split_once("://") {
        Some((scheme, rest)) => match rest.rsplit_once('@') {
            Some((user, host)) => match user.split_once(':') {
                Some((name, _)) => format!("{scheme}://{name}:***@{host}"),
                None => before.to_owned(),
            },
            None => before.to_owned(),
        },
        None => before.to_owned(),
    };
    for (n, parameter) in query.split('&').filter(|p| !p.is_empty()).enumerate() {
        shown.push(if n == 0 { '?' } else { '&' });
        shown.push_str(match parameter.starts_with("password=") {
            true => "password=***",
            false => parameter,
        });
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> PostgresUrl {
        text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn i18_no_password_is_shown() {
        for (text, shown) in [
            ("postgres://a:b@h/d", "postgres://a:***@h/d"),
            ("postgresql://a:b%40c@h:1/d", "postgresql://a:***@h:1/d"),
            ("postgresql://a:p@ss@h/d", "postgresql://a:***@h/d"),
            ("postgresql://a@h/d", "postgresql://a@h/d"),
            (
                "postgresql://h/d?user=a&password=b&schema=s",
                "postgresql://h/d?user=a&password=***&schema=s",
            ),
        ] {
            assert_eq!(masked(text), shown);
        }
        let url = parsed("postgresql://a:geheim@h/d");
        assert!(!format!("{url} {url:?}").contains("geheim"));
    }

    #[test]
    fn i18_what_is_no_address_is_refused_with_the_reason() {
        for (text, part) in [
            ("mysql://h/d", "does not begin with postgresql://"),
            ("postgresql://u@h", "names no database"),
            ("postgresql:///d", "names no host"),
            ("postgresql://u@h/d?schema=a-b", "no plain name"),
            ("postgresql://u@h/d?schema=%22", "no plain name"),
            ("postgresql://u@h/d?colour=red", "colour"),
            (
                "postgresql://u@h/d?sslcert=/c.pem",
                "needs the certificate's key",
            ),
            (
                "postgresql://u@h/d?sslkey=/k.pem",
                "needs the key's certificate",
            ),
        ] {
            let error = text.parse::<PostgresUrl>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(error.contains("postgresql://user:password@host/database"));
        }
    }

    #[test]
    fn i18_tls_is_for_other_machines_unless_said() {
        let mode = |text| parsed(text).config.get_ssl_mode();
        assert_eq!(mode("postgresql://u@127.0.0.1/d"), SslMode::Disable);
        assert_eq!(mode("postgresql://u@localhost,[::1]/d"), SslMode::Disable);
        assert_eq!(mode("postgresql://u@%2Frun%2Fpg/d"), SslMode::Disable);
        assert_eq!(mode("postgresql://u@localhost,db.test/d"), SslMode::Require);
        assert_eq!(
            mode("postgresql://u@db.test/d?sslmode=disable"),
            SslMode::Disable
        );
        let local = "postgresql://u@127.0.0.1/d?sslmode=verify-full&sslrootcert=/etc/ca.pem";
        assert_eq!(mode(local), SslMode::Require);
        let url = parsed(local);
        assert_eq!(url.root_certificates, Some("/etc/ca.pem".into()));
    }
}
