//! Signed requests to an Atomic Data server (<https://docs.atomicdata.dev/authentication.html>).

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use config_core::Secret;
use ring::signature::{Ed25519KeyPair, KeyPair};
use url::Url;

use crate::http::Request;

/// The seed is no Ed25519 key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the agent's private key is no Ed25519 key of 32 bytes")]
pub struct KeyError;

/// Signs `request` for `url` as the agent whose URL is `subject`; `seed` is its private key (32
/// bytes).
///
/// The signature is Ed25519 over `"<url> <time>"`, the time in milliseconds since the Unix epoch; a
/// server takes it for five minutes.
///
/// # Errors
/// When the seed is no key.
pub fn sign(
    request: Request,
    url: &Url,
    subject: &str,
    seed: &Secret<Vec<u8>>,
    now: SystemTime,
) -> Result<Request, KeyError> {
    let pair = Ed25519KeyPair::from_seed_unchecked(seed.expose()).map_err(|_| KeyError)?;
    let time = now
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_millis();
    let signature = pair.sign(format!("{url} {time}").as_bytes());
    Ok(request
        .header("x-atomic-public-key", STANDARD.encode(pair.public_key()))
        .secret_header(
            "x-atomic-signature",
            Secret::new(STANDARD.encode(signature)),
        )
        .header("x-atomic-timestamp", time.to_string())
        .header("x-atomic-agent", subject))
}
