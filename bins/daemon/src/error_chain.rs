//! An error with its causes, as one line.

use std::error::Error;

/// What went wrong and why, each said once: many errors name their cause themselves.
#[must_use]
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(why) = cause {
        let why_text = why.to_string();
        if !text.contains(&why_text) {
            text = format!("{text}: {why_text}");
        }
        cause = why.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Failed {
        #[error("cannot read x: {source}")]
        Says { source: std::io::Error },
        #[error("cannot read x")]
        Leaves { source: std::io::Error },
    }

    #[test]
    fn a_cause_is_said_once() {
        let source = || std::io::Error::other("no such file");
        for error in [
            Failed::Says { source: source() },
            Failed::Leaves { source: source() },
        ] {
            assert_eq!(error_chain(&error), "cannot read x: no such file");
        }
    }
}
