//! Texts of workflows as they are recorded and shown: an expression may give a MiB, which the
//! record of a run would hold for each of its steps. What holds secrets is masked before it is cut.

use forge_core::text::shorten;

use crate::limits::{MAX_SHOWN_LABELS, MAX_SHOWN_NAME_BYTES, MAX_SHOWN_REASON_BYTES};

/// What something is called, cut off with a sign where it is too long.
#[must_use]
pub fn truncate_name(name: &str) -> String {
    shorten(name, MAX_SHOWN_NAME_BYTES).into_owned()
}

/// Why something ended as it did, cut off with a sign where it is too long.
#[must_use]
pub fn truncate_reason(reason: &str) -> String {
    shorten(reason, MAX_SHOWN_REASON_BYTES).into_owned()
}

/// The labels of a job; of more than are shown the first ones.
#[must_use]
pub fn truncate_labels(labels: &[String]) -> Vec<String> {
    let shown = labels.iter().take(MAX_SHOWN_LABELS);
    let mut shown: Vec<String> = shown.map(|label| truncate_name(label)).collect();
    if labels.len() > MAX_SHOWN_LABELS {
        shown.push("…".to_owned());
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_what_is_too_long_to_be_recorded_is_cut_with_a_sign() {
        let name = truncate_name(&"é".repeat(1 << 19));
        assert!(name.len() <= MAX_SHOWN_NAME_BYTES && name.ends_with("é…"));
        assert_eq!(truncate_name("Unit tests"), "Unit tests");
        let reason = truncate_reason(&"x".repeat(1 << 20));
        assert_eq!(reason.len(), MAX_SHOWN_REASON_BYTES);
        let labels = vec!["x".repeat(1 << 20); 300];
        let shown = truncate_labels(&labels);
        assert_eq!(shown.len(), MAX_SHOWN_LABELS + 1);
        assert!(shown.concat().len() < 1 << 20);
        assert_eq!(truncate_labels(&labels[..1]).len(), 1);
    }
}
