//! Webhook signatures: HMAC-SHA256 of the raw body, checked before one byte of it is parsed.
//!
//! GitHub: <https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries>;
//! Gitea and Forgejo send the same digest as bare hexadecimal digits; HMAC: RFC 2104.
//!
//! Every recognised header that is present must carry the same, well-formed digest: a forged header
//! beside a good one refuses the request. Digests are never compared here; `ring::hmac::verify`
//! recomputes and compares in constant time.

mod book;
mod header;
mod secrets;

pub use book::{SecretBook, VerifiedBody};
pub(crate) use header::SignatureHeaders;
pub use header::{SignatureError, SignatureHeader};
pub use secrets::{EmptySecret, SecretAge, Signature, VerifiedBy, WebhookSecrets, sign};
