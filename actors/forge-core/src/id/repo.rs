//! Repository names.

use super::checks::{Check, ensure};
use super::macros::folded_id;

folded_id! {
    /// A repository's full name, `owner/repo`. Each part has 1 to 100 of `A-Z a-z 0-9 . _ -`, does
    /// not begin with `-`, is not `.` and holds no `..`: it can be used as two path segments of a
    /// URL or a folder without escaping. Forges compare these names without regard to case, and so
    /// does this type.
    RepoName, "repository name", check_repo
}

impl RepoName {
    /// The part before the slash.
    pub fn owner(&self) -> &str {
        self.parts().0
    }

    /// The part after the slash.
    pub fn repo(&self) -> &str {
        self.parts().1
    }

    fn parts(&self) -> (&str, &str) {
        self.as_str()
            .split_once('/')
            .expect("a checked repository name holds one slash")
    }
}

fn check_repo(text: &str) -> Check {
    let Some((owner, repo)) = text.split_once('/') else {
        return Err("write it as owner/repo");
    };
    check_part(owner)?;
    check_part(repo)
}

fn check_part(part: &str) -> Check {
    ensure(
        (1..=100).contains(&part.len()),
        "owner and repo have 1 to 100 characters each",
    )?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    ensure(
        part.bytes().all(allowed),
        "use ASCII letters, digits, '.', '_', '-' and one '/'",
    )?;
    ensure(
        !part.starts_with('-'),
        "owner and repo do not begin with '-'",
    )?;
    ensure(
        part != "." && !part.contains(".."),
        "neither owner nor repo is '.' or holds '..'",
    )
}
