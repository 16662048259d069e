//! The web application below `/ui/`: its files, its page at every other address there, and which
//! parts of the platform this address serves.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::assets::Asset;
use crate::routes::Routes;
use crate::ui;

/// Paths that need no token: nothing secret is among them.
pub const APPLICATION_PATHS: &str = "/ui/*";

/// Which parts of the platform an address serves: `GET /ui/parts.json`.
#[derive(Debug, Clone, Serialize)]
pub struct ApplicationParts {
    /// The program that answers.
    program: &'static str,
    /// Its version.
    version: &'static str,
    /// Each part, with the address that its API is below.
    parts: BTreeMap<&'static str, Part>,
}

#[derive(Debug, Clone, Serialize)]
struct Part {
    base: String,
    /// Whether it answers only to those who are signed in: the page asks before its first request.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    wants_token: bool,
}

impl ApplicationParts {
    /// A program that serves no part yet.
    #[must_use]
    pub fn new(program: &'static str) -> Self {
        Self {
            program,
            version: env!("CARGO_PKG_VERSION"),
            parts: BTreeMap::new(),
        }
    }

    /// The same with a part whose API is below `base`: nothing for one that is served here itself.
    #[must_use]
    pub fn part(mut self, name: &'static str, base: impl Into<String>) -> Self {
        let base = base.into();
        let wants_token = false;
        self.parts.insert(name, Part { base, wants_token });
        self
    }

    /// The same where `name`, if it is among the parts, answers nothing without a token.
    #[must_use]
    pub fn wants_token(mut self, name: &'static str, wants_token: bool) -> Self {
        if let Some(part) = self.parts.get_mut(name) {
            part.wants_token = wants_token;
        }
        self
    }
}

/// The page of the application.
pub fn application_shell() -> Asset {
    let shell = ui::files().find(|file| file.path == ui::SHELL);
    let shell = shell.expect("the application has a page");
    of_file(&shell)
}

fn of_file(file: &ui::UiFile) -> Asset {
    Asset::new(file.bytes, file.content_type).compressed(file.gzip, file.brotli)
}

impl Routes {
    /// Adds the web application below `/ui/`.
    ///
    /// # Panics
    /// Never: the parts are plain text.
    #[must_use]
    pub fn application(self, parts: &ApplicationParts) -> Self {
        let parts = serde_json::to_vec(parts).expect("text serialises");
        let routes = self.asset("/ui/parts.json", Asset::new(parts, "application/json"));
        let files = ui::files().filter(|file| file.path != ui::SHELL);
        let routes = files.fold(routes, |routes, file| {
            let asset = of_file(&file);
            let asset = if file.is_immutable() {
                asset.immutable()
            } else {
                asset
            };
            routes.asset(&format!("/ui/{}", file.path), asset)
        });
        routes
            .asset("/ui", application_shell())
            .asset("/ui/{page:.*}", application_shell())
    }
}
