//! When a searcher takes up what was learnt, and makes suggestions anew.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Suggestions of titles and words are made anew at most this often where nothing was learnt.
const SUGGEST_INTERVAL: Duration = Duration::from_secs(30);
/// What could not be used as this machine lacks something is tried again after so long.
const RETRY_INTERVAL: Duration = Duration::from_secs(20);
/// It rests so many times as long as it has worked.
const REST_FACTOR: u32 = 5;

/// What was taken up last, and the thread that takes up what is new.
#[derive(Debug, Default)]
pub(super) struct ConceptFollower {
    /// The digests of its files, and the view whose titles are suggested.
    taken: Option<(Vec<String>, u64)>,
    /// Whether something of it is to be tried again.
    again: bool,
    running: Option<JoinHandle<(Result<bool, String>, Duration)>>,
    /// When it ended, and how long it took.
    ended: Option<(Instant, Duration)>,
}

impl ConceptFollower {
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Looks whether the thread has ended: why it failed, if it did. That is tried again.
    pub(super) fn poll_end(&mut self) -> Option<String> {
        let ended = self.running.take_if(|running| running.is_finished())?;
        let (result, took) = ended
            .join()
            .unwrap_or_else(|_| (Err("taking it up panicked".to_owned()), SUGGEST_INTERVAL));
        self.ended = Some((Instant::now(), took));
        self.again = result == Ok(true);
        let error = result.err()?;
        self.taken = None;
        Some(error)
    }

    /// Whether these files, or the titles of this view, are to be taken up now.
    pub(super) fn is_due(&self, files: &[String], view: u64) -> bool {
        if self.is_running() {
            return false;
        }
        let rest = match &self.taken {
            Some((taken, _)) if taken == files && self.again => RETRY_INTERVAL,
            Some((taken, of)) if taken == files && *of == view => return false,
            Some((taken, _)) if taken == files => SUGGEST_INTERVAL,
            _ => Duration::ZERO,
        };
        let Some((at, took)) = self.ended else {
            return true;
        };
        at.elapsed() >= rest.max(took * REST_FACTOR)
    }

    /// Takes up, which says whether something is to be tried again later; where no thread can be
    /// had all of it is.
    pub(super) fn start(
        &mut self,
        what: (Vec<String>, u64),
        take_up: impl FnOnce() -> Result<bool, String> + Send + 'static,
    ) {
        let work = move || {
            let began = Instant::now();
            (take_up(), began.elapsed())
        };
        let thread = std::thread::Builder::new().name("snapshot-concepts".to_owned());
        if let Ok(running) = thread.spawn(work) {
            self.running = Some(running);
            self.taken = Some(what);
        }
    }
}

impl Drop for ConceptFollower {
    /// Nobody uses the folder when the source's thread has ended.
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            // How it ended concerns nobody any more.
            let _ = running.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_what_is_new_is_taken_up_once_and_what_failed_again() {
        let files = vec!["a".to_owned()];
        let mut taking = ConceptFollower::default();
        assert!(taking.is_due(&files, 1));
        let wait = |taking: &mut ConceptFollower| loop {
            if taking.running.as_ref().is_none_or(JoinHandle::is_finished) {
                return taking.poll_end();
            }
            std::thread::yield_now();
        };
        taking.start((files.clone(), 1), || Err("no room".to_owned()));
        assert_eq!(wait(&mut taking), Some("no room".to_owned()));
        taking.ended = None;
        assert!(taking.is_due(&files, 1), "it failed");
        taking.start((files.clone(), 1), || Ok(true));
        assert_eq!(wait(&mut taking), None);
        assert!(!taking.is_due(&files, 1), "a little later");
        taking.ended = None;
        assert!(taking.is_due(&files, 1), "a model was missing");
        taking.start((files.clone(), 1), || Ok(false));
        assert_eq!(wait(&mut taking), None);
        assert!(!taking.is_due(&files, 1));
        assert!(!taking.is_due(&files, 2), "titles wait");
        taking.ended = Some((Instant::now(), Duration::ZERO));
        assert!(taking.is_due(&["b".to_owned()], 2), "learnt anew");
    }
}
