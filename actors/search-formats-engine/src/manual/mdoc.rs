//! Lines of mdoc(7): macros inside macros, each with its own signs.

use super::escapes::plain;

/// Macros whose arguments are shown as they are.
const SHOWN: [&str; 32] = [
    "Ad", "An", "Ar", "At", "Bx", "Cd", "Cm", "Dv", "Em", "Er", "Ev", "Fa", "Fd", "Fn", "Fo", "Ft",
    "Fx", "Ic", "In", "Lb", "Li", "Lk", "Ms", "Mt", "Nx", "Ox", "Pa", "Sy", "Tn", "Ux", "Va", "Vt",
];

/// Macros that put signs around what follows.
const ENCLOSING: [(&str, &str, &str); 18] = [
    ("Ao", "<", ""),
    ("Aq", "<", ">"),
    ("Bo", "[", ""),
    ("Bq", "[", "]"),
    ("Brq", "{", "}"),
    ("Do", "“", ""),
    ("Dq", "“", "”"),
    ("Dl", "", ""),
    ("D1", "", ""),
    ("Oo", "[", ""),
    ("Op", "[", "]"),
    ("Po", "(", ""),
    ("Pq", "(", ")"),
    ("Ql", "‘", "’"),
    ("Qq", "\"", "\""),
    ("Qo", "\"", ""),
    ("So", "‘", ""),
    ("Sq", "‘", "’"),
];

/// Macros that close what one of them has opened.
const CLOSING: [(&str, &str); 7] = [
    ("Ac", ">"),
    ("Bc", "]"),
    ("Dc", "”"),
    ("Oc", "]"),
    ("Pc", ")"),
    ("Qc", "\""),
    ("Sc", "’"),
];

/// Macros without signs of their own that are known.
const PLAIN: [&str; 6] = ["Fl", "Nd", "Nm", "No", "Ns", "Xr"];

/// Whether a name is one of a macro with text.
pub(super) fn is_macro(name: &str) -> bool {
    SHOWN.contains(&name)
        || PLAIN.contains(&name)
        || matches!(name, "Ap" | "Sm" | "Xo" | "Xc" | "St" | "Rv" | "Ex")
        || ENCLOSING.iter().any(|(known, _, _)| *known == name)
        || CLOSING.iter().any(|(known, _)| *known == name)
}

/// A line under way.
#[derive(Default)]
struct Line {
    text: String,
    /// What comes next stands directly behind.
    is_joined: bool,
}

impl Line {
    fn push(&mut self, word: &str) {
        let is_end = matches!(word, "." | "," | ";" | ":" | "?" | "!" | ")" | "]");
        let opens = self.text.ends_with(['(', '[', '<', '{', '“', '‘']);
        let is_joined = std::mem::take(&mut self.is_joined) || is_end || opens;
        if !self.text.is_empty() && !is_joined {
            self.text.push(' ');
        }
        self.text.push_str(word);
    }
}

/// The text of a line of macros. `name` is what the page is about, as its first `Nm` says.
pub(super) fn text(words: &[String], name: &mut String) -> String {
    let mut line = Line::default();
    // Signs that end with the line, the innermost last.
    let mut open: Vec<&str> = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        let next = words.get(at).filter(|next| !is_macro(next));
        match word.as_str() {
            "Ns" | "Ap" => {
                if word == "Ap" {
                    line.is_joined = true;
                    line.push("'");
                }
                line.is_joined = true;
            }
            "Fl" => {
                line.push("-");
                line.is_joined = next.is_some() || words.get(at).is_some_and(|next| next == "Fl");
            }
            "Nm" => match next.filter(|next| next.chars().any(char::is_alphanumeric)) {
                Some(called) => {
                    if name.is_empty() {
                        *name = plain(called);
                    }
                }
                None => line.push(&name.clone()),
            },
            "Nd" => line.push("-"),
            "Xr" => {
                if let (Some(page), Some(section)) = (next, words.get(at + 1)) {
                    line.push(&format!("{}({section})", plain(page)));
                    at += 2;
                }
            }
            "Ar" if next.is_none() => line.push("file ..."),
            "Sm" => at += 1,
            word if is_macro(word) => {
                if let Some((_, sign, end)) = ENCLOSING.iter().find(|(known, _, _)| *known == word)
                {
                    if !sign.is_empty() {
                        line.push(sign);
                        line.is_joined = true;
                    }
                    open.push(end);
                } else if let Some((_, sign)) = CLOSING.iter().find(|(known, _)| *known == word) {
                    line.is_joined = true;
                    line.push(sign);
                }
            }
            word => line.push(&plain(word)),
        }
    }
    for end in open.into_iter().rev() {
        line.text.push_str(end);
    }
    line.text
}
