//! File names from names of strangers: distinct names stay distinct, and none leaves its folder.

/// Longest name that is taken over as it is, in bytes.
const MAX_LEN: usize = 64;
/// How much of a changed name stays readable, in bytes.
const READABLE_LEN: usize = 40;
/// Names that are devices on some systems.
const DEVICES: [&str; 6] = ["aux", "com", "con", "lpt", "nul", "prn"];

/// A name that can stand as one part of a path on any system.
///
/// Lower-case ASCII names of letters, digits, `-`, `_` and inner dots are kept. Every other name
/// becomes its readable part, `~` and 16 hexadecimal digits of its BLAKE3 hash; as a kept name has
/// no `~`, two different names never share a file name (but for a collision of the hash).
pub fn safe_name(name: &str) -> String {
    if is_plain(name) {
        return name.to_owned();
    }
    let readable: String = name
        .chars()
        .map(|c| c.to_ascii_lowercase())
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(READABLE_LEN)
        .collect();
    let digest = blake3::hash(name.as_bytes()).to_hex();
    format!("{}~{}", readable.trim_matches('-'), &digest[..16])
}

fn is_plain(name: &str) -> bool {
    let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.');
    let stem = name.split('.').next().unwrap_or(name);
    let device = DEVICES
        .iter()
        .any(|device| stem.trim_end_matches(|c: char| c.is_ascii_digit()) == *device);
    (1..=MAX_LEN).contains(&name.len())
        && name.bytes().all(allowed)
        && !name.starts_with(['.', '-'])
        && !name.ends_with('.')
        && !name.contains("..")
        && !device
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::{Component, Path};

    #[test]
    fn o06_hostile_names_become_distinct_safe_folders() {
        let long = "n".repeat(300);
        let longer = "n".repeat(301);
        let names = [
            "..",
            ".",
            "",
            "CON",
            "con",
            "con.txt",
            "com1",
            "nul",
            "a/b",
            "a\\b",
            "a b",
            "/etc/passwd",
            "../../x",
            "-rf",
            "a\0b",
            "a\nb",
            "ａgent",
            "аgent",
            "agent",
            "Agent",
            "AGENT",
            "agent.",
            ".agent",
            "a..b",
            "agent~0011223344556677",
            "é",
            "e\u{301}",
            &long,
            &longer,
        ];
        let safe: BTreeSet<String> = names.iter().map(|name| safe_name(name)).collect();
        assert_eq!(safe.len(), names.len(), "{safe:?}");
        for name in &safe {
            let parts: Vec<_> = Path::new(name).components().collect();
            assert!(matches!(parts[..], [Component::Normal(_)]), "{name:?}");
            assert!(name.len() <= MAX_LEN && name.is_ascii(), "{name:?}");
            assert!(
                !name.starts_with('-') && !name.contains(char::is_control),
                "{name:?}"
            );
        }
        let folded: BTreeSet<String> = safe.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(folded.len(), safe.len(), "also where case does not count");
    }

    #[test]
    fn plain_names_stay_readable() {
        for name in ["build-runner", "main", "0190b5a2-7e4c", "a.b_c"] {
            assert_eq!(safe_name(name), name);
        }
        assert!(safe_name("PR #7: fix").starts_with("pr--7--fix~"));
    }
}
