//! Reading the texts of candidates by several threads, as if one had read them in their order.
//!
//! Each thread takes the next candidate. What was found counts in the order of the candidates, so
//! that the bounds of a search lie where they lie for one thread: what was read beyond them, by at
//! most one text a thread, is forgotten.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use search_core::query::MatchState;

use super::error::IndexError;
use super::pool::ScoredDocument;
use super::verify::{MAX_VERIFIED, MAX_VERIFIED_BYTES, Verifier};

/// Threads that read for one search.
const MAX_READERS: usize = 4;

/// Candidates for each of which there is a thread, if the machine has as many processors: a thread
/// takes as long to start as a short text to read.
const CANDIDATES_OF_READER: usize = 8;

/// Looks at a candidate.
type LookAt<'l> =
    &'l (dyn Fn(&mut Verifier<'_>, &ScoredDocument) -> Result<MatchState, IndexError> + Sync);

/// What was found out of candidates.
pub(super) struct Verification {
    /// Of each of the first ones; of the others nothing is known.
    pub(super) states: Vec<MatchState>,
    /// Whether the clock has ended it.
    pub(super) was_late: bool,
}

/// How far the threads are.
struct Progress {
    /// The candidate that is looked at next.
    next: usize,
    /// How many may be.
    end: usize,
    /// By candidate: what was found, and the bytes that were read for it.
    found: Vec<Option<(MatchState, usize)>>,
    /// The first ones that count.
    states: Vec<MatchState>,
    /// Bytes that were read for these.
    bytes: usize,
    /// The first candidate that could not be looked at.
    failure: Option<(usize, IndexError)>,
    was_late: bool,
}

impl Progress {
    /// The next candidate, if another one may be looked at.
    fn take_next(&mut self) -> Option<usize> {
        let is_spent = self.is_full() || self.was_late || self.failure.is_some();
        let next = Some(self.next).filter(|next| !is_spent && *next < self.end)?;
        self.next += 1;
        Some(next)
    }

    /// Whether no candidate behind those that count may be looked at.
    fn is_full(&self) -> bool {
        self.bytes >= MAX_VERIFIED_BYTES
    }

    fn record(&mut self, number: usize, found: Result<MatchState, IndexError>, bytes: usize) {
        match found {
            Ok(state) => self.found[number] = Some((state, bytes)),
            Err(failure) => {
                if self
                    .failure
                    .as_ref()
                    .is_none_or(|(first, _)| number < *first)
                {
                    self.failure = Some((number, failure));
                }
            }
        }
        while !self.is_full()
            && let Some(Some((state, bytes))) = self.found.get(self.states.len())
        {
            self.bytes += bytes;
            self.states.push(*state);
        }
    }
}

/// Looks at candidates until the bounds are reached.
pub(super) fn verify(
    verifier: Verifier<'_>,
    candidates: &[ScoredDocument],
    look_at: LookAt<'_>,
) -> Result<Verification, IndexError> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    verify_by(processors.min(MAX_READERS), verifier, candidates, look_at)
}

/// The same by at most so many threads.
fn verify_by(
    readers: usize,
    mut verifier: Verifier<'_>,
    candidates: &[ScoredDocument],
    look_at: LookAt<'_>,
) -> Result<Verification, IndexError> {
    let end = candidates.len().min(MAX_VERIFIED);
    let progress = Mutex::new(Progress {
        next: 0,
        end,
        found: vec![None; end],
        states: Vec::with_capacity(end),
        bytes: 0,
        failure: None,
        was_late: false,
    });
    let helpers = readers.min(end / CANDIDATES_OF_READER).saturating_sub(1);
    thread::scope(|scope| {
        for _ in 0..helpers {
            let (mut verifier, progress) = (verifier.another(), &progress);
            // Without a thread the others read it all.
            let _ = thread::Builder::new()
                .name("verification".to_owned())
                .spawn_scoped(scope, move || {
                    read(&mut verifier, candidates, look_at, progress);
                });
        }
        read(&mut verifier, candidates, look_at, &progress);
    });
    let progress = progress
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let is_full = progress.is_full();
    match progress.failure {
        Some((number, failure)) if !is_full && number == progress.states.len() => Err(failure),
        _ => Ok(Verification {
            states: progress.states,
            was_late: progress.was_late,
        }),
    }
}

