//! What a server or the way to it may answer, sorted by what can be done about it.

use crate::error::StoreError;
use tokio_postgres::error::SqlState;

/// The state by which `commit_group` says that another process has a higher epoch.
pub(super) const EPOCH_PASSED: &str = "OR001";
/// The state by which it says that a group of this number was committed before.
pub(super) const GROUP_KNOWN: &str = "OR002";
/// The state by which `take_in` says that as many deliveries wait as may.
const INTAKE_FULL: &str = "OR003";

/// What a server says whose disk is full, whatever its code.
const FULL: [&str; 2] = ["could not write init file", "No space left on device"];

/// Why the server did not do what it was asked.
#[derive(Debug)]
pub(super) enum Fault {
    /// The connection is gone, or the server does not answer: it may have done it.
    Lost(String),
    /// Another process has taken the store.
    EpochPassed,
    /// A group of this number was committed before.
    GroupKnown,
    /// As many deliveries wait for the holder as may.
    IntakeFull,
    /// No space left on the server.
    Full,
    /// The server refuses, and says why.
    Refused {
        /// Its code, where it gave one.
        state: Option<SqlState>,
        /// What it said.
        reason: String,
    },
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(said) = error.as_db_error() else {
            let reason = with_causes(&error);
            return match is_of_the_connection(&error) {
                true => Self::Lost(reason),
                false => Self::Refused {
                    state: None,
                    reason,
                },
            };
        };
        Self::of_reply(said.code(), said.message().to_owned())
    }
}

impl Fault {
    /// What the server said.
    fn of_reply(state: &SqlState, reason: String) -> Self {
        match state.code() {
            EPOCH_PASSED => Self::EpochPassed,
            GROUP_KNOWN => Self::GroupKnown,
            INTAKE_FULL => Self::IntakeFull,
            "53100" => Self::Full,
            // A server that has no room starts no further session, and gives that another code.
            _ if FULL.iter().any(|text| reason.contains(text)) => Self::Full,
            // Connection exceptions; shut down, crashed, starting; too many connections; a
            // statement that took too long; a transaction or session that sat idle.
            code if code.starts_with("08") || code.starts_with("57P") => Self::Lost(reason),
            "53300" | "57014" | "25P03" => Self::Lost(reason),
            // A server that was made a standby, or is one that was not yet promoted.
            "25006" => Self::Lost(format!("{reason}: the server is a read-only standby")),
            _ => Self::Refused {
                state: Some(state.clone()),
                reason,
            },
        }
    }
}

impl Fault {
    /// As the users of the store get it; nothing was stored.
    pub(super) fn into_store_error(self, place: &str) -> StoreError {
        let place = place.to_owned();
        let reason = match self {
            Self::Full => return StoreError::Full { place },
            Self::EpochPassed => {
                let by = "another process".to_owned();
                return StoreError::TakenOver { place, by };
            }
            Self::GroupKnown => "the server knows the group already".to_owned(),
            Self::IntakeFull => "as many deliveries wait as may".to_owned(),
            Self::Lost(reason) | Self::Refused { reason, .. } => reason,
        };
        StoreError::Storage { place, reason }
    }
}

/// Whether the connection failed, and not a value or a statement.
fn is_of_the_connection(error: &tokio_postgres::Error) -> bool {
    let causes =
        std::iter::successors(Some(error as &(dyn std::error::Error + 'static)), |error| {
            error.source()
        });
    error.is_closed() || causes.into_iter().any(|cause| cause.is::<std::io::Error>())
}

/// An error with all that caused it.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_a_server_whose_disk_is_full_is_full_whatever_its_code() {
        let full = |state: &SqlState, text: &str| {
            matches!(Fault::of_reply(state, text.to_owned()), Fault::Full)
        };
        assert!(full(&SqlState::DISK_FULL, "could not extend file"));
        assert!(full(&SqlState::INTERNAL_ERROR, "could not write init file"));
        let wal = "could not write to file \"pg_wal/xlogtemp.1\": No space left on device";
        assert!(full(&SqlState::IO_ERROR, wal));
        assert!(!full(&SqlState::INTERNAL_ERROR, "could not read init file"));
    }
}
