//! Which documents have changed: handed from a source's indexer to what is kept of each of them, so
//! that one change costs one look and not a list of all.

use std::collections::BTreeMap;

/// Changed documents that are told one by one; with more of them all are compared.
const MAX_CHANGED: usize = 20_000;

/// Documents that were put or deleted, by their keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChangedDocuments {
    /// Any may have changed.
    All,
    /// These, with the title that each had before, if it was there.
    Keys(BTreeMap<String, Option<String>>),
}

impl Default for ChangedDocuments {
    fn default() -> Self {
        Self::Keys(BTreeMap::new())
    }
}

impl ChangedDocuments {
    /// Notes a change; `former` gives the title of the document as it was, and is asked only where
    /// that is not known.
    pub(crate) fn record(&mut self, key: &str, former: impl FnOnce() -> Option<String>) {
        let Self::Keys(keys) = self else { return };
        if keys.contains_key(key) {
            return;
        }
        if keys.len() == MAX_CHANGED {
            *self = Self::All;
            return;
        }
        keys.insert(key.to_owned(), former());
    }

    /// Adds what has changed later.
    pub(crate) fn merge(&mut self, later: Self) {
        match later {
            Self::All => *self = Self::All,
            Self::Keys(later) => {
                for (key, former) in later {
                    self.record(&key, || former);
                }
            }
        }
    }

    /// Takes them, so that none is left.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_the_title_before_the_first_change_is_kept_until_it_is_taken() {
        let mut changed = ChangedDocuments::default();
        changed.record("a", || Some("first".to_owned()));
        changed.record("a", || unreachable!("it is known"));
        let mut later = ChangedDocuments::default();
        later.record("a", || Some("second".to_owned()));
        later.record("b", || None);
        changed.merge(later);
        let expected = [("a", Some("first")), ("b", None)];
        let expected = expected.map(|(key, title)| (key.to_owned(), title.map(str::to_owned)));
        assert_eq!(changed.take(), ChangedDocuments::Keys(expected.into()));
        assert_eq!(changed, ChangedDocuments::default());
    }

    #[test]
    fn i16_too_many_changes_are_all() {
        let mut changed = ChangedDocuments::default();
        for number in 0..MAX_CHANGED {
            changed.record(&number.to_string(), || None);
        }
        assert!(matches!(&changed, ChangedDocuments::Keys(keys) if keys.len() == MAX_CHANGED));
        changed.record("0", || None);
        assert_ne!(changed, ChangedDocuments::All, "it was known");
        changed.record("another", || None);
        assert_eq!(changed, ChangedDocuments::All);
        changed.record("one more", || unreachable!("nobody asks"));
        let mut before = ChangedDocuments::default();
        before.merge(changed);
        assert_eq!(before.take(), ChangedDocuments::All);
    }
}
