//! Who calls: the token of `Authorization: Bearer …`, and what it allows.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpRequest, web};
use edge_web::Problem;
use vm_actors::wall;
use vm_core::token::{TokenError, TokenKey, TokenScope};

/// A caller whose token allows reading.
pub(crate) struct ReadCaller(pub(crate) Caller);

/// A caller whose token allows giving out VMs and working in them.
pub(crate) struct WriteCaller(pub(crate) Caller);

/// What a token says of who has it.
pub(crate) struct Caller {
    /// Who it was made for.
    pub(crate) subject: String,
    /// Whether VMs of others are seen.
    pub(crate) sees_all: bool,
}

impl Caller {
    /// The only subject whose VMs are seen; `None` sees all.
    pub(crate) fn only(&self) -> Option<String> {
        (!self.sees_all).then(|| self.subject.clone())
    }

    pub(crate) fn sees(&self, subject: &str) -> bool {
        self.sees_all || self.subject == subject
    }
}

impl FromRequest for ReadCaller {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(caller(request, TokenScope::Read).map(Self))
    }
}

impl FromRequest for WriteCaller {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(caller(request, TokenScope::Write).map(Self))
    }
}

fn caller(request: &HttpRequest, wanted: TokenScope) -> Result<Caller, Problem> {
    let key = request
        .app_data::<web::Data<TokenKey>>()
        .ok_or_else(Problem::internal)?;
    let given = request.headers().get(header::AUTHORIZATION);
    let token = given
        .and_then(|value| bearer(value.as_bytes()))
        .ok_or_else(|| Problem::unauthorized("this manager wants Authorization: Bearer <token>"))?;
    let claims = key.verify(token, wanted, wall()).map_err(refusal)?;
    Ok(Caller {
        sees_all: claims.allows(TokenScope::Admin),
        subject: claims.sub,
    })
}

fn refusal(error: TokenError) -> Problem {
    match error {
        TokenError::Scope(_) => Problem::forbidden(error.to_string()),
        _ => Problem::unauthorized(error.to_string()),
    }
}

/// The token of a Bearer header (RFC 6750, section 2.1).
fn bearer(value: &[u8]) -> Option<&str> {
    let (scheme, token) = value.split_at_checked(7)?;
    if !scheme.eq_ignore_ascii_case(b"Bearer ") {
        return None;
    }
    std::str::from_utf8(token).ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bearer_headers_carry_a_token() {
        assert_eq!(bearer(b"Bearer abc"), Some("abc"));
        assert_eq!(bearer(b"bearer  abc "), Some("abc"));
        for wrong in [&b"Basic abc"[..], b"Bearer", b"", b"Bearer \xff"] {
            assert_eq!(bearer(wrong), None);
        }
    }
}
