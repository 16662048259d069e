//! What a score is made of, for `explain`.

use search_core::answer::{Explanation, ScorePart};
use search_core::query::{ParsedQuery, QueryCondition};
use search_core::role::RelevanceFunction;
use tantivy::{DocSet, TERMINATED, TantivyError};

use super::cursor::{ExactScorer, TermPart};
use super::error::IndexError;
use super::lexical::{LexicalMatches, QueryTerms, Scoring};
use super::passages::{PassageScore, PassageScores};
use super::pool::ScoredDocument;
use super::rerank::{Fusion, RankedCandidate};
use super::scope::SearchScope;
use super::snapshot::{SegmentView, find_term};

/// What the passages of a document have changed.
fn passages_part(passages: PassageScore) -> Option<ScorePart> {
    (passages.change != 0.0).then(|| ScorePart {
        kind: "passages".to_owned(),
        note: Some("how many of the words stand together in a long document".to_owned()),
        score: passages.change,
        ..ScorePart::default()
    })
}

/// What a document has for words that it lacks.
fn paraphrase_part(fusion: &Fusion) -> Option<ScorePart> {
    (fusion.otherwise_part > 0.0).then(|| ScorePart {
        kind: "otherwise".to_owned(),
        note: Some("words that it does not hold, and may say in other words".to_owned()),
        score: fusion.otherwise_part,
        ..ScorePart::default()
    })
}

/// Explains the results of one search.
pub(super) struct Explainer<'e> {
    scope: &'e SearchScope<'e>,
    query: &'e ParsedQuery,
    function: RelevanceFunction,
    outcome: &'e LexicalMatches,
    passages: &'e PassageScores,
    terms: QueryTerms<'e>,
}

impl<'e> Explainer<'e> {
    pub(super) fn new(
        scope: &'e SearchScope<'e>,
        query: &'e ParsedQuery,
        function: RelevanceFunction,
        outcome: &'e LexicalMatches,
        passages: &'e PassageScores,
    ) -> Result<Self, IndexError> {
        Ok(Self {
            scope,
            query,
            function,
            outcome,
            passages,
            terms: QueryTerms::load(scope.snapshots, query)?,
        })
    }

    pub(super) fn explain(&self, ranked: &RankedCandidate) -> Result<Explanation, IndexError> {
        let candidate = &ranked.candidate;
        let mut parts = match self.function {
            RelevanceFunction::TitleScorer => vec![self.title(candidate)],
            RelevanceFunction::BM25
            | RelevanceFunction::BM25F
            | RelevanceFunction::ServiceGraph => self.lexical(candidate)?,
        };
        parts.extend(self.passages.get(candidate).and_then(passages_part));
        if let Some(fusion) = &ranked.fusion {
            // The words' parts on the scale of the fused score.
            let of_words = fusion.lexical_part - fusion.otherwise_part;
            let scale = of_words / fusion.lexical_score.max(f32::MIN_POSITIVE);
            for part in &mut parts {
                part.score *= scale;
            }
            parts.extend(paraphrase_part(fusion));
            parts.push(ScorePart {
                kind: "concept".to_owned(),
                term: fusion.concepts.join(", "),
                note: Some(fusion.nearness.describe().to_owned()),
                score: fusion.concept_part,
                ..ScorePart::default()
            });
        }
        parts.extend(ranked.refinement.score_parts());
        Ok(Explanation {
            score: candidate.score,
            parts,
        })
    }

    /// The whole points of a title's score say how it matched.
    fn title(&self, candidate: &ScoredDocument) -> ScorePart {
        let way = match candidate.score {
            score if score >= 4.0 => "the title is the query",
            score if score >= 3.0 => "the title begins with the query",
            score if score >= 2.0 => "the title holds all words",
            score if score >= 1.0 => "words of the title are like words of the query",
            _ => "only the condition is met",
        };
        ScorePart {
            kind: "title".to_owned(),
            term: self.query.title_line().to_owned(),
            note: Some(way.to_owned()),
            score: candidate.score,
            ..ScorePart::default()
        }
    }

    fn lexical(&self, candidate: &ScoredDocument) -> Result<Vec<ScorePart>, IndexError> {
        let ScoredDocument {
            source,
            segment,
            document,
            ..
        } = *candidate;
        let place = QueryTerms::place_of(self.scope.snapshots, source, segment);
        let view = &self.scope.snapshots[source as usize].segments()[segment as usize];
        let infos = &self.terms.infos[place];
        let mut exact = ExactScorer::open(view, infos, &self.terms, Scoring::Plain)?;
        let weighted = self.function != RelevanceFunction::BM25;
        let length = exact.length(document);
        let mut parts = Vec::new();
        for part in exact.term_parts(document, weighted) {
            parts.push(self.term(view, candidate, part, length)?);
        }
        parts.extend(self.prefixes(place, candidate));
        Ok(parts)
    }

    fn term(
        &self,
        view: &SegmentView,
        candidate: &ScoredDocument,
        part: TermPart,
        length: u32,
    ) -> Result<ScorePart, IndexError> {
        let term = &self.query.terms()[part.term];
        let (documents, average_length) = self.terms.corpus();
        let with = self.terms.frequencies[part.term];
        let is_word = |word: &&search_core::query::QueryWord| {
            word.whole == part.term || word.parts.contains(&part.term)
        };
        let word = self.query.words().iter().find(is_word);
        let mut fields = vec!["text".to_owned()];
        if self.is_in_title(view, candidate, &term.text)? {
            fields.insert(0, "title".to_owned());
        }
        if part.surplus > 0 {
            fields.push("headings or tags".to_owned());
        }
        Ok(ScorePart {
            kind: "term".to_owned(),
            term: term.text.clone(),
            word: word.map(|word| word.surface.clone()),
            fields,
            weight: Some(self.terms.boost(part.term)),
            frequency: Some(part.frequency),
            documents: Some(with),
            idf: Some((1.0 + (documents as f32 - with as f32 + 0.5) / (with as f32 + 0.5)).ln()),
            length: Some(length),
            average_length: Some(average_length),
            note: None,
            score: part.score,
        })
    }

    fn is_in_title(
        &self,
        view: &SegmentView,
        candidate: &ScoredDocument,
        term: &str,
    ) -> Result<bool, IndexError> {
        let field = self.scope.snapshots[candidate.source as usize]
            .fields()
            .title;
        let Some(info) = find_term(&view.title, field, term)? else {
            return Ok(false);
        };
        let option = tantivy::schema::IndexRecordOption::Basic;
        let postings = view.title.read_postings_from_terminfo(&info, option);
        let mut postings = postings.map_err(TantivyError::from)?;
        if postings.doc() < candidate.document {
            postings.seek(candidate.document);
        }
        Ok(postings.doc() != TERMINATED && postings.doc() == candidate.document)
    }

    fn prefixes(&self, place: usize, candidate: &ScoredDocument) -> Vec<ScorePart> {
        let scores = self.outcome.prefix_scores.iter().enumerate();
        let holds = |number: usize| {
            let matching = self.outcome.matchings.get(place);
            let set = matching.and_then(|matching| matching.leaf(&QueryCondition::Prefix(number)));
            set.is_some_and(|set| set.contains(candidate.document))
        };
        scores
            .filter(|&(number, &score)| score > 0.0 && holds(number))
            .map(|(number, &score)| ScorePart {
                kind: "prefix".to_owned(),
                term: format!("{}*", self.query.prefixes()[number].folded),
                fields: vec!["text".to_owned()],
                score,
                ..ScorePart::default()
            })
            .collect()
    }
}
