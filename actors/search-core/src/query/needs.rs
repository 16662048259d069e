//! What an index of words can say about a regular expression: which runs of letters a text has to
//! hold for it to match, so that only texts with them are read (after Russ Cox, "Regular Expression
//! Matching with a Trigram Index", with words in the place of trigrams).
//!
//! A run stands inside one word of the index, because words are longest runs of letters. Where the
//! expression has a sign that is part of no word beside the run, the word begins or ends there.

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use crate::analysis::{MAX_WORD_BYTES, fold};

/// Shorter runs say little, and tails of contractions (`'ll`) are no words of the index.
const MIN_RUN: usize = 3;

/// Copies of a repeated piece that are written out.
const MAX_COPIES: u32 = 8;

/// Pieces of an expression that are looked at; of a longer one the rest may be anything.
const MAX_PIECES: usize = 4096;

/// Characters of a class that are looked at one by one.
const MAX_CLASS: usize = 64;

/// What a text has to hold.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Needs {
    /// Nothing that words could tell.
    Nothing,
    /// A word with these letters.
    Run(Run),
    /// All of them.
    All(Vec<Needs>),
    /// One of them at least.
    Any(Vec<Needs>),
}

/// Letters, digits and underscores of ASCII inside one word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Run {
    /// The letters, in the case of the expression where it has one.
    pub letters: String,
    /// Whether the word begins with them.
    pub begins: bool,
    /// Whether the word ends with them.
    pub ends: bool,
}

/// One step of an expression, as words see it.
enum Step {
    /// A letter of a word, whatever its case.
    Letter(char),
    /// A place where no word goes on.
    Edge,
    /// Anything; it may need something itself.
    Gap(Needs),
}

impl Needs {
    /// The needs of an expression.
    pub(super) fn of(expression: &Hir) -> Self {
        let mut steps = Steps {
            list: Vec::new(),
            pieces_left: MAX_PIECES,
        };
        steps.add(expression);
        Self::of_steps(&steps.list)
    }

    fn of_steps(steps: &[Step]) -> Self {
        let mut all = Vec::new();
        let mut at = 0;
        while at < steps.len() {
            let letters = steps[at..].iter().map_while(|step| match step {
                Step::Letter(letter) => Some(*letter),
                _ => None,
            });
            let letters: String = letters.collect();
            if letters.is_empty() {
                if let Step::Gap(needs) = &steps[at]
                    && *needs != Self::Nothing
                {
                    all.push(needs.clone());
                }
                at += 1;
                continue;
            }
            let end = at + letters.len();
            let begins = at > 0 && matches!(steps[at - 1], Step::Edge);
            let ends = matches!(steps.get(end), Some(Step::Edge));
            if (MIN_RUN..=MAX_WORD_BYTES).contains(&letters.len())
                && !letters.trim_matches('_').is_empty()
            {
                all.push(Self::Run(Run {
                    letters,
                    begins,
                    ends,
                }));
            }
            at = end;
        }
        match all.len() {
            0 => Self::Nothing,
            1 => all.remove(0),
            _ => Self::All(all),
        }
    }

    fn any(list: Vec<Self>) -> Self {
        if list.is_empty() || list.contains(&Self::Nothing) {
            return Self::Nothing;
        }
        Self::Any(list)
    }

    /// The words that stand whole in whatever matches.
    pub(super) fn whole_words(&self) -> impl Iterator<Item = &str> {
        let list = match self {
            Self::All(list) => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        list.iter().filter_map(|one| match one {
            Self::Run(run) if run.begins && run.ends => Some(run.letters.as_str()),
            _ => None,
        })
    }
}

/// The steps of an expression, in order.
struct Steps {
    list: Vec<Step>,
    pieces_left: usize,
}

impl Steps {
    fn gap(&mut self) {
        self.list.push(Step::Gap(Needs::Nothing));
    }

    fn add(&mut self, expression: &Hir) {
        if self.pieces_left == 0 {
            return self.gap();
        }
        self.pieces_left -= 1;
        match expression.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
                Ok(text) => self.list.extend(text.chars().map(step)),
                Err(_) => self.gap(),
            },
            HirKind::Class(class) => self.list.push(class_step(class)),
            HirKind::Look(look) => match look {
                // Nothing stands between its sides.
                Look::WordAsciiNegate | Look::WordUnicodeNegate => {}
                Look::WordAscii => self.gap(),
                _ => self.list.push(Step::Edge),
            },
            HirKind::Repetition(repetition) => self.add_repetition(repetition),
            HirKind::Capture(capture) => self.add(&capture.sub),
            HirKind::Concat(list) => list.iter().for_each(|one| self.add(one)),
            HirKind::Alternation(list) => self.add_alternation(list),
        }
    }

    /// What stands before goes on from the first copy, what follows from the last.
    fn add_repetition(&mut self, repetition: &Repetition) {
        let (least, most) = (repetition.min, repetition.max);
        if least == 0 {
            return self.gap();
        }
        for _ in 0..least.min(MAX_COPIES) {
            self.add(&repetition.sub);
        }
        if most != Some(least) || least > MAX_COPIES {
            self.gap();
            self.add(&repetition.sub);
        }
    }

    fn add_alternation(&mut self, list: &[Hir]) {
        let branches = list.iter().map(|branch| {
            let mut steps = Self {
                list: Vec::new(),
                pieces_left: self.pieces_left,
            };
            steps.add(branch);
            self.pieces_left = steps.pieces_left;
            Needs::of_steps(&steps.list)
        });
        let needs = Needs::any(branches.collect());
        self.list.push(Step::Gap(needs));
    }
}

