//! Where a file of a release is fetched for a job: by an address that can be nothing else, for what
//! an answer says is followed with the runner's token.

use serde_json::Value;
use url::Url;

use super::path::{check_names, decoded};

/// Keys by which Forgejo keeps an address, any address, in place of a file.
pub(super) const ADDRESSES: [&str; 2] = ["external_url", "browser_download_url"];

/// The address of the file that a forge at `base` describes, of a release of `repository`.
/// Nothing: it lies elsewhere, or the address may be anything of the forge.
#[must_use]
pub fn release_file(about: &Value, base: &Url, repository: &str) -> Option<Url> {
    // What people have put there by themselves (Forgejo).
    let kind = about["type"].as_str().unwrap_or("attachment");
    if !kind.eq_ignore_ascii_case("attachment") {
        return None;
    }
    let text = about["browser_download_url"].as_str()?;
    let url = Url::parse(text).ok()?;
    let is_bare = url.query().is_none() && url.fragment().is_none();
    let is_nobodys = url.username().is_empty() && url.password().is_none();
    if url.origin() != base.origin() || !is_bare || !is_nobodys {
        return None;
    }
    let mount = base.path().trim_end_matches('/');
    let below = url.path().strip_prefix(mount)?.strip_prefix('/')?;
    let decoded = decoded(below);
    // As it stands, and as it is decoded, it names one place.
    let is_plain = text.ends_with(url.path())
        && !decoded.contains(['\\', '\u{fffd}'])
        && !decoded.chars().any(char::is_control)
        && !decoded.split('/').any(str::is_empty)
        && check_names(&decoded).is_ok();
    (is_plain && (is_attachment(below) || is_download(below, repository))).then_some(url)
}

/// A file by its own number.
fn is_attachment(path: &str) -> bool {
    let id = path.strip_prefix("attachments/");
    id.is_some_and(|id| {
        let is_digit = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
        id.len() == 36 && id.bytes().all(is_digit)
    })
}

/// A file of a release of the repository by its tag, which may hold slashes, and its name.
fn is_download(path: &str, repository: &str) -> bool {
    let begins = path.get(..repository.len());
    let rest = path.get(repository.len()..).unwrap_or_default();
    let file = rest.strip_prefix("/releases/download/");
    begins.is_some_and(|begins| begins.eq_ignore_ascii_case(repository))
        && file.is_some_and(|file| file.contains('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn i17_only_a_file_of_a_release_is_fetched_with_the_token() {
        let uuid = "0b7d1e0e-1c2d-4e3f-8a9b-0c1d2e3f4a5b";
        let top: Url = "http://forge:3000/".parse().unwrap();
        let mounted: Url = "http://forge:3000/git".parse().unwrap();
        let of = |base: &Url, path: &str| {
            let about = json!({"browser_download_url": format!("http://forge:3000{path}")});
            release_file(&about, base, "acme/rocket").is_some()
        };
        for path in [
            "/acme/rocket/releases/download/v1/x.zip",
            "/Acme/Rocket/releases/download/a/b/x%20y+z.zip",
            &format!("/attachments/{uuid}"),
        ] {
            assert!(of(&top, path), "{path}");
            assert!(!of(&mounted, path), "{path}");
            assert!(of(&mounted, &format!("/git{path}")), "{path}");
        }
        for path in [
            "/api/v1/repos/acme/other/contents/secret.txt",
            "/api/v1/repos/acme/rocket/releases/7/assets/9",
            "/api/v1/user",
            "/acme/other/releases/download/v1/x.zip",
            "/acme/rocket/../other/releases/download/v1/x.zip",
            "/acme/rocket/releases/download/../../../other/raw/branch/main/x",
            "/acme/rocket/releases/download/..%2f..%2f..%2fother/raw/x",
            "/acme/rocket/releases/download/%2e%2e/%2e%2e/settings/x",
            "/acme/rocket/releases/download/%252e%252e%252fx/y",
            "/acme/rocket/releases/download/v1/x?token=y",
            "/acme/rocket/releases/download//x",
            "/acme/rocket/releases/download/x",
            "/acme/rocket/raw/branch/main/x",
            "/acme/rocket/settings/hooks",
            "//acme/rocket/releases/download/v1/x.zip",
            "/attachments/../api/v1/user/repos-of-the-account-x",
            "/attachments/x",
            "@evil.example/acme/rocket/releases/download/v1/x.zip",
        ] {
            assert!(!of(&top, path), "{path}");
        }
        let download = "http://forge:3000/acme/rocket/releases/download/v1/x.zip";
        for (about, expected) in [
            (json!({"browser_download_url": download}), true),
            (
                json!({"type": "attachment", "browser_download_url": download}),
                true,
            ),
            (
                json!({"type": "external", "browser_download_url": download}),
                false,
            ),
            (
                json!({"browser_download_url": download.replace("forge", "f")}),
                false,
            ),
            (
                json!({"browser_download_url": download.replace("//", "//u:p@")}),
                false,
            ),
            (json!({}), false),
        ] {
            let found = release_file(&about, &top, "acme/rocket");
            assert_eq!(found.is_some(), expected, "{about}");
        }
    }
}
