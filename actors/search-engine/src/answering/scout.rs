//! What the vectors learnt from a source say to a query. Looked at while the index looks up its
//! words: neither needs the other's result, and each takes some milliseconds over a hundred
//! thousand documents.

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use search_graph_engine::space::{ConceptSpace, ConceptVector, CosineDistribution, NearDocument};

use super::naming::NEAR_WORDS;

/// What one source's vectors say.
pub(super) struct ScoutResult {
    /// The query among them.
    pub(super) vector: ConceptVector,
    /// The documents nearest to it, nearest first, where they were asked for. A query of which the
    /// source knows no word is near to nothing, whatever its letters are like.
    pub(super) near: Option<Vec<NearDocument>>,
    /// How near the source's documents are altogether, where sources have to be compared.
    pub(super) spread: Option<CosineDistribution>,
}

impl ScoutResult {
    /// Looks at the vectors of all sources.
    pub(super) fn scan_all(
        spaces: &[Option<Arc<ConceptSpace>>],
        terms: &[(&str, u32)],
        finds_more: bool,
    ) -> Vec<Option<Self>> {
        let compares = spaces.iter().flatten().count() > 1;
        let look = |space: &Option<Arc<ConceptSpace>>| {
            Self::scan(space.as_deref()?, terms, finds_more, compares)
        };
        spaces.iter().map(look).collect()
    }

    /// Looks at the vectors of one source; `None` where they say nothing to these terms.
    fn scan(
        space: &ConceptSpace,
        terms: &[(&str, u32)],
        finds_more: bool,
        compares: bool,
    ) -> Option<Self> {
        let vector = space.query_vector(terms.iter().copied())?;
        let is_known = || {
            let mut terms = terms.iter();
            terms.any(|(term, _)| space.words().find(term).is_some())
        };
        let finds_more = finds_more && is_known();
        let depth = if finds_more { space.scan_depth() } else { 0 };
        let surveyed = (finds_more || compares).then(|| space.survey(&vector, depth));
        let (near, spread) = surveyed.unzip();
        Some(Self {
            vector,
            near: near.filter(|_| finds_more),
            spread: spread.filter(|_| compares),
        })
    }

    /// The query among the vectors, where results are to be expected.
    fn known_words_vector(&self) -> Option<ConceptVector> {
        self.near.as_ref().map(|_| self.vector.clone())
    }
}

/// A look that goes on in a thread of its own.
pub(super) struct TermLookup {
    terms: Vec<(String, u32)>,
    looking: JoinHandle<()>,
    found: mpsc::Receiver<Vec<Option<ScoutResult>>>,
}

impl TermLookup {
    /// Starts to look at the vectors of all sources. `None` where no thread can be had: whoever
    /// needs the result looks himself then.
    pub(super) fn start(
        spaces: &[Option<Arc<ConceptSpace>>],
        terms: &[(&str, u32)],
    ) -> Option<Self> {
        let owned = terms
            .iter()
            .map(|(term, count)| ((*term).to_owned(), *count));
        let terms: Vec<(String, u32)> = owned.collect();
        let (spaces, asked) = (spaces.to_vec(), terms.clone());
        let (send, found) = mpsc::channel();
        let look = move || {
            let terms: Vec<(&str, u32)> = as_borrowed(&asked).collect();
            let result = ScoutResult::scan_all(&spaces, &terms, true);
            let vectors: Vec<Option<ConceptVector>> = result
                .iter()
                .map(|one| one.as_ref()?.known_words_vector())
                .collect();
            // Nobody waits where the query was corrected meanwhile.
            if send.send(result).is_ok() {
                load_near_words(&spaces, &vectors);
            }
        };
        let thread = std::thread::Builder::new().name("concept-scout".to_owned());
        let looking = thread.spawn(look).ok()?;
        Some(Self {
            terms,
            looking,
            found,
        })
    }

    /// Whether it looks for these terms.
    pub(super) fn is_for(&self, terms: &[(&str, u32)]) -> bool {
        as_borrowed(&self.terms).eq(terms.iter().copied())
    }

    /// What it found, by source.
    pub(super) fn wait(self) -> Vec<Option<ScoutResult>> {
        match (self.found.recv(), self.looking) {
            (Ok(found), _) => found,
            // Its panic is this search's.
            (Err(_), looking) => match looking.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => unreachable!("it sends before it ends"),
            },
        }
    }
}

/// Looks for the words near the query, by which the concepts of results are chosen at the end: they
/// are known then.
fn load_near_words(spaces: &[Option<Arc<ConceptSpace>>], vectors: &[Option<ConceptVector>]) {
    for (space, vector) in spaces.iter().zip(vectors) {
        if let (Some(space), Some(vector)) = (space, vector) {
            let _known = space.words().nearest(vector, NEAR_WORDS);
        }
    }
}

fn as_borrowed(terms: &[(String, u32)]) -> impl Iterator<Item = (&str, u32)> {
    terms.iter().map(|(term, count)| (term.as_str(), *count))
}
