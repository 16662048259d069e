//! Numbers that forges give to issues, pull requests and comments.

use serde::{Deserialize, Serialize};

use super::ForgeIdError;

/// Largest number accepted: forges keep these numbers as signed 64-bit integers.
const MAX: u64 = i64::MAX as u64;

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $min:literal, $rule:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "u64", into = "u64")]
        pub struct $name(u64);

        impl $name {
            /// The checked number.
            pub fn get(self) -> u64 {
                self.0
            }

            /// What a field of this kind must hold, for error texts.
            pub(crate) const EXPECTED: &'static str = $rule;
        }

        impl TryFrom<u64> for $name {
            type Error = ForgeIdError;
            fn try_from(number: u64) -> Result<Self, Self::Error> {
                if ($min..=MAX).contains(&number) {
                    return Ok(Self(number));
                }
                Err(ForgeIdError::new($kind, &number.to_string(), concat!("use ", $rule)))
            }
        }

        impl From<$name> for u64 {
            fn from(id: $name) -> u64 {
                id.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number_id! {
    /// The number of an issue or of a pull request's conversation; 0 marks a trigger from the
    /// command line, which has no issue to answer in.
    IssueNumber, "issue number", 0, "an integer from 0 to 9223372036854775807"
}
number_id! {
    /// A pull request's number, from 1.
    PullRequestNumber, "pull request number", 1, "an integer from 1 to 9223372036854775807"
}
number_id! {
    /// A comment's id, unique on its forge; command-line triggers choose their own, 0 included.
    CommentId, "comment id", 0, "an integer from 0 to 9223372036854775807"
}

impl IssueNumber {
    /// Whether this is a trigger from the command line, about no issue: nothing can be posted back.
    pub fn is_cli(self) -> bool {
        self.0 == 0
    }
}

impl From<PullRequestNumber> for IssueNumber {
    /// Forges number issues and pull requests in one sequence.
    fn from(number: PullRequestNumber) -> Self {
        Self(number.0)
    }
}
