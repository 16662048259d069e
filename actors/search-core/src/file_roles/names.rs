//! What roles of files are called in a query (`is:test`) and in facets.

use super::FileRole;

/// Each role with what it is called in a query: its own name first.
const NAMES: [(FileRole, &[&str]); 9] = [
    (FileRole::Main, &["main"]),
    (
        FileRole::Documentation,
        &["docs", "doc", "documentation", "manual"],
    ),
    (FileRole::Example, &["example", "examples", "sample"]),
    (FileRole::Test, &["test", "tests", "benchmark"]),
    (FileRole::Generated, &["generated", "minified"]),
    (FileRole::Vendored, &["vendored", "vendor"]),
    (FileRole::Lock, &["lock", "lockfile"]),
    (FileRole::History, &["changelog", "changes"]),
    (FileRole::Settings, &["settings", "dotfile", "ci"]),
];

impl FileRole {
    /// The role with this name in a query, in small letters.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let named = NAMES.iter().find(|(_, names)| names.contains(&name));
        named.map(|(role, _)| *role)
    }

    /// Its name in a query.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        let named = NAMES.iter().find(|(role, _)| *role == self);
        named.map_or("", |(_, names)| names[0])
    }

    /// The names of all roles, for people.
    #[must_use]
    pub fn all_names() -> String {
        NAMES.map(|(_, names)| names[0]).join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::{FileRole, NAMES};

    #[test]
    fn i16_every_role_has_names_of_its_own() {
        for role in FileRole::ALL {
            assert_eq!(FileRole::from_name(role.as_str()), Some(role));
        }
        for (role, names) in NAMES {
            for name in names {
                assert_eq!(FileRole::from_name(name), Some(role), "{name}");
            }
        }
        assert_eq!(FileRole::from_name("tset"), None);
    }
}
