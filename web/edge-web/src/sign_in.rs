//! Signing in with a browser, for servers that want a token and have pages.
//!
//! ```text
//! GET a page ──no session──▶ 401, a form ──POST /sign-in──▶ cookie, 303 back to the page
//!                                              └─too many wrong tokens──▶ 429, the form
//! POST /sign-out ──▶ the session is ended here, and the cookie taken away
//! ```
//! A program that accepts `application/json` gets 204 in place of the redirects, and a problem in
//! place of the form: the web application signs in and out this way.

mod attempts;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::RequestHead;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, web};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Deserialize;

use crate::assets::Asset;
use crate::guard::ApiToken;
use crate::guard::session::{self, SESSION_SECONDS, Sessions};
use crate::problem::Problem;
use crate::routes::Routes;
use attempts::{AttemptDecision, Attempts};

/// Where the form is.
const SIGN_IN: &str = "/sign-in";
const SCRIPT: &str = "/sign-in.js";
/// A style sheet for the form, where a server has none of its own.
pub const SIGN_IN_STYLE: &str = "/sign-in.css";

/// How browsers sign in to a server.
#[derive(Debug, Clone)]
pub struct SignIn {
    /// The token that is asked for.
    pub token: ApiToken,
    /// The cookie's name: another one for each program, since cookies do not know ports.
    pub cookie: &'static str,
    /// What people are asked for, as markup of the program's own: `the API token of this server`.
    pub asks_for: &'static str,
    /// The page's style sheet, which needs no token.
    pub style: &'static str,
    /// The server is reached by https, so that the cookie must be.
    pub secure: bool,
    /// The wrong tokens that were given: one for all workers of a server.
    pub attempts: SignInAttempts,
    /// The sessions: one set for all workers of a server.
    pub sessions: SignInSessions,
}

/// Counts wrong tokens; clones count together.
#[derive(Debug, Clone, Default)]
pub struct SignInAttempts(Arc<Attempts>);

impl SignInAttempts {
    /// Whether the token that `is_right` compares is the right one; a wrong one is counted.
    ///
    /// # Errors
    /// After too many wrong ones nothing is compared for so long.
    pub fn check(
        &self,
        peer: Option<IpAddr>,
        is_right: impl FnOnce() -> bool,
    ) -> Result<bool, Duration> {
        match self.0.attempt(peer, is_right) {
            AttemptDecision::Right => Ok(true),
            AttemptDecision::Wrong => Ok(false),
            AttemptDecision::Later(wait) => Err(wait),
        }
    }
}

/// Who has signed in; clones are the same.
#[derive(Debug, Clone, Default)]
pub struct SignInSessions(Arc<Sessions>);

#[derive(Deserialize)]
struct Form {
    token: String,
    #[serde(default)]
    next: String,
}

impl SignIn {
    /// Adds the form, its script, and the way out.
    #[must_use]
    pub fn routes(self, routes: Routes) -> Routes {
        let script = Asset::new(
            include_str!("sign_in.js").as_bytes(),
            "text/javascript; charset=utf-8",
        );
        let (looks, enters, leaves) = (self.clone(), self.clone(), self);
        let style = Asset::new(
            include_str!("sign_in.css").as_bytes(),
            "text/css; charset=utf-8",
        );
        routes
            .asset(SCRIPT, script)
            .asset(SIGN_IN_STYLE, style)
            .get(SIGN_IN, move |request: HttpRequest| {
                let answer = looks.render_page(request.head());
                async move { answer }
            })
            .post(
                SIGN_IN,
                move |request: HttpRequest, form: web::Form<Form>| {
                    let answer = enters.sign_in(request.head(), &form);
                    async move { answer }
                },
            )
            .post("/sign-out", move |request: HttpRequest| {
                let answer = leaves.sign_out(request.head());
                async move { answer }
            })
    }

    /// Whether a path belongs to signing in, and so needs no token.
    pub(crate) fn is_at(path: &str) -> bool {
        [SIGN_IN, SCRIPT, SIGN_IN_STYLE].contains(&path)
    }

    /// The cookie of the session that a request comes with. One that changes something must also
    /// say that a page of this server sent it: browsers do, and `SameSite` alone lets in other
    /// ports of the same host.
    pub(crate) fn session(&self, head: &RequestHead) -> Option<String> {
        let reads = matches!(head.method, Method::GET | Method::HEAD);
        let site = head.headers().get("sec-fetch-site");
        let is_own = head.headers().contains_key(header::ORIGIN)
            || site.is_some_and(|site| site.as_bytes() == b"same-origin");
        let mut cookies = session::cookies(head, self.cookie).into_iter();
        let cookie = cookies.find(|value| (reads || is_own) && self.holds(value))?;
        Some(cookie.to_owned())
    }

