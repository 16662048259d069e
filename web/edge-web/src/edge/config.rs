//! What an edge allows, and the decision about a request's head.

use actix_web::HttpResponse;
use actix_web::dev::RequestHead;
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderValue};

use crate::guard::credential::Credential;
use crate::guard::{
    ApiToken, HostPolicy, HostRefusal, OriginPolicy, OriginVerdict, PublicPaths, RequestSource,
};
use crate::headers::STRICT_CSP;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::sign_in::SignIn;

/// What the edge of one server allows.
#[derive(Debug, Clone)]
pub struct EdgeConfig {
    /// The hosts it answers for.
    pub hosts: HostPolicy,
    /// The other origins that may use it from a browser.
    pub origins: OriginPolicy,
    /// The token it wants; `None` on loopback (see [`exposure`](crate::guard::exposure)).
    pub token: Option<ApiToken>,
    /// How browsers get a session in place of the token; `None`: they do not.
    pub sign_in: Option<SignIn>,
    /// What needs no token.
    pub public: PublicPaths,
    /// Exact paths whose `POST` carries a signature over its body: a forge names this server as it
    /// knows it, and a page that rebinds a name cannot sign. Every host is answered there, and only
    /// there.
    pub signed: &'static [&'static str],
    /// Paths that want a token of their own, whatever the rest wants.
    pub guarded: Vec<GuardedPath>,
    /// What other processes of the same kind show with requests that they pass on: those have been
    /// judged by host already. `None`: nobody passes requests on to this server.
    pub replicas: Option<ApiToken>,
    /// Where it counts.
    pub metrics: Metrics,
    /// The Content-Security-Policy of answers that do not set their own.
    pub content_security_policy: HeaderValue,
}

/// The header by which a process shows that it may pass requests on to this one.
pub const REPLICA_KEY: &str = "orrery-replica-key";

/// Paths that want a token which is not the server's.
#[derive(Debug, Clone)]
pub struct GuardedPath {
    /// What they begin with, as it comes over the wire; whoever serves them refuses every other
    /// spelling.
    pub prefix: String,
    /// The token; a browser's session opens them as well.
    pub token: ApiToken,
}

impl EdgeConfig {
    /// Answers for `hosts`, grants no other origin, wants no token, and has the strict policy.
    pub fn new(hosts: HostPolicy, metrics: &Metrics) -> Self {
        Self {
            hosts,
            origins: OriginPolicy::default(),
            token: None,
            sign_in: None,
            public: PublicPaths::default(),
            signed: &[],
            guarded: Vec::new(),
            replicas: None,
            metrics: metrics.clone(),
            content_security_policy: HeaderValue::from_static(STRICT_CSP),
        }
    }
}

/// How a request goes on.
pub(super) enum RequestAdmission {
    /// To its handler.
    Pass(AdmittedRequest),
    /// A preflight of a granted origin: answered here.
    Preflight(HeaderValue),
    /// A browser without a session: the form in place of the page.
    SignIn(HttpResponse),
}

/// What is known of a request that goes to its handler.
pub(super) struct AdmittedRequest {
    /// The other origin that is granted the answer.
    pub(super) grant: Option<HeaderValue>,
    /// What opened it; `None`: nothing was needed.
    pub(super) credential: Option<Credential>,
}

