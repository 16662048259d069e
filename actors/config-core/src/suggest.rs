//! "Did you mean": the known name nearest to a misspelt one, and safe quoting of what was written.

use strsim::damerau_levenshtein;

use crate::untrusted_text::is_hidden;

/// Longer names are not compared: the distance costs the product of both lengths.
const MAX_COMPARED: usize = 64;
/// Longer values are cut when quoted in a message.
const MAX_QUOTED: usize = 60;

/// The name among `known` that `written` most likely stands for, if one is near enough.
///
/// Case, `-` and `_` do not count; else at most a third of the letters may differ
/// (Damerau–Levenshtein: a swapped pair is one mistake).
pub fn suggestion<'k>(written: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let wanted = folded(written)?;
    let distance = |name: &'k str| {
        let candidate = folded(name)?;
        let allowed = (wanted.chars().count().max(candidate.chars().count()) / 3).max(1);
        let distance = damerau_levenshtein(&wanted, &candidate);
        (distance <= allowed && distance < wanted.chars().count()).then_some((distance, name))
    };
    let nearest = known
        .into_iter()
        .filter_map(distance)
        .min_by_key(|(distance, _)| *distance);
    nearest.map(|(_, name)| name)
}

/// The name without what people mix up; `None` when it is empty or too long to compare.
fn folded(name: &str) -> Option<String> {
    if name.len() > MAX_COMPARED {
        return None;
    }
    let folded: String = name
        .chars()
        .filter(|c| !matches!(c, '-' | '_' | ' '))
        .flat_map(char::to_lowercase)
        .collect();
    (!folded.is_empty()).then_some(folded)
}

/// `text` between back-quotes, cut to a readable length, hidden characters escaped: what a file
/// holds must not steer the terminal it is reported on.
pub fn quoted(text: &str) -> String {
    let mut shown = String::from("`");
    for (index, character) in text.chars().enumerate() {
        if index == MAX_QUOTED {
            shown.push('…');
            break;
        }
        if is_hidden(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown.push('`');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let known = ["haystacks", "name", "relevance_function", "theme", "BM25F"];
        for (written, expected) in [
            ("haystack", Some("haystacks")),
            ("heystacks", Some("haystacks")),
            ("nmae", Some("name")),
            ("RelevanceFunction", Some("relevance_function")),
            ("bm25f", Some("BM25F")),
            ("bm25", Some("BM25F")),
            ("colour", None),
            ("x", None),
            ("", None),
            ("___", None),
        ] {
            assert_eq!(suggestion(written, known), expected, "{written}");
        }
        assert_eq!(suggestion(&"n".repeat(100_000), known), None);
    }

    #[test]
    fn quoting_disarms_and_shortens() {
        assert_eq!(quoted("a\u{1b}[31mb\u{202e}"), "`a\\u{1b}[31mb\\u{202e}`");
        assert_eq!(quoted(&"é".repeat(100)).chars().count(), 63);
    }
}
