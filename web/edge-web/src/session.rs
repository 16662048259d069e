//! Whether somebody is signed in: what the web application asks the server that it came from.
//!
//! ```text
//! GET /ui/session.json {"can_sign_in","signed_in","asks_for"}
//! ```
//! It holds no secret, and is answered to everybody.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;

use crate::routes::Routes;
use crate::sign_in::SignIn;

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

impl Routes {
    /// Adds the document; `sign_in` is how this address asks who somebody is, if it does.
    #[must_use]
    pub fn session(self, sign_in: Option<&SignIn>) -> Self {
        let sign_in = sign_in.cloned();
        self.get("/ui/session.json", move |request: HttpRequest| {
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
