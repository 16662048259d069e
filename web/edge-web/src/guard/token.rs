//! The bearer token of the API.

use std::fmt;

/// The token every request must carry, kept as its hash.
///
/// Comparing hashes takes the same time wherever the tokens differ, and also hides the length.
#[derive(Clone)]
pub struct ApiToken(blake3::Hash);

impl ApiToken {
    /// Wants `Authorization: Bearer <token>`; `None` if the token is empty.
    pub fn new(token: &str) -> Option<Self> {
        let token = token.trim();
        (!token.is_empty()).then(|| Self(blake3::hash(token.as_bytes())))
    }

    /// Whether an `Authorization` header carries the token (RFC 6750, section 2.1).
    pub fn matches(&self, authorization: &[u8]) -> bool {
        let Some((scheme, token)) = authorization.split_at_checked(7) else {
            return false;
        };
        // `blake3::Hash` compares in constant time.
        scheme.eq_ignore_ascii_case(b"Bearer ") && blake3::hash(token.trim_ascii()) == self.0
    }
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