    /// Whether the value of a cookie is that of a session that goes on.
    pub(crate) fn holds(&self, value: &str) -> bool {
        self.sessions.0.holds(&self.token, value)
    }

    fn has_session(&self, head: &RequestHead) -> bool {
        let cookies = session::cookies(head, self.cookie);
        cookies.into_iter().any(|value| self.holds(value))
    }

    /// Whether a request that reads comes with a session: for pages that show more to those who
    /// have one.
    #[must_use]
    pub fn is_signed_in(&self, head: &RequestHead) -> bool {
        self.has_session(head)
    }

    /// The form in place of a page, for a browser; programs get the problem.
    pub(crate) fn instead(&self, head: &RequestHead) -> Option<HttpResponse> {
        let is_page = matches!(head.method, Method::GET | Method::HEAD) && wants_html(head);
        let next = head
            .uri
            .path_and_query()
            .map_or("/", |target| target.as_str());
        is_page.then(|| self.page(next, None))
    }

    /// Whether a request may do what a session allows: one that changes something must come from a
    /// page of this server.
    #[must_use]
    pub fn admits(&self, head: &RequestHead) -> bool {
        self.session(head).is_some()
    }

    /// Whether there is a token to sign in with.
    pub(crate) fn has_token(&self) -> bool {
        self.token.hash().is_some()
    }

    /// What is asked for, without markup.
    pub(crate) fn asks_in_words(&self) -> String {
        self.asks_for.replace("<code>", "").replace("</code>", "")
    }

    fn render_page(&self, head: &RequestHead) -> Result<HttpResponse, Problem> {
        if wants_html(head) {
            let query = head.uri.query().unwrap_or_default();
            let next = query.split('&').find_map(|pair| pair.strip_prefix("next="));
            return Ok(self.page(next.unwrap_or("/"), None));
        }
        if self.has_session(head) {
            return Ok(HttpResponse::NoContent()
                .insert_header((header::CACHE_CONTROL, "no-store"))
                .finish());
        }
        Err(Problem::unauthorized("there is no session"))
    }

    fn sign_in(&self, head: &RequestHead, form: &Form) -> HttpResponse {
        let next = own_path(&form.next);
        let peer = head.peer_addr.map(|peer| peer.ip());
        let is_right = || self.token.is(form.token.trim().as_bytes());
        match self.attempts.check(peer, is_right) {
            Ok(true) => self.entered(head, next),
            Ok(false) => {
                tracing::warn!(event = "http.sign_in_refused", "a wrong token was given");
                if wants_json(head) {
                    return Problem::unauthorized("this is not the token").respond(None);
                }
                self.page(next, Some("This is not the token."))
            }
            Err(wait) if wants_json(head) => later_problem(wait).respond(None),
            Err(wait) => self.later(next, wait),
        }
    }

    fn entered(&self, head: &RequestHead, next: &str) -> HttpResponse {
        let Some(value) = self.sessions.0.start(&self.token) else {
            if wants_json(head) {
                let problem = Problem::forbidden("there is no token to sign in with");
                return problem.respond(None);
            }
            return self.page(next, Some("There is no token to sign in with."));
        };
        let secure = self.secure || is_https(head.headers());
        self.lead(head, next, (&value, SESSION_SECONDS), secure)
    }

    /// Whatever the token is: who guesses must not learn that one was right.
    fn later(&self, next: &str, wait: Duration) -> HttpResponse {
        let seconds = wait.as_secs() + 1;
        let wrong = format!(
            "There were too many wrong tokens. Even the right one is not taken now: try again in {seconds} s."
        );
        let mut answer = self.page(next, Some(&wrong));
        *answer.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        let headers = answer.headers_mut();
        headers.remove(header::WWW_AUTHENTICATE);
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        answer
    }

    fn sign_out(&self, head: &RequestHead) -> HttpResponse {
        for value in session::cookies(head, self.cookie) {
            self.sessions.0.end(value);
        }
        self.lead(head, SIGN_IN, ("", 0), self.secure)
    }

