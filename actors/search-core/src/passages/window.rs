//! The parts of a long document that a question is about.

use std::ops::Range;

use super::sentences::terms_of;

/// Characters of one part; paragraphs are kept together up to here.
const PART_CHARS: usize = 1_200;
/// Text looked at, in bytes; the rest of a longer document is not read.
const LOOK_BYTES: usize = 1 << 20;

/// At most about `max_chars` characters of `text`: all of it if it fits, else the parts of the
/// passage `nearest` to the question (bytes of `text`), where one is known, and those that share
/// most words with `question`, in the order of the text, with `…` where something is left out.
#[must_use]
pub fn relevant(
    question: &str,
    text: &str,
    nearest: Option<&Range<usize>>,
    max_chars: usize,
) -> String {
    let text = &text[..text.floor_char_boundary(LOOK_BYTES)];
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    let wanted = terms_of(question);
    let parts = line_parts(text);
    let shared = |part: &&str| {
        let terms = terms_of(part);
        wanted
            .keys()
            .filter(|term| terms.contains_key(*term))
            .count()
    };
    let mut start = 0;
    let is_near = |part: &&str| {
        let own = start..start + part.len();
        start = own.end;
        nearest.is_some_and(|near| near.start < own.end && own.start < near.end)
    };
    let near: Vec<bool> = parts.iter().map(is_near).collect();
    let scores: Vec<usize> = parts.iter().map(shared).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    // Equal: the earlier one, which introduces.
    order.sort_by_key(|&index| (!near[index], std::cmp::Reverse(scores[index]), index));
    let mut taken = Vec::new();
    let mut left = max_chars;
    for index in order {
        let length = parts[index].chars().count();
        if length > left {
            break;
        }
        left -= length;
        taken.push(index);
    }
    taken.sort_unstable();
    let mut found = String::new();
    let mut next = 0;
    for index in taken {
        if index != next {
            found.push_str("…\n");
        }
        found.push_str(parts[index]);
        next = index + 1;
    }
    found
}

/// Runs of whole lines of up to [`PART_CHARS`]; longer lines are cut.
fn line_parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut chars) = (0, 0);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let length = line.chars().count();
        if chars > 0 && chars + length > PART_CHARS {
            parts.push(&text[start..at]);
            (start, chars) = (at, 0);
        }
        at += line.len();
        chars += length;
        while chars > PART_CHARS {
            let rest = &text[start..at];
            let cut = rest
                .char_indices()
                .nth(PART_CHARS)
                .map_or(rest.len(), |(cut, _)| cut);
            parts.push(&rest[..cut]);
            start += cut;
            chars -= PART_CHARS;
        }
    }
    if start < text.len() {
        parts.push(&text[start..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_about_the_question_is_found_far_down() {
        let filler = "Nothing of interest stands on this line of text.\n".repeat(400);
        let text = format!("{filler}A parked child is resumed by an operator.\n{filler}");
        let found = relevant("How is a parked child resumed?", &text, None, 3_000);
        assert!(found.contains("resumed by an operator"), "{found}");
        assert!(found.contains('…') && found.chars().count() <= 3_010);
    }

    #[test]
    fn i16_the_passage_nearest_to_the_question_comes_before_shared_words() {
        let filler = "A child of a king stands on this line of text.\n".repeat(400);
        let passage = "Supervisors take up again what had stopped.\n";
        let text = format!("{filler}{passage}{filler}");
        let range = filler.len()..filler.len() + passage.len();
        let asked = |nearest| relevant("How is a parked child resumed?", &text, nearest, 3_000);
        assert!(!asked(None).contains(passage));
        let found = asked(Some(&range));
        assert!(found.contains(passage), "{found}");
        assert!(found.chars().count() <= 3_010);
        // What is not in the text takes nothing away.
        assert_eq!(asked(Some(&(1 << 30..1 << 31))), asked(None));
    }

    #[test]
    fn any_text_is_cut_within_the_length_and_a_short_one_not_at_all() {
        assert_eq!(relevant("x", "short", None, 100), "short");
        assert_eq!(relevant("", "", None, 100), "");
        let endless = "日".repeat(500_000);
        assert!(relevant("日", &endless, None, 4_000).chars().count() <= 4_010);
        let whole = line_parts(&endless).concat();
        assert_eq!(whole, endless);
    }
}
