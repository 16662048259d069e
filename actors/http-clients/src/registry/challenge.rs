//! `WWW-Authenticate`, as registries write it.

/// What a registry asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// A name and a password.
    Basic,
    /// A token of another address.
    Bearer {
        realm: String,
        service: Option<String>,
    },
}

impl Challenge {
    /// Reads `Bearer realm="…",service="…"`; nothing of other kinds.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service) = (None, None);
        let mut rest = rest.trim();
        while let Some((name, after)) = rest.split_once('=') {
            let (value, more) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"')?,
                None => after.split_once(',').unwrap_or((after, "")),
            };
            match name.trim().to_ascii_lowercase().as_str() {
                "realm" => realm = Some(value.to_owned()),
                "service" => service = Some(value.to_owned()),
                _ => {}
            }
            rest = more.trim_start().trim_start_matches(',').trim_start();
        }
        Some(Self::Bearer {
            realm: realm?,
            service,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_challenges_of_registries_are_read() {
        let bearer = |realm: &str, service: Option<&str>| {
            Some(Challenge::Bearer {
                realm: realm.to_owned(),
                service: service.map(str::to_owned),
            })
        };
        for (text, expected) in [
            (
                "Bearer realm=\"https://auth.example/token\",service=\"registry.example\",scope=\"repository:a/b:pull,push\"",
                bearer("https://auth.example/token", Some("registry.example")),
            ),
            ("bearer realm=https://a/t", bearer("https://a/t", None)),
            ("Basic realm=\"x\"", Some(Challenge::Basic)),
            ("Bearer service=\"x\"", None),
            ("Negotiate", None),
            ("", None),
        ] {
            assert_eq!(Challenge::parse(text), expected, "{text}");
        }
    }
}
