//! Names of objects that images consist of.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const DIGEST: usize = 64;
const RANDOM: usize = 32;

/// What an object is called: the BLAKE3 digest of its content, and a random part, so that a name is
/// used once.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StoredName(String);

impl StoredName {
    /// A new name for this content; `random` are 32 hexadecimal digits.
    ///
    /// # Errors
    /// [`StoredNameError`] when one of them has another form.
    pub fn new(digest: &str, random: &str) -> Result<Self, StoredNameError> {
        format!("{digest}-{random}").parse()
    }

    /// The digest of its content, as 64 hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.0[..DIGEST]
    }

    /// All of it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StoredName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no name of an object: expected 64 hexadecimal digits, a dash and 32 more")]
pub struct StoredNameError;

impl FromStr for StoredName {
    type Err = StoredNameError;

    fn from_str(text: &str) -> Result<Self, StoredNameError> {
        let (digest, random) = text.split_once('-').ok_or(StoredNameError)?;
        let is_hex = |text: &str, digits: usize| {
            let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            text.len() == digits && text.bytes().all(hex)
        };
        if !is_hex(digest, DIGEST) || !is_hex(random, RANDOM) {
            return Err(StoredNameError);
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for StoredName {
    type Error = StoredNameError;

    fn try_from(text: String) -> Result<Self, StoredNameError> {
        text.parse()
    }
}

impl From<StoredName> for String {
    fn from(name: StoredName) -> Self {
        name.0
    }
}
