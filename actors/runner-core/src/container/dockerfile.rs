//! Which images a Dockerfile builds on, as far as they are known before it is built.

use std::collections::BTreeMap;

/// The images of `FROM`, and of `--from=` in `COPY` and `RUN`; stages of the file itself and
/// `scratch` are none. Arguments have their defaults.
#[must_use]
pub fn base_images(text: &str) -> Vec<String> {
    let mut arguments: BTreeMap<String, String> = BTreeMap::new();
    let mut stages: Vec<String> = Vec::new();
    let mut images: Vec<String> = Vec::new();
    for line in instructions(text) {
        let mut words = line.split_whitespace();
        let instruction = words.next().unwrap_or_default().to_ascii_uppercase();
        let mut add = |name: String, stages: &[String]| {
            let own = name.eq_ignore_ascii_case("scratch")
                || name.bytes().all(|byte| byte.is_ascii_digit())
                || stages.iter().any(|stage| stage.eq_ignore_ascii_case(&name));
            if !own && !images.contains(&name) {
                images.push(name);
            }
        };
        match instruction.as_str() {
            "ARG" if stages.is_empty() => {
                for word in words {
                    let (name, value) = word.split_once('=').unwrap_or((word, ""));
                    let value = substitute(unquoted(value), &arguments);
                    arguments.insert(name.to_owned(), value);
                }
            }
            "FROM" => {
                let mut words = words.skip_while(|word| word.starts_with("--"));
                let name = substitute(words.next().unwrap_or_default(), &arguments);
                add(name, &stages);
                let stage = words.nth(1).unwrap_or_default();
                stages.push(stage.to_owned());
            }
            "COPY" | "RUN" => {
                let froms = words.filter_map(|word| {
                    let option = word.strip_prefix("--")?;
                    let mut parts = option.split([',', '=']).skip_while(|part| *part != "from");
                    parts.nth(1).map(str::to_owned)
                });
                froms.for_each(|name| add(name, &stages));
            }
            _ => {}
        }
    }
    images
}

/// The lines, those that go on joined, without comments and here-documents.
fn instructions(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = String::new();
    let mut rest = text.lines();
    while let Some(line) = rest.next() {
        let line = line.trim();
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        match line.strip_suffix('\\') {
            Some(part) => open = open + part + " ",
            None => {
                let line = std::mem::take(&mut open) + line;
                for name in here_documents(&line) {
                    let _ = rest.find(|line| line.trim() == name);
                }
                lines.push(line);
            }
        }
    }
    lines
}

/// The names of the here-documents that an instruction is given, whose lines follow it.
fn here_documents(line: &str) -> Vec<&str> {
    let mut words = line.split_whitespace();
    let verb = words.next().unwrap_or_default().to_ascii_uppercase();
    if !matches!(verb.as_str(), "RUN" | "COPY" | "ADD") {
        return Vec::new();
    }
    words.filter_map(here_document).collect()
}

/// The name that a word such as `<<-"END"` gives.
fn here_document(word: &str) -> Option<&str> {
    let word = word.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let mark = word.strip_prefix("<<")?;
    let name = mark.strip_prefix('-').unwrap_or(mark);
    let name = name.trim_start_matches(['"', '\'']);
    let is_other =
        |letter: char| !(letter.is_ascii_alphanumeric() || letter == '_' || letter == '.');
    let name = &name[..name.find(is_other).unwrap_or(name.len())];
    let first = name.bytes().next()?;
    (first.is_ascii_alphabetic() || first == b'_').then_some(name)
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\''])
}

/// `$NAME`, `${NAME}`, `${NAME:-default}`.
pub(super) fn substitute(text: &str, arguments: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = unquoted(text);
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let (name, after) = match rest.strip_prefix('{') {
            Some(inner) => inner.split_once('}').unwrap_or((inner, "")),
            None => {
                let word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                rest.split_at(rest.find(|letter| !word(letter)).unwrap_or(rest.len()))
            }
        };
        let (name, default) = name.split_once(":-").unwrap_or((name, ""));
        let value = arguments.get(name).filter(|value| !value.is_empty());
        out.push_str(value.map_or(default, String::as_str));
        rest = after;
    }
    out + rest
}
