//! Which Firecracker may run strangers' code.

use std::path::Path;
use std::process::Command;

/// The oldest versions without known ways out of the VM: one for the line before, one from then on.
const OLDEST: [FirecrackerVersion; 2] =
    [FirecrackerVersion(1, 14, 4), FirecrackerVersion(1, 15, 1)];

/// Major, minor, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FirecrackerVersion(pub u32, pub u32, pub u32);

impl std::fmt::Display for FirecrackerVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// Why a Firecracker is not used.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// It does not say which it is.
    #[error("{program} does not say its version: {detail}")]
    Unknown {
        /// The program.
        program: String,
        /// What it said, or what the system said.
        detail: String,
    },
    /// It has known ways out of the VM.
    #[error("{program} is version {found}, which has known holes: use {} or later, or {} or later of 1.14", OLDEST[1], OLDEST[0])]
    TooOld {
        /// The program.
        program: String,
        /// Its version.
        found: FirecrackerVersion,
    },
}

/// Asks the program for its version, and refuses one that is too old.
///
/// # Errors
/// [`VersionError`].
pub fn check_version(program: &Path) -> Result<FirecrackerVersion, VersionError> {
    let name = program.display().to_string();
    let unknown = |detail: String| VersionError::Unknown {
        program: name.clone(),
        detail,
    };
    let output = Command::new(program)
        .arg("--version")
        .output()
        .map_err(|error| unknown(error.to_string()))?;
    let detail = String::from_utf8_lossy(&output.stdout);
    let found = parse(&detail).ok_or_else(|| {
        unknown(
            detail
                .lines()
                .next()
                .unwrap_or("nothing")
                .chars()
                .take(100)
                .collect(),
        )
    })?;
    if is_safe(found) {
        Ok(found)
    } else {
        Err(VersionError::TooOld {
            program: name,
            found,
        })
    }
}

/// `Firecracker v1.14.4` → 1.14.4.
fn parse(detail: &str) -> Option<FirecrackerVersion> {
    let word = detail
        .split_whitespace()
        .find_map(|word| word.strip_prefix('v'))?;
    let number = |text: &str| {
        text.split(|letter: char| !letter.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    };
    let mut parts = word.splitn(3, '.');
    Some(FirecrackerVersion(
        number(parts.next()?)?,
        number(parts.next()?)?,
        number(parts.next()?)?,
    ))
}

fn is_safe(version: FirecrackerVersion) -> bool {
    let [before, since] = OLDEST;
    version >= since || ((before.0, before.1) == (version.0, version.1) && version >= before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r17_versions_with_known_holes_are_refused() {
        let table = [
            ("Firecracker v1.14.3", false),
            ("Firecracker v1.14.4", true),
            ("Firecracker v1.15.0", false),
            ("Firecracker v1.15.1\nSupported snapshot…", true),
            ("Firecracker v1.15.1-dirty", true),
            ("Firecracker v2.0.0", true),
            ("Firecracker v1.9.9", false),
            ("Firecracker v0.25.2", false),
        ];
        for (detail, safe) in table {
            assert_eq!(is_safe(parse(detail).unwrap()), safe, "{detail}");
        }
        for detail in ["", "Firecracker", "v1", "v1.x.2", "version"] {
            assert_eq!(parse(detail), None, "{detail}");
        }
        assert!(matches!(
            check_version(Path::new("/no/such/program")),
            Err(VersionError::Unknown { .. })
        ));
        assert!(matches!(
            check_version(Path::new("true")),
            Err(VersionError::Unknown { .. })
        ));
    }
}
