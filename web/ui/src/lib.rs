//! The web interface: its sources, embedded in the binaries, so that a page needs nothing from
//! outside.

/// One file of the web interface.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// Path it is served at.
    pub path: &'static str,
    /// Its media type.
    pub content_type: &'static str,
    /// Its content.
    pub bytes: &'static [u8],
}

macro_rules! asset {
    ($path:literal, $content_type:literal, $file:literal) => {
        Asset {
            path: $path,
            content_type: $content_type,
            bytes: include_bytes!(concat!("../static/", $file)),
        }
    };
}

/// Every file of the interface; `/` is the page itself.
pub const ASSETS: &[Asset] = &[
    asset!("/", "text/html; charset=utf-8", "index.html"),
    asset!("/assets/app.js", "text/javascript; charset=utf-8", "app.js"),
    asset!("/assets/api.js", "text/javascript; charset=utf-8", "api.js"),
    asset!(
        "/assets/settings.js",
        "text/javascript; charset=utf-8",
        "settings.js"
    ),
    asset!(
        "/assets/view.js",
        "text/javascript; charset=utf-8",
        "view.js"
    ),
    asset!("/assets/style.css", "text/css; charset=utf-8", "style.css"),
    asset!("/assets/favicon.svg", "image/svg+xml", "favicon.svg"),
];

#[cfg(test)]
mod tests {
    use super::ASSETS;

    /// Everything the page names is embedded, and nothing is loaded from elsewhere.
    #[test]
    fn the_page_refers_only_to_embedded_files() {
        let page = std::str::from_utf8(ASSETS[0].bytes).unwrap();
        let mut named = 0;
        for attribute in ["href=\"", "src=\""] {
            for rest in page.split(attribute).skip(1) {
                let target = rest.split('"').next().unwrap();
                if target.starts_with('#') {
                    continue;
                }
                assert!(
                    ASSETS.iter().any(|a| a.path == target),
                    "{target} is not embedded"
                );
                named += 1;
            }
        }
        assert!(named >= 4, "the page names {named} files");
    }

    /// The Content-Security-Policy forbids inline script and style; the page must not need them.
    #[test]
    fn the_page_has_no_inline_script_or_style() {
        let page = std::str::from_utf8(ASSETS[0].bytes).unwrap();
        assert!(!page.contains("<style") && !page.contains(" style="));
        for handler in [" onclick", " onload", " oninput", " onsubmit"] {
            assert!(!page.contains(handler));
        }
        assert_eq!(
            page.matches("<script").count(),
            page.matches("<script type=\"module\" src=").count()
        );
    }
}