impl EdgeConfig {
    /// Host, origin, token: in this order, as each tells a stranger less than the next.
    pub(super) fn admit(&self, head: &RequestHead) -> Result<RequestAdmission, Problem> {
        if !self.is_passed_on(head)? {
            match self.hosts.check(head) {
                Ok(()) => {}
                // Its signature says whether it is meant for this server.
                Err(HostRefusal::Foreign) if self.is_signed(head) => {}
                Err(refusal @ HostRefusal::Foreign) => {
                    return Err(Problem::misdirected(refusal.to_string()).closing());
                }
                Err(refusal @ HostRefusal::Malformed) => {
                    return Err(Problem::bad_request(refusal.to_string()).closing());
                }
            }
        }
        let grant = match self.origins.check(&RequestSource::from_head(head)) {
            OriginVerdict::Own => None,
            OriginVerdict::Granted(origin) => Some(origin),
            OriginVerdict::Refused => return Err(foreign_origin()),
        };
        if let Some(origin) = &grant
            && head.method == Method::OPTIONS
            && head
                .headers()
                .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        {
            return Ok(RequestAdmission::Preflight(origin.clone()));
        }
        let mut credential = None;
        if let Some(token) = self.token_of(head.uri.path()) {
            let given = head.headers().get(header::AUTHORIZATION);
            let given = given.is_some_and(|value| token.matches(value.as_bytes()));
            if given || has_protocol_token(head, token) {
                credential = Credential::of_token(token);
            } else {
                let sign_in = self.sign_in.as_ref();
                // Pages of other origins cannot use a session.
                let own = sign_in.filter(|_| grant.is_none());
                credential = own.and_then(|it| Credential::of_session(it, head));
                let is_form = own.is_some() && SignIn::is_at(head.uri.path());
                if credential.is_none() && !is_form {
                    if let Some(form) = sign_in.and_then(|it| it.instead(head)) {
                        return Ok(RequestAdmission::SignIn(form));
                    }
                    return Err(Problem::unauthorized(
                        "this server wants Authorization: Bearer <token>",
                    ));
                }
            }
        }
        Ok(RequestAdmission::Pass(AdmittedRequest {
            grant,
            credential,
        }))
    }

    /// Whether another process of the same kind has passed the request on, and may.
    fn is_passed_on(&self, head: &RequestHead) -> Result<bool, Problem> {
        let shown = head.headers().get(REPLICA_KEY);
        match (&self.replicas, shown) {
            (Some(key), Some(shown)) if key.is(shown.as_bytes()) => Ok(true),
            (Some(_), Some(_)) => Err(Problem::unavailable(
                "the request was passed on under a leadership that has passed; try again",
                1,
            )),
            _ => Ok(false),
        }
    }

    /// Whether the handler answers to nobody but whoever signs the body.
    fn is_signed(&self, head: &RequestHead) -> bool {
        head.method == Method::POST && self.signed.contains(&head.uri.path())
    }

    /// Whether only whoever shows a token comes to this path.
    pub(super) fn wants_token(&self, path: &str) -> bool {
        self.token_of(path).is_some()
    }

    /// The token that a path wants.
    fn token_of(&self, path: &str) -> Option<&ApiToken> {
        let mut guarded = self.guarded.iter();
        if let Some(found) = guarded.find(|it| path.starts_with(&it.prefix)) {
            return Some(&found.token);
        }
        self.token.as_ref().filter(|_| !self.public.contains(path))
    }
}

/// Whether this is the beginning of a WebSocket that carries the token.
fn has_protocol_token(head: &RequestHead, token: &ApiToken) -> bool {
    let headers = head.headers();
    let upgrade = headers.get(header::UPGRADE).map(HeaderValue::as_bytes);
    let mut protocols = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL);
    head.method == Method::GET
        && upgrade.is_some_and(|name| name.eq_ignore_ascii_case(b"websocket"))
        && protocols.any(|value| token.matches_protocol(value.as_bytes()))
}

fn foreign_origin() -> Problem {
    Problem::forbidden("requests from pages of other origins are not allowed here")
        .kind("foreign-origin", "Foreign origin")
}

/// The answer to the preflight of a configured origin (the grant itself is added at the end).
pub(super) fn preflight() -> HttpResponse {
    HttpResponse::NoContent()
        .insert_header((
            header::ACCESS_CONTROL_ALLOW_METHODS,
            "GET, HEAD, POST, PUT, DELETE",
        ))
        .insert_header((
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, if-match, if-none-match, x-request-id",
        ))
        .insert_header((header::ACCESS_CONTROL_MAX_AGE, "600"))
        .finish()
}
