//! Kinds of definitions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What something that is defined is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DefinitionKind {
    /// A function or method.
    Function,
    /// A structure or union.
    Struct,
    /// A class or record.
    Class,
    /// An enumeration.
    Enum,
    /// An interface, trait or protocol.
    Interface,
    /// A type by another name.
    Type,
    /// A module, namespace or package.
    Module,
    /// A constant.
    Constant,
    /// A macro.
    Macro,
    /// A heading of a text.
    Heading,
}

/// Each kind with what it is called in a query: its own name first.
const NAMES: [(DefinitionKind, &[&str]); 10] = [
    (
        DefinitionKind::Function,
        &["function", "fn", "func", "def", "method"],
    ),
    (DefinitionKind::Struct, &["struct", "structure", "union"]),
    (DefinitionKind::Class, &["class", "record"]),
    (DefinitionKind::Enum, &["enum", "enumeration"]),
    (
        DefinitionKind::Interface,
        &["interface", "trait", "protocol"],
    ),
    (DefinitionKind::Type, &["type", "typedef"]),
    (
        DefinitionKind::Module,
        &["module", "mod", "namespace", "package"],
    ),
    (DefinitionKind::Constant, &["constant", "const", "static"]),
    (DefinitionKind::Macro, &["macro", "define"]),
    (DefinitionKind::Heading, &["heading", "section"]),
];

impl DefinitionKind {
    /// The kind with this name in a query, in small letters.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let named = NAMES.iter().find(|(_, names)| names.contains(&name));
        named.map(|(kind, _)| *kind)
    }

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        let named = NAMES.iter().find(|(kind, _)| *kind == self);
        named.map_or("", |(_, names)| names[0])
    }

    /// The names of all kinds, for people.
    #[must_use]
    pub fn all_names() -> String {
        NAMES.map(|(_, names)| names[0]).join(", ")
    }

    /// The letter that stands for it in an index.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::Function => 'f',
            Self::Struct => 's',
            Self::Class => 'c',
            Self::Enum => 'e',
            Self::Interface => 'i',
            Self::Type => 't',
            Self::Module => 'm',
            Self::Constant => 'k',
            Self::Macro => 'd',
            Self::Heading => 'h',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DefinitionKind, NAMES};

    #[test]
    fn every_name_is_that_of_one_kind() {
        for (kind, names) in NAMES {
            assert_eq!(kind.as_str(), names[0]);
            for name in names {
                assert_eq!(DefinitionKind::from_name(name), Some(kind), "{name}");
            }
        }
        assert_eq!(DefinitionKind::from_name("weather"), None);
    }

    #[test]
    fn every_kind_has_a_letter_of_its_own() {
        let mut letters = NAMES.map(|(kind, _)| kind.letter());
        letters.sort_unstable();
        assert!(letters.windows(2).all(|two| two[0] != two[1]));
    }
}
