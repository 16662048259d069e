//! What a request was admitted by, kept as long as its answer streams: a stream must not outlive
//! the session or the token that opened it.

use actix_web::dev::RequestHead;

use super::ApiToken;
use crate::sign_in::SignIn;

/// What opened an answer.
#[derive(Debug, Clone)]
pub(crate) enum Credential {
    /// The token that was in force, as its hash.
    Token {
        /// The token in force now.
        token: ApiToken,
        /// The hash of the one that was shown.
        shown: blake3::Hash,
    },
    /// A browser's session.
    Session {
        /// Where it was started_at.
        sign_in: Box<SignIn>,
        /// The value of its cookie.
        cookie: String,
    },
}

impl Credential {
    /// The token that is in force; `None` where there is none.
    pub(crate) fn of_token(token: &ApiToken) -> Option<Self> {
        let shown = token.hash()?;
        let token = token.clone();
        Some(Self::Token { token, shown })
    }

    /// The session that a request comes with.
    pub(crate) fn of_session(sign_in: &SignIn, head: &RequestHead) -> Option<Self> {
        let cookie = sign_in.session(head)?;
        let sign_in = Box::new(sign_in.clone());
        Some(Self::Session { sign_in, cookie })
    }

    /// Whether it still opens what it opened: the token is the same, the session was not signed out
    /// and has not run out.
    pub(crate) fn is_valid(&self) -> bool {
        match self {
            Self::Token { token, shown } => token.hash() == Some(*shown),
            Self::Session { sign_in, cookie } => sign_in.holds(cookie),
        }
    }
}
