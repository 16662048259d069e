//! What of the headers goes through the front door, in both directions.

use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use config_core::Secret;
use edge_web::RequestId;
use edge_web::relay::end_to_end;
use url::Url;

use super::mount::ProductRoute;

/// What a browser says to the front door and not to the product: who it is, where it comes from,
/// what was said about the way so far. The front door has judged these, and says its own.
const OF_THE_DOOR: [&str; 7] = [
    "host",
    "authorization",
    "cookie",
    "origin",
    "referer",
    "forwarded",
    "x-real-ip",
];

/// What a product must not say to a browser of the front door: it would hold for all products.
const OF_THE_PRODUCT: [&str; 7] = [
    "set-cookie",
    "www-authenticate",
    "alt-svc",
    "strict-transport-security",
    "clear-site-data",
    "service-worker-allowed",
    "refresh",
];

/// The headers that a product is asked with.
pub(super) fn to_product(request: &HttpRequest, mount: &ProductRoute) -> HeaderMap {
    let given = request.headers();
    let mut headers = end_to_end(given, |name| {
        OF_THE_DOOR.contains(&name)
            || name.starts_with("sec-fetch-")
            || name.starts_with("sec-websocket-")
            || name.starts_with("x-forwarded-")
    });
    let info = |name: &'static str, value: Option<String>, headers: &mut HeaderMap| {
        let value = value.and_then(|value| HeaderValue::from_str(&value).ok());
        if let Some(value) = value {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    let peer = request.peer_addr().map(|peer| peer.ip().to_string());
    info("x-forwarded-for", peer, &mut headers);
    let host = given.get(header::HOST).and_then(|host| host.to_str().ok());
    info("x-forwarded-host", host.map(str::to_owned), &mut headers);
    let prefix = mount.prefix.to_owned();
    info("x-forwarded-prefix", Some(prefix), &mut headers);
    let scheme = if is_https(given) { "https" } else { "http" };
    info("x-forwarded-proto", Some(scheme.to_owned()), &mut headers);
    let id = request.extensions_id();
    info("x-request-id", id, &mut headers);
    if let Some(token) = mount.token.as_ref().and_then(bearer) {
        headers.insert(header::AUTHORIZATION, token);
    }
    headers
}

/// The id that the edge gave a request.
trait OfEdge {
    fn extensions_id(&self) -> Option<String>;
}

impl OfEdge for HttpRequest {
    fn extensions_id(&self) -> Option<String> {
        use actix_web::HttpMessage as _;
        let extensions = self.extensions();
        extensions.get::<RequestId>().map(ToString::to_string)
    }
}

fn bearer(token: &Secret<String>) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Whether the page that asks came by https; a browser says so in its origin.
fn is_https(headers: &HeaderMap) -> bool {
    let starts = |name: &str| {
        let value = headers.get(name);
        value.is_some_and(|value| value.as_bytes().starts_with(b"https"))
    };
    starts("origin") || starts("x-forwarded-proto")
}

/// The headers of a product's answer that a browser gets.
pub(super) fn from_product(given: &HeaderMap, mount: &ProductRoute) -> HeaderMap {
    let mut headers = end_to_end(given, |name| {
        OF_THE_PRODUCT.contains(&name) || name.starts_with("access-control-")
    });
    let redirects: Vec<HeaderValue> = headers.remove(header::LOCATION).collect();
    let redirects = redirects.iter().filter_map(|value| location(value, mount));
    if let Some(value) = redirects.last() {
        headers.insert(header::LOCATION, value);
    }
    headers
}

/// Where a redirect of a product leads from outside: below the mount where it stays at the
/// product; elsewhere only by http and https.
fn location(value: &HeaderValue, mount: &ProductRoute) -> Option<HeaderValue> {
    let own: Url = format!("http://{}/", mount.address).parse().ok()?;
    let to = own.join(value.to_str().ok()?).ok()?;
    if !matches!(to.scheme(), "http" | "https") {
        return None;
    }
    if to.origin() != own.origin() {
        return HeaderValue::from_str(to.as_str()).ok();
    }
    let rest = &to[url::Position::BeforePath..];
    HeaderValue::from_str(&format!("{}{rest}", mount.prefix)).ok()
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn mount() -> ProductRoute {
        ProductRoute {
            product: "runner",
            part: "runner",
            prefix: "/runner",
            address: ([127, 0, 0, 1], 3000).into(),
            token: Some(Secret::new("the product's".to_owned())),
        }
    }

    #[test]
    fn t7_a_product_hears_the_door_s_credentials_and_no_others() {
        let request = TestRequest::with_uri("/runner/runs")
            .insert_header(("host", "door.example:8000"))
            .insert_header(("authorization", "Bearer the person's"))
            .insert_header(("cookie", "platform-session=1"))
            .insert_header(("origin", "https://door.example:8000"))
            .insert_header(("referer", "https://door.example:8000/ui/runs"))
            .insert_header(("sec-fetch-site", "same-origin"))
            .insert_header(("x-forwarded-for", "6.6.6.6"))
            .insert_header(("x-forwarded-prefix", "/evil"))
            .insert_header(("forwarded", "for=6.6.6.6"))
            .insert_header(("connection", "keep-alive, X-Mine"))
            .insert_header(("x-mine", "1"))
            .insert_header(("te", "trailers"))
            .insert_header(("accept", "application/json"))
            .insert_header(("range", "bytes=0-1"))
            .peer_addr(([10, 0, 0, 7], 4711).into())
            .to_http_request();
        let headers = to_product(&request, &mount());
        let mut said: Vec<String> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        said.sort();
        assert_eq!(
            said,
            [
                "accept: application/json",
                "authorization: Bearer the product's",
                "range: bytes=0-1",
                "x-forwarded-for: 10.0.0.7",
                "x-forwarded-host: door.example:8000",
                "x-forwarded-prefix: /runner",
                "x-forwarded-proto: https",
            ]
        );
    }

    #[test]
    fn t7_an_answer_sets_nothing_for_the_whole_house() {
        let mut given = HeaderMap::new();
        for (name, value) in [
            ("set-cookie", "workflow-runner-session=1"),
            ("www-authenticate", "Bearer"),
            ("connection", "x-secret"),
            ("x-secret", "1"),
            ("transfer-encoding", "chunked"),
            ("access-control-allow-origin", "*"),
            ("clear-site-data", "*"),
            ("content-type", "text/plain"),
            ("etag", "\"1\""),
        ] {
            let name = HeaderName::from_static(name);
            given.append(name, HeaderValue::from_static(value));
        }
        let headers = from_product(&given, &mount());
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["content-type", "etag"]);
    }

    #[test]
    fn t7_redirects_stay_below_the_mount() {
        let to = |value: &str| {
            let value = HeaderValue::from_str(value).unwrap();
            location(&value, &mount()).map(|to| to.to_str().unwrap().to_owned())
        };
        for (given, expected) in [
            ("/runs/1?x=1#l2", Some("/runner/runs/1?x=1#l2")),
            ("http://127.0.0.1:3000/runs", Some("/runner/runs")),
            ("/../../x", Some("/runner/x")),
            ("https://forge.example/x", Some("https://forge.example/x")),
            ("javascript:alert(1)", None),
            ("file:///etc/passwd", None),
        ] {
            assert_eq!(to(given).as_deref(), expected, "{given}");
        }
    }
}