/// What one thread does.
fn read(
    verifier: &mut Verifier<'_>,
    candidates: &[ScoredDocument],
    look_at: LookAt<'_>,
    progress: &Mutex<Progress>,
) {
    let locked =
        || -> MutexGuard<'_, Progress> { progress.lock().unwrap_or_else(PoisonError::into_inner) };
    let mut next = locked().take_next();
    while let Some(number) = next {
        let found = match verifier.is_late() {
            true => Ok(MatchState::Undecided),
            false => look_at(verifier, &candidates[number]),
        };
        let bytes = verifier.take_bytes();
        let mut progress = locked();
        progress.record(number, found, bytes);
        progress.was_late |= verifier.was_late();
        next = progress.take_next();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use search_core::query::{QueryCondition, SearchRequest, parse};

    use super::super::record::DocumentRecord;
    use super::super::verify::TextSource;
    use super::*;

    /// Texts by the number of the document, which its record has for a key.
    struct Texts(Vec<String>);

    impl TextSource for Texts {
        fn text(&self, _: usize, record: &DocumentRecord) -> Option<String> {
            self.0.get(record.key.parse::<usize>().ok()?).cloned()
        }
    }

    /// What so many threads find; none where a document cannot be looked at.
    fn found(
        readers: usize,
        query: &str,
        texts: &Texts,
        broken: Option<u32>,
    ) -> Option<Vec<MatchState>> {
        let query = parse(&SearchRequest::for_text(query)).expect("it parses");
        let document = |document| ScoredDocument {
            score: 0.0,
            source: 0,
            segment: 0,
            document,
        };
        let candidates: Vec<ScoredDocument> = (0..texts.0.len() as u32).map(document).collect();
        let look_at = |verifier: &mut Verifier<'_>, candidate: &ScoredDocument| {
            if Some(candidate.document) == broken {
                return Err(IndexError::from(tantivy::TantivyError::Poisoned));
            }
            let record = DocumentRecord {
                key: candidate.document.to_string(),
                ..DocumentRecord::default()
            };
            let mut known = |_: &QueryCondition| Ok(MatchState::Undecided);
            verifier.is_match(candidate, &record, &mut known)
        };
        let verifier = Verifier::new(&query, Some(texts), false, &[]);
        let done = verify_by(readers, verifier, &candidates, &look_at);
        done.ok().map(|done| done.states)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn i16_several_threads_find_what_one_finds(
            texts in prop::collection::vec("[ab]{0,3}( [abc]{1,3}){0,6}", 0..80),
            broken in prop::option::of(0_u32..100),
        ) {
            let texts = Texts(texts);
            for query in ["re:/a[b-c]*a/", "\"a b\"", "re:/bb/ OR \"ab c\""] {
                let one = found(1, query, &texts, broken);
                for readers in [2, 4] {
                    prop_assert_eq!(&found(readers, query, &texts, broken), &one, "{}", query);
                }
            }
        }
    }

    #[test]
    fn i16_several_threads_end_where_one_ends() {
        let mut texts: Vec<String> = (0..40).map(|_| "many words ".repeat(100_000)).collect();
        texts[17] += "the needle";
        texts[30] += "the needle";
        let texts = Texts(texts);
        for query in ["\"the needle\"", "re:/the n[a-z]+/"] {
            let one = found(1, query, &texts, None).expect("all can be looked at");
            let read = MAX_VERIFIED_BYTES.div_ceil(1_100_000);
            assert_eq!((one.len(), one[17]), (read, MatchState::Yes));
            // What lies beyond the bound is never looked at, or forgotten.
            assert_eq!(found(4, query, &texts, Some(23)), Some(one));
        }
    }
}
