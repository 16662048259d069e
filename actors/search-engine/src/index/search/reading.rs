//! Candidates whose texts decide whether they match.

use search_core::file_roles::FileRole;
use search_core::query::{MatchState, QueryCondition};
use search_core::role::RelevanceFunction;

use super::super::error::IndexError;
use super::super::lexical::{NO_WORD, QueryTerms};
use super::super::pool::ScoredDocument;
use super::super::verification::verify;
use super::super::verify::{MAX_VERIFIED, Verifier};
use super::RankedSearch;

/// What is left of candidates whose texts decide.
pub(super) struct VerifiedCandidates {
    pub(super) kept: Vec<ScoredDocument>,
    /// Texts that were looked through.
    pub(super) read: u64,
    pub(super) was_late: bool,
}

/// How seldom a file of this role is meant where no word says so.
const fn rarity_rank(role: FileRole) -> u8 {
    match role {
        FileRole::Main => 0,
        FileRole::Documentation => 1,
        FileRole::Example | FileRole::Settings => 2,
        FileRole::Test | FileRole::History => 3,
        FileRole::Generated | FileRole::Vendored | FileRole::Lock => 4,
    }
}

impl RankedSearch<'_> {
    /// Candidates of which no word says anything, as of an expression alone, in the order of what
    /// they are for: so the bounds leave off what is seldom meant.
    fn likeliest_first(
        &self,
        mut candidates: Vec<ScoredDocument>,
    ) -> Result<Vec<ScoredDocument>, IndexError> {
        let first = &candidates[..candidates.len().min(MAX_VERIFIED)];
        if !self.refines || self.page.ignores_roles || first.iter().any(|one| one.score > NO_WORD) {
            return Ok(candidates);
        }
        let mut ordered = Vec::with_capacity(first.len());
        for one in first {
            ordered.push((rarity_rank(self.record(one)?.role), *one));
        }
        ordered.sort_by_key(|(seldom, _)| *seldom);
        for (place, (_, one)) in candidates.iter_mut().zip(ordered) {
            *place = one;
        }
        Ok(candidates)
    }

    /// The candidates whose texts do not speak against them. Adds those found to the totals.
    pub(super) fn verified(
        &mut self,
        candidates: Vec<ScoredDocument>,
    ) -> Result<VerifiedCandidates, IndexError> {
        let titles_only = self.function == RelevanceFunction::TitleScorer;
        let candidates = self.likeliest_first(candidates)?;
        let (snapshots, matchings) = (self.scope.snapshots, &self.outcome.matchings);
        let matching = |candidate: &ScoredDocument| {
            &matchings[QueryTerms::place_of(snapshots, candidate.source, candidate.segment)]
        };
        let truth = |one: &ScoredDocument| matching(one).whole.state(one.document);
        let open = candidates.iter().copied();
        let open: Vec<ScoredDocument> = open
            .filter(|one| truth(one) == MatchState::Undecided)
            .collect();
        let look_at = |verifier: &mut Verifier<'_>, candidate: &ScoredDocument| {
            let snapshot = &snapshots[candidate.source as usize];
            let record = snapshot.record(candidate.segment, candidate.document)?;
            let matching = matching(candidate);
            let mut known = |leaf: &QueryCondition| Ok(matching.state(leaf, candidate.document));
            verifier.is_match(candidate, &record, &mut known)
        };
        let rarities = &self.outcome.term_weights;
        let verifier = Verifier::new(self.query, self.scope.texts, titles_only, rarities);
        let verification = verify(verifier, &open, &look_at)?;
        let (mut kept, mut found) = (Vec::new(), verification.states.iter().copied());
        for candidate in &candidates {
            let state = match truth(candidate) {
                MatchState::Undecided => found.next().unwrap_or(MatchState::Undecided),
                known => known,
            };
            if state == MatchState::Yes {
                kept.push(*candidate);
            }
        }
        let found = open.iter().zip(&verification.states);
        for (candidate, _) in found.filter(|(_, state)| **state == MatchState::Yes) {
            self.outcome.certain[candidate.source as usize] += 1;
        }
        let states = verification.states.iter();
        let read = states.filter(|state| **state != MatchState::Undecided);
        Ok(VerifiedCandidates {
            read: read.count() as u64,
            kept,
            was_late: verification.was_late,
        })
    }
}
