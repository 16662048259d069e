//! Scores of single documents, term by term.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings, TermInfo};
use tantivy::query::Bm25Weight;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, TERMINATED};

use super::error::IndexError;
use super::lexical::{QueryTerms, Scoring};
use super::snapshot::{SegmentView, find_term};

/// Posting lists of one term.
struct TermCursor {
    /// Number of the term in the query.
    term: usize,
    text: SegmentPostings,
    surplus: Option<SegmentPostings>,
    weight: Bm25Weight,
}

impl TermCursor {
    /// `None` when the term does not occur, or — `if_surplus` — has no surplus.
    fn open(
        view: &SegmentView,
        info: Option<&TermInfo>,
        terms: &QueryTerms<'_>,
        term: usize,
        with_surplus: bool,
    ) -> Result<Option<Self>, IndexError> {
        let Some(info) = info.filter(|_| terms.query.terms()[term].count > 0) else {
            return Ok(None);
        };
        let read = |inverted: &tantivy::InvertedIndexReader, info: &TermInfo| {
            let postings = inverted.read_postings_from_terminfo(info, IndexRecordOption::WithFreqs);
            postings.map_err(tantivy::TantivyError::from)
        };
        let text = &terms.query.terms()[term].text;
        let surplus = match with_surplus {
            true => find_term(&view.surplus, terms.surplus, text)?,
            false => None,
        };
        Ok(Some(Self {
            term,
            text: read(&view.text, info)?,
            surplus: surplus.map(|info| read(&view.surplus, &info)).transpose()?,
            weight: terms.bm25(term),
        }))
    }
}

/// The frequency in `document`, which is not before the cursor's last one; 0 when it is not there.
fn frequency_in(postings: &mut SegmentPostings, document: DocId) -> u32 {
    if postings.doc() < document {
        postings.seek(document);
    }
    if postings.doc() == document && document != TERMINATED {
        postings.term_freq()
    } else {
        0
    }
}

/// Tells how much of a weighted score is weight.
pub(super) struct SurplusScorer {
    cursors: Vec<TermCursor>,
    norms: FieldNormReader,
}

impl SurplusScorer {
    pub(super) fn open(
        view: &SegmentView,
        infos: &[Option<TermInfo>],
        terms: &QueryTerms<'_>,
    ) -> Result<Self, IndexError> {
        let mut cursors = Vec::new();
        for (term, info) in infos.iter().enumerate() {
            let cursor = TermCursor::open(view, info.as_ref(), terms, term, true)?;
            cursors.extend(cursor.filter(|cursor| cursor.surplus.is_some()));
        }
        let norms = view.reader.get_fieldnorms_reader(terms.field)?;
        Ok(Self { cursors, norms })
    }

    pub(super) fn excess(&mut self, document: DocId) -> f32 {
        let mut excess = 0.0;
        for cursor in &mut self.cursors {
            let surplus = cursor
                .surplus
                .as_mut()
                .map_or(0, |postings| frequency_in(postings, document));
            if surplus > 0 {
                let norm = self.norms.fieldnorm_id(document);
                let frequency = frequency_in(&mut cursor.text, document);
                let plain = frequency.saturating_sub(surplus);
                excess += cursor.weight.score(norm, frequency) - cursor.weight.score(norm, plain);
            }
        }
        excess
    }
}

/// Scores single documents, adding the terms up in the order of the query.
pub(super) struct ExactScorer {
    cursors: Vec<TermCursor>,
    norms: FieldNormReader,
}

impl ExactScorer {
    pub(super) fn open(
        view: &SegmentView,
        infos: &[Option<TermInfo>],
        terms: &QueryTerms<'_>,
        scoring: Scoring,
    ) -> Result<Self, IndexError> {
        let mut cursors = Vec::new();
        for (term, info) in infos.iter().enumerate() {
            cursors.extend(TermCursor::open(
                view,
                info.as_ref(),
                terms,
                term,
                scoring == Scoring::Plain,
            )?);
        }
        let norms = view.reader.get_fieldnorms_reader(terms.field)?;
        Ok(Self { cursors, norms })
    }

    /// The score of a document, which comes after the ones asked for before.
    pub(super) fn score(&mut self, document: DocId) -> f32 {
        let norm = self.norms.fieldnorm_id(document);
        let mut score = 0.0;
        for cursor in &mut self.cursors {
            let weighted = frequency_in(&mut cursor.text, document);
            let surplus = cursor
                .surplus
                .as_mut()
                .map_or(0, |postings| frequency_in(postings, document));
            let frequency = weighted.saturating_sub(surplus);
            if frequency > 0 {
                score += cursor.weight.score(norm, frequency);
            }
        }
        score
    }

    /// What each term that the document holds adds: its number, its frequency with weights and what
    /// of it is weight, and the score. With [`Scoring::Plain`] weights are known, and
    /// left off unless `weighted`.
    pub(super) fn term_parts(&mut self, document: DocId, weighted: bool) -> Vec<TermPart> {
        let norm = self.norms.fieldnorm_id(document);
        let mut parts = Vec::new();
        for cursor in &mut self.cursors {
            let frequency = frequency_in(&mut cursor.text, document);
            let surplus = cursor
                .surplus
                .as_mut()
                .map_or(0, |postings| frequency_in(postings, document));
            let counted = frequency.saturating_sub(if weighted { 0 } else { surplus });
            if counted > 0 {
                parts.push(TermPart {
                    term: cursor.term,
                    frequency: counted,
                    surplus: if weighted { surplus } else { 0 },
                    score: cursor.weight.score(norm, counted),
                });
            }
        }
        parts
    }

    /// The length of a document, as BM25 knows it.
    pub(super) fn length(&self, document: DocId) -> u32 {
        self.norms.fieldnorm(document)
    }
}

/// What one term adds to a score.
#[derive(Debug, Clone, Copy)]
pub(super) struct TermPart {
    /// Number of the term in the query.
    pub(super) term: usize,
    /// Frequency as counted.
    pub(super) frequency: u32,
    /// How much of it is the weight of headings and tags.
    pub(super) surplus: u32,
    /// What it adds.
    pub(super) score: f32,
}
