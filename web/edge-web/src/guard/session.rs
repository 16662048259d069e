//! The sessions of browsers: a cookie that stands for the API token, since a page's links and
//! streams carry no header.
//!
//! The cookie is a random number, and the sessions are kept here: one that was signed out, or is
//! older than its end, is gone and cannot come back. They live in memory only, so a restart ends
//! them all; another token does as well.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use actix_web::dev::RequestHead;
use actix_web::http::header;
use parking_lot::Mutex;

use super::ApiToken;

/// How long a session lasts.
pub(crate) const SESSION_SECONDS: u64 = 12 * 3600;

/// Sessions at once; one more ends the oldest. Each is signed in with the token.
const MAX_SESSIONS: usize = 1024;

/// The sessions of one server.
#[derive(Debug)]
pub(crate) struct Sessions {
    started_at: Instant,
    /// Oldest first.
    open: Mutex<VecDeque<Session>>,
}

/// One session; a cookie's value is never kept, only its hash.
#[derive(Debug)]
struct Session {
    cookie: blake3::Hash,
    token: blake3::Hash,
    /// Since the start of the process, by a clock that is never set.
    ends: Duration,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            started_at: Instant::now(),
            open: Mutex::default(),
        }
    }
}

impl Sessions {
    /// Begins a session and gives the value of its cookie; `None` while there is no token.
    pub(crate) fn start(&self, token: &ApiToken) -> Option<String> {
        self.start_at(token, self.started_at.elapsed())
    }

    /// Whether a cookie's value is that of a session started_at with this token, not ended and not
    /// signed out.
    pub(crate) fn holds(&self, token: &ApiToken, value: &str) -> bool {
        self.holds_at(token, value, self.started_at.elapsed())
    }

    /// Ends the session of a cookie's value, if it has one: from now on it opens nothing.
    pub(crate) fn end(&self, value: &str) {
        let cookie = blake3::hash(value.as_bytes());
        self.open.lock().retain(|session| session.cookie != cookie);
    }

    fn start_at(&self, token: &ApiToken, now: Duration) -> Option<String> {
        let token = token.hash()?;
        // Two random UUIDs have 244 bits of the operating system's randomness.
        let value =
            [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()].map(|half| half.simple().to_string());
        let value = value.concat();
        let mut open = self.open.lock();
        open.retain(|session| session.ends > now && session.token == token);
        while open.len() >= MAX_SESSIONS {
            open.pop_front();
        }
        open.push_back(Session {
            cookie: blake3::hash(value.as_bytes()),
            token,
            ends: now + Duration::from_secs(SESSION_SECONDS),
        });
        Some(value)
    }

    fn holds_at(&self, token: &ApiToken, value: &str, now: Duration) -> bool {
        let Some(token) = token.hash() else {
            return false;
        };
        let cookie = blake3::hash(value.as_bytes());
        let open = self.open.lock();
        let mut found = open.iter().filter(|session| session.cookie == cookie);
        found.any(|session| session.ends > now && session.token == token)
    }
}

/// The values of the cookies of this name.
pub(crate) fn cookies<'h>(head: &'h RequestHead, name: &str) -> Vec<&'h str> {
    let headers = head.headers().get_all(header::COOKIE);
    let pairs = headers
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(';'));
    pairs
        .filter_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn t11_a_session_that_was_signed_out_is_gone_and_others_stay() {
        let (sessions, token) = (Sessions::default(), ApiToken::new("one").unwrap());
        let first = sessions.start(&token).unwrap();
        let second = sessions.start(&token).unwrap();
        assert!(sessions.holds(&token, &first) && sessions.holds(&token, &second));
        sessions.end(&first);
        assert!(!sessions.holds(&token, &first));
        assert!(sessions.holds(&token, &second));
        sessions.end("unknown");
        assert!(sessions.holds(&token, &second));
        let restarted = Sessions::default();
        assert!(!restarted.holds(&token, &second), "a restart ends all");
    }

    #[test]
    fn t11_a_session_is_of_one_token_one_server_and_ends() {
        let (sessions, token) = (Sessions::default(), ApiToken::new("one").unwrap());
        let value = sessions.start_at(&token, at(10)).unwrap();
        assert!(sessions.holds_at(&token, &value, at(SESSION_SECONDS + 9)));
        assert!(
            !sessions.holds_at(&token, &value, at(SESSION_SECONDS + 10)),
            "it has ended"
        );
        let changed = ApiToken::new("two").unwrap();
        assert!(!sessions.holds_at(&changed, &value, at(11)));
        let nothing = ApiToken::following(|| None);
        assert!(!sessions.holds_at(&nothing, &value, at(11)));
        assert!(sessions.start(&nothing).is_none());
        for wrong in ["", ".", &value[1..], "9999999999.00"] {
            assert!(!sessions.holds_at(&token, wrong, at(11)), "{wrong}");
        }
    }

    #[test]
    fn t11_sessions_take_bounded_memory() {
        let (sessions, token) = (Sessions::default(), ApiToken::new("one").unwrap());
        let first = sessions.start_at(&token, at(0)).unwrap();
        let second = sessions.start_at(&token, at(0)).unwrap();
        for _ in 0..MAX_SESSIONS - 1 {
            sessions.start_at(&token, at(1)).unwrap();
        }
        assert_eq!(sessions.open.lock().len(), MAX_SESSIONS);
        assert!(
            !sessions.holds_at(&token, &first, at(2)),
            "the oldest gave way"
        );
        assert!(sessions.holds_at(&token, &second, at(2)));
    }
}
