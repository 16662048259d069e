//! Routing tables: which provider and model a task goes to, by the words in it.
//!
//! A table is a Markdown file with lines `priority:: N`, `synonyms:: a, b`, `trigger:: text`,
//! `route:: provider, model` (several: in order of preference) and
//! `action:: program --model {{ model }} {{ prompt }}`, which belongs to the route above it.
//! Everything else in the file is for people.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use config_core::{Diagnostic, Diagnostics, Severity, SourceText, quoted, suggestion};

use super::input::ConfigFile;

/// The keys of a table.
const KEYS: [&str; 5] = ["priority", "synonyms", "trigger", "route", "action"];
/// Priority of a table that names none.
const DEFAULT_PRIORITY: u32 = 50;

/// Where a task may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The command to start, in place of the agent's own: words with `{model}` and `{prompt}`.
    pub action: Option<Vec<String>>,
}

/// One table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingTable {
    /// The file's name without extension.
    pub name: String,
    /// Of several tables that match, the largest wins.
    pub priority: u32,
    /// Words and phrases.
    pub terms: Vec<String>,
    /// In order of preference.
    pub routes: Vec<Route>,
}

/// All tables, ready to be matched.
#[derive(Debug, Clone, Default)]
pub struct RoutingTables {
    tables: Vec<RoutingTable>,
    /// Patterns of all tables; the table of each.
    matcher: Option<(AhoCorasick, Vec<usize>)>,
}

impl RoutingTables {
    /// Builds the matcher.
    pub fn new(tables: Vec<RoutingTable>) -> Self {
        let mut patterns = Vec::new();
        let mut owners = Vec::new();
        for (index, table) in tables.iter().enumerate() {
            for term in &table.terms {
                patterns.push(term.to_lowercase());
                owners.push(index);
            }
        }
        let matcher = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(&patterns);
        Self {
            tables,
            matcher: matcher.ok().map(|matcher| (matcher, owners)),
        }
    }

    /// The tables, by name.
    pub fn tables(&self) -> &[RoutingTable] {
        &self.tables
    }

    /// The route of a task: of the tables with a term in it the one with the highest priority, then
    /// the longest term, then the first by name; of its routes the first whose provider is usable.
    pub fn route(&self, task: &str, usable: impl Fn(&str) -> bool) -> Option<(&str, &Route)> {
        let (matcher, owners) = self.matcher.as_ref()?;
        let task = task.to_lowercase();
        let mut found: Vec<(u32, usize, usize)> = matcher
            .find_overlapping_iter(&task)
            .filter(|found| is_word(&task, found.range()))
            .map(|found| {
                let table = owners[found.pattern().as_usize()];
                (self.tables[table].priority, found.len(), table)
            })
            .collect();
        found.sort_by(|a, b| (b.0, b.1, a.2).cmp(&(a.0, a.1, b.2)));
        found.iter().find_map(|(_, _, table)| {
            let table = &self.tables[*table];
            let route = table.routes.iter().find(|route| usable(&route.provider))?;
            Some((table.name.as_str(), route))
        })
    }
}

fn is_word(text: &str, range: Range<usize>) -> bool {
    let inside = |c: char| c.is_alphanumeric();
    !text[..range.start].ends_with(inside) && !text[range.end..].starts_with(inside)
}

/// Reads a table.
pub(super) fn parse(file: &ConfigFile) -> Result<RoutingTable, Diagnostics> {
    let text = SourceText::read(&file.name, &file.bytes)?;
    let mut reader = Reader {
        text: &text,
        wrong: Diagnostics::default(),
        table: RoutingTable {
            name: file.stem().to_owned(),
            priority: DEFAULT_PRIORITY,
            terms: Vec::new(),
            routes: Vec::new(),
        },
    };
    let mut at = 0;
    for line in text.text().split_inclusive('\n') {
        reader.line(line, at);
        at += line.len();
    }
    if reader.table.terms.is_empty() && reader.wrong.is_empty() {
        let help = "add `trigger:: text` or `synonyms:: a, b`";
        reader.error(0..0, "the routing table matches nothing", Some(help));
    }
    if reader.table.routes.is_empty() && reader.wrong.is_empty() {
        reader.error(
            0..0,
            "the routing table leads nowhere",
            Some("add `route:: provider, model`"),
        );
    }
    if reader.wrong.is_empty() {
        Ok(reader.table)
    } else {
        Err(reader.wrong)
    }
}

struct Reader<'t> {
    text: &'t SourceText,
    wrong: Diagnostics,
    table: RoutingTable,
}

