//! What every textual id has in common.

/// Everything but equality and deserialising: construction by check, display, serialising.
macro_rules! text_id_body {
    ($name:ident, $kind:literal, $check:path) => {
        impl $name {
            /// The checked text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::ForgeIdError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $check(text).map_err(|reason| $crate::ForgeIdError::new($kind, text, reason))?;
                Ok(Self(text.into()))
            }
        }

        impl TryFrom<&str> for $name {
            type Error = $crate::ForgeIdError;
            fn try_from(text: &str) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::ForgeIdError;
            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({:?})", stringify!($name), &*self.0)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }
    };
}

/// Deserialising through a check.
macro_rules! deserialize_by {
    ($name:ident, $kind:literal, $check:path) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = String::deserialize(from)?;
                $check(&text).map_err(|reason| {
                    serde::de::Error::custom($crate::ForgeIdError::new($kind, &text, reason))
                })?;
                Ok(Self(text.into()))
            }
        }
    };
}

/// An id compared byte by byte. A second check, if given, is the one for deserialising.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $check:path) => {
        $crate::id::macros::text_id!($(#[$doc])* $name, $kind, $check, $check);
    };
    ($(#[$doc:meta])* $name:ident, $kind:literal, $check:path, $stored:path) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);
        $crate::id::macros::text_id_body!($name, $kind, $check);
        $crate::id::macros::deserialize_by!($name, $kind, $stored);
    };
}

/// An id whose ASCII letters compare without regard to case, as forges compare it; it keeps the
/// spelling it came with.
macro_rules! folded_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $check:path) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name(Box<str>);
        $crate::id::macros::text_id_body!($name, $kind, $check);
        $crate::id::macros::deserialize_by!($name, $kind, $check);

        impl $name {
            fn folded(&self) -> impl Iterator<Item = u8> + '_ {
                self.0.bytes().map(|byte| byte.to_ascii_lowercase())
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.0.eq_ignore_ascii_case(&other.0)
            }
        }

        impl Eq for $name {}

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.folded().cmp(other.folded())
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl std::hash::Hash for $name {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.folded().for_each(|byte| state.write_u8(byte));
                state.write_u8(0xff);
            }
        }
    };
}

pub(crate) use {deserialize_by, folded_id, text_id, text_id_body};
