//! When words are learnt though nothing has changed: a refresh that waited for its turn, and
//! vectors that depend on the way the corpus came to be.

use super::*;

/// Stands beside vectors that were begun from former ones.
const REFRESHED: &str = "refreshed";

impl ConceptWorker {
    /// Whether the vectors are a function of the documents alone.
    fn is_settled(&self) -> bool {
        let is_changed = self.space.as_deref().is_some_and(ConceptSpace::is_changed);
        !is_changed && self.saved.open(REFRESHED).is_none()
    }

    fn settles_at(&self) -> Instant {
        let rests = &self.settings.rests;
        let rest = self.pace.took.saturating_mul(rests.before_settling);
        self.pace.quiet_since + rest.max(rests.settle_after)
    }

    /// Whether the vectors are to be learnt from nothing now: the source is quiet, and its scores
    /// depend on its past.
    pub(super) fn settles_now(&self) -> bool {
        self.space.is_some() && Instant::now() >= self.settles_at() && !self.is_settled()
    }

    /// Plans what is to be learnt without a change.
    pub(super) fn plan_learning(&mut self) {
        let Some(space) = self.space.as_deref() else {
            self.pace.due = None;
            return;
        };
        let refreshes = space.needs_refresh().then_some(self.pace.next_refresh);
        let settles = (!self.is_settled()).then(|| self.settles_at());
        self.pace.due = refreshes.into_iter().chain(settles).min();
    }

    /// Says of new vectors what they were begun from; before they are kept where that is former
    /// ones, so that a crash between can only have them learnt once more.
    pub(super) fn mark_refreshed(&self, is_refreshed: bool) -> Result<(), ConceptError> {
        if is_refreshed {
            return self.saved.write(REFRESHED, |_| Ok(()));
        }
        self.saved.remove(REFRESHED);
        Ok(())
    }
}
