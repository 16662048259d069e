//! Statistics of the documents that are not deleted.
//!
//! A deleted document stays in the posting lists of its segment until a merge, and tantivy counts
//! it until then: the same corpus would give other scores after changes. So what is counted here is
//! what is alive: how many documents there are, how long they are together, and in how many of them
//! a term occurs. All of it is a function of the corpus alone, whatever happened before.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::TermInfo;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, InvertedIndexReader, SegmentReader};

use super::bitmap::Bitmap;

/// What counts of a segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LiveStatistics {
    /// Documents.
    pub(super) documents: u64,
    /// Twice the sum of their lengths.
    pub(super) double_length: u64,
}

impl LiveStatistics {
    pub(super) fn add(&mut self, other: Self) {
        self.documents += other.documents;
        self.double_length += other.double_length;
    }

    /// The lengths of the documents together, in terms.
    pub(super) fn length(self) -> u64 {
        self.double_length / 2
    }
}

/// Counts the documents of a segment that are not deleted. `former` is what was deleted from it
/// before, and what counted then: what has been deleted since is taken off, so that a deletion
/// costs a look at the documents that it takes away.
///
/// A length is known by its step alone (one byte a document): it counts as the middle of the step,
/// so that the average is that of the exact lengths.
pub(super) fn count_live(
    reader: &SegmentReader,
    text: Field,
    deleted: Option<&Bitmap>,
    former: Option<(Option<&Bitmap>, LiveStatistics)>,
) -> tantivy::Result<LiveStatistics> {
    let norms = reader.get_fieldnorms_reader(text)?;
    let recounted = deleted.zip(former).and_then(|(deleted, (before, living))| {
        // What was published may be an earlier state than the one before.
        let is_later = before.is_none_or(|before| before.len_without(deleted) == 0);
        is_later.then(|| recount(&norms, deleted, before, living))
    });
    Ok(recounted.unwrap_or_else(|| count_all(&norms, reader.max_doc(), deleted)))
}

/// Looks at every document.
fn count_all(norms: &FieldNormReader, max_doc: DocId, deleted: Option<&Bitmap>) -> LiveStatistics {
    let mut steps = [0_u64; 256];
    for document in 0..max_doc {
        if !deleted.is_some_and(|deleted| deleted.contains(document)) {
            steps[usize::from(norms.fieldnorm_id(document))] += 1;
        }
    }
    let mut living = LiveStatistics::default();
    for (step, &documents) in (0..=u8::MAX).zip(&steps) {
        living.documents += documents;
        living.double_length += documents * double_middle(step);
    }
    living
}

/// Takes off what was deleted after `before`.
fn recount(
    norms: &FieldNormReader,
    deleted: &Bitmap,
    before: Option<&Bitmap>,
    mut living: LiveStatistics,
) -> LiveStatistics {
    let mut newly = deleted.clone();
    if let Some(before) = before {
        newly.subtract(before);
    }
    for document in newly.iter() {
        living.documents -= 1;
        living.double_length -= double_middle(norms.fieldnorm_id(document));
    }
    living
}

/// In how many documents a term occurs that are not deleted: its posting list is read, and no set
/// of the segment's size is made.
pub(super) fn frequency(
    inverted: &InvertedIndexReader,
    info: &TermInfo,
    deleted: &Bitmap,
) -> tantivy::Result<u64> {
    let mut list = inverted.read_block_postings_from_terminfo(info, IndexRecordOption::Basic)?;
    let mut living = 0;
    while !list.docs().is_empty() {
        #[cfg(test)]
        super::posting_reads::record(list.docs().len());
        let documents = list.docs().iter();
        living += documents.filter(|&&one| !deleted.contains(one)).count() as u64;
        list.advance();
    }
    Ok(living)
}

/// How many of these documents hold a term: its posting list is read where they stand in it.
pub(super) fn held(
    inverted: &InvertedIndexReader,
    info: &TermInfo,
    documents: &[DocId],
) -> tantivy::Result<u64> {
    let mut documents = documents.to_vec();
    documents.sort_unstable();
    let mut list = inverted.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
    let mut held = 0;
    for document in documents {
        #[cfg(test)]
        super::posting_reads::record(1);
        if list.doc() < document {
            list.seek(document);
        }
        held += u64::from(list.doc() == document);
    }
    Ok(held)
}

