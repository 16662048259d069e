//! docs/ACTORS.md says the capacity that an actor's spec has.

use std::collections::BTreeSet;

use super::actors::{PAGE, implemented};
use super::finding::Finding;
use super::markdown;
use super::rust_text::{code_only, is_test_file};

/// What the tables call it.
const CAPACITY: &str = "Capacity";

const CALL: &str = ".capacity(";

/// Checks the page's tables against the specs; what is computed or configured is left out.
pub(super) fn check<'a>(
    sources: impl Iterator<Item = (&'a str, &'a str)>,
    page: &str,
) -> Vec<Finding> {
    let sources = sources.filter(|(path, _)| !is_test_file(path));
    let sources: Vec<(&str, String)> = sources
        .map(|(path, text)| (path, code_only(text)))
        .collect();
    let lines = sources.iter().flat_map(|(_, code)| code.lines());
    let actors: BTreeSet<&str> = lines
        .filter_map(|line| implemented(line, "Actor"))
        .collect();
    let mut findings = Vec::new();
    for (path, code) in &sources {
        for (line, actor, capacity) in capacities(code, &actors) {
            let Some(written) = capacity_in(page, actor) else {
                continue;
            };
            let numbers = written.replace(',', "");
            let mut numbers = numbers.split(|c: char| !c.is_ascii_digit());
            if !numbers.any(|number| number == capacity) {
                let text = format!("`{actor}` has room for {capacity} messages; {PAGE}: {written}");
                findings.push(Finding::error(format!("{path}:{line}"), text));
            }
        }
    }
    findings
}

/// The capacities in the specs of a source: the line, the actor that was named last before, and
/// the number.
fn capacities<'c>(
    code: &'c str,
    actors: &'c BTreeSet<&str>,
) -> impl Iterator<Item = (usize, &'c str, String)> {
    code.match_indices(CALL).filter_map(|(at, call)| {
        let argument = code[at + call.len()..].split(')').next()?;
        let number = number(argument).or_else(|| {
            let defined = code.split_once(&format!("const {argument}: usize ="))?.1;
            number(defined.split(';').next()?)
        })?;
        let is_part = |c: char| !c.is_alphanumeric() && c != '_';
        let before = code[..at].rsplit(is_part);
        let actor = before.into_iter().find(|word| actors.contains(word))?;
        Some((code[..at].matches('\n').count() + 1, actor, number))
    })
}

fn number(text: &str) -> Option<String> {
    let digits = text.trim().replace('_', "");
    let is_it = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_it.then_some(digits)
}

/// What the page says of an actor's capacity: in the table below its heading, or in its row of a
/// table that has a column for it.
fn capacity_in<'p>(page: &'p str, actor: &str) -> Option<&'p str> {
    let (_, prose) = markdown::split(page);
    let (mut is_its_section, mut column) = (false, None);
    for (_, line) in prose {
        if let Some(heading) = line.strip_prefix("## ") {
            let mut names = heading.split([' ', ',']);
            is_its_section = names.any(|name| name == actor);
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if cells.len() < 3 {
            column = None;
        } else if is_its_section && cells[1] == CAPACITY {
            return Some(cells[2]);
        } else if let Some(found) = cells.iter().position(|cell| *cell == CAPACITY) {
            column = Some(found);
        } else if let Some(column) = column
            && cells[1].trim_matches('`') == actor
        {
            return cells.get(column).copied();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "impl Actor for Clock {}\nimpl Actor for Bell {}\nconst ROOM: usize = 1_024;\n\
        fn f() -> ChildSpec<Clock> {\n    ChildSpec::new(\"clock\", |_| Clock::new()).capacity(64)\n}\n\
        fn g() { Bell::spec().capacity(ROOM) }\nfn h() { Bell::spec().capacity(settings.room) }\n";

    fn found(page: &str) -> Vec<String> {
        let findings = check([("actors/a/src/b.rs", CODE)].into_iter(), page);
        let shown = |one: Finding| format!("{} {}", one.place, one.text);
        findings.into_iter().map(shown).collect()
    }

    #[test]
    fn i14_a_capacity_that_the_page_has_otherwise_is_refused() {
        let page = "# Actors\n\n## Clock (`a/clock`)\n\n| | |\n|---|---|\n| Capacity | 64 messages; 8 at once |\n\n\
            ## Others\n\n| Actor | Capacity | Reply |\n|---|---|---|\n| `Bell` | 1,024 | none |\n";
        assert_eq!(found(page), [""; 0]);
        assert_eq!(
            found(&page.replace("64 messages", "65 messages")),
            [
                "actors/a/src/b.rs:5 `Clock` has room for 64 messages; docs/ACTORS.md: 65 messages; 8 at once"
            ]
        );
        assert_eq!(
            found(&page.replace("1,024", "24")),
            ["actors/a/src/b.rs:7 `Bell` has room for 1024 messages; docs/ACTORS.md: 24"]
        );
        assert_eq!(
            found("# Actors\n"),
            [""; 0],
            "what is not said is not wrong"
        );
    }
}
