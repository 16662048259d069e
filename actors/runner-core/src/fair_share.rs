//! Who of those that wait is next, where work is bounded in all and for each repository. No clock,
//! no locks.

use std::collections::HashMap;

/// Bounds of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// So much goes on at once, of all repositories; 1 at least.
    pub total: usize,
    /// So much of one repository; 1 at least.
    pub per_repository: usize,
    /// A repository has more than that while nobody of another one waits.
    pub lends: bool,
}

/// Where the one that came last stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharePosition {
    /// How many begin up to it, itself included, if nobody else comes.
    pub place: usize,
    /// Its repository has its share, and others come before it for that.
    pub is_beyond_share: bool,
}

impl Shares {
    /// The index of the one that may begin now; `None`: nobody may.
    ///
    /// `in_use` is how much of each repository goes on, `waiting` the repositories of those that
    /// wait, in the order in which they came. The first one of a repository that has less than its
    /// share is next; where all of them have theirs, the first one of the repository that has
    /// least.
    #[must_use]
    pub fn next(self, in_use: &HashMap<String, usize>, waiting: &[&str]) -> Option<usize> {
        if in_use.values().sum::<usize>() >= self.total {
            return None;
        }
        self.first(in_use, waiting)
    }

    /// The same, however much goes on in all.
    fn first(self, in_use: &HashMap<String, usize>, waiting: &[&str]) -> Option<usize> {
        let used = |repository: &str| in_use.get(repository).copied().unwrap_or(0);
        let waiting = waiting.iter().enumerate();
        let mut within =
            (waiting.clone()).filter(|(_, repository)| used(repository) < self.per_repository);
        let next = within.next().or_else(|| {
            let least = waiting.min_by_key(|(_, repository)| used(repository));
            least.filter(|_| self.lends)
        });
        next.map(|(index, _)| index)
    }

    /// Where the last one of `waiting` stands.
    #[must_use]
    pub fn last_standing(self, in_use: &HashMap<String, usize>, waiting: &[&str]) -> SharePosition {
        let used = |repository: &str| in_use.get(repository).copied().unwrap_or(0);
        let Some(own) = waiting.last() else {
            return SharePosition {
                place: 0,
                is_beyond_share: false,
            };
        };
        let mut by_repository: HashMap<&str, usize> = HashMap::new();
        for repository in waiting {
            *by_repository.entry(repository).or_default() += 1;
        }
        let of_own = by_repository.remove(own).unwrap_or_default();
        // What its repository has when it begins; others begin before it while they have no more.
        let has_then = used(own) + of_own - 1;
        let bar = (has_then + 1).max(self.per_repository);
        let others = by_repository.iter();
        let others =
            others.map(|(repository, count)| bar.saturating_sub(used(repository)).min(*count));
        let others: usize = others.sum();
        SharePosition {
            place: of_own + others,
            is_beyond_share: has_then >= self.per_repository && others > 0,
        }
    }
}
