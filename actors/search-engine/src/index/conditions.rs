//! Which documents of a segment meet a query's condition, as sets.
//!
//! A phrase needs the text, so a condition gives two sets: the documents that may meet it, and
//! those that do whatever the texts say. Where they differ, [`verify`](super::verify) reads the
//! text.

use search_core::query::{MatchState, QueryCondition};
use tantivy::DocId;

use super::bitmap::Bitmap;
use super::error::IndexError;

/// The documents that meet a condition.
#[derive(Debug, Clone)]
pub(super) struct MatchBounds {
    /// May meet it.
    pub(super) upper: Bitmap,
    /// Meet it for sure; `None` when that is all of `upper`.
    pub(super) lower: Option<Bitmap>,
}

impl MatchBounds {
    /// A set that is known.
    pub(super) fn exact(set: Bitmap) -> Self {
        Self {
            upper: set,
            lower: None,
        }
    }

    /// A set of which the texts decide.
    pub(super) fn open(upper: Bitmap, max_doc: DocId) -> Self {
        Self {
            upper,
            lower: Some(Bitmap::new(max_doc)),
        }
    }

    fn lower(&self) -> &Bitmap {
        self.lower.as_ref().unwrap_or(&self.upper)
    }

    /// What is known of one document.
    pub(super) fn state(&self, document: DocId) -> MatchState {
        if !self.upper.contains(document) {
            MatchState::No
        } else if self.lower().contains(document) {
            MatchState::Yes
        } else {
            MatchState::Undecided
        }
    }

    /// Takes documents out.
    pub(super) fn subtract(&mut self, other: &Bitmap) {
        self.upper.subtract(other);
        if let Some(lower) = &mut self.lower {
            lower.subtract(other);
        }
    }

    fn not(self, max_doc: DocId) -> Self {
        let without = |set: &Bitmap| {
            let mut rest = Bitmap::full(max_doc);
            rest.subtract(set);
            rest
        };
        Self {
            upper: without(self.lower()),
            lower: self.lower.is_some().then(|| without(&self.upper)),
        }
    }

    fn join(&mut self, other: &Self, by: fn(&mut Bitmap, &Bitmap)) {
        if self.lower.is_some() || other.lower.is_some() {
            let mut lower = self.lower().clone();
            by(&mut lower, other.lower());
            self.lower = Some(lower);
        }
        by(&mut self.upper, &other.upper);
    }
}

/// What is known about the documents of one segment and a query's condition.
#[derive(Debug)]
pub(super) struct ConditionMatches {
    /// The documents that meet the condition.
    pub(super) whole: MatchBounds,
    leaves: Vec<(QueryCondition, MatchBounds)>,
}

impl ConditionMatches {
    /// Evaluates a condition; `leaf` is called once for each word, phrase, prefix and filter.
    pub(super) fn evaluate(
        condition: &QueryCondition,
        max_doc: DocId,
        deleted: Option<&Bitmap>,
        mut leaf: impl FnMut(&QueryCondition) -> Result<MatchBounds, IndexError>,
    ) -> Result<Self, IndexError> {
        let mut leaves: Vec<(QueryCondition, MatchBounds)> = Vec::new();
        let mut whole = bounds(condition, max_doc, &mut |wanted| {
            if let Some((_, known)) = leaves.iter().find(|(known, _)| known == wanted) {
                return Ok(known.clone());
            }
            let found = leaf(wanted)?;
            leaves.push((wanted.clone(), found.clone()));
            Ok(found)
        })?;
        if let Some(deleted) = deleted {
            whole.subtract(deleted);
        }
        // Only what the texts decide is asked for again.
        if whole.lower.is_none() {
            leaves.retain(|(leaf, _)| matches!(leaf, QueryCondition::Prefix(_)));
        }
        Ok(Self { whole, leaves })
    }

    /// Looks up a leaf that the condition has not asked for.
    pub(super) fn know(
        &mut self,
        leaf: QueryCondition,
        look_up: impl FnOnce(&QueryCondition) -> Result<MatchBounds, IndexError>,
    ) -> Result<(), IndexError> {
        if self.leaf(&leaf).is_none() {
            let found = look_up(&leaf)?;
            self.leaves.push((leaf, found));
        }
        Ok(())
    }

    /// What is known of a leaf for one document.
    pub(super) fn state(&self, leaf: &QueryCondition, document: DocId) -> MatchState {
        let known = self.leaves.iter().find(|(known, _)| known == leaf);
        known.map_or(MatchState::No, |(_, bounds)| bounds.state(document))
    }

