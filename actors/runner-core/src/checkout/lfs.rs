//! What Git LFS keeps in a repository: pointers in the place of large files.
//!
//! Source: "Git LFS Specification" (the pointer) and "Server Discovery" of Git LFS.

use url::Url;

/// Bytes that a pointer has at most, less one.
pub const MAX_POINTER_BYTES: usize = 1024;

/// What stands in the place of a large file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LfsPointer {
    /// The SHA-256 of the file, in hexadecimal.
    pub oid: String,
    /// Its size, in bytes.
    pub size: u64,
}

impl LfsPointer {
    /// Reads a file, if it is a pointer.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() >= MAX_POINTER_BYTES {
            return None;
        }
        let text = std::str::from_utf8(bytes).ok()?;
        let mut lines = text.lines();
        let version = lines.next()?.strip_prefix("version ")?;
        let known = [
            "https://git-lfs.github.com/spec/v1",
            "https://hawser.github.com/spec/v1",
        ];
        if !known.contains(&version) {
            return None;
        }
        let (mut oid, mut size) = (None, None);
        for line in lines {
            match line.split_once(' ')? {
                ("oid", value) => oid = value.strip_prefix("sha256:"),
                ("size", value) => size = value.parse().ok(),
                _ => {}
            }
        }
        let oid =
            oid.filter(|oid| oid.len() == 64 && oid.bytes().all(|b| b.is_ascii_hexdigit()))?;
        Some(Self {
            oid: oid.to_ascii_lowercase(),
            size: size?,
        })
    }
}

/// The LFS server of the repository at `url`; `configured` is the `lfs.url` of its `.lfsconfig`,
/// which may lead elsewhere at the same host only: credentials are for that.
///
/// # Errors
/// It leads to another host.
pub fn lfs_endpoint(url: &Url, configured: Option<&str>) -> Result<Url, String> {
    let mut usual = url.clone();
    let path = url.path().trim_end_matches('/');
    let suffix = if path.ends_with(".git") { "" } else { ".git" };
    usual.set_path(&format!("{path}{suffix}/info/lfs"));
    let Some(configured) = configured else {
        return Ok(usual);
    };
    let given = Url::parse(configured).ok().filter(|given| {
        given.origin() == url.origin() && given.username().is_empty() && given.password().is_none()
    });
    given.ok_or_else(|| {
        format!(
            "`lfs.url` of .lfsconfig is {}, and large files are fetched from the repository's own host only",
            config_core::quoted(configured)
        )
    })
}

/// Whether a server of large files is that of the repository at `url`, and of no other.
#[must_use]
pub fn is_own_lfs(url: &Url, endpoint: &Url) -> bool {
    let path = url.path().trim_end_matches('/');
    let own = path.strip_suffix(".git").unwrap_or(path);
    let below = endpoint.path().strip_prefix(own);
    let below = below.map(|rest| rest.strip_prefix(".git").unwrap_or(rest));
    let is_server = |rest: &str| rest.trim_end_matches('/') == "/info/lfs";
    endpoint.origin() == url.origin() && endpoint.query().is_none() && below.is_some_and(is_server)
}

/// The `lfs.url` in the text of a `.lfsconfig`.
#[must_use]
pub fn lfs_url(config: &str) -> Option<String> {
    let mut is_lfs = false;
    let mut found = None;
    for line in config.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.split(']').next().unwrap_or_default();
            is_lfs = section.trim().eq_ignore_ascii_case("lfs");
        } else if let Some((name, value)) = line.split_once('=')
            && is_lfs
            && name.trim().eq_ignore_ascii_case("url")
        {
            found = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_pointer_is_what_the_specification_says() {
        let oid = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
        let text =
            format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 12345\n");
        let pointer = LfsPointer::parse(text.as_bytes()).unwrap();
        assert_eq!((pointer.oid.as_str(), pointer.size), (oid, 12345));
        let extended = text.replace("oid", "ext-0-foo sha256:00\noid");
        assert!(LfsPointer::parse(extended.as_bytes()).is_some());
        let long = format!("{text}{}", "x y\n".repeat(300));
        for wrong in [
            "",
            "version https://example.org/spec\noid sha256:00\nsize 1\n",
            &text.replace("sha256:4d", "sha256:../"),
            &text.replace("sha256", "md5"),
            &text.replace("size 12345", "size x"),
            &long,
        ] {
            assert_eq!(LfsPointer::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn i17_the_server_of_large_files_is_at_the_repository_s_host() {
        let url: Url = "https://f.example/acme/rocket.git".parse().unwrap();
        let at = |configured: Option<&str>| lfs_endpoint(&url, configured).map(String::from);
        assert_eq!(
            at(None).unwrap(),
            "https://f.example/acme/rocket.git/info/lfs"
        );
        let bare: Url = "https://f.example/acme/rocket/".parse().unwrap();
        let usual = lfs_endpoint(&bare, None).unwrap();
        assert_eq!(usual.path(), "/acme/rocket.git/info/lfs");
        let other = "https://f.example/acme/other.git/info/lfs";
        assert_eq!(at(Some(other)).unwrap(), other);
        for (address, own) in [
            ("https://f.example/acme/rocket.git/info/lfs", true),
            ("https://f.example/acme/rocket/info/lfs/", true),
            (other, false),
            ("https://f.example/acme/rocket2/info/lfs", false),
            ("https://f.example/acme/rocket/../other/info/lfs", false),
            ("https://f.example/acme/rocket/..%2fother/info/lfs", false),
            ("https://f.example/acme/rocket/raw/info/lfs", false),
        ] {
            let found = is_own_lfs(&url, &address.parse().unwrap());
            assert_eq!(found, own, "{address}");
        }
        for elsewhere in [
            "https://evil.example/x",
            "http://f.example/x",
            "x",
            "https://u:p@f.example/",
        ] {
            let error = at(Some(elsewhere)).unwrap_err();
            assert!(error.contains("own host only"), "{error}");
        }
        let config = "[core]\n\turl = no\n[lfs]\n\tURL = \"https://f.example/x\"\n";
        assert_eq!(lfs_url(config).as_deref(), Some("https://f.example/x"));
        assert_eq!(lfs_url("[remote \"lfs\"]\nurl = x"), None);
    }
}
