//! A value that never prints.

use std::fmt;

use serde::{Serialize, Serializer};

/// What stands in the place of a secret wherever it would be printed.
pub(crate) const MASK: &str = "***";

/// A password, token or key: `Debug`, `Display` and `Serialize` give `***`.
///
/// The only way to the value is [`Secret::expose`], so that every place that uses one can be found
/// by that name.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Hides `value`.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself: hand it to the one who needs it and to nobody else.
    pub const fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl<T> fmt::Display for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl<T> Serialize for Secret<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints() {
        let secret = Secret::new(String::from("sk-123"));
        let json = serde_json::to_string(&secret).unwrap();
        assert_eq!(
            format!("{secret} {secret:?} {secret:#?} {json}"),
            r#"*** *** *** "***""#
        );
        assert_eq!(format!("{:?}", Some(secret.clone())), "Some(***)");
        assert_eq!(secret.expose(), "sk-123");
    }
}
