//! Git's names: commits, branches, tags and other references.

use super::ForgeIdError;
use super::checks::{Check, ensure, is_lower_hex};
use super::macros::text_id;

text_id! {
    /// A commit's full object name in lower-case hexadecimal digits, never all zeros (which git
    /// uses for "no commit").
    ///
    /// Text from outside becomes one by [`CommitSha::parse`] with the configured
    /// [`ObjectFormats`]; `FromStr` takes 40 digits only. Deserialising takes 40 or 64, because
    /// a stored row holds what `parse` accepted when it was written.
    CommitSha, "commit", check_sha1, check_any_sha
}
text_id! {
    /// A branch's short name, e.g. `feature/x`, by the rules of `git check-ref-format --branch`, at
    /// most 255 bytes.
    BranchName, "branch name", check_ref_part
}
text_id! {
    /// A tag's short name, e.g. `v1.2.0`, by the same rules as a branch's.
    TagName, "tag name", check_ref_part
}
text_id! {
    /// A full reference name that is neither a branch nor a tag, e.g. `refs/notes/commits`.
    RefName, "reference name", check_full_ref
}

/// Which object names are commits. SHA-256 repositories are rare, and most tools around a forge
/// expect 40 digits, so the longer names have to be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ObjectFormats {
    /// 40 hexadecimal digits.
    #[default]
    Sha1,
    /// 40 or 64 hexadecimal digits.
    Sha1AndSha256,
}

impl CommitSha {
    /// Reads a commit name in one of the allowed formats.
    pub fn parse(text: &str, formats: ObjectFormats) -> Result<Self, ForgeIdError> {
        if formats == ObjectFormats::Sha1AndSha256 && text.len() == 64 {
            return match check_any_sha(text) {
                Ok(()) => Ok(Self(text.into())),
                Err(reason) => Err(ForgeIdError::new("commit", text, reason)),
            };
        }
        text.parse()
    }

    /// The first 12 digits, for people.
    pub fn short(&self) -> &str {
        &self.as_str()[..12]
    }

    /// Whether `text` is git's name for "no commit": 40 or 64 zeros.
    pub(crate) fn is_none_marker(text: &str) -> bool {
        matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte == b'0')
    }
}

fn check_sha1(text: &str) -> Check {
    ensure(text.len() == 40, "use all 40 hexadecimal digits")?;
    check_digits(text)
}

fn check_any_sha(text: &str) -> Check {
    ensure(
        matches!(text.len(), 40 | 64),
        "use all 40 or 64 hexadecimal digits",
    )?;
    check_digits(text)
}

fn check_digits(text: &str) -> Check {
    ensure(
        is_lower_hex(text.as_bytes()),
        "use lower-case hexadecimal digits only",
    )?;
    ensure(
        !CommitSha::is_none_marker(text),
        "all zeros stand for no commit",
    )
}

/// A reference as a push names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GitRef {
    /// `refs/heads/…`
    Branch(BranchName),
    /// `refs/tags/…`
    Tag(TagName),
    /// Any other full name, e.g. `refs/notes/…` or `refs/pull/…`.
    Other(RefName),
}

impl GitRef {
    /// The branch's name, when this is a branch.
    pub fn branch(&self) -> Option<&BranchName> {
        if let Self::Branch(name) = self {
            Some(name)
        } else {
            None
        }
    }

    /// The tag's name, when this is a tag.
    pub fn tag(&self) -> Option<&TagName> {
        if let Self::Tag(name) = self {
            Some(name)
        } else {
            None
        }
    }
}

impl std::str::FromStr for GitRef {
    type Err = ForgeIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(branch) = text.strip_prefix("refs/heads/") {
            return branch.parse().map(Self::Branch);
        }
        if let Some(tag) = text.strip_prefix("refs/tags/") {
            return tag.parse().map(Self::Tag);
        }
        text.parse().map(Self::Other)
    }
}

impl std::fmt::Display for GitRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Branch(name) => write!(f, "refs/heads/{name}"),
            Self::Tag(name) => write!(f, "refs/tags/{name}"),
            Self::Other(name) => name.fmt(f),
        }
    }
}

fn check_full_ref(text: &str) -> Check {
    ensure(
        text.starts_with("refs/"),
        "a full reference begins with refs/",
    )?;
    check_ref_part(text)
}

/// The rules of git-check-ref-format(1), and no leading `-`, which a command line would take for
/// an option.
fn check_ref_part(text: &str) -> Check {
    ensure((1..=255).contains(&text.len()), "use 1 to 255 bytes")?;
    ensure(!text.starts_with('-'), "it must not begin with '-'")?;
    ensure(
        text != "@" && !text.contains("@{"),
        "'@' alone and '@{' are git's own",
    )?;
    ensure(!text.contains(".."), "it must not hold '..'")?;
    ensure(!text.ends_with('.'), "it must not end with '.'")?;
    let banned = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    ensure(
        !text.contains(banned),
        "no spaces, control characters or any of ~^:?*[\\",
    )?;
    ensure(
        text.split('/').all(is_ref_component),
        "no empty part, none beginning with '.' or ending with .lock",
    )
}

fn is_ref_component(part: &str) -> bool {
    !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock")
}
