//! Addresses of servers.

use url::Url;

use crate::suggest::quoted;
use crate::value_error::ValueError;

/// Reads an `http` or `https` address with a host and without a user or password (those belong in
/// a key of their own, which never prints).
///
/// # Errors
/// Why it is not such an address.
pub fn parse_http_url(text: &str) -> Result<Url, ValueError> {
    let url = Url::parse(text).map_err(|error| {
        ValueError::new(format!("{} is not a URL: {error}", quoted(text)))
            .help("for example `http://127.0.0.1:8000`")
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        let message = format!("{} is not an http or https URL", quoted(text));
        return Err(ValueError::new(message).help("for example `http://127.0.0.1:8000`"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let error = ValueError::new("the URL holds a user name or a password");
        return Err(error.help("remove it: a URL is shown in logs"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked() {
        assert!(parse_http_url("http://127.0.0.1:11434").is_ok());
        assert!(parse_http_url("https://example.org/a?b=c").is_ok());
        for (text, message) in [
            ("localhost:80", "`localhost:80` is not an http or https URL"),
            ("example.org", "`example.org` is not a URL: relative URL without a base"),
            ("http://", "`http://` is not a URL: empty host"),
            ("http://a:99999", "`http://a:99999` is not a URL: invalid port number"),
            ("ftp://a", "`ftp://a` is not an http or https URL"),
            ("http://u:p@a", "the URL holds a user name or a password"),
        ] {
            assert_eq!(parse_http_url(text).unwrap_err().message, message);
        }
    }
}
