//! What an index of words can say about a regular expression: which runs of letters a text has to
//! hold for it to match, so that only texts with them are read (after Russ Cox, "Regular Expression
//! Matching with a Trigram Index", with words in the place of trigrams).
//!
//! A run stands inside one word of the index, because words are longest runs of letters. Where the
//! expression has a sign that is part of no word beside the run, the word begins or ends there.
//! What stands beside the run in the same word, and is more than letters, is its shape: of
//! `read_[a-z]*_at` the words with `read_` are held against the whole of it.

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use super::shape::{self, WordShape};
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
    Run(WordRun),
    /// All of them.
    All(Vec<Needs>),
    /// One of them at least.
    Any(Vec<Needs>),
}

/// Letters, digits and underscores of ASCII inside one word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WordRun {
    /// The letters, in the case of the expression where it has one.
    pub letters: String,
    /// Whether the word begins with them.
    pub begins: bool,
    /// Whether the word ends with them.
    pub ends: bool,
    /// What the word has to be like beside: a regular expression for its folded form.
    shape: Option<String>,
}

impl WordRun {
    /// Whether the letters tell all that is known of the word.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.shape.is_none()
    }

    /// What the folded word has to be like; none where the letters tell it.
    #[must_use]
    pub fn word_shape(&self) -> Option<WordShape> {
        self.shape.as_deref().and_then(WordShape::parse)
    }
}

/// One step of an expression, as words see it.
#[derive(Clone)]
enum Step {
    /// A letter of a word, whatever its case.
    Letter(char),
    /// Something inside a word; what it is without the word it stands in.
    Part { shape: String, instead: Vec<Step> },
    /// A place where no word goes on.
    Edge,
    /// Anything; it may need something itself.
    Gap(Needs),
}

impl Needs {
    /// The needs of an expression.
    pub(super) fn from_expression(expression: &Hir) -> Self {
        let mut steps = Steps {
            list: Vec::new(),
            pieces_left: MAX_PIECES,
        };
        steps.add(expression);
        Self::from_steps(&steps.list)
    }

    fn from_steps(steps: &[Step]) -> Self {
        let mut all = Vec::new();
        let mut at = 0;
        while at < steps.len() {
            let inside = |step: &&Step| matches!(step, Step::Letter(_) | Step::Part { .. });
            let length = steps[at..].iter().take_while(inside).count();
            if length == 0 {
                if let Step::Gap(needs) = &steps[at]
                    && *needs != Self::Nothing
                {
                    all.push(needs.clone());
                }
                at += 1;
                continue;
            }
            let end = at + length;
            let begins = at > 0 && matches!(steps[at - 1], Step::Edge);
            let ends = matches!(steps.get(end), Some(Step::Edge));
            match Self::from_word(&steps[at..end], begins, ends) {
                Self::Nothing => {}
                Self::All(list) => all.extend(list),
                one => all.push(one),
            }
            at = end;
        }
        match all.len() {
            0 => Self::Nothing,
            1 => all.remove(0),
            _ => Self::All(all),
        }
    }

    /// What is needed where these steps stand in one word.
    fn from_word(steps: &[Step], begins: bool, ends: bool) -> Self {
        let parts = steps.iter().any(|step| matches!(step, Step::Part { .. }));
        let Some((letters, from)) = longest_run(steps) else {
            return if parts {
                Self::from_steps(&without_words(steps, begins, ends))
            } else {
                Self::Nothing
            };
        };
        Self::Run(WordRun {
            begins: begins && from == 0,
            ends: ends && from + letters.len() == steps.len(),
            shape: parts.then(|| shape_of(steps, begins, ends)),
            letters,
        })
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
            Self::Run(run) if run.begins && run.ends && run.is_plain() => {
                Some(run.letters.as_str())
            }
            _ => None,
        })
    }
}

/// The longest run of letters that says something of a word, and the number of its first step; of
/// several such the first.
fn longest_run(steps: &[Step]) -> Option<(String, usize)> {
    let mut longest: Option<(String, usize)> = None;
    let mut at = 0;
    while at < steps.len() {
        let letters = steps[at..].iter().map_while(|step| match step {
            Step::Letter(letter) => Some(*letter),
            _ => None,
        });
        let letters: String = letters.collect();
        let (from, length) = (at, letters.len());
        at += length.max(1);
        let says = (MIN_RUN..=MAX_WORD_BYTES).contains(&length)
            && !letters.trim_matches('_').is_empty()
            && longest.as_ref().is_none_or(|(most, _)| most.len() < length);
        if says {
            longest = Some((letters, from));
        }
    }
    longest
}

/// An expression for folded words with these steps in them.
fn shape_of(steps: &[Step], begins: bool, ends: bool) -> String {
    let mut shape = String::new();
    if begins {
        shape.push('^');
    }
    for step in steps {
        match step {
            Step::Letter(letter) => shape.push(letter.to_ascii_lowercase()),
            Step::Part { shape: part, .. } => shape.push_str(part),
            Step::Edge | Step::Gap(_) => {}
        }
    }
    if ends {
        shape.push('$');
    }
    shape
}

