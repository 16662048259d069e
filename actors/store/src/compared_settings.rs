//! Settings that have to be equal on all processes that share a store. Each says of them to the
//! database what tells them from others, and nobody can read there what they are.

use std::fmt;

/// Settings by their names; only digests are kept.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SettingDigests {
    each: Vec<(&'static str, [u8; 32])>,
    /// What this process says goes with this: it is another text for each process and start.
    salt: String,
}

impl fmt::Debug for SettingDigests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.each.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

impl SettingDigests {
    /// With one more.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.each
            .push((name, *blake3::hash(value.as_bytes()).as_bytes()));
        self
    }

    pub(crate) fn salted(mut self, salt: &str) -> Self {
        salt.clone_into(&mut self.salt);
        self
    }

    /// The numbers by which a process with this salt says each: its name's, and its value's.
    fn marks(&self, salt: &str) -> Vec<(&'static str, u32, u32)> {
        let each = self.each.iter().map(|(name, digest)| {
            let of_name = number(blake3::hash(format!("orrery setting {name}").as_bytes()));
            let key = *blake3::hash(salt.as_bytes()).as_bytes();
            (*name, of_name, number(blake3::keyed_hash(&key, digest)))
        });
        each.collect()
    }

    /// The statements, behind others, by which a session says them, and with which salt.
    pub(crate) fn statements(&self) -> String {
        if self.salt.is_empty() {
            return String::new();
        }
        let marks = self.marks(&self.salt).into_iter();
        let marks = marks.map(|(_, name, value)| (name, value));
        marks
            .chain([salt_mark(&self.salt)])
            .map(|(name, value)| {
                let (name, value) = (name.cast_signed(), value.cast_signed());
                format!("; SELECT pg_advisory_lock_shared({name}, {value})")
            })
            .collect()
    }

    /// Which of them are others than those that a session said, as `said` has it. While one process
    /// follows another the session may be the next holder's and `salt` the former's: nothing said
    /// with another salt is compared.
    pub(crate) fn differing(&self, said: &[(u32, u32)], salt: &str) -> Vec<&'static str> {
        if !said.contains(&salt_mark(salt)) {
            return Vec::new();
        }
        let marks = self.marks(salt).into_iter();
        let differing = marks.filter(|(_, name, value)| {
            let mut said = said.iter().filter(|(said, _)| said == name).peekable();
            // A holder of an older version says nothing of it, and one that has just read its
            // settings again may say what they were, too.
            said.peek().is_some() && said.all(|(_, said)| said != value)
        });
        differing.map(|(name, ..)| name).collect()
    }
}

/// The numbers by which a session says with which salt it says all else.
pub(crate) fn salt_mark(salt: &str) -> (u32, u32) {
    let key = *blake3::hash(salt.as_bytes()).as_bytes();
    let of_name = number(blake3::hash(b"orrery salt"));
    (of_name, number(blake3::keyed_hash(&key, b"orrery salt")))
}

fn number(hash: blake3::Hash) -> u32 {
    let bytes = hash.as_bytes();
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_settings_are_compared_with_those_that_were_said_with_the_same_salt_only() {
        let of = |secret: &str| SettingDigests::default().with("secret", secret);
        let said = |secret: &str, salt: &str| {
            let marks = of(secret).marks(salt).into_iter();
            let marks = marks.map(|(_, name, value)| (name, value));
            marks.chain([salt_mark(salt)]).collect::<Vec<_>>()
        };
        let own = of("one");
        for (said, salt, expected, why) in [
            (said("one", "a"), "a", &[][..], "they are equal"),
            (said("two", "a"), "a", &["secret"][..], "they are not"),
            (
                said("one", "b"),
                "a",
                &[],
                "the session is the next holder's",
            ),
            (
                said("two", "b"),
                "a",
                &[],
                "so it is here, and is asked later",
            ),
            (vec![salt_mark("a")], "a", &[], "an older version says less"),
            (vec![], "a", &[], "nobody holds it"),
            (
                [said("two", "a"), said("one", "a")].concat(),
                "a",
                &[],
                "it was just changed",
            ),
        ] {
            assert_eq!(own.differing(&said, salt), expected, "{why}");
        }
    }

    #[test]
    fn i18_what_is_compared_is_salted_and_shown_nowhere() {
        let settings = SettingDigests::default().with("webhook secret", "geheim");
        assert_eq!(format!("{settings:?}"), "[\"webhook secret\"]");
        assert_ne!(settings.marks("one"), settings.marks("two"));
        assert_eq!(settings.statements(), "", "without a salt nothing is said");
        let same = SettingDigests::default().with("webhook secret", "geheim");
        assert_eq!(settings.marks("one"), same.marks("one"));
        assert!(settings.salted("one").statements().contains("_shared("));
    }
}
