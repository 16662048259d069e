//! A part of a document's text, and what is told of where it goes on.

use std::fmt::Write as _;

use search_core::passages::{beginning, tokens};

/// Which part of a text is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextPart {
    /// The first line, from 1.
    pub line: Option<u64>,
    /// The first character of that line, from 1.
    pub column: Option<u64>,
    /// The last line.
    pub end_line: Option<u64>,
    /// Most tokens.
    pub budget_tokens: Option<u64>,
}

/// Where a part ends inside a line.
enum Cut {
    /// The budget ends before this character, from 1.
    Budget(u64),
    /// No more of the line can be given.
    Text,
}

impl TextPart {
    /// The part of a text that begins with the line `begin` of its document, and where it goes on
    /// if it does; `goes_on`: the document has more than the text.
    pub(super) fn render(&self, text: &str, begin: u64, goes_on: bool) -> String {
        if *self == Self::default() && !goes_on {
            return text.to_owned();
        }
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let total = begin - 1 + lines.len() as u64;
        let first = self.line.unwrap_or(1).max(begin);
        let last = self.end_line.map_or(total, |end| end.min(total));
        let mut left = self.budget_tokens.unwrap_or(u64::MAX);
        let (mut part, mut next, mut cut) = (String::new(), first, None);
        for (line, number) in lines.iter().zip(begin..) {
            if number < first || number > last || cut.is_some() {
                continue;
            }
            let is_piece = goes_on && number == total && !line.ends_with('\n');
            if is_piece && number > first {
                // The next part begins with all of it.
                break;
            }
            let column = self.column.filter(|_| number == first).unwrap_or(1);
            let rest = after_column(line, column);
            let cost = tokens(rest) as u64;
            if cost > left {
                if part.is_empty() {
                    let fitting = beginning(rest, usize::try_from(left).unwrap_or(usize::MAX));
                    part.push_str(fitting);
                    cut = Some(Cut::Budget(column + fitting.chars().count() as u64));
                }
                break;
            }
            part.push_str(rest);
            left -= cost;
            next = number + 1;
            cut = is_piece.then_some(Cut::Text);
        }
        let place = match cut {
            Some(Cut::Budget(column)) => Some(format!(
                "[line {next} is cut before its character {column}; go on with line {next}, \
                 column {column}]"
            )),
            Some(Cut::Text) => Some(format!(
                "[line {first} is too long: the rest of it cannot be given; go on with line {next}]"
            )),
            None => describe_lines(first, next, total, goes_on),
        };
        if let Some(place) = place {
            if !part.is_empty() && !part.ends_with('\n') {
                part.push('\n');
            }
            let _ = write!(part, "{place}");
        }
        part
    }
}

/// Which lines a part has that ends with a whole one; none where nothing follows.
fn describe_lines(first: u64, next: u64, total: u64, goes_on: bool) -> Option<String> {
    if next > total && first <= total && !goes_on {
        return None;
    }
    let more = if goes_on { "more than " } else { "" };
    Some(if next == first {
        format!("[the text has {more}{total} lines]")
    } else {
        let last = next - 1;
        format!("[lines {first}-{last} of {more}{total}; go on with line {next}]")
    })
}

/// What of a line begins with its character `column`, from 1.
fn after_column(line: &str, column: u64) -> &str {
    let before = usize::try_from(column - 1).unwrap_or(usize::MAX);
    let from = line
        .char_indices()
        .nth(before)
        .map_or(line.len(), |(at, _)| at);
    &line[from..]
}

#[cfg(test)]
mod tests {
    use super::{TextPart, tokens};

    /// What is between the first part and the last, each asked for where the one before says.
    fn joined(text: &str, budget: u64) -> (String, usize) {
        let mut part = TextPart {
            budget_tokens: Some(budget),
            ..TextPart::default()
        };
        let (mut whole, mut parts) = (String::new(), 0);
        loop {
            let given = part.render(text, 1, false);
            parts += 1;
            let Some((shown, place)) = given.rsplit_once("\n[") else {
                return (whole + &given, parts);
            };
            whole.push_str(shown);
            let number = |word: &str| {
                let (_, rest) = place.split_once(word)?;
                let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
                digits.and_then(|digits| digits.parse().ok())
            };
            part.line = number("go on with line ");
            part.column = number(", column ");
            if part.column.is_none() {
                whole.push('\n');
            }
            assert!(part.line.is_some() && parts < 10_000, "{place}");
        }
    }

    #[test]
    fn i16_parts_that_lead_on_are_the_text() {
        let long = "words of one long line, naïve and 漢字; ".repeat(60);
        for text in [
            long.clone(),
            format!("one\ntwo\n{long}\nthree\n\nfour"),
            format!("{long}\n{long}\n"),
            "a\n\n\nb\n".to_owned(),
        ] {
            for budget in [1, 7, 200, 100_000] {
                let (whole, parts) = joined(&text, budget);
                assert_eq!(whole, text, "{budget}");
                assert_eq!(parts > 1, tokens(&text) as u64 > budget, "{budget}");
            }
        }
    }

    #[test]
    fn i16_a_line_that_is_cut_is_said_to_be() {
        let text = "one two three four\nfive";
        let part = |line, column, budget_tokens| TextPart {
            line,
            column,
            end_line: None,
            budget_tokens,
        };
        for (part, goes_on, expected) in [
            (
                part(None, None, Some(2)),
                false,
                "one two \n[line 1 is cut before its character 9; go on with line 1, column 9]",
            ),
            (part(Some(1), Some(9), Some(100)), false, "three four\nfive"),
            (
                part(None, None, None),
                true,
                "one two three four\n[lines 1-1 of more than 2; go on with line 2]",
            ),
            (
                part(Some(2), None, None),
                true,
                "five\n[line 2 is too long: the rest of it cannot be given; go on with line 3]",
            ),
            (part(Some(1), Some(99), Some(9)), false, "five"),
        ] {
            assert_eq!(part.render(text, 1, goes_on), expected, "{part:?}");
        }
    }
}
