//! What jobs give to those that need them: how much of it there may be.

use crate::limits::{MAX_OUTPUTS_BYTES, MAX_RUN_OUTPUTS_BYTES};

/// Why the outputs of a job are not taken: the job fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OutputsError {
    /// Those of the job.
    #[error(
        "the outputs of the job have more than {} MiB together; hand large values on as an artifact",
        MAX_OUTPUTS_BYTES >> 20
    )]
    OfJob,
    /// Those of all jobs.
    #[error(
        "the outputs of the jobs of this run have more than {} MiB together; hand large values on as artifacts",
        MAX_RUN_OUTPUTS_BYTES >> 20
    )]
    OfRun,
}

/// The outputs of one job, taken one by one: as long as there is room nothing of them is large.
#[derive(Debug, Default)]
pub struct JobOutputs {
    taken: Vec<(String, String)>,
    bytes: usize,
}

impl JobOutputs {
    /// Takes one more.
    ///
    /// # Errors
    /// [`OutputsError::OfJob`].
    pub fn take(&mut self, name: &str, value: String) -> Result<(), OutputsError> {
        self.bytes += json_bytes(name) + json_bytes(&value);
        if self.bytes > MAX_OUTPUTS_BYTES {
            return Err(OutputsError::OfJob);
        }
        self.taken.push((name.to_owned(), value));
        Ok(())
    }

    /// How much they take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// All that were taken.
    #[must_use]
    pub fn into_pairs(self) -> Vec<(String, String)> {
        self.taken
    }
}

/// Whether a run has room for the outputs of one more job beside those of `others`.
///
/// # Errors
/// [`OutputsError::OfRun`].
pub fn has_room<'o>(
    others: impl Iterator<Item = &'o [(String, String)]>,
    outputs: &[(String, String)],
) -> Result<(), OutputsError> {
    let bytes: usize = others.map(bytes).sum();
    if bytes + self::bytes(outputs) > MAX_RUN_OUTPUTS_BYTES {
        return Err(OutputsError::OfRun);
    }
    Ok(())
}

fn bytes(outputs: &[(String, String)]) -> usize {
    let of_one = |(name, value): &(String, String)| json_bytes(name) + json_bytes(value);
    outputs.iter().map(of_one).sum()
}

/// What a text takes in JSON, without its quotes: records are stored so.
fn json_bytes(text: &str) -> usize {
    let of_byte = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        0..32 => 6,
        _ => 1,
    };
    text.bytes().map(of_byte).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_text_is_counted_as_json_has_it() {
        for text in [
            "",
            "plain",
            "\"q\" \\ \n\r\t\u{8}\u{c}",
            "\u{1}\u{1f}",
            "é\u{7f}",
        ] {
            let json = serde_json::to_string(text).unwrap();
            assert_eq!(json_bytes(text) + 2, json.len(), "{text:?}");
        }
    }

    #[test]
    fn i17_outputs_of_a_job_and_of_a_run_are_bounded() {
        let mut outputs = JobOutputs::default();
        let half = "x".repeat(MAX_OUTPUTS_BYTES / 2 - 1);
        assert_eq!(outputs.take("a", half.clone()), Ok(()));
        assert_eq!(outputs.take("b", half.clone()), Ok(()));
        assert_eq!(outputs.take("c", String::new()), Err(OutputsError::OfJob));
        let mut outputs = JobOutputs::default();
        let lines = "\n".repeat(MAX_OUTPUTS_BYTES / 2 + 1);
        assert_eq!(outputs.take("a", lines), Err(OutputsError::OfJob));
        let of_job = [("a".to_owned(), half.clone()), ("b".to_owned(), half)];
        let others = |count| std::iter::repeat_n(&of_job[..], count);
        assert_eq!(has_room(others(49), &of_job), Ok(()));
        assert_eq!(has_room(others(50), &of_job), Err(OutputsError::OfRun));
    }
}