    /// Sets the cookie, and leads on whoever wants a page.
    fn lead(
        &self,
        head: &RequestHead,
        next: &str,
        (value, age_s): (&str, u64),
        secure: bool,
    ) -> HttpResponse {
        let secure = if secure { "; Secure" } else { "" };
        let cookie = format!(
            "{}={value}; Path=/; Max-Age={age_s}; HttpOnly; SameSite=Strict{secure}",
            self.cookie
        );
        let mut answer = if wants_json(head) {
            HttpResponse::NoContent()
        } else {
            let mut answer = HttpResponse::SeeOther();
            answer.insert_header((header::LOCATION, next));
            answer
        };
        answer
            .insert_header((header::SET_COOKIE, cookie))
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .finish()
    }

    fn form(&self, next: &str, wrong: Option<&str>) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { "Sign in" }
                    link rel="icon" href="data:,";
                    link rel="stylesheet" href=(self.style);
                }
                body {
                    main class="sign-in" {
                        h1 { "Sign in" }
                        @if let Some(wrong) = wrong {
                            p role="alert" class="wrong" { (wrong) }
                        }
                        form method="post" action=(SIGN_IN) {
                            input type="hidden" name="next" value=(next);
                            p { label for="token" { "Enter " (PreEscaped(self.asks_for)) } }
                            p {
                                input id="token" name="token" type="password" autocomplete="current-password" required autofocus;
                                " "
                                button { "Sign in" }
                            }
                        }
                        p { a id="on" href=(next) { "I have signed in already" } }
                    }
                    script src=(SCRIPT) {}
                }
            }
        }
    }

    fn page(&self, next: &str, wrong: Option<&str>) -> HttpResponse {
        let body = self.form(own_path(next), wrong).into_string();
        HttpResponse::build(StatusCode::UNAUTHORIZED)
            .content_type("text/html; charset=utf-8")
            .insert_header((header::WWW_AUTHENTICATE, "Bearer"))
            .insert_header((header::CACHE_CONTROL, "no-store"))
            // With `no-referrer` a browser would send the form with the origin `null`.
            .insert_header((header::REFERRER_POLICY, "same-origin"))
            .body(body)
    }
}

/// A path of this server; anything that could lead elsewhere is the start page.
fn own_path(next: &str) -> &str {
    let own = next.starts_with('/')
        && !next.starts_with("//")
        && next
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if own { next } else { "/" }
}

/// Whether a browser says that it came by https.
fn is_https(headers: &HeaderMap) -> bool {
    let starts = |value: Option<&HeaderValue>, with: &[u8]| {
        value.is_some_and(|value| value.as_bytes().starts_with(with))
    };
    starts(headers.get(header::ORIGIN), b"https://")
        || starts(headers.get("x-forwarded-proto"), b"https")
}

/// People's browsers name HTML; programs do not.
fn wants_html(head: &RequestHead) -> bool {
    let accept = head.headers().get(header::ACCEPT);
    accept
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"))
}

/// The web application names JSON, and wants no page.
fn wants_json(head: &RequestHead) -> bool {
    let accept = head.headers().get(header::ACCEPT);
    accept
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("application/json") && !accept.contains("text/html"))
}

/// The same for whoever is too often wrong, right tokens included.
fn later_problem(wait: Duration) -> Problem {
    let seconds = u32::try_from(wait.as_secs() + 1).unwrap_or(u32::MAX);
    Problem::too_many_requests(
        format!("there were too many wrong tokens: try again in {seconds} s"),
        seconds,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_leads_to_no_other_server() {
        let sign_in = SignIn {
            token: ApiToken::new("the token of the test").unwrap(),
            cookie: "test",
            asks_for: "the token",
            style: "/style.css",
            secure: false,
            attempts: SignInAttempts::default(),
            sessions: SignInSessions::default(),
        };
        let body = |next| {
            let body = sign_in.page(next, None).into_body();
            let bytes = actix_web::body::MessageBody::try_into_bytes(body).unwrap();
            String::from_utf8(bytes.to_vec()).unwrap()
        };
        assert!(body("/runs/1").contains("href=\"/runs/1\""));
        assert!(!body("//evil.example/x").contains("evil"));
    }

    #[test]
    fn after_signing_in_only_paths_of_this_server_are_gone_to() {
        assert_eq!(own_path("/runs/1?x=2"), "/runs/1?x=2");
        for foreign in [
            "",
            "runs",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a\r\nb",
        ] {
            assert_eq!(own_path(foreign), "/", "{foreign:?}");
        }
    }
}
