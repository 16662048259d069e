//! What of the headers goes from a standby to the leader, and back.

use actix_web::HttpMessage as _;
use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::edge::REPLICA_KEY;
use crate::relay::end_to_end;
use crate::request_id::RequestId;

/// Who has passed the request on (RFC 9110, section 7.6.3).
const VIA: &str = "1.1 orrery-standby";

/// The headers that the leader is asked with. `as_operator`: the standby has judged who asks.
pub(crate) fn to_leader(request: &HttpRequest, key: &str, as_operator: bool) -> HeaderMap {
    let given = request.headers();
    let mut headers = end_to_end(given, |name| {
        name == REPLICA_KEY
            // Of the handshake of a WebSocket, which is made anew.
            || name.starts_with("sec-websocket-")
            || (as_operator && is_credential(name))
    });
    let id = request
        .extensions()
        .get::<RequestId>()
        .map(|id| id.to_string());
    let id = id.and_then(|id| HeaderValue::from_str(&id).ok());
    if let Some(id) = id {
        headers.insert(HeaderName::from_static("x-request-id"), id);
    }
    if let Ok(mut key) = HeaderValue::from_str(key) {
        key.set_sensitive(true);
        headers.insert(HeaderName::from_static(REPLICA_KEY), key);
    }
    headers.append(header::VIA, HeaderValue::from_static(VIA));
    headers
}

fn is_credential(name: &str) -> bool {
    ["authorization", "cookie", "origin", "referer"].contains(&name)
        || name.starts_with("sec-fetch-")
}

/// The headers of the leader's answer that the client gets.
pub(crate) fn from_leader(given: &HeaderMap) -> HeaderMap {
    end_to_end(given, |_| false)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn names(headers: &HeaderMap) -> Vec<String> {
        let mut names: Vec<String> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap_or("?")))
            .collect();
        names.sort();
        names
    }

    fn request() -> HttpRequest {
        TestRequest::with_uri("/runs")
            .insert_header(("host", "ci.example"))
            .insert_header(("authorization", "Bearer theirs"))
            .insert_header(("origin", "https://ci.example"))
            .insert_header((REPLICA_KEY, "forged"))
            .insert_header(("connection", "keep-alive, X-Mine"))
            .insert_header(("x-mine", "1"))
            .insert_header(("range", "bytes=0-1"))
            .to_http_request()
    }

    #[test]
    fn i18_the_leader_judges_whoever_asks_and_knows_who_passed_it_on() {
        let headers = to_leader(&request(), "the key", false);
        assert_eq!(
            names(&headers),
            [
                "authorization: Bearer theirs",
                "host: ci.example",
                "origin: https://ci.example",
                "orrery-replica-key: the key",
                "range: bytes=0-1",
                "via: 1.1 orrery-standby",
            ]
        );
    }

    #[test]
    fn i18_an_operator_whom_the_standby_knows_is_none_of_the_leader_s() {
        let headers = to_leader(&request(), "the key", true);
        assert_eq!(
            names(&headers),
            [
                "host: ci.example",
                "orrery-replica-key: the key",
                "range: bytes=0-1",
                "via: 1.1 orrery-standby",
            ]
        );
    }
}