impl Reader<'_> {
    fn error(&mut self, place: Range<usize>, message: &str, help: Option<&str>) {
        let found: Diagnostic = self
            .text
            .diagnostic(Severity::Error, place, message, help, "");
        self.wrong.push(found);
    }

    fn line(&mut self, line: &str, at: usize) {
        let trimmed = line.trim();
        let bare = trimmed.trim_start_matches(['-', '*', ' ']);
        let Some((key, value)) = bare.split_once("::") else {
            return;
        };
        let (key, value) = (key.trim(), value.trim());
        let start = at + line.find(bare).unwrap_or(0);
        let place = start..start + bare.len();
        let plain = key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        if !plain || key.is_empty() {
            return;
        }
        match key {
            "priority" => match value.parse::<u32>().ok().filter(|n| *n <= 1000) {
                Some(priority) => self.table.priority = priority,
                None => self.error(place, "the priority must be from 0 to 1000", None),
            },
            "synonyms" => self.terms(value.split(','), place),
            "trigger" => self.terms(std::iter::once(value), place),
            "route" => self.route(value, place),
            "action" => self.action(value, place),
            other => {
                let help = suggestion(other, KEYS).map(|near| format!("did you mean `{near}::`?"));
                if let Some(help) = help {
                    let message = format!("unknown key {}", quoted(other));
                    self.error(place, &message, Some(&help));
                }
            }
        }
    }

    fn terms<'v>(&mut self, values: impl Iterator<Item = &'v str>, place: Range<usize>) {
        for value in values {
            let value = value.trim();
            if value.is_empty() {
                self.error(place.clone(), "an empty word matches everything", None);
            } else {
                self.table.terms.push(value.to_owned());
            }
        }
    }

    fn route(&mut self, value: &str, place: Range<usize>) {
        let parts: Vec<&str> = value.split(',').map(str::trim).collect();
        match parts.as_slice() {
            [provider, model] if !provider.is_empty() && !model.is_empty() => {
                self.table.routes.push(Route {
                    provider: (*provider).to_owned(),
                    model: (*model).to_owned(),
                    action: None,
                });
            }
            _ => self.error(place, "write a route as `route:: provider, model`", None),
        }
    }

    fn action(&mut self, value: &str, place: Range<usize>) {
        let Some(words) = words(value) else {
            self.error(place, "a quote of the action is not closed", None);
            return;
        };
        if let Some(wrong) = words.iter().find_map(|word| unknown_placeholder(word)) {
            let message = format!("unknown placeholder {}", quoted(&wrong));
            let help = "it may name: {{ model }}, {{ prompt }}, {{ prompt_file }}, {{ workdir }}";
            self.error(place, &message, Some(help));
            return;
        }
        match self.table.routes.last_mut() {
            Some(route) if route.action.is_none() && !words.is_empty() => {
                route.action = Some(words);
            }
            _ => self.error(place, "an action stands below its own `route::`", None),
        }
    }
}

/// Splits as a shell would, without being one: blanks separate, quotes join.
fn words(text: &str) -> Option<Vec<String>> {
    let text = text.replace("{{ ", "{{").replace(" }}", "}}");
    let mut words = Vec::new();
    let (mut word, mut quote, mut open) = (String::new(), None, false);
    for c in text.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => (quote, open) = (Some(c), true),
            (None, c) if c.is_whitespace() => {
                if open || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                open = false;
            }
            (None, c) => word.push(c),
        }
    }
    if open || !word.is_empty() {
        words.push(word);
    }
    let single = |word: String| word.replace("{{", "{").replace("}}", "}");
    quote
        .is_none()
        .then(|| words.into_iter().map(single).collect())
}

fn unknown_placeholder(word: &str) -> Option<String> {
    const KNOWN: [&str; 4] = ["model", "prompt", "prompt_file", "workdir"];
    let (_, rest) = word.split_once('{')?;
    let (name, rest) = rest.split_once('}')?;
    if !KNOWN.contains(&name) {
        return Some(name.to_owned());
    }
    unknown_placeholder(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, text: &str) -> RoutingTable {
        let file = ConfigFile::new(format!("routing/{name}.md"), text);
        parse(&file).unwrap_or_else(|wrong| panic!("{wrong}"))
    }

    #[test]
    fn the_highest_priority_wins_and_open_circuits_are_passed_over() {
        let review = table(
            "review",
            "# Reviews\npriority:: 60\nsynonyms:: review, audit\nroute:: anthropic, opus\nroute:: openai, big\n\
             action:: codex exec --model {{ model }} \"{{ prompt }}\"\n",
        );
        let code = table("code", "trigger:: implement\nroute:: local, small\n");
        let tables = RoutingTables::new(vec![code, review]);
        let route = |task: &str, open: &str| {
            let found = tables.route(task, |provider| provider != open);
            found.map(|(table, route)| (table.to_owned(), route.model.clone()))
        };
        let some = |table: &str, model: &str| Some((table.to_owned(), model.to_owned()));
        assert_eq!(
            route("Implement, then REVIEW it", ""),
            some("review", "opus")
        );
        assert_eq!(route("review this", "anthropic"), some("review", "big"));
        assert_eq!(
            route("implement and review", "anthropic"),
            some("review", "big")
        );
        assert_eq!(route("implement it", ""), some("code", "small"));
        assert_eq!(route("a preview of reimplementing", ""), None);
        let action = tables.tables()[1].routes[1].action.clone();
        let words = ["codex", "exec", "--model", "{model}", "{prompt}"];
        assert_eq!(action, Some(words.map(str::to_owned).to_vec()));
    }
}
