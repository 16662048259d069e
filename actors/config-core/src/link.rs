//! Addresses of servers.

use url::{ParseError, Url};

use crate::redact::without_user_info;
use crate::suggest::quoted;
use crate::value_error::ValueError;

const EXAMPLE: &str = "for example `http://127.0.0.1:8000`";

/// What was meant, when only the scheme is missing.
fn advice(text: &str) -> String {
    let named = Url::parse(&format!("http://{text}"));
    let host = |url: &Url| {
        url.host_str()
            .is_some_and(|host| host.contains('.') || host == "localhost")
    };
    match named {
        Ok(url) if !text.contains("//") && !text.contains('@') && host(&url) => {
            format!("did you mean {}?", quoted(&format!("http://{text}")))
        }
        _ => EXAMPLE.to_owned(),
    }
}

/// Reads an `http` or `https` address with a host and without a user or password (those belong in
/// a key of their own, which never prints).
///
/// # Errors
/// Why it is not such an address.
pub fn parse_http_url(text: &str) -> Result<Url, ValueError> {
    let shown = quoted(&without_user_info(text));
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(ParseError::RelativeUrlWithoutBase) => {
            let message =
                format!("{shown} is not a URL: it does not begin with `http://` or `https://`");
            return Err(ValueError::new(message).help(advice(text)));
        }
        Err(error) => {
            return Err(ValueError::new(format!("{shown} is not a URL: {error}")).help(EXAMPLE));
        }
    };
    if !matches!(url.scheme(), "http" | "https") {
        let message = format!("{shown} is not an http or https URL");
        return Err(ValueError::new(message).help(advice(text)));
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
        for (text, help) in [
            ("127.0.0.1:11434", "did you mean `http://127.0.0.1:11434`?"),
            ("localhost:80", "did you mean `http://localhost:80`?"),
            ("notes", EXAMPLE),
            ("", EXAMPLE),
        ] {
            assert_eq!(
                parse_http_url(text).unwrap_err().help.as_deref(),
                Some(help)
            );
        }
        for (text, message) in [
            ("localhost:80", "`localhost:80` is not an http or https URL"),
            (
                "example.org",
                "`example.org` is not a URL: it does not begin with `http://` or `https://`",
            ),
            (
                "http://u:p@a:99999",
                "`http://***@a:99999` is not a URL: invalid port number",
            ),
            ("http://", "`http://` is not a URL: empty host"),
            (
                "http://a:99999",
                "`http://a:99999` is not a URL: invalid port number",
            ),
            ("ftp://a", "`ftp://a` is not an http or https URL"),
            ("http://u:p@a", "the URL holds a user name or a password"),
        ] {
            assert_eq!(parse_http_url(text).unwrap_err().message, message);
        }
    }
}
