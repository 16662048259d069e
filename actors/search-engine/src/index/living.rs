//! Statistics of the documents that are not deleted.
//!
//! A deleted document stays in the posting lists of its segment until a merge, and tantivy counts
//! it until then: the same corpus would give other scores after changes. So what is counted here is
//! what is alive: how many documents there are, how long they are together, and in how many of them
//! a term occurs. All of it is a function of the corpus alone, whatever happened before.

use tantivy::SegmentReader;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::schema::Field;

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

/// Counts the documents of a segment that are not deleted. A length is known by its step alone (one
/// byte a document): it counts as the middle of the step, so that the average is that of the exact
/// lengths.
pub(super) fn count(
    reader: &SegmentReader,
    text: Field,
    deleted: Option<&Bitmap>,
) -> tantivy::Result<LiveStatistics> {
    let norms = reader.get_fieldnorms_reader(text)?;
    let mut steps = [0_u64; 256];
    for document in 0..reader.max_doc() {
        if !deleted.is_some_and(|deleted| deleted.contains(document)) {
            steps[usize::from(norms.fieldnorm_id(document))] += 1;
        }
    }
    let mut living = LiveStatistics::default();
    for (step, &documents) in (0..=u8::MAX).zip(&steps) {
        living.documents += documents;
        living.double_length += documents * double_middle(step);
    }
    Ok(living)
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
    use super::{FieldNormReader, double_middle};

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
