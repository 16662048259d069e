//! The forge's own address in a job's machine: which addresses those are, and what of a request
//! there the gateway answers.

use base64::Engine as _;
use url::Url;

/// The addresses at which jobs ask their forge: of its API, where the repository is cloned from,
/// and for people; each once, without user, query and the repository's path.
#[must_use]
pub fn own_addresses(
    api: Option<&Url>,
    clone_url: &str,
    server_url: &str,
    repository: &str,
) -> Vec<Url> {
    let mut found: Vec<Url> = Vec::new();
    let others = [clone_url, server_url].map(|text| Url::parse(text).ok());
    for url in api.cloned().into_iter().chain(others.into_iter().flatten()) {
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        if !is_web || found.iter().any(|known| known.origin() == url.origin()) {
            continue;
        }
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let end = path.len().saturating_sub(repository.len());
        let path = match path.get(end..) {
            Some(own) if own.eq_ignore_ascii_case(repository) => &path[..end],
            _ => path,
        };
        let origin = url.origin().ascii_serialization();
        let base = format!("{origin}/{}", path.trim_matches('/'));
        found.extend(Url::parse(&base));
    }
    found
}

/// What a request of the forge's own address asks for, by its path; what stands behind the forge's
/// own path where it is not at the top of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnPath<'a> {
    /// The REST API, below its version, or GraphQL.
    Api(&'a str),
    /// git's smart protocol, or its large files.
    Git(&'a str),
    /// A registry of packages, or of images.
    Packages(&'a str),
    /// Pages, downloads, and everything else.
    Page(&'a str),
}

/// What a path asks for; `mount` is the forge's own path, `/` where it is at the top.
#[must_use]
pub fn own_path<'a>(path: &'a str, mount: &str) -> OwnPath<'a> {
    let mount = mount.trim_end_matches('/');
    let below = path
        .strip_prefix(mount)
        .filter(|rest| rest.starts_with('/'));
    // Registries of images are at the top of a host, whatever else is there.
    let is_registry = path == "/v2" || path.starts_with("/v2/");
    let Some(below) = below.filter(|_| !is_registry) else {
        return match is_registry {
            true => OwnPath::Packages(path),
            false => OwnPath::Page(path),
        };
    };
    if below.starts_with("/api/packages/") || below.starts_with("/api/v1/packages/") {
        return OwnPath::Packages(below);
    }
    if below == "/api/graphql" {
        return OwnPath::Api(&below["/api".len()..]);
    }
    for version in ["/api/v1", "/api/v3"] {
        if let Some(rest) = below.strip_prefix(version)
            && rest.starts_with('/')
        {
            return OwnPath::Api(rest);
        }
    }
    let mut parts = below.trim_start_matches('/').splitn(3, '/').skip(2);
    let service = parts.next().unwrap_or_default();
    let is_git = matches!(
        service,
        "info/refs" | "git-upload-pack" | "git-receive-pack"
    ) || service.starts_with("info/lfs");
    match is_git {
        true => OwnPath::Git(below),
        false => OwnPath::Page(below),
    }
}

/// What a request may show as a token: in its header, in each of the ways in which clients write
/// one, a client of packages in one of its own, and in its query.
#[must_use]
pub fn presented_tokens(
    authorization: Option<&str>,
    api_key: Option<&str>,
    query: Option<&str>,
) -> Vec<String> {
    let mut shown = Vec::new();
    let header = authorization.unwrap_or_default().trim();
    let (scheme, value) = header.split_once(' ').unwrap_or(("", header));
    let value = value.trim();
    if scheme.eq_ignore_ascii_case("basic") {
        let pair = base64::engine::general_purpose::STANDARD.decode(value);
        let pair = pair.ok().and_then(|pair| String::from_utf8(pair).ok());
        let pair = pair.unwrap_or_default();
        let (user, password) = pair.split_once(':').unwrap_or((&pair, ""));
        // A token alone stands where the user does.
        shown.extend([password.to_owned(), user.to_owned()]);
    } else {
        shown.push(value.to_owned());
    }
    shown.extend(api_key.map(|key| key.trim().to_owned()));
    let query = query.unwrap_or_default();
    let parts = url::form_urlencoded::parse(query.as_bytes());
    let named = parts.filter(|(name, _)| is_token_name(name));
    shown.extend(named.map(|(_, value)| value.into_owned()));
    shown.retain(|token| !token.is_empty());
    shown
}

fn is_token_name(name: &str) -> bool {
    matches!(name, "token" | "access_token")
}

/// A query without the token that it names; the rest as it stood.
#[must_use]
pub fn without_token(query: &str, token: &str) -> Option<String> {
    let is_token = |part: &&str| {
        let mut pair = url::form_urlencoded::parse(part.as_bytes());
        pair.any(|(name, value)| is_token_name(&name) && value == token)
    };
    let rest: Vec<&str> = query.split('&').filter(|part| !is_token(part)).collect();
    (!rest.is_empty()).then(|| rest.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_the_forges_own_addresses_are_found_once_each() {
        let api: Url = "http://gitea:3000/".parse().unwrap();
        let of = |clone: &str, server: &str| {
            let found = own_addresses(Some(&api), clone, server, "acme/rocket");
            found.iter().map(Url::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            of(
                "https://u:p@forge.example/git/Acme/Rocket.git",
                "https://forge.example/git"
            ),
            ["http://gitea:3000/", "https://forge.example/git"]
        );
        assert_eq!(
            of("git@forge.example:acme/rocket.git", "http://Forge.example"),
            ["http://gitea:3000/", "http://forge.example/"]
        );
        assert_eq!(of("file:///srv/acme/rocket", ""), ["http://gitea:3000/"]);
    }

    #[test]
    fn i17_a_path_at_the_forges_own_address_is_told_by_its_kind() {
        use OwnPath::{Api, Git, Packages, Page};
        for (path, mount, expected) in [
            (
                "/api/v1/repos/a/b/releases",
                "/",
                Api("/repos/a/b/releases"),
            ),
            ("/git/api/v1/version", "/git", Api("/version")),
            ("/git/api/v1/version", "/git/", Api("/version")),
            (
                "/gitea/api/v1/version",
                "/git",
                Page("/gitea/api/v1/version"),
            ),
            ("/api/graphql", "/", Api("/graphql")),
            ("/api/v10/x", "/", Page("/api/v10/x")),
            (
                "/api/packages/a/generic/x",
                "/",
                Packages("/api/packages/a/generic/x"),
            ),
            ("/api/v1/packages/a", "/", Packages("/api/v1/packages/a")),
            ("/v2/", "/git", Packages("/v2/")),
            ("/v2/a/b/manifests/1", "/", Packages("/v2/a/b/manifests/1")),
            ("/a/b.git/info/refs", "/", Git("/a/b.git/info/refs")),
            (
                "/git/a/b/git-receive-pack",
                "/git",
                Git("/a/b/git-receive-pack"),
            ),
            (
                "/a/b/info/lfs/objects/batch",
                "/",
                Git("/a/b/info/lfs/objects/batch"),
            ),
            ("/a/b/releases", "/", Page("/a/b/releases")),
            ("/", "/", Page("/")),
        ] {
            assert_eq!(own_path(path, mount), expected, "{path} below {mount}");
        }
    }

    #[test]
    fn i17_tokens_are_found_wherever_clients_write_them() {
        let shown = |header: &str, query: &str| presented_tokens(Some(header), None, Some(query));
        assert_eq!(shown("token abc", ""), ["abc"]);
        assert_eq!(shown("Bearer abc", ""), ["abc"]);
        assert_eq!(shown("abc", ""), ["abc"]);
        // x:abc, abc alone, and abc with nothing behind it.
        assert_eq!(shown("Basic eDphYmM=", ""), ["abc", "x"]);
        assert_eq!(shown("basic YWJj", ""), ["abc"]);
        assert_eq!(shown("Basic YWJjOg==", ""), ["abc"]);
        assert_eq!(shown("", "a=1&access_token=a%62c&token=x"), ["abc", "x"]);
        assert_eq!(presented_tokens(None, Some("abc"), None), ["abc"]);
        assert!(shown("Basic !", "tokens=abc").is_empty());
        let rest = |query| without_token(query, "abc");
        assert_eq!(rest("a=1&token=abc&b=%2F"), Some("a=1&b=%2F".to_owned()));
        assert_eq!(rest("access_token=a%62c"), None);
        assert_eq!(rest("token=other"), Some("token=other".to_owned()));
    }
}