/// Twice the middle of the lengths that a step stands for.
fn double_middle(step: u8) -> u64 {
    let least = u64::from(FieldNormReader::id_to_fieldnorm(step));
    let most = match step.checked_add(1) {
        Some(next) => u64::from(FieldNormReader::id_to_fieldnorm(next)) - 1,
        None => least,
    };
    least + most
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use search_core::document::ExtractedDocument;

    use super::{FieldNormReader, count_live, double_middle, frequency};
    use crate::index::bitmap::Bitmap;
    use crate::index::snapshot::{IndexSnapshot, find_term};
    use crate::index::{Durability, FileState, IndexOptions, SourceIndex};

    fn put(index: &mut SourceIndex, number: u32) {
        let document = ExtractedDocument {
            key: format!("{number:03}"),
            // Lengths that are exact, and such as are known by their steps.
            body: "wing ".repeat(number as usize * 7 % 300)
                + if number.is_multiple_of(7) {
                    "seventh flow"
                } else {
                    "flow"
                },
            ..ExtractedDocument::default()
        };
        let added = index.put(&document, FileState::default());
        added.expect("the document is put");
    }

    fn commit(index: &mut SourceIndex) -> IndexSnapshot {
        index.commit(Durability::Fast).expect("the commit succeeds")
    }

    /// Compares what a snapshot counted with what is counted document by document.
    fn check(snapshot: &IndexSnapshot) {
        let text = snapshot.fields().text;
        for (segment, view) in (0..).zip(snapshot.segments()) {
            let reader = &view.reader;
            let gone: Vec<u32> = (0..reader.max_doc())
                .filter(|&document| reader.is_deleted(document))
                .collect();
            let mut deleted = Bitmap::new(reader.max_doc());
            deleted.insert_all(&gone);
            if let Some(told) = &view.deleted {
                assert_eq!(**told, deleted);
            }
            assert_eq!(view.deleted.is_none(), gone.is_empty());
            let counted = count_live(reader, text, Some(&deleted), None).expect("counts");
            assert_eq!(view.living, counted);
            assert_eq!(counted.documents, u64::from(reader.num_docs()));
            let info = find_term(&view.text, text, "flow").expect("reads");
            let held = frequency(&view.text, &info.expect("all hold it"), &deleted);
            assert_eq!(held.expect("reads"), counted.documents);
            for word in ["flow", "wing", "seventh"] {
                let info = find_term(&view.text, text, word).expect("reads");
                let Some(info) = info else { continue };
                let held = frequency(&view.text, &info, &deleted).expect("reads");
                let known = snapshot.live_frequency(segment, &info);
                assert_eq!(known.expect("reads"), held, "{word}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn i16_what_counts_is_known_from_what_was_deleted_since(
            deletions in prop::collection::vec(prop::collection::btree_set(0_u32..200, 0..40), 1..6),
        ) {
            let folder = tempfile::tempdir().expect("a folder");
            let (mut index, _) = SourceIndex::open(folder.path(), IndexOptions::default())
                .expect("the index opens");
            (0..200).for_each(|number| put(&mut index, number));
            let first = commit(&mut index);
            let mut before = first.clone();
            let mut gone = BTreeSet::new();
            for set in deletions {
                for number in &set {
                    index.delete(&format!("{number:03}")).expect("deletes");
                }
                gone.extend(set);
                let now = commit(&mut index);
                check(&now);
                // What was counted for this state says nothing wrong of the one before.
                check(&before);
                before = now.clone();
                prop_assert_eq!(now.document_count(), 200 - gone.len() as u64);
            }
            // An earlier state after a later one is counted anew.
            let last = index.snapshot();
            if let ([before], [after]) = (first.segments(), last.segments()) {
                let later = Some((after.deleted.as_deref(), after.living));
                let none = Bitmap::new(before.reader.max_doc());
                let text = first.fields().text;
                let counted = count_live(&before.reader, text, Some(&none), later).expect("counts");
                prop_assert_eq!(counted, before.living);
            }
        }
    }

    #[test]
    fn u7_lengths_count_as_the_middle_of_their_steps() {
        for length in 0..40 {
            let step = FieldNormReader::fieldnorm_to_id(length);
            assert_eq!(
                double_middle(step),
                u64::from(2 * length),
                "{length} is exact"
            );
        }
        // The mean over the lengths of a step is that of the lengths themselves.
        for step in [50, 90, 120] {
            let range =
                FieldNormReader::id_to_fieldnorm(step)..FieldNormReader::id_to_fieldnorm(step + 1);
            let sum: u64 = range.clone().map(u64::from).sum();
            assert_eq!(double_middle(step) * range.len() as u64, 2 * sum, "{step}");
        }
        assert_eq!(double_middle(u8::MAX) % 2, 0);
    }
}
