//! AWS Signature Version 4, in headers. Pure: the time is an argument.
//!
//! Source: <https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html>, whose
//! examples are the tests.

use std::fmt::Write;

use config_core::Secret;
use jiff::Timestamp;
use ring::{digest, hmac};

/// What signs.
pub(super) struct Keys {
    pub(super) access: String,
    pub(super) secret: Secret<String>,
    pub(super) region: String,
}

/// What is signed.
pub(super) struct Signed<'a> {
    pub(super) method: &'a str,
    /// As [`escape_path`] gives it.
    pub(super) path: &'a str,
    /// As [`query`] gives it.
    pub(super) query: &'a str,
    /// Names in lower case, sorted; `host` and all `x-amz-` ones among them.
    pub(super) headers: &'a [(&'a str, &'a str)],
    /// The body's digest in hex.
    pub(super) digest: &'a str,
}

/// The time as it stands in `x-amz-date`.
pub(super) fn stamp(now: Timestamp) -> String {
    now.strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// The SHA-256 of a body, in hex.
pub(super) fn digest_of(body: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, body).as_ref())
}

/// The `Authorization` header. `stamp` is what `x-amz-date` says.
pub(super) fn authorization(keys: &Keys, signed: &Signed<'_>, stamp: &str) -> String {
    let names: Vec<&str> = signed.headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let mut headers = String::new();
    for (name, value) in signed.headers {
        let _ = writeln!(headers, "{name}:{}", value.trim());
    }
    let request = format!(
        "{}\n{}\n{}\n{headers}\n{names}\n{}",
        signed.method, signed.path, signed.query, signed.digest
    );
    let day = &stamp[..8];
    let scope = format!("{day}/{}/s3/aws4_request", keys.region);
    let text = format!(
        "AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{}",
        digest_of(request.as_bytes())
    );
    let first = format!("AWS4{}", keys.secret.expose());
    let mut key = mac(first.as_bytes(), day);
    for part in [&*keys.region, "s3", "aws4_request"] {
        key = mac(key.as_ref(), part);
    }
    let signature = hex(mac(key.as_ref(), &text).as_ref());
    format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope},SignedHeaders={names},Signature={signature}",
        keys.access
    )
}

fn mac(key: &[u8], text: &str) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// A path with everything but unreserved characters and slashes escaped.
pub(super) fn escape_path(path: &str) -> String {
    path.split('/').map(escape).collect::<Vec<_>>().join("/")
}

/// Parameters in the order and form that are signed.
pub(super) fn query(parameters: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| format!("{}={}", escape(name), escape(value));
    let mut pairs: Vec<String> = parameters.iter().map(pair).collect();
    pairs.sort();
    pairs.join("&")
}

fn escape(text: &str) -> String {
    text.bytes().fold(String::new(), |mut escaped, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signature of a request of AWS's examples.
    fn signature(
        method: &str,
        path: &str,
        parameters: &[(&str, &str)],
        body: &[u8],
        more: &[(&str, &str)],
    ) -> String {
        let keys = Keys {
            access: "AKIAIOSFODNN7EXAMPLE".into(),
            secret: Secret::new("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into()),
            region: "us-east-1".into(),
        };
        let digest = digest_of(body);
        let mut headers = vec![
            ("host", "examplebucket.s3.amazonaws.com"),
            ("x-amz-content-sha256", &*digest),
            ("x-amz-date", "20130524T000000Z"),
        ];
        headers.extend(more);
        headers.sort_unstable();
        let signed = Signed {
            method,
            path: &escape_path(path),
            query: &query(parameters),
            headers: &headers,
            digest: &digest,
        };
        let header = authorization(&keys, &signed, "20130524T000000Z");
        header.rsplit_once("Signature=").unwrap().1.to_owned()
    }

    #[test]
    fn the_examples_of_the_documentation_come_out() {
        assert_eq!(
            signature("GET", "/test.txt", &[], b"", &[("range", "bytes=0-9")]),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        );
        let headers = [
            ("date", "Fri, 24 May 2013 00:00:00 GMT"),
            ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ];
        assert_eq!(
            signature(
                "PUT",
                "/test$file.text",
                &[],
                b"Welcome to Amazon S3.",
                &headers
            ),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
        );
        assert_eq!(
            signature("GET", "/", &[("lifecycle", "")], b"", &[]),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
        );
        assert_eq!(
            signature("GET", "/", &[("prefix", "J"), ("max-keys", "2")], b"", &[]),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
        );
    }

    #[test]
    fn a_time_is_written_as_it_is_signed() {
        let time: Timestamp = "2013-05-24T00:00:00.123Z".parse().unwrap();
        assert_eq!(stamp(time), "20130524T000000Z");
    }

    #[test]
    fn names_are_escaped_but_for_their_slashes() {
        assert_eq!(escape_path("/a b/ü~+$"), "/a%20b/%C3%BC~%2B%24");
        assert_eq!(query(&[("b", "x/y"), ("a", "1 2")]), "a=1%202&b=x%2Fy");
    }
}
