//! Whether somebody publishes what a searcher follows: whoever has the lease writes the pointer
//! every few seconds.

use std::collections::BTreeMap;
use std::time::Duration;

/// A pointer that nobody has written for so long is nobody's.
const UNATTENDED_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the pointers of the parts that are followed are as they are.
#[derive(Debug, Default)]
pub(super) struct PointerAges {
    /// When each was seen to change, since any fixed moment.
    changed_at: BTreeMap<String, Duration>,
    /// When others of the source were looked for.
    looked_at: Option<Duration>,
    /// The others that somebody publishes.
    others: Vec<String>,
}

impl PointerAges {
    /// Notes that a part's pointer was written.
    pub(super) fn record(&mut self, part: &str, now: Duration) {
        self.changed_at.insert(part.to_owned(), now);
    }

    /// Why nothing new comes, if so. `others` gives the parts of the source that somebody
    /// publishes, and is asked once a minute then.
    pub(super) fn stale_reason(
        &mut self,
        now: Duration,
        others: impl FnOnce() -> Vec<String>,
    ) -> Option<String> {
        let is_left = |at: &Duration| now.saturating_sub(*at) >= UNATTENDED_TIMEOUT;
        let left = self.changed_at.iter().filter(|(_, at)| is_left(at));
        let left: Vec<String> = left.map(|(part, _)| part.clone()).collect();
        if left.is_empty() {
            self.looked_at = None;
            return None;
        }
        if self
            .looked_at
            .is_none_or(|at| now.saturating_sub(at) >= UNATTENDED_TIMEOUT)
        {
            self.looked_at = Some(now);
            let found = others();
            self.others = found
                .into_iter()
                .filter(|part| !left.contains(part))
                .collect();
        }
        let others = self
            .others
            .iter()
            .filter(|part| !self.changed_at.contains_key(*part));
        let others: Vec<&str> = others.map(String::as_str).collect();
        let left = left.join(", ");
        Some(match others.is_empty() {
            true => format!("nobody publishes part {left}: no indexer has its lease"),
            false => format!(
                "nobody publishes part {left}, but {}: SERVICE_INDEX_PARTS differs here from the \
                 indexers'",
                others.join(", ")
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_what_nobody_publishes_any_more_is_said_and_why() {
        let mut attendance = PointerAges::default();
        let at = Duration::from_secs;
        attendance.record("1-of-1", at(0));
        assert_eq!(attendance.stale_reason(at(59), Vec::new), None);
        let trouble = attendance
            .stale_reason(at(60), Vec::new)
            .expect("a minute is over");
        assert!(trouble.contains("no indexer has its lease"), "{trouble}");
        // Asked again after a minute: by then the source is split.
        let split = || vec!["1-of-2".to_owned(), "2-of-2".to_owned()];
        let trouble = attendance.stale_reason(at(121), split).expect("still");
        assert!(trouble.contains("1-of-2, 2-of-2"), "{trouble}");
        assert!(trouble.contains("SERVICE_INDEX_PARTS"), "{trouble}");
        attendance.record("1-of-1", at(122));
        assert_eq!(attendance.stale_reason(at(123), Vec::new), None);
    }
}