/// The steps of a word, each part by itself.
fn without_words(steps: &[Step], begins: bool, ends: bool) -> Vec<Step> {
    let edge = |is_there: bool| is_there.then_some(Step::Edge);
    let inner = steps.iter().flat_map(|step| match step {
        Step::Part { instead, .. } => instead.clone(),
        other => vec![other.clone()],
    });
    edge(begins)
        .into_iter()
        .chain(inner)
        .chain(edge(ends))
        .collect()
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
            HirKind::Class(class) => match (class_step(class), shape::shape_of(expression)) {
                (Step::Gap(_), Some(shape)) => self.list.push(Step::Part {
                    shape,
                    instead: vec![Step::Gap(Needs::Nothing)],
                }),
                (step, _) => self.list.push(step),
            },
            HirKind::Look(look) => match look {
                // Nothing stands between its sides.
                Look::WordAsciiNegate | Look::WordUnicodeNegate => {}
                Look::WordAscii => self.gap(),
                _ => self.list.push(Step::Edge),
            },
            HirKind::Repetition(repetition) => self.add_repetition(repetition),
            HirKind::Capture(capture) => self.add(&capture.sub),
            HirKind::Concat(list) => list.iter().for_each(|one| self.add(one)),
            HirKind::Alternation(list) => self.add_alternation(expression, list),
        }
    }

    /// The steps of a piece by itself.
    fn standalone(&mut self, expression: &Hir) -> Vec<Step> {
        let mut steps = Self {
            list: Vec::new(),
            pieces_left: self.pieces_left,
        };
        steps.add(expression);
        self.pieces_left = steps.pieces_left;
        steps.list
    }

    /// Inside a word a piece goes on with what stands beside it, elsewhere `instead` stands there.
    fn part(&mut self, shape: Option<String>, instead: Vec<Step>) {
        match shape {
            Some(shape) => self.list.push(Step::Part { shape, instead }),
            None => self.list.extend(instead),
        }
    }

    /// What stands before goes on from the first copy, what follows from the last.
    fn add_repetition(&mut self, repetition: &Repetition) {
        let (least, most) = (repetition.min, repetition.max);
        let copies = least.min(MAX_COPIES);
        for _ in 0..copies {
            self.add(&repetition.sub);
        }
        if most == Some(copies) {
            return;
        }
        let rest = shape::repeated(
            &repetition.sub,
            least - copies,
            most.map(|most| most - copies),
        );
        let mut instead = vec![Step::Gap(Needs::Nothing)];
        if copies > 0 {
            instead.extend(self.standalone(&repetition.sub));
        }
        self.part(rest, instead);
    }

    fn add_alternation(&mut self, expression: &Hir, list: &[Hir]) {
        let branches = list
            .iter()
            .map(|branch| Needs::from_steps(&self.standalone(branch)));
        let needs = Needs::any(branches.collect());
        self.part(shape::shape_of(expression), vec![Step::Gap(needs)]);
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

    use super::{Needs, WordRun, WordShape};

    /// `<` and `>` where a word begins and ends.
    fn shown(needs: &Needs) -> String {
        let joined = |list: &[Needs], by: &str| {
            let list: Vec<String> = list.iter().map(shown).collect();
            format!("({})", list.join(by))
        };
        match needs {
            Needs::Nothing => "-".to_owned(),
            Needs::Run(run) => format!(
                "{}{}{}{}",
                if run.begins { "<" } else { "" },
                run.letters,
                if run.ends { ">" } else { "" },
                run.shape
                    .as_ref()
                    .map_or_else(String::new, |shape| format!("~{shape}")),
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
            (r"(foo|barb)_baz", "_baz~(?:foo|barb)_baz"),
            (r"(foo|barb)-baz", "((foo | barb) & <baz)"),
            ("read_[a-z]*_at", "read_~read_(?:[a-z]){0,}_at"),
            (
                r"\b[A-Z]+read_[a-z]?\(",
                "read_~^[a-z](?:[a-z]){0,}read_(?:[a-z]){0,1}$",
            ),
            ("(?i)ke[a-z_]*lvin", "lvin~ke(?:[_a-z]){0,}lvin"),
            ("ab[a-z]*cd", "-"),
            (r"foo|x", "-"),
            (r"(?i)Kelvin", "kelvin"),
            (r"[A-Z]\w*", "-"),
            (r"abc+def", "abc~abc(?:c){0,}def"),
            (r"ab+cd", "bcd"),
            (r"abc?def", "def~ab(?:c){0,1}def"),
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
        let has = |run: &WordRun| {
            words(text).any(|word| {
                let mut folded = String::new();
                fold(word.text, &mut folded);
                let letters = run.letters.to_lowercase();
                let is_like = |shape: WordShape| shape.is_of(folded.as_bytes());
                run.word_shape().is_none_or(is_like)
                    && match (run.begins, run.ends) {
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
                "abc", "abcd", "Abc", "_", "b+", "c?", "(abc|cab_)", r"\b", r"\s", r"\s*", "^", " ", "é", "(?i:kab)", "[ab]", "[^ ]", ".", "[a-z]*", "[A-Z_]+", "[0-9k]?", "(?i:[a-k]{2,3})", "'ll", "(?:ab){2}", "-", "x{0,2}", "(bc){1,3}",
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
