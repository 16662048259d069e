//! Skills: `skills/<name>/SKILL.md`, put into prompts without their front matter.

use config_core::{Diagnostic, Diagnostics, Severity, SourceText};

use super::input::ConfigFile;

/// Largest skill, in bytes.
const MAX_SKILL: usize = 256 << 10;
/// What stands before and after front matter.
const FENCE: &str = "---";

/// The text of a skill.
pub(super) fn parse(file: &ConfigFile) -> Result<String, Diagnostics> {
    let text = SourceText::read(&file.name, &file.bytes)?;
    let wrong = |place: std::ops::Range<usize>, message: &str, help: &str| {
        let found: Diagnostic = text.diagnostic(Severity::Error, place, message, Some(help), "");
        Diagnostics::from(found)
    };
    if text.text().len() > MAX_SKILL {
        let message = format!("the skill has more than {MAX_SKILL} bytes");
        return Err(wrong(0..0, &message, "a prompt has no room for it"));
    }
    let body = without_front_matter(text.text()).ok_or_else(|| {
        wrong(
            0..3,
            "the front matter does not end",
            "close it by a line `---`",
        )
    })?;
    if body.trim().is_empty() {
        let end = text.text().len();
        return Err(wrong(
            end..end,
            "the skill is empty",
            "write what the agent is to know",
        ));
    }
    Ok(body.trim().to_owned())
}

/// The text behind the front matter; `None` when that is not closed.
pub(crate) fn without_front_matter(text: &str) -> Option<&str> {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == FENCE) else {
        return Some(text);
    };
    let mut at = first.len();
    for line in lines {
        at += line.len();
        if line.trim_end() == FENCE {
            return Some(&text[at..]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_removed() {
        for (text, body) in [
            ("---\nname: x\n---\n# Body\n", Some("# Body\n")),
            ("---\r\nname: x\r\n---\r\nBody", Some("Body")),
            ("# Body\n---\nmore", Some("# Body\n---\nmore")),
            ("---\nname: x\n", None),
            ("", Some("")),
        ] {
            assert_eq!(without_front_matter(text), body, "{text:?}");
        }
    }
}