fn step(c: char) -> Step {
    if c.is_ascii_alphanumeric() || c == '_' {
        Step::Letter(c)
    } else if c.is_ascii() {
        Step::Edge
    } else {
        Step::Gap(Needs::Nothing)
    }
}

/// A class is a letter where its characters differ in case alone, and an edge where none of them is
/// part of a word.
fn class_step(class: &Class) -> Step {
    let unknown = Step::Gap(Needs::Nothing);
    let mut characters: Vec<char> = Vec::new();
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.iter().map(|r| (r.start(), r.end())).collect(),
        Class::Bytes(class) => {
            let ranges = class.iter().map(|r| (r.start().into(), r.end().into()));
            ranges.collect()
        }
    };
    for (start, end) in ranges {
        if end as usize - start as usize + characters.len() > MAX_CLASS {
            return unknown;
        }
        characters.extend(start..=end);
    }
    let is_edge = |c: &char| !c.is_alphanumeric() && *c != '_' && !is_mark(*c);
    if characters.iter().all(is_edge) {
        return Step::Edge;
    }
    let mut folded: Vec<String> = characters.iter().map(|&c| fold_char(c)).collect();
    folded.dedup();
    let mut letters = folded[0].chars();
    match (folded.len(), letters.next(), letters.next()) {
        (1, Some(letter), None) if letter.is_ascii_alphanumeric() => Step::Letter(letter),
        _ => unknown,
    }
}

/// Marks and soft hyphens do not end a word.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{ad}')
}

fn fold_char(c: char) -> String {
    let mut folded = String::new();
    fold(c.encode_utf8(&mut [0; 4]), &mut folded);
    folded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::analysis::{fold, words};
    use crate::query::pattern::TextPattern;

    use super::{Needs, Run};

    /// `<` and `>` where a word begins and ends.
    fn shown(needs: &Needs) -> String {
        let joined = |list: &[Needs], by: &str| {
            let list: Vec<String> = list.iter().map(shown).collect();
            format!("({})", list.join(by))
        };
        match needs {
            Needs::Nothing => "-".to_owned(),
            Needs::Run(run) => format!(
                "{}{}{}",
                if run.begins { "<" } else { "" },
                run.letters,
                if run.ends { ">" } else { "" }
            ),
            Needs::All(list) => joined(list, " & "),
            Needs::Any(list) => joined(list, " | "),
        }
    }

    #[test]
    fn i16_an_expression_tells_which_words_it_needs() {
        for (expression, expected) in [
            ("read_exact_at", "read_exact_at"),
            (r"\bread_exact_at\(", "<read_exact_at>"),
            (r"fn read_\w+_at\b", "(<read_ & _at>)"),
            (r"^use std::sync", "(<use> & <std> & <sync)"),
            (r"(foo|barb)_baz", "((foo | barb) & _baz)"),
            (r"foo|x", "-"),
            (r"(?i)Kelvin", "kelvin"),
            (r"[A-Z]\w*", "-"),
            (r"abc+def", "(abc & cdef)"),
            (r"abc?def", "def"),
            (r"(?:abc){2}", "abcabc"),
            (r"=>\s*\{", "-"),
            (r"\s+impl\s+Drop", "(<impl> & <Drop)"),
            ("___", "-"),
        ] {
            let pattern = TextPattern::expression(expression, false).expect(expression);
            assert_eq!(shown(pattern.needs()), expected, "{expression}");
        }
    }

    #[test]
    fn i16_nested_repetitions_are_read_in_bounded_time() {
        let expression = format!("{}a{}", "(".repeat(60), "+)".repeat(60));
        // Refused or not, it ends.
        let _ = TextPattern::expression(&expression, false);
    }

    fn holds(needs: &Needs, text: &str) -> bool {
        let has = |run: &Run| {
            words(text).any(|word| {
                let mut folded = String::new();
                fold(word.text, &mut folded);
                let letters = run.letters.to_lowercase();
                match (run.begins, run.ends) {
                    (true, true) => folded == letters,
                    (true, false) => folded.starts_with(&letters),
                    (false, true) => folded.ends_with(&letters),
                    (false, false) => folded.contains(&letters),
                }
            })
        };
        match needs {
            Needs::Nothing => true,
            Needs::Run(run) => has(run),
            Needs::All(list) => list.iter().all(|one| holds(one, text)),
            Needs::Any(list) => list.iter().any(|one| holds(one, text)),
        }
    }

    proptest! {
        /// No text that matches lacks what is needed.
        #[test]
        fn i16_what_matches_has_what_is_needed(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "abc", "abcd", "Abc", "_", "b+", "c?", "(abc|cab_)", r"\b", r"\s", r"\s*", "^", " ", "é", "(?i:kab)", "[ab]", "[^ ]", ".", "'ll", "(?:ab){2}", "-", "x{0,2}", "(bc){1,3}",
            ]), 1..6),
            text in prop::collection::vec(prop::sample::select(vec![
                "abc", "abcd", "ABC", "_", "b", "c", "cab_", " ", "\n", "é", "\u{212a}ab", "kab", "ab", "'ll", "-", "x", "bc",
            ]), 0..14),
        ) {
            let Ok(pattern) = TextPattern::expression(&pieces.concat(), false) else { return Ok(()) };
            let text = text.concat();
            let finder = pattern.finder().expect("it compiled before");
            if finder.is_in(&text) {
                prop_assert!(holds(pattern.needs(), &text), "{:?} {text:?}", pattern);
            }
        }
    }
}
