//! What a query is as a whole: a question, plain text.

use super::grammar::Clause;

/// The text of a query that is no phrase, field or expression.
pub(super) fn plain_text(clauses: &Clause<'_>) -> String {
    let Clause::List(clauses) = clauses else {
        return String::new();
    };
    let texts = clauses.iter().filter_map(|clause| match clause {
        Clause::Text(text) => Some(*text),
        _ => None,
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// Whether a query begins like the question of somebody who wants to do something: `how do I`,
/// `how to`, `where can we`. How something works (`how is`, `how does`) is another question.
pub(super) fn asks_how(line: &[String]) -> bool {
    let line: Vec<&str> = line.iter().take(3).map(String::as_str).collect();
    match line.as_slice() {
        ["how", "to", ..] | ["can" | "may", "i" | "we", ..] => true,
        [
            "how" | "where" | "when",
            "do" | "can" | "should" | "must" | "may",
            who,
        ] => {
            matches!(*who, "i" | "we" | "you" | "one")
        }
        _ => false,
    }
}
