//! Objects: keys in the order they were given, found without regard to case when there is no exact one.

use std::collections::HashMap;
use std::sync::Arc;

use super::Value;
use super::value::{folded, same_text};

/// From so many keys on they are looked up by a table.
const INDEXED: usize = 16;

/// An object.
#[derive(Debug, Clone, Default)]
pub struct Object {
    entries: Vec<(Arc<str>, Value)>,
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

impl Object {
    /// The value of `key`: the exact key first, then one that differs in case only.
    pub fn get(&self, key: &str) -> Option<&Value> {
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

    /// Sets `key`, in its old place if there is one.
    pub fn set(&mut self, key: &str, value: Value) {
        let at = match &self.index {
            Some(index) => index.exact.get(key).copied(),
            None => self.entries.iter().position(|(name, _)| &**name == key),
        };
        match at {
            Some(at) => self.entries[at].1 = value,
            None => self.push(key.into(), value),
        }
    }

    fn push(&mut self, key: Arc<str>, value: Value) {
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
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
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

impl<K: AsRef<str>, V: Into<Value>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut object = Self::default();
        for (key, value) in entries {
            object.push(key.as_ref().into(), value.into());
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_keys_are_found_alike() {
        for count in [3_u32, 40] {
            let mut object: Object = (0..count)
                .map(|key| (format!("Key{key}"), f64::from(key)))
                .collect();
            object.set("KEY2", 7.0.into());
            object.set("Key1", 8.0.into());
            let number = |key: &str| object.get(key).map(Value::number);
            assert_eq!(number("Key2"), Some(2.0));
            assert_eq!(number("KEY2"), Some(7.0));
            assert_eq!(
                number("key2"),
                Some(2.0),
                "the first of those that differ in case"
            );
            assert_eq!(number("key1"), Some(8.0));
            assert_eq!(number("other"), None);
            assert_eq!(object.len(), count as usize + 1);
        }
    }
}
