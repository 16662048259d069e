//! The bearer token of the API.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The token every request must carry, kept as its hash.
///
/// Comparing hashes takes the same time wherever the tokens differ, and also hides the length.
#[derive(Clone)]
pub struct ApiToken(Arc<dyn Fn() -> Option<blake3::Hash> + Send + Sync>);

impl ApiToken {
    /// Wants `Authorization: Bearer <token>`; `None` if the token is empty.
    pub fn new(token: &str) -> Option<Self> {
        let hash = hash_of(token)?;
        Some(Self(Arc::new(move || Some(hash))))
    }

    /// Wants the token that `current` gives when a request comes, so that a changed one takes
    /// effect with the next request; without one nothing matches.
    pub fn following(current: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(move || hash_of(&current()?)))
    }

    /// Whether it is this one.
    pub fn is(&self, token: &[u8]) -> bool {
        // `blake3::Hash` compares in constant time.
        self.hash().is_some_and(|hash| blake3::hash(token) == hash)
    }

    /// The hash of the token in force.
    pub(crate) fn hash(&self) -> Option<blake3::Hash> {
        (self.0)()
    }

    /// Whether a `Sec-WebSocket-Protocol` header carries the token as
    /// `bearer.<token in base64url without padding>`: a page cannot set other headers of a
    /// WebSocket.
    pub fn matches_protocol(&self, protocols: &[u8]) -> bool {
        let mut offered = protocols
            .split(|byte| *byte == b',')
            .map(<[u8]>::trim_ascii);
        offered.any(|one| {
            let encoded = one.strip_prefix(b"bearer.").unwrap_or_default();
            let token = URL_SAFE_NO_PAD.decode(encoded);
            token.is_ok_and(|token| self.is(&token))
        })
    }

    /// Whether an `Authorization` header carries the token (RFC 6750, section 2.1).
    pub fn matches(&self, authorization: &[u8]) -> bool {
        let Some((scheme, token)) = authorization.split_at_checked(7) else {
            return false;
        };
        scheme.eq_ignore_ascii_case(b"Bearer ") && self.is(token.trim_ascii())
    }
}

fn hash_of(token: &str) -> Option<blake3::Hash> {
    let token = token.trim();
    (!token.is_empty()).then(|| blake3::hash(token.as_bytes()))
}

impl fmt::Debug for ApiToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiToken(set)")
    }
}

/// The paths that need no token; everything else does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicPaths(Vec<String>);

impl PublicPaths {
    /// Exact paths, or with a final `/*` all below. `/livez` and `/readyz` are always public.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let own = paths.into_iter().map(str::to_owned);
        Self(
            ["/livez", "/readyz"]
                .map(str::to_owned)
                .into_iter()
                .chain(own)
                .collect(),
        )
    }

    /// Whether `path`, as it came over the wire, is public.
    pub fn contains(&self, path: &str) -> bool {
        self.0.iter().any(|public| match public.strip_suffix('*') {
            Some(prefix) => path.starts_with(prefix),
            None => public == path,
        })
    }
}

impl Default for PublicPaths {
    fn default() -> Self {
        Self::new([])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s15_only_the_token_itself_matches() {
        let token = ApiToken::new("s3cret-token").unwrap();
        for good in [
            "Bearer s3cret-token",
            "bearer s3cret-token",
            "BEARER  s3cret-token ",
        ] {
            assert!(token.matches(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer s3cret-toke",
            "Bearer s3cret-tokenn",
            "Basic s3cret-token",
            "s3cret-token",
        ] {
            assert!(!token.matches(bad.as_bytes()), "{bad}");
        }
        assert_eq!(format!("{token:?}"), "ApiToken(set)");
        assert!(ApiToken::new(" ").is_none());
    }

    #[test]
    fn s15_a_followed_token_is_the_newest_one() {
        let current = Arc::new(std::sync::Mutex::new(Some("first".to_owned())));
        let source = Arc::clone(&current);
        let token = ApiToken::following(move || source.lock().unwrap().clone());
        assert!(token.matches(b"Bearer first"));
        *current.lock().unwrap() = Some("second".to_owned());
        assert!(!token.matches(b"Bearer first") && token.matches(b"Bearer second"));
        for none in [None, Some(String::new())] {
            *current.lock().unwrap() = none;
            assert!(!token.matches(b"Bearer second") && !token.matches(b"Bearer "));
        }
    }

    #[test]
    fn s15_a_subprotocol_carries_the_token_of_a_web_socket() {
        let token = ApiToken::new("s3cret-token").unwrap();
        for good in ["bearer.czNjcmV0LXRva2Vu", "orrery, bearer.czNjcmV0LXRva2Vu"] {
            assert!(token.matches_protocol(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            "bearer.",
            "orrery",
            "bearer.czNjcmV0LXRva2V1",
            "bearer.czNjcmV0LXRva2Vu==",
            "Bearer czNjcmV0LXRva2Vu",
            "bearer.s3cret-token",
        ] {
            assert!(!token.matches_protocol(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn s15_all_but_the_public_paths_need_it() {
        let paths = PublicPaths::new(["/", "/assets/*"]);
        for public in ["/", "/livez", "/readyz", "/assets/app.js"] {
            assert!(paths.contains(public), "{public}");
        }
        for closed in [
            "/api",
            "/livez/",
            "/assets",
            "/%61pi/roles",
            "/admin/actors",
            "/metrics",
        ] {
            assert!(!paths.contains(closed), "{closed}");
        }
    }
}
