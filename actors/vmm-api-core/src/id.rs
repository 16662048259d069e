//! Names: of VMs, of the things that run in them, of images, of those who asked for them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A text that is not a name of the kind asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {text:?} is not valid: {reason}")]
pub struct VmmIdError {
    /// What it should have been.
    pub kind: &'static str,
    /// The beginning of what came.
    pub text: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $check:path) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// The checked text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = VmmIdError;
            fn from_str(text: &str) -> Result<Self, VmmIdError> {
                match $check(text) {
                    Ok(()) => Ok(Self(text.into())),
                    Err(reason) => {
                        let text = text.chars().take(64).collect();
                        Err(VmmIdError { kind: $kind, text, reason })
                    }
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                String::schema()
            }
        }

        impl utoipa::ToSchema for $name {}

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from)?.parse().map_err(de::Error::custom)
            }
        }
    };
}

name! {
    /// A VM's id: `vm-` and 1 to 40 lower-case letters, digits or dashes. It is a folder's name and
    /// the guest's host name, so nothing else is let in.
    VmId, "VM id", check_vm_id
}
name! {
    /// The id of something started in a VM: `ex-` and 1 to 40 lower-case letters, digits or dashes.
    /// Unique within its VM.
    ExecId, "exec id", check_exec_id
}
name! {
    /// An image by name (`default`), or by content: `blake3:` and 64 hexadecimal digits.
    ImageRef, "image", check_image
}
name! {
    /// Who asked for a VM, as shown in lists: 1 to 200 visible ASCII characters, for a runner
    /// usually `<owner>/<repo>#<run>`.
    Owner, "owner", check_owner
}

name! {
    /// The name of a snapshot within its VM: 1 to 40 lower-case letters, digits or dashes.
    SnapshotName, "snapshot", check_snapshot
}

impl ImageRef {
    /// The 64 digits of an image named by its content.
    pub fn digest(&self) -> Option<&str> {
        self.0.strip_prefix("blake3:")
    }
}

impl Default for ImageRef {
    fn default() -> Self {
        Self("default".into())
    }
}

impl Default for Owner {
    fn default() -> Self {
        Self("unnamed".into())
    }
}

fn check_vm_id(text: &str) -> Result<(), &'static str> {
    check_tail(text.strip_prefix("vm-").ok_or("it must begin with `vm-`")?)
}

fn check_exec_id(text: &str) -> Result<(), &'static str> {
    check_tail(text.strip_prefix("ex-").ok_or("it must begin with `ex-`")?)
}

fn check_snapshot(text: &str) -> Result<(), &'static str> {
    check_tail(text).map_err(|_| "it must be 1 to 40 of a-z, 0-9 and inner dashes")
}

fn check_tail(tail: &str) -> Result<(), &'static str> {
    if tail.is_empty() || tail.len() > 40 {
        return Err("it must have 1 to 40 characters after its prefix");
    }
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !tail.bytes().all(allowed) || tail.ends_with('-') {
        return Err("only a-z, 0-9 and inner dashes may stand after its prefix");
    }
    Ok(())
}

fn check_image(text: &str) -> Result<(), &'static str> {
    if let Some(digest) = text.strip_prefix("blake3:") {
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let right = digest.len() == 64 && digest.bytes().all(hex);
        return right
            .then_some(())
            .ok_or("`blake3:` needs 64 lower-case hexadecimal digits");
    }
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    let starts = text
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if !starts || text.len() > 64 || !text.bytes().all(allowed) {
        return Err(
            "a name has 1 to 64 of a-z, 0-9, dot, dash, underscore, and begins with a letter or digit",
        );
    }
    Ok(())
}

fn check_owner(text: &str) -> Result<(), &'static str> {
    if text.is_empty() || text.len() > 200 {
        return Err("it must have 1 to 200 characters");
    }
    let visible = text.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
    visible
        .then_some(())
        .ok_or("only visible ASCII characters are allowed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_could_leave_their_folder_are_refused() {
        for text in [
            "",
            "vm-",
            "vm-../x",
            "vm-A",
            "vm-a/b",
            "x",
            "vm-a\n",
            "vm-a-",
            &format!("vm-{}", "a".repeat(41)),
        ] {
            assert!(text.parse::<VmId>().is_err(), "{text:?}");
        }
        for text in ["vm-1", "vm-0192-ab"] {
            assert_eq!(text.parse::<VmId>().unwrap().as_str(), text);
        }
        assert!("ex-7".parse::<ExecId>().is_ok());
        assert!("vm-7".parse::<ExecId>().is_err());
    }

    #[test]
    fn images_are_named_or_addressed_by_content() {
        let digest = format!("blake3:{}", "0a".repeat(32));
        assert_eq!(
            digest.parse::<ImageRef>().unwrap().digest(),
            Some("0a".repeat(32).as_str())
        );
        assert_eq!("debian-12.1".parse::<ImageRef>().unwrap().digest(), None);
        for text in ["", ".x", "-x", "A", "a/b", "blake3:00", "blake3:", "../x"] {
            assert!(text.parse::<ImageRef>().is_err(), "{text:?}");
        }
        assert_eq!(ImageRef::default().as_str(), "default");
    }

    #[test]
    fn the_message_says_what_it_should_have_been() {
        let error = serde_json::from_str::<VmId>("\"7\"").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("VM id \"7\" is not valid: it must begin with `vm-`"),
            "{error}"
        );
        assert!("a b".parse::<Owner>().is_err());
        assert!("octo/repo#41".parse::<Owner>().is_ok());
    }
}
