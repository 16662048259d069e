//! What an expression may cost, and how far its matches reach: what decides whether a text can be
//! looked through in stretches.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Most steps of an expression whose matches end: so many places of it may be followed at once for
/// each byte of a text.
pub(super) const MAX_STEPS: usize = 1_024;

/// Most steps of an expression whose matches may be of any length: not every text can be looked
/// through in stretches for these.
pub(super) const MAX_ENDLESS_STEPS: usize = 256;

/// The longest match of which a stretch holds the whole, in bytes.
const MAX_REACH: usize = 32 * 1024;

/// How far a match reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchReach {
    /// No match has more bytes.
    Bytes(usize),
    /// No match goes over the end of a line.
    Line,
    /// A match may hold any number of lines.
    Lines,
}

impl MatchReach {
    pub(super) fn from_expression(expression: &Hir) -> Self {
        match expression.properties().maximum_len() {
            Some(most) if most <= MAX_REACH => Self::Bytes(most),
            _ if may_match_line_break(expression) => Self::Lines,
            _ => Self::Line,
        }
    }
}

/// Why an expression is refused that would take too long; none where it would not.
pub(super) fn refusal(expression: &Hir) -> Option<String> {
    let steps = steps(expression);
    if steps > MAX_STEPS {
        return Some(format!(
            "this has {steps} steps, its repetitions multiplied, of {MAX_STEPS} that are allowed; \
             lower the numbers in braces, or write `*` or `+`"
        ));
    }
    let is_endless = !matches!(
        MatchReach::from_expression(expression),
        MatchReach::Bytes(_)
    );
    (is_endless && steps > MAX_ENDLESS_STEPS).then(|| {
        format!(
            "this matches without end and has {steps} steps, its repetitions multiplied, of \
             {MAX_ENDLESS_STEPS} that are allowed then; lower the numbers in braces, or give `*` \
             and `+` an end (`{{0,80}}`)"
        )
    })
}

/// How many places of an expression may be followed at once: its repetitions multiplied, each class
/// of characters, and each letter that is repeated. Letters that stand once cost nothing, however
/// many they are.
pub(super) fn steps(expression: &Hir) -> usize {
    count_words(expression, false)
}

fn count_words(expression: &Hir, is_repeated: bool) -> usize {
    let sum = |list: &[Hir]| {
        let steps = list.iter().map(|one| count_words(one, is_repeated));
        steps.fold(0, usize::saturating_add)
    };
    match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => {
            if is_repeated {
                literal.0.len()
            } else {
                0
            }
        }
        HirKind::Class(_) => 1,
        HirKind::Repetition(repetition) => {
            let copies = repetition.max.unwrap_or(repetition.min).max(1);
            let copies = usize::try_from(copies).unwrap_or(usize::MAX);
            count_words(&repetition.sub, true).saturating_mul(copies)
        }
        HirKind::Capture(capture) => count_words(&capture.sub, is_repeated),
        HirKind::Concat(list) | HirKind::Alternation(list) => sum(list),
    }
}

/// Whether a match may hold the end of a line.
fn may_match_line_break(expression: &Hir) -> bool {
    match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => literal.0.contains(&b'\n'),
        HirKind::Class(Class::Unicode(class)) => class
            .iter()
            .any(|range| (range.start()..=range.end()).contains(&'\n')),
        HirKind::Class(Class::Bytes(class)) => class
            .iter()
            .any(|range| (range.start()..=range.end()).contains(&b'\n')),
        HirKind::Repetition(repetition) => may_match_line_break(&repetition.sub),
        HirKind::Capture(capture) => may_match_line_break(&capture.sub),
        HirKind::Concat(list) | HirKind::Alternation(list) => list.iter().any(may_match_line_break),
    }
}

#[cfg(test)]
mod tests {
    use super::{MatchReach, refusal, steps};

    #[test]
    fn i16_steps_are_repetitions_multiplied() {
        for (expression, expected) in [
            ("read_exact_at", 0),
            (r"\w{10}", 10),
            (".{0,200}", 200),
            (r"fn \w+\(.{0,80}\)", 81),
            ("(?:ab){3}", 6),
            (r"(?:\w{20}x){30}", 630),
            ("[a-z]{5,}", 5),
            ("(a|bc)*", 3),
        ] {
            let parsed = regex_syntax::parse(expression).expect(expression);
            assert_eq!(steps(&parsed), expected, "{expression}");
        }
    }

    #[test]
    fn i16_what_would_take_too_long_is_refused() {
        for (expression, is_refused) in [
            (r"\w{10}", false),
            (".{0,200}", false),
            (r"foo.{0,200}bar.{0,200}baz", false),
            (r"[ -~\n]{1000}", false),
            (r"\w+.{0,200}x", false),
            (r"(?s)start.*end", false),
            (r"[ -~\n]{15000}[\x01-\x08]", true),
            (r"(?:.{40}x){40}", true),
            (r"[ -~\n]{500,}[\x01-\x08]", true),
            (r"(?:[a-z]{999}){999}{9}", true),
        ] {
            let parsed = regex_syntax::parse(expression).expect(expression);
            assert_eq!(refusal(&parsed).is_some(), is_refused, "{expression}");
        }
    }

    #[test]
    fn i16_a_match_reaches_as_far_as_its_expression_lets_it() {
        for (expression, expected) in [
            ("abc", MatchReach::Bytes(3)),
            (r"a\nb{0,7}", MatchReach::Bytes(9)),
            ("a.*b", MatchReach::Line),
            (r"a\w+$", MatchReach::Line),
            (r"a\s+b", MatchReach::Lines),
            ("\"[^\"]*\"", MatchReach::Lines),
            ("(?s)a.*b", MatchReach::Lines),
        ] {
            let parsed = regex_syntax::parse(expression).expect(expression);
            assert_eq!(
                MatchReach::from_expression(&parsed),
                expected,
                "{expression}"
            );
        }
    }
}
