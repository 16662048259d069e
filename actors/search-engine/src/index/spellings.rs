//! How what documents define is written: of two definitions that differ in case or signs alone the
//! one that was typed is meant.

use search_core::defined_names::NAME_SEAM;
use search_core::names::squeezed;
use search_core::query::ParsedQuery;

/// What a definition adds that is written just as it was typed, of what one adds.
const SAME: f32 = 1.25;

/// What is left of one that is written in another way, where another is written as it was typed.
const OTHER: f32 = 0.1;

/// How a document writes what it defines and the query names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// As it was typed.
    Same,
    /// In other case, or with other signs.
    Other,
    /// It is not known: constants and macros do not stand in the record.
    Unknown,
}

impl Spelling {
    /// What a definition that is worth `worth` is worth so.
    pub(super) fn worth(self, worth: f32) -> f32 {
        match self {
            Self::Same => SAME * worth,
            Self::Other => OTHER * worth,
            Self::Unknown => worth,
        }
    }
}

/// The names of a query as they were typed.
pub(super) struct QuerySpellings<'q> {
    /// Each with its squeezed form.
    names: Vec<(&'q str, String)>,
}

impl<'q> QuerySpellings<'q> {
    pub(super) fn from_query(query: &'q ParsedQuery) -> Self {
        let names = query.names().iter().filter(|name| !name.is_owner);
        let names = names.map(|name| name.surface.as_str());
        let mut written: Vec<&str> = names
            .filter(|name| !name.contains(char::is_whitespace))
            .collect();
        // Of one name with a sign (`$Type`) the word is another.
        if written.is_empty() {
            let words = query.words().iter();
            let words = words.filter(|word| query.is_looked_for(word) && word.is_identifier());
            written.extend(words.map(|word| word.surface.as_str()));
        }
        let written = written.into_iter();
        Self {
            names: written.map(|name| (name, squeezed(name))).collect(),
        }
    }

    /// Whether the spelling of any name is known.
    pub(super) fn choose(&self) -> bool {
        !self.names.is_empty()
    }

    /// How the names of a record (`names_for_ranking`) write what is wanted.
    pub(super) fn spelling(&self, defined: &str) -> Spelling {
        let mut spelling = Spelling::Unknown;
        for name in defined.split(NAME_SEAM) {
            for (surface, wanted) in &self.names {
                if name == *surface {
                    return Spelling::Same;
                }
                let begins = name.as_bytes().iter().find(|byte| **byte != b'_');
                let may_be = begins
                    .zip(wanted.as_bytes().first())
                    .is_some_and(|(a, b)| !a.is_ascii() || a.eq_ignore_ascii_case(b));
                if may_be && squeezed(name) == *wanted {
                    spelling = Spelling::Other;
                }
            }
        }
        spelling
    }
}

#[cfg(test)]
mod tests {
    use search_core::query::{SearchRequest, parse};

    use super::{QuerySpellings, Spelling};

    #[test]
    fn i16_definitions_are_told_apart_by_case_and_signs() {
        for (query, defined, expected) in [
            ("ProgressBar", "echo\nprogressbar", Spelling::Other),
            ("ProgressBar", "progressbar\nProgressBar", Spelling::Same),
            ("progressbar", "progressbar\nProgressBar", Spelling::Same),
            ("POWER_OFF", "_power_off", Spelling::Other),
            ("POWER_OFF", "", Spelling::Unknown),
            ("a::POWER_OFF", "POWER_OFF", Spelling::Same),
            ("where is PageCache", "page_cache", Spelling::Other),
            ("page cache", "PageCache", Spelling::Unknown),
            ("$PageCache", "PageCache", Spelling::Other),
        ] {
            let query = parse(&SearchRequest::for_text(query)).expect("parses");
            let wanted = QuerySpellings::from_query(&query);
            assert_eq!(wanted.spelling(defined), expected, "{defined}");
        }
    }
}
