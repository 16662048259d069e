//! The web application, embedded in the programs: its pages need nothing from outside.
//!
//! The sources are in `web/ui/app`; `npm run build` writes `web/ui/dist`, which is embedded.

/// One file of the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UiFile {
    /// Its path below `/ui/`: `index.html`, `assets/index-ymJ-OAB8.js`.
    pub(crate) path: &'static str,
    /// Its media type.
    pub(crate) content_type: &'static str,
    /// Its content.
    pub(crate) bytes: &'static [u8],
    /// Its content compressed for `Content-Encoding: gzip`, where that is smaller.
    pub(crate) gzip: Option<&'static [u8]>,
    /// Its content compressed for `Content-Encoding: br`, where that is smaller.
    pub(crate) brotli: Option<&'static [u8]>,
}

impl UiFile {
    /// Whether its name changes with its content, so that browsers may keep it.
    #[must_use]
    pub(crate) fn is_immutable(&self) -> bool {
        self.path.starts_with("assets/")
    }
}

/// The page that every address of the application is answered with.
pub(crate) const SHELL: &str = "index.html";

/// Path and content of each file, the content also compressed by gzip and by Brotli.
type Embedded = (
    &'static str,
    &'static [u8],
    Option<&'static [u8]>,
    Option<&'static [u8]>,
);

const FILES: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Every file of the application.
pub(crate) fn files() -> impl Iterator<Item = UiFile> {
    FILES.iter().map(|&(path, bytes, gzip, brotli)| UiFile {
        path,
        content_type: content_type(path),
        bytes,
        gzip,
        brotli,
    })
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("md" | "txt") => "text/plain; charset=utf-8",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::{SHELL, files};

    /// Everything the page names is embedded, and nothing is loaded from elsewhere.
    #[test]
    fn the_page_refers_only_to_embedded_files() {
        let shell = files().find(|file| file.path == SHELL).unwrap();
        let page = std::str::from_utf8(shell.bytes).unwrap();
        for attribute in ["href=\"", "src=\""] {
            for rest in page.split(attribute).skip(1) {
                let target = rest.split('"').next().unwrap();
                let Some(name) = target.strip_prefix("/ui/") else {
                    assert!(target.starts_with("/api/"), "{target} is not ours");
                    continue;
                };
                assert!(files().any(|file| file.path == name), "no file {name}");
            }
        }
    }

    /// What the browser unpacks is the file; and scripts are worth it.
    #[test]
    fn compressed_files_are_the_same_files() {
        for file in files() {
            if let Some(gzip) = file.gzip {
                let mut plain = Vec::new();
                flate2::read::GzDecoder::new(gzip)
                    .read_to_end(&mut plain)
                    .unwrap();
                assert!(plain == file.bytes, "{}", file.path);
            }
            if let Some(brotli) = file.brotli {
                let mut plain = Vec::new();
                brotli::Decompressor::new(brotli, 4096)
                    .read_to_end(&mut plain)
                    .unwrap();
                assert!(plain == file.bytes, "{}", file.path);
            }
            let is_script = file.content_type.starts_with("text/javascript");
            if is_script && file.bytes.len() > 2000 {
                assert!(
                    file.gzip.is_some() && file.brotli.is_some(),
                    "{}",
                    file.path
                );
            }
        }
    }

    /// The policy of the pages takes neither.
    #[test]
    fn no_script_or_style_is_inline() {
        let shell = files().find(|file| file.path == SHELL).unwrap();
        let page = std::str::from_utf8(shell.bytes).unwrap();
        assert!(!page.contains("<style") && !page.contains(" style="));
        for rest in page.split("<script").skip(1) {
            let (attributes, content) = rest.split_once('>').unwrap();
            assert!(attributes.contains("src="), "{attributes}");
            assert!(content.trim_start().starts_with("</script>"));
        }
    }
}
