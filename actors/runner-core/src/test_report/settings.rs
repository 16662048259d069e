//! `.orrery/tests.toml`: which reports a project has, and which of its tests are in quarantine.

use config_core::{ConfigInput, ConfigItem, Diagnostics, Environment, ValueError};
use jiff::civil::Date;

use super::report_globs::matcher;

/// What a project says of its tests.
#[derive(Debug, Clone, PartialEq)]
pub struct TestSettings {
    /// Patterns of reports beside the usual ones; `!` takes away.
    pub reports: Vec<String>,
    /// Whether files with the usual names are read too.
    pub find: bool,
    /// Whether a step is forgiven that fails with an exit code, and whose reports hold failures of
    /// tests in quarantine only.
    pub quarantine_forgives: bool,
    /// Tests in quarantine.
    pub quarantine: Vec<QuarantinedTest>,
}

impl Default for TestSettings {
    fn default() -> Self {
        Self {
            reports: Vec::new(),
            find: true,
            quarantine_forgives: false,
            quarantine: Vec::new(),
        }
    }
}

/// A test in quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedTest {
    /// `suite > name`; `*` stands for anything.
    pub test: String,
    /// Only in jobs of this name; `*` stands for anything.
    pub job: Option<String>,
    /// Why.
    pub reason: String,
    /// The last day.
    pub until: Date,
}

/// How many tests may be in quarantine.
const MAX_QUARANTINED: usize = 1_000;

const KEYS: &[&str] = &["reports", "find", "quarantine_forgives", "quarantine"];
const ENTRY_KEYS: &[&str] = &["test", "job", "reason", "until"];

impl TestSettings {
    /// Reads the file.
    ///
    /// # Errors
    /// All mistakes, with their places.
    pub fn parse(name: &str, text: &str) -> Result<Self, Diagnostics> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        // Variables of whose machine? There are none.
        let environment = Environment::default();
        let decoded = ConfigInput::toml(name, text, &environment).decode(read)?;
        Ok(decoded.value)
    }

    /// Why a test of a job is in quarantine on a day; an entry whose last day is over is none.
    #[must_use]
    pub fn quarantine(&self, test: &str, job: &str, today: Date) -> Option<&QuarantinedTest> {
        let mut entries = self.quarantine.iter();
        entries.find(|entry| {
            entry.until >= today
                && entry
                    .job
                    .as_ref()
                    .is_none_or(|wanted| wildcard(wanted, job))
                && wildcard(&entry.test, test)
        })
    }
}

fn read(item: &ConfigItem<'_>) -> Option<TestSettings> {
    item.fields("the file", KEYS, |fields| {
        let reports = fields.optional("reports", |item| item.list(report));
        let find = fields.optional("find", ConfigItem::boolean);
        let forgives = fields.optional("quarantine_forgives", ConfigItem::boolean);
        let quarantine = fields.optional("quarantine", |item| {
            let entries = item.list(quarantined)?;
            if entries.len() > MAX_QUARANTINED {
                let most = format!("more than {MAX_QUARANTINED} tests are in quarantine");
                item.error(ValueError::new(most));
                return None;
            }
            Some(entries)
        });
        Some(TestSettings {
            reports: reports.unwrap_or_default(),
            find: find.unwrap_or(true),
            quarantine_forgives: forgives.unwrap_or_default(),
            quarantine: quarantine.unwrap_or_default(),
        })
    })
}

fn report(item: &ConfigItem<'_>) -> Option<String> {
    item.parsed(|text| {
        let pattern = text.strip_prefix('!').unwrap_or(text);
        matcher(pattern)
            .map(|_| text.to_owned())
            .map_err(ValueError::new)
    })
}

fn quarantined(item: &ConfigItem<'_>) -> Option<QuarantinedTest> {
    item.fields("a test in quarantine", ENTRY_KEYS, |fields| {
        let test = fields.required("test", |item| {
            item.parsed(|text| {
                let all = text
                    .chars()
                    .all(|c| c == '*' || c == '>' || c.is_whitespace());
                if all {
                    return Err(ValueError::new("it would stand for every test"));
                }
                Ok(text.to_owned())
            })
        });
        let job = fields.optional("job", ConfigItem::string);
        let reason = fields.required("reason", ConfigItem::string);
        let until = fields.required("until", |item| {
            item.parsed(|text| {
                let wrong = "it is no day: write it as 2026-12-31";
                text.parse().map_err(|_| ValueError::new(wrong))
            })
        });
        Some(QuarantinedTest {
            test: test?,
            job,
            reason: reason?,
            until: until?,
        })
    })
}

/// Whether a pattern in which only `*` means something matches all of a text.
fn wildcard(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_star_means_something() {
        for (pattern, text, matches) in [
            ("a > b", "a > b", true),
            ("a > b", "a > bc", false),
            ("a*", "a > b[1-2]", true),
            ("*[1-2]", "a > b[1-2]", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXcYb", false),
            ("*a*", "a", true),
            ("a*a", "a", false),
            ("", "", true),
        ] {
            assert_eq!(wildcard(pattern, text), matches, "{pattern} {text}");
        }
    }

    #[test]
    fn i17_quarantine_has_a_reason_and_a_last_day() {
        let text = "reports = [\"out/*.xml\", \"!out/old.xml\"]\nfind = false\nquarantine_forgives = true\n[[quarantine]]\ntest = \"net > *\"\njob = \"test*\"\nreason = \"the other team's server\"\nuntil = \"2026-12-31\"\n";
        let settings = TestSettings::parse("tests.toml", text).unwrap();
        assert!(!settings.find && settings.quarantine_forgives);
        let day = |text: &str| text.parse::<Date>().unwrap();
        let on = |test: &str, job: &str, today: &str| {
            settings.quarantine(test, job, day(today)).is_some()
        };
        assert!(on("net > slow", "test (1)", "2026-12-31"));
        assert!(!on("net > slow", "test (1)", "2027-01-01"), "it is over");
        assert!(!on("net > slow", "lint", "2026-12-31"));
        assert!(!on("disk > slow", "test", "2026-12-31"));
    }

    #[test]
    fn i17_mistakes_are_said_with_their_places() {
        for (text, said) in [
            ("find = 1\n", "tests.toml:1:8"),
            ("report = []\n", "did you mean `reports`?"),
            ("reports = [\"../x\"]\n", "leads out of the workspace"),
            (
                "[[quarantine]]\ntest = \"a\"\nuntil = \"2026-01-01\"\n",
                "`reason`",
            ),
            ("[[quarantine]]\ntest = \"a\"\nreason = \"b\"\n", "`until`"),
            (
                "[[quarantine]]\ntest = \"a\"\nreason = \"b\"\nuntil = \"soon\"\n",
                "it is no day",
            ),
            (
                "[[quarantine]]\ntest = \"* > *\"\nreason = \"b\"\nuntil = \"2026-01-01\"\n",
                "every test",
            ),
        ] {
            let wrong = TestSettings::parse("tests.toml", text)
                .unwrap_err()
                .to_string();
            assert!(wrong.contains(said), "{text}: {wrong}");
        }
    }
}
