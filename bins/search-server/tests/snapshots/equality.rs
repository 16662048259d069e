//! Whether servers give the answers of one machine, over many queries.

use serde_json::Value;

use super::servers::{Server, without_times};

/// Results of each answer that are compared.
const DEPTH: usize = 100;

/// How an answer differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Differs {
    /// Other documents, or the same in another order.
    Order,
    /// The same documents in the same order, with other scores.
    Scores,
    /// Anything else: excerpts, totals, notes.
    Rest,
}

/// What was compared.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) queries: usize,
    /// Answers that are the same in everything.
    pub(crate) equal: usize,
    /// Results that were looked at, so that nothing is taken for equal that is empty.
    pub(crate) results: usize,
    pub(crate) differing: Vec<(Differs, String)>,
}

impl Comparison {
    /// Answers that differ so.
    pub(crate) fn count(&self, how: Differs) -> usize {
        self.differing.iter().filter(|(one, _)| *one == how).count()
    }

    /// Asks both servers all queries by one function.
    pub(crate) fn ask(&mut self, one: &Server, other: &Server, role: &str, queries: &[String]) {
        for query in queries {
            self.queries += 1;
            let [a, b] = [one, other].map(|server| answer(server, role, query));
            self.results += results(&a).len();
            match difference(&a, &b) {
                None => self.equal += 1,
                Some((how, text)) => self.differing.push((how, format!("{query:?}: {text}"))),
            }
        }
    }
}

fn answer(server: &Server, role: &str, query: &str) -> Value {
    let (status, answer) = server.ask(role, query, DEPTH);
    match status {
        200 => without_times(answer),
        _ => Value::from(format!("{status}: {answer}")),
    }
}

fn results(answer: &Value) -> &[Value] {
    answer["results"].as_array().map_or(&[], Vec::as_slice)
}

/// The first thing that differs.
pub(crate) fn difference(one: &Value, other: &Value) -> Option<(Differs, String)> {
    if one == other {
        return None;
    }
    let (a, b) = (results(one), results(other));
    if a.len() != b.len() {
        let text = format!("{} results, and {}", a.len(), b.len());
        return Some((Differs::Order, text));
    }
    for (how, field) in [(Differs::Order, "id"), (Differs::Scores, "score")] {
        let mut pairs = a.iter().zip(b).zip(1..);
        let found = pairs.find(|((a, b), _)| a[field] != b[field]);
        if let Some(((a, b), rank)) = found {
            let show = |one: &Value| format!("{} {}", one["id"], one["score"]);
            let text = format!("at {rank}. {}, and {}", show(a), show(b));
            return Some((how, text));
        }
    }
    let field = |key: &&String| one[key.as_str()] != other[key.as_str()];
    let mut keys = one.as_object().into_iter().flat_map(|all| all.keys());
    let text = match keys.find(field) {
        Some(key) if key == "results" => {
            let differs = |(a, b): &(&Value, &Value)| a != b;
            let found = a.iter().zip(b).find(differs);
            found.map_or_else(String::new, |(a, b)| format!("{a}, and {b}"))
        }
        Some(key) => format!("{key}: {}, and {}", one[key.as_str()], other[key.as_str()]),
        None => format!("{one}, and {other}"),
    };
    Some((Differs::Rest, text))
}
