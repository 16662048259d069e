//! What the web application asks the server that it came from: which parts of the platform this
//! address serves, and whether somebody is signed in.
//!
//! ```text
//! GET /ui/parts.json   {"program","version","parts":{"search":{"base":""},"runner":{"base":"/runner"}}}
//! GET /ui/session.json {"can_sign_in","signed_in","asks_for"}
//! ```
//! Neither holds a secret, and both are answered to everybody: a page has to know where to ask
//! before it may.

use std::collections::BTreeMap;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;

use crate::assets::Asset;
use crate::routes::Routes;
use crate::sign_in::SignIn;

/// The parts that one address serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Parts {
    program: String,
    version: String,
    parts: BTreeMap<&'static str, Part>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Part {
    /// What stands before the paths of its API.
    base: String,
}

/// `GET /ui/session.json`.
#[derive(Debug, Serialize)]
struct SessionView {
    /// Whether there is a form to sign in with.
    can_sign_in: bool,
    /// Whether this request came with a session.
    signed_in: bool,
    /// What the form asks for, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    asks_for: Option<String>,
}

impl Parts {
    /// None yet, of this program.
    #[must_use]
    pub fn new(program: &str, version: &str) -> Self {
        Self {
            program: program.to_owned(),
            version: version.to_owned(),
            parts: BTreeMap::new(),
        }
    }

    /// With a part whose API is below `base`; empty for the address itself.
    #[must_use]
    pub fn with(mut self, part: &'static str, base: &str) -> Self {
        let base = base.to_owned();
        self.parts.insert(part, Part { base });
        self
    }

    /// Adds both documents; `sign_in` is how this address asks who somebody is, if it does.
    ///
    /// # Panics
    /// Never: texts serialise.
    #[must_use]
    pub fn routes(&self, routes: Routes, sign_in: Option<&SignIn>) -> Routes {
        let text = serde_json::to_vec(self).expect("texts serialise");
        let sign_in = sign_in.cloned();
        routes
            .asset("/ui/parts.json", Asset::new(text, "application/json"))
            .get("/ui/session.json", move |request: HttpRequest| {
                let answer = session(&request, sign_in.as_ref());
                async move { answer }
            })
    }
}

fn session(request: &HttpRequest, sign_in: Option<&SignIn>) -> HttpResponse {
    let view = SessionView {
        can_sign_in: sign_in.is_some_and(SignIn::has_token),
        signed_in: sign_in.is_some_and(|it| it.is_signed_in(request.head())),
        asks_for: sign_in.map(SignIn::asks_in_words),
    };
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(view)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_says_where_each_part_is() {
        let parts = Parts::new("platform", "1.2.3")
            .with("search", "")
            .with("runner", "/runner");
        assert_eq!(
            serde_json::to_value(&parts).unwrap(),
            serde_json::json!({"program": "platform", "version": "1.2.3",
                "parts": {"search": {"base": ""}, "runner": {"base": "/runner"}}})
        );
    }
}
