//! Patterns of names as `actions/download-artifact` reads them, by minimatch
//! (<https://github.com/isaacs/minimatch>): `*`, `?`, `[a-c]`, `{a,b}`, and `!` before all.

use config_core::quoted;
use globset::{GlobBuilder, GlobMatcher};

/// A pattern of names.
#[derive(Debug, Clone)]
pub struct NamePattern {
    is_negated: bool,
    /// It begins with a point itself: only such a pattern fits names that do.
    has_point: bool,
    /// Nothing: a comment, which fits no name.
    matcher: Option<GlobMatcher>,
}

impl NamePattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(pattern: &str) -> Result<Self, String> {
        let plain = pattern.trim_start_matches('!');
        let is_comment = pattern.starts_with('#');
        let mut builder = GlobBuilder::new(plain);
        builder.literal_separator(true).backslash_escape(true);
        builder.empty_alternates(true);
        let matcher =
            match is_comment {
                true => None,
                false => Some(builder.build().map_err(|error| {
                    format!("`pattern` is {}: {}", quoted(pattern), error.kind())
                })?),
            };
        Ok(Self {
            is_negated: (pattern.len() - plain.len()) % 2 == 1,
            has_point: plain.starts_with('.'),
            matcher: matcher.map(|glob| glob.compile_matcher()),
        })
    }

    /// Whether a name fits.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let Some(matcher) = &self.matcher else {
            return false;
        };
        let is_shown = self.has_point || !name.starts_with('.');
        (is_shown && matcher.is_match(name)) != self.is_negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_names_fit_patterns_as_minimatch_has_them() {
        for (pattern, name, expected) in [
            ("cov-?", "cov-1", true),
            ("cov-?", "cov-", false),
            ("cov-?", "cov-12", false),
            ("bin-{linux,mac}", "bin-mac", true),
            ("bin-{linux,mac}", "bin-win", false),
            ("bin-{a,}", "bin-", true),
            ("!docs*", "docs-1", false),
            ("!docs*", "code", true),
            ("!!docs*", "docs-1", true),
            ("a+b", "a+b", true),
            ("a+b", "aab", false),
            ("*", "any", true),
            ("*", ".hidden", false),
            (".h*", ".hidden", true),
            ("a*", "a/b", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("#x", "#x", false),
        ] {
            let found = NamePattern::parse(pattern).unwrap().matches(name);
            assert_eq!(found, expected, "{pattern} {name}");
        }
        let error = NamePattern::parse("[a").unwrap_err();
        assert!(error.contains("`[a`"), "{error}");
    }
}
