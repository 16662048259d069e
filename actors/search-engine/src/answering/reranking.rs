//! The best results, read once more by a model that sees query and text together.
//!
//! ```text
//! ranked results ─ the first `top` ─▶ PairScorer ─▶ the same ones in its order, then the others
//! ```
//! Only what people ask in words is read again: an identifier, a name, a phrase or an expression
//! has its place by what it says.

use search_core::answer::{ScorePart, SortOrder};
use search_core::query::ParsedQuery;

use super::pair_scorer::{NoScores, RerankOptions};
use super::params::SearchParams;
use super::source::{SearchableRole, SearchableSource};
use crate::excerpt::passage_range;
use crate::index::{MAX_LIMIT, SearchHit};

/// Words from which on a query is a question.
const QUESTION_WORDS: usize = 3;
/// Bytes of a passage that are read; models read some 200 words of it.
const MAX_PASSAGE: usize = 2_000;

impl SearchableRole {
    /// What reads results of this search once more.
    pub(super) fn reranking_of(
        &self,
        query: &ParsedQuery,
        params: &SearchParams,
    ) -> Option<&RerankOptions> {
        let reranking = self.reranking.as_ref()?;
        reranking.applies(query, params).then_some(reranking)
    }
}

impl RerankOptions {
    /// Whether the page has results that are to be read once more.
    fn applies(&self, query: &ParsedQuery, params: &SearchParams) -> bool {
        let words = query.words();
        params.sort == SortOrder::Relevance
            && params.skip < self.top
            && params.skip + params.limit <= MAX_LIMIT
            && words.len() >= QUESTION_WORDS
            && words.iter().all(|word| !word.is_identifier())
            && query.phrases().is_empty()
            && query.patterns().is_empty()
            && query.literals().is_empty()
    }

    /// Puts the best of `hits`, which begin with the first, into the order of the model. The scores
    /// stay with the places: they are of one scale with those that follow.
    ///
    /// # Errors
    /// Why the model did not read them: they stay as they are.
    pub(super) fn reorder(
        &self,
        text: &str,
        open: &[&SearchableSource],
        hits: &mut [SearchHit],
    ) -> Result<(), NoScores> {
        let best = hits.len().min(self.top);
        let hits = &mut hits[..best];
        let texts: Vec<String> = hits
            .iter()
            .map(|hit| model_input(open[hit.source], hit))
            .collect();
        if texts.len() < 2 {
            return Ok(());
        }
        let found = self.scorer.scores(text, &texts)?;
        if found.len() != texts.len() {
            return Err("it did not give a number for each text".to_owned().into());
        }
        let places: Vec<f32> = hits.iter().map(|hit| hit.score).collect();
        let mut order: Vec<usize> = (0..hits.len()).collect();
        // What ties stays in its order.
        order.sort_by(|a, b| found[*b].total_cmp(&found[*a]));
        let former: Vec<SearchHit> = hits.to_vec();
        for (place, from) in order.into_iter().enumerate() {
            let mut hit = former[from].clone();
            explain(&mut hit, places[place], found[from], from);
            hits[place] = hit;
        }
        Ok(())
    }
}

/// Gives a hit the score of its new place, and says why.
fn explain(hit: &mut SearchHit, score: f32, number: f32, from: usize) {
    let moved = score - hit.score;
    hit.score = score;
    if let Some(explanation) = &mut hit.explanation {
        explanation.score = score;
        explanation.parts.push(ScorePart {
            kind: "rerank".to_owned(),
            score: moved,
            note: Some(format!(
                "the reranking model gives it {number:.3}; it was result {} before",
                from + 1
            )),
            ..ScorePart::default()
        });
    }
}

/// What the model reads of a result: its title, and the passage that says most.
fn model_input(source: &SearchableSource, hit: &SearchHit) -> String {
    let record = &hit.record;
    let text = source.stored_text(record);
    let text = text
        .or_else(|| source.body(&record.key))
        .unwrap_or_default();
    let passage = hit.passage.unwrap_or(0);
    let range = passage_range(&text, passage, text.len()).unwrap_or(0..text.len());
    let passage = &text[range];
    let passage = &passage[..passage.floor_char_boundary(MAX_PASSAGE)];
    format!("{}\n{}", source.title(record), passage.trim())
}
