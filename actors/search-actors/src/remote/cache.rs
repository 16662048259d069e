//! Answers that are still fresh. Pure: the time is an argument.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use search_sources_core::ParsedItems;

/// Answers kept, the oldest go first.
const MAX_ENTRIES: usize = 64;

/// Recent answers by question.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    entries: VecDeque<Entry>,
}

#[derive(Debug)]
struct Entry {
    words: String,
    limit: usize,
    until: Instant,
    answer: Rc<ParsedItems>,
}

impl Cache {
    /// A fresh answer to the same words, for at least as many items.
    pub(crate) fn get(&self, words: &str, limit: usize, now: Instant) -> Option<Rc<ParsedItems>> {
        let found = self
            .entries
            .iter()
            .find(|entry| entry.words == words && entry.limit >= limit && entry.until > now);
        found.map(|entry| Rc::clone(&entry.answer))
    }

    /// Keeps an answer.
    pub(crate) fn insert(
        &mut self,
        words: &str,
        limit: usize,
        answer: Rc<ParsedItems>,
        now: Instant,
        fresh: Duration,
    ) {
        self.entries
            .retain(|entry| entry.words != words && entry.until > now);
        if self.entries.len() == MAX_ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry {
            words: words.to_owned(),
            limit,
            until: now + fresh,
            answer,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_grow_old_and_are_bounded() {
        let now = Instant::now();
        let minute = Duration::from_secs(60);
        let mut cache = Cache::default();
        for number in 0..=MAX_ENTRIES {
            cache.insert(&number.to_string(), 10, Rc::default(), now, minute);
        }
        assert!(cache.get("0", 10, now).is_none(), "the oldest is gone");
        assert!(cache.get("1", 10, now).is_some() && cache.get("1", 5, now).is_some());
        assert!(
            cache.get("1", 11, now).is_none(),
            "fewer were asked for then"
        );
        assert!(cache.get("1", 10, now + minute).is_none());
    }
}
