//! Files of releases: they are uploaded to an address that the release itself names, at another
//! host on github.com.

use serde_json::Value;

use super::links::ApiAddress;

/// Largest file of a release, in bytes: as GitHub has it.
pub const MAX_UPLOAD: u64 = 2 << 30;

/// Whether a call uploads a file of a release; `path` is below the API.
#[must_use]
pub fn is_upload(method: &str, path: &str) -> bool {
    let mut parts = path.trim_matches('/').split('/');
    let begins = parts.next() == Some("repos") && parts.nth(2) == Some("releases");
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    method == "POST"
        && begins
        && parts.next().is_some_and(is_number)
        && parts.next() == Some("assets")
        && parts.next().is_none()
}

/// Where GitHub takes such files, for its API at `api`: a host of its own, on a server of one's own
/// another path.
#[must_use]
pub fn upload_base(api: &str) -> String {
    let api = api.trim_end_matches('/');
    if let Some(server) = api.strip_suffix("/api/v3") {
        return format!("{server}/api/uploads");
    }
    match api.strip_prefix("https://api.") {
        Some(host) if host == "github.com" || host.ends_with(".ghe.com") => {
            format!("https://uploads.{host}")
        }
        _ => api.to_owned(),
    }
}

/// The address of a forge for people and git, by that of its API.
#[must_use]
pub fn page_base(api: &str) -> String {
    let api = api.trim_end_matches('/');
    let server = api.strip_suffix("/api/v3").unwrap_or(api);
    match server.strip_prefix("https://api.") {
        Some(host) if host == "github.com" || host.ends_with(".ghe.com") => {
            format!("https://{host}")
        }
        _ => server.to_owned(),
    }
}

/// An answer about releases with their own addresses, and those for their files, as a job reaches
/// them; `None`: it has none.
#[must_use]
pub fn with_upload_urls(body: &[u8], api: &ApiAddress, repository: &str) -> Option<Vec<u8>> {
    let mut answer: Value = serde_json::from_slice(body).ok()?;
    let uploads = ApiAddress {
        forge: upload_base(&api.forge),
        gateway: api.gateway.clone(),
    };
    let releases = match &mut answer {
        Value::Array(releases) => releases.as_mut_slice(),
        release => std::slice::from_mut(release),
    };
    let mut found = false;
    for release in releases {
        let Some(Value::String(address)) = release.get_mut("upload_url") else {
            continue;
        };
        *address = uploads.for_job(&api.for_job(address, repository), repository);
        found = true;
        // Programs change a release, and fetch its files, by the addresses that it says.
        if let Some(Value::String(address)) = release.get_mut("url") {
            *address = api.for_job(address, repository);
        }
        let id = release.get("id").and_then(Value::as_u64);
        let assets = release.get_mut("assets").and_then(Value::as_array_mut);
        for asset in assets.into_iter().flatten() {
            if let Some(Value::String(address)) = asset.get_mut("url") {
                *address = api.for_job(address, repository);
            } else if let (Some(id), Some(file)) = (id, asset["id"].as_u64()) {
                // Gitea names none.
                let below = format!("/repos/{repository}/releases/{id}/assets/{file}");
                asset["url"] = format!("{}{below}", api.gateway).into();
            }
        }
    }
    found.then(|| serde_json::to_vec(&answer).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_files_of_releases_go_where_github_takes_them() {
        for (api, uploads) in [
            ("https://api.github.com", "https://uploads.github.com"),
            ("https://api.github.com/", "https://uploads.github.com"),
            ("https://api.acme.ghe.com", "https://uploads.acme.ghe.com"),
            (
                "https://ghe.example/api/v3",
                "https://ghe.example/api/uploads",
            ),
            ("https://api.forge.example", "https://api.forge.example"),
            (
                "https://forge.example/api/v1",
                "https://forge.example/api/v1",
            ),
        ] {
            assert_eq!(upload_base(api), uploads);
        }
        for (api, pages) in [
            ("https://api.github.com/", "https://github.com"),
            ("https://api.acme.ghe.com", "https://acme.ghe.com"),
            ("https://ghe.example/api/v3", "https://ghe.example"),
            ("https://api.forge.example", "https://api.forge.example"),
        ] {
            assert_eq!(page_base(api), pages);
        }
        for (method, path, expected) in [
            ("POST", "/repos/a/b/releases/7/assets", true),
            ("GET", "/repos/a/b/releases/7/assets", false),
            ("POST", "/repos/a/b/releases/7", false),
            ("POST", "/repos/a/b/releases/7/assets/1", false),
            ("POST", "/repos/a/b/releases/x/assets", false),
            ("POST", "/repos/a/b/issues/7/assets", false),
            ("POST", "/repos/releases/7/assets", false),
        ] {
            assert_eq!(is_upload(method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn i17_the_address_for_files_of_a_release_leads_to_the_gateway() {
        let api = ApiAddress {
            forge: "https://api.github.com".to_owned(),
            gateway: "http://127.0.0.1:3128/api/v3".to_owned(),
        };
        let own = "http://127.0.0.1:3128/api/v3/repos/a/b/releases/7/assets{?name,label}";
        let given = r#"{"id":7,"upload_url":"https://uploads.github.com/repos/a/b/releases/7/assets{?name,label}"}"#;
        let changed = with_upload_urls(given.as_bytes(), &api, "a/b").unwrap();
        let changed: Value = serde_json::from_slice(&changed).unwrap();
        assert_eq!(changed["upload_url"], own);
        assert_eq!(changed["id"], 7);
        let given = r#"{"upload_url": "", "url": "https://api.github.com/repos/a/b/releases/7", "assets": [{"url": "https://api.github.com/repos/a/b/releases/assets/9"}]}"#;
        let urls = with_upload_urls(given.as_bytes(), &api, "a/b").unwrap();
        let urls: Value = serde_json::from_slice(&urls).unwrap();
        let base = "http://127.0.0.1:3128/api/v3/repos/a/b/releases";
        assert_eq!(urls["url"], format!("{base}/7"));
        assert_eq!(urls["assets"][0]["url"], format!("{base}/assets/9"));
        let given = r#"{"id":7,"upload_url":"https://uploads.github.com/repos/a/b/releases/7/assets{?name,label}"}"#;
        let list = with_upload_urls(format!("[{given}]").as_bytes(), &api, "a/b").unwrap();
        let list: Value = serde_json::from_slice(&list).unwrap();
        assert_eq!(list[0]["upload_url"], own);
        for other in ["{}", "[]", "no JSON", "7", r#"{"upload_url": 7}"#] {
            assert_eq!(
                with_upload_urls(other.as_bytes(), &api, "a/b"),
                None,
                "{other}"
            );
        }
    }
}
