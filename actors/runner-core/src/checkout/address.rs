//! Addresses of repositories that lie beside a known one, and of submodules.

use forge_core::RepoName;
use url::Url;

/// The clone URL of `other`, at the forge where `known` has `clone_url`. Nothing where that address
/// does not end in the repository's name.
#[must_use]
pub fn repository_url(clone_url: &str, known: &str, other: &RepoName) -> Option<String> {
    let (base, suffix) = match clone_url.strip_suffix(".git") {
        Some(base) => (base, ".git"),
        None => (clone_url, ""),
    };
    let from = base.len().checked_sub(known.len())?;
    let (prefix, name) = (base.get(..from)?, base.get(from..)?);
    // Of SSH's short form the path begins behind a colon.
    let matches = prefix.ends_with(['/', ':']) && name.eq_ignore_ascii_case(known);
    matches.then(|| format!("{prefix}{other}{suffix}"))
}

/// The repository that `url` names at the forge where `known` has `clone_url`.
#[must_use]
pub fn same_repository(clone_url: &str, known: &str, url: &str) -> Option<RepoName> {
    let base = clone_url.strip_suffix(".git").unwrap_or(clone_url);
    let prefix = base.get(..base.len().checked_sub(known.len())?)?;
    let matches = prefix.ends_with('/') && base[prefix.len()..].eq_ignore_ascii_case(known);
    let rest = url.strip_prefix(prefix).filter(|_| matches)?;
    let rest = rest.trim_end_matches('/');
    rest.strip_suffix(".git").unwrap_or(rest).parse().ok()
}

/// Whether an address is plainly that of `repository`, at a forge whose own path is `mount`.
#[must_use]
pub fn is_plainly_of(address: &Url, mount: &str, repository: &str) -> bool {
    let path = address.path();
    let below = path.strip_prefix(mount.trim_end_matches('/'));
    let below = below.and_then(|below| below.strip_prefix('/'));
    below.is_some_and(|below| {
        let name = below.strip_suffix('/').unwrap_or(below);
        let name = name.strip_suffix(".git").unwrap_or(name);
        name.eq_ignore_ascii_case(repository)
    })
}

/// Where a submodule comes from, written as `url` in a repository at `base`: relative ones lead
/// from there, addresses of SSH at the same host are taken as the forge's own protocol, as the
/// action does. `None`: it is a path, or cannot be read.
#[must_use]
pub fn submodule_url(base: &str, url: &str) -> Option<String> {
    if url.starts_with("./") || url.starts_with("../") {
        let mut base = base.trim_end_matches('/').to_owned();
        let mut rest = url;
        loop {
            if let Some(next) = rest.strip_prefix("./") {
                rest = next;
            } else if let Some(next) = rest.strip_prefix("../") {
                rest = next;
                let at = base.rfind('/')?;
                // Not beyond the host.
                if base[..at].ends_with('/') || base[..at].ends_with(':') {
                    return None;
                }
                base.truncate(at);
            } else {
                break;
            }
        }
        let plain = !rest.split('/').any(|part| part == "..");
        return plain.then(|| format!("{base}/{rest}"));
    }
    let forge = Url::parse(base).ok()?;
    let by_ssh = url.strip_prefix("ssh://").map(|rest| rest.split_once('/'));
    let by_ssh = by_ssh.unwrap_or_else(|| match url.contains("://") {
        true => None,
        false => url.split_once(':'),
    });
    if let Some((who, path)) = by_ssh {
        let host = who.rsplit_once('@').map_or(who, |(_, host)| host);
        let host = host.split_once(':').map_or(host, |(host, _)| host);
        let same = forge.host_str().is_some_and(|known| known == host);
        let origin = forge.origin();
        let path = path.trim_start_matches('/');
        return (same && origin.is_tuple())
            .then(|| format!("{}/{path}", origin.ascii_serialization()));
    }
    Url::parse(url).ok().map(|_| url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_repositories_beside_the_run_s_own() {
        let other: RepoName = "acme/lib".parse().unwrap();
        for (known, found) in [
            (
                "https://f.example/acme/rocket.git",
                Some("https://f.example/acme/lib.git"),
            ),
            (
                "https://f.example/git/Acme/Rocket",
                Some("https://f.example/git/acme/lib"),
            ),
            (
                "git@f.example:acme/rocket.git",
                Some("git@f.example:acme/lib.git"),
            ),
            ("https://f.example/xacme/rocket", None),
            ("file:///tmp/snapshot.git", None),
            ("x", None),
        ] {
            assert_eq!(
                repository_url(known, "acme/rocket", &other).as_deref(),
                found,
                "{known}"
            );
        }
        let of =
            |url: &str| same_repository("https://f.example/acme/rocket.git", "acme/rocket", url);
        assert_eq!(of("https://f.example/acme/lib"), Some(other.clone()));
        assert_eq!(of("https://f.example/acme/lib.git/"), Some(other));
        assert_eq!(of("https://g.example/acme/lib"), None);
        assert_eq!(of("https://f.example/acme/lib/more"), None);
    }

    #[test]
    fn i17_submodules_lead_where_git_would_go() {
        let base = "https://f.example/acme/rocket.git";
        for (url, found) in [
            ("../lib.git", Some("https://f.example/acme/lib.git")),
            ("../../other/lib", Some("https://f.example/other/lib")),
            ("./deep", Some("https://f.example/acme/rocket.git/deep")),
            ("../../../../x", None),
            ("../a/../../b", None),
            ("https://g.example/a/b", Some("https://g.example/a/b")),
            (
                "git@f.example:acme/lib.git",
                Some("https://f.example/acme/lib.git"),
            ),
            (
                "ssh://git@f.example:22/acme/lib",
                Some("https://f.example/acme/lib"),
            ),
            ("git@g.example:acme/lib.git", None),
            ("/srv/lib", None),
            ("-x", None),
            ("", None),
        ] {
            assert_eq!(submodule_url(base, url).as_deref(), found, "{url}");
        }
    }
}
