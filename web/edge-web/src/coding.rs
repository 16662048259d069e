//! Content codings of the files that are embedded compressed (RFC 9110, section 12.5.3).

use actix_web::HttpRequest;
use actix_web::http::header;

/// How the bytes of an answer are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentCoding {
    /// Brotli, the smaller one; browsers take it over TLS and on the same machine.
    Brotli,
    /// What every client takes.
    Gzip,
}

impl ContentCoding {
    /// Its name in `Content-Encoding`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// Whether the client takes it, by its `Accept-Encoding`: what is not listed is not taken,
    /// nor what has the weight 0.
    pub(crate) fn is_taken(self, request: &HttpRequest) -> bool {
        let headers = request.headers().get_all(header::ACCEPT_ENCODING);
        let mut named = None;
        let mut any = None;
        for value in headers.filter_map(|value| value.to_str().ok()) {
            for item in value.split(',') {
                let (coding, parameters) = item.split_once(';').unwrap_or((item, ""));
                let coding = coding.trim();
                let taken = !is_refusal(parameters);
                if coding.eq_ignore_ascii_case(self.name()) {
                    named = Some(taken);
                } else if coding == "*" {
                    any = Some(taken);
                }
            }
        }
        named.or(any).unwrap_or(false)
    }
}

/// Whether the parameters give the weight 0, or one that is no number.
fn is_refusal(parameters: &str) -> bool {
    let weights = parameters.split(';').filter_map(|one| one.split_once('='));
    weights
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
        .any(|(_, weight)| {
            !weight
                .trim()
                .parse::<f32>()
                .is_ok_and(|weight| weight > 0.0)
        })
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn a_coding_is_taken_when_it_is_listed_with_a_weight() {
        for (header, gzip, brotli) in [
            ("gzip, deflate, br, zstd", true, true),
            ("GZip;q=0.5", true, false),
            ("br;q=1.0, gzip;q=0", false, true),
            ("*", true, true),
            ("*;q=0, gzip", true, false),
            ("*;q=1, br;q=0.000", true, false),
            ("identity", false, false),
            ("gzipped, x-br", false, false),
            ("gzip;q=no", false, false),
            ("", false, false),
        ] {
            let request = TestRequest::default()
                .insert_header(("accept-encoding", header))
                .to_http_request();
            assert_eq!(ContentCoding::Gzip.is_taken(&request), gzip, "{header}");
            assert_eq!(ContentCoding::Brotli.is_taken(&request), brotli, "{header}");
        }
        let without = TestRequest::default().to_http_request();
        assert!(!ContentCoding::Gzip.is_taken(&without));
    }
}