    /// The documents of a leaf that was asked for.
    pub(super) fn leaf(&self, leaf: &QueryCondition) -> Option<&Bitmap> {
        let known = self.leaves.iter().find(|(known, _)| known == leaf);
        known.map(|(_, bounds)| &bounds.upper)
    }

    /// Documents that meet the condition for sure.
    pub(super) fn certain(&self) -> u64 {
        self.whole.lower().len()
    }

    /// Documents of which the texts decide.
    pub(super) fn open(&self) -> u64 {
        self.whole.upper.len_without(self.whole.lower())
    }
}

/// The documents of a segment of `max_doc` documents that meet `condition`; `leaf` gives those of
/// words, phrases, prefixes and filters.
pub(super) fn bounds(
    condition: &QueryCondition,
    max_doc: DocId,
    leaf: &mut dyn FnMut(&QueryCondition) -> Result<MatchBounds, IndexError>,
) -> Result<MatchBounds, IndexError> {
    match condition {
        QueryCondition::Not(inner) => Ok(bounds(inner, max_doc, leaf)?.not(max_doc)),
        QueryCondition::All(list) => {
            let all = MatchBounds::exact(Bitmap::full(max_doc));
            joined(list, max_doc, leaf, all, Bitmap::intersect)
        }
        QueryCondition::Any(list) => {
            let none = MatchBounds::exact(Bitmap::new(max_doc));
            joined(list, max_doc, leaf, none, Bitmap::unite)
        }
        single => leaf(single),
    }
}

fn joined(
    list: &[QueryCondition],
    max_doc: DocId,
    leaf: &mut dyn FnMut(&QueryCondition) -> Result<MatchBounds, IndexError>,
    mut bounds_so_far: MatchBounds,
    by: fn(&mut Bitmap, &Bitmap),
) -> Result<MatchBounds, IndexError> {
    for member in list {
        bounds_so_far.join(&bounds(member, max_doc, leaf)?, by);
    }
    Ok(bounds_so_far)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DOCUMENTS: DocId = 70;

    /// A random condition over words 0–2, which are known, and phrases 0–1, which are open.
    fn conditions() -> impl Strategy<Value = QueryCondition> {
        let leaf = prop_oneof![
            (0_usize..3).prop_map(QueryCondition::Word),
            (0_usize..2).prop_map(QueryCondition::Phrase),
        ];
        leaf.prop_recursive(4, 20, 3, |inner| {
            prop_oneof![
                inner
                    .clone()
                    .prop_map(|one| QueryCondition::Not(Box::new(one))),
                prop::collection::vec(inner.clone(), 0..4).prop_map(QueryCondition::All),
                prop::collection::vec(inner, 0..4).prop_map(QueryCondition::Any),
            ]
        })
    }

    /// Word and phrase numbers as sets of documents that anyone can recompute.
    fn has(kind: u32, number: usize, document: DocId) -> bool {
        (document + kind * 13).is_multiple_of(number as u32 + 2)
    }

    proptest! {
        #[test]
        fn the_sets_enclose_the_truth(condition in conditions()) {
            let found = bounds(&condition, DOCUMENTS, &mut |leaf| {
                let set = |kind: u32, number: usize| {
                    let mut set = Bitmap::new(DOCUMENTS);
                    set.insert_all(&(0..DOCUMENTS).filter(|&d| has(kind, number, d)).collect::<Vec<_>>());
                    set
                };
                Ok(match leaf {
                    QueryCondition::Word(number) => MatchBounds::exact(set(0, *number)),
                    QueryCondition::Phrase(number) => MatchBounds::open(set(1, *number), DOCUMENTS),
                    _ => unreachable!("no other leaves"),
                })
            }).expect("nothing fails");
            for document in 0..DOCUMENTS {
                let open = condition.evaluate(&mut |leaf| -> Result<MatchState, ()> { Ok(match leaf {
                    QueryCondition::Word(number) => has(0, *number, document).into(),
                    QueryCondition::Phrase(number) if has(1, *number, document) => MatchState::Undecided,
                    _ => MatchState::No,
                }) }).expect("nothing fails");
                // A set cannot see that both sides of `x or not x` are the same text; nor can
                // `evaluate`.
                prop_assert_eq!(found.state(document), open, "{:?} {}", condition, document);
            }
        }
    }
}
