//! The security headers of every answer.

use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// The policy of the platform's pages: everything from here, nothing inline, never framed.
pub const STRICT_CSP: &str = "default-src 'self'; base-uri 'none'; object-src 'none'; \
     form-action 'self'; frame-ancestors 'none'; img-src 'self' data:";

const COOP: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const CORP: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const SAME_ORIGIN: HeaderValue = HeaderValue::from_static("same-origin");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");
const DENY: HeaderValue = HeaderValue::from_static("DENY");

/// Adds the security headers. The policies that a handler set itself stay.
pub(crate) fn secure(headers: &mut HeaderMap, csp: &HeaderValue) {
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        headers.insert(header::CONTENT_SECURITY_POLICY, csp.clone());
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    headers.insert(header::X_FRAME_OPTIONS, DENY);
    if !headers.contains_key(header::REFERRER_POLICY) {
        headers.insert(header::REFERRER_POLICY, NO_REFERRER);
    }
    headers.insert(COOP, SAME_ORIGIN);
    headers.insert(CORP, SAME_ORIGIN);
}
