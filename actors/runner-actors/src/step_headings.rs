//! Which step a line of a log is of, where steps of a job run beside each other.

use std::collections::HashMap;

use crate::log::{LineKind, LogLine};

/// Which step each job spoke of last: those that run beside each other take turns.
#[derive(Debug, Default)]
pub struct StepHeadings {
    /// Names of steps, by the job's name and the step's number.
    names: HashMap<(String, u32), String>,
    last: HashMap<String, u32>,
}

impl StepHeadings {
    /// The name of the step that the next line goes on with; nothing where it is clear.
    pub fn heading_before(&mut self, line: &LogLine) -> Option<&str> {
        if line.kind == LineKind::EndGroup {
            return None;
        }
        let key = (line.job.clone(), line.step);
        let before = self.last.insert(line.job.clone(), line.step);
        if line.kind == LineKind::Group && !self.names.contains_key(&key) {
            self.names.insert(key, line.text.clone());
            return None;
        }
        let name = self.names.get(&key)?;
        (before != Some(line.step)).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_lines_of_steps_beside_each_other_say_whose_they_are() {
        use LineKind::{EndGroup, Group, Out};
        let mut headings = StepHeadings::default();
        for (job, step, kind, text, expected) in [
            ("", 0, Out, "before all", None),
            ("a", 0, Out, "a machine", None),
            ("a", 1, Group, "first", None),
            ("a", 2, Group, "second", None),
            ("a", 2, Out, "x", None),
            ("b", 1, Group, "other", None),
            ("a", 1, Out, "y", Some("first")),
            ("a", 1, Group, "in it", None),
            ("a", 2, EndGroup, "", None),
            ("b", 1, Out, "z", None),
            ("a", 1, Out, "y", None),
            ("a", 2, Out, "x", Some("second")),
            ("a", 0, Out, "of the job", None),
        ] {
            let line = LogLine {
                at: 0,
                job: job.to_owned(),
                step,
                kind,
                text: text.to_owned(),
            };
            assert_eq!(headings.heading_before(&line), expected, "{line:?}");
        }
    }
}
