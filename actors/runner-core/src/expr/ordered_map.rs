//! Maps of texts: keys in the order they were given, found without regard to case when there is no
//! exact one.

use std::collections::HashMap;
use std::sync::Arc;

use super::text_case::{folded, same_text};

/// From so many keys on they are looked up by a table.
const INDEXED: usize = 16;

/// A map that keeps the order of its keys.
#[derive(Debug, Clone)]
pub struct OrderedMap<V> {
    entries: Vec<(Arc<str>, V)>,
    index: Option<Index>,
}

/// Where keys stand in the entries.
#[derive(Debug, Clone, Default)]
struct Index {
    exact: HashMap<Arc<str>, usize>,
    /// Without case; the first of those that are the same then.
    folded: HashMap<String, usize>,
}

impl Index {
    fn add(&mut self, key: &Arc<str>, at: usize) {
        self.exact.entry(key.clone()).or_insert(at);
        self.folded.entry(folded(key).collect()).or_insert(at);
    }
}

impl<V> Default for OrderedMap<V> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            index: None,
        }
    }
}

impl<V> OrderedMap<V> {
    /// The value of `key`: the exact key first, then one that differs in case only.
    pub fn get(&self, key: &str) -> Option<&V> {
        let at = match &self.index {
            Some(index) => {
                let folded = || index.folded.get(&folded(key).collect::<String>());
                index.exact.get(key).or_else(folded).copied()
            }
            None => {
                let find = |same: &dyn Fn(&str) -> bool| {
                    self.entries.iter().position(|(name, _)| same(name))
                };
                find(&|name| name == key).or_else(|| find(&|name| same_text(name, key)))
            }
        };
        at.map(|at| &self.entries[at].1)
    }

    /// The value of exactly this key.
    pub fn get_exact(&self, key: &str) -> Option<&V> {
        let at = match &self.index {
            Some(index) => index.exact.get(key).copied(),
            None => self.entries.iter().position(|(name, _)| &**name == key),
        };
        at.map(|at| &self.entries[at].1)
    }

    /// Sets `key`, in its old place if there is one.
    pub fn set(&mut self, key: &str, value: V) {
        let at = match &self.index {
            Some(index) => index.exact.get(key).copied(),
            None => self.entries.iter().position(|(name, _)| &**name == key),
        };
        match at {
            Some(at) => self.entries[at].1 = value,
            None => self.push(key.into(), value),
        }
    }

    pub(super) fn push(&mut self, key: Arc<str>, value: V) {
        let at = self.entries.len();
        if let Some(index) = &mut self.index {
            index.add(&key, at);
        }
        self.entries.push((key, value));
        if self.index.is_none() && self.entries.len() == INDEXED {
            let mut index = Index::default();
            for (at, (key, _)) in self.entries.iter().enumerate() {
                index.add(key, at);
            }
            self.index = Some(index);
        }
    }

    /// Each key and its value, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.entries.iter().map(|(key, value)| (&**key, value))
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
