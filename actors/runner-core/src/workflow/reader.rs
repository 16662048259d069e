//! Reading the tree: every mistake is noted with its place and path, and reading goes on.

use std::cell::{Cell, RefCell};

use config_core::{Diagnostic, Diagnostics, Severity, SourceText, quoted, suggestion};

use super::availability::Availability;
use super::dialect::Dialect;
use crate::expr::{
    Data, DataKey, Expr, ExprError, ExprTemplate, ExprValue, IfCondition, is_insert,
};
use crate::limits::MAX_FINDINGS;
use crate::source_location::SourceLocation;
use crate::yaml::{NodeData, YamlEntry, YamlNode};

/// A mistake.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    start: u32,
    end: u32,
    warning: bool,
    message: String,
    help: Option<String>,
    path: String,
}

/// Reads one file.
pub(crate) struct WorkflowReader<'a> {
    pub(super) source: &'a SourceText,
    /// Whose grammar it is read by.
    pub(super) dialect: Dialect,
    findings: RefCell<Vec<Finding>>,
    path: RefCell<Vec<String>>,
    /// How many errors and how many warnings were noted.
    noted: Cell<[usize; 2]>,
    /// Paths below which something could not be read, so that what it would hold is not known.
    lost: RefCell<Vec<String>>,
}

impl<'a> WorkflowReader<'a> {
    pub(crate) fn new(source: &'a SourceText, dialect: Dialect) -> Self {
        Self {
            source,
            dialect,
            findings: RefCell::default(),
            path: RefCell::default(),
            noted: Cell::default(),
            lost: RefCell::default(),
        }
    }

    /// All that was noted: errors and warnings, in the order of the text.
    pub(crate) fn finish(self) -> Diagnostics {
        let mut findings = self.findings.into_inner();
        findings.sort();
        // What is written once and aliased twice is wrong once.
        findings.dedup_by(|a, b| (a.start, &a.message) == (b.start, &b.message));
        // Not so many warnings that an error is not shown.
        findings.sort_by_key(|finding| finding.warning);
        findings.truncate(MAX_FINDINGS);
        findings.sort();
        findings
            .iter()
            .map(|finding| to_diagnostic(self.source, finding))
            .collect()
    }

    pub(crate) fn error(&self, place: SourceLocation, message: impl Into<String>) {
        self.add_finding(place, false, message.into(), None);
    }

    pub(crate) fn error_help(
        &self,
        place: SourceLocation,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add_finding(place, false, message.into(), Some(help.into()));
    }

    /// The comment on the line that a value ends on.
    pub(super) fn comment_behind(&self, place: SourceLocation) -> Option<String> {
        let rest = self.source.text().get(place.bytes().end..)?;
        let line = rest.lines().next()?;
        let (between, comment) = line.split_once('#')?;
        // In a list or mapping on one line another value may follow.
        let is_behind = between
            .chars()
            .all(|c| c.is_whitespace() || "]}\"'".contains(c));
        (is_behind && between.contains([' ', '\t'])).then(|| comment.trim().to_owned())
    }

    /// A mistake at GitHub, which Gitea and Forgejo take: `note` says what becomes of it there.
    pub(super) fn strict(
        &self,
        place: SourceLocation,
        message: impl Into<String>,
        help: impl Into<String>,
        note: &str,
    ) {
        match self.dialect {
            Dialect::GitHub => self.error_help(place, message, help),
            Dialect::Forge | Dialect::Gitea => self.warn(place, message, note),
        }
    }

    pub(crate) fn warn(
        &self,
        place: SourceLocation,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add_finding(place, true, message.into(), Some(help.into()));
    }

    pub(super) fn add_finding(
        &self,
        place: SourceLocation,
        warning: bool,
        message: String,
        help: Option<String>,
    ) {
        let mut findings = self.findings.borrow_mut();
        let mut noted = self.noted.get();
        let count = &mut noted[usize::from(warning)];
        *count += 1;
        if *count < MAX_FINDINGS * 2 {
            let path = self.path.borrow().join(".");
            findings.push(Finding {
                start: place.start,
                end: place.end,
                warning,
                message,
                help,
                path,
            });
        }
        self.noted.set(noted);
    }

    /// Whether an error was found within a place.
    pub(crate) fn is_wrong(&self, place: SourceLocation) -> bool {
        let within = |finding: &Finding| {
            !finding.warning && (place.start..=place.end).contains(&finding.start)
        };
        self.findings.borrow().iter().any(within)
    }

    /// Whether no more warnings are taken: what only warns need not look further.
    pub(crate) fn is_full(&self) -> bool {
        self.noted.get()[1] >= MAX_FINDINGS * 2
    }

    /// Whether no more errors are taken.
    pub(crate) fn is_full_of_errors(&self) -> bool {
        self.noted.get()[0] >= MAX_FINDINGS * 2
    }

    /// Something below the path could not be read.
    pub(crate) fn lose(&self) {
        let path = self.path.borrow().join(".");
        let mut lost = self.lost.borrow_mut();
        if lost.last() != Some(&path) {
            lost.push(path);
        }
    }

    /// Whether something at or below `path` could not be read.
    pub(crate) fn is_lost(&self, path: &str) -> bool {
        let below = |lost: &String| {
            lost.strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.lost.borrow().iter().any(below)
    }

    /// The name among `known` that was meant; not looked for once enough is wrong.
    pub(crate) fn closest_name<'k>(
        &self,
        written: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Option<&'k str> {
        let wanted = self.findings.borrow().len() < MAX_FINDINGS;
        wanted.then(|| suggestion(written, known)).flatten()
    }

    /// Reads something at `key`, so that messages name the path.
    pub(crate) fn at_key<T>(&self, key: &str, read: impl FnOnce() -> T) -> T {
        let key = quoted(key);
        self.path
            .borrow_mut()
            .push(key.trim_matches('`').to_owned());
        let value = read();
        self.path.borrow_mut().pop();
        value
    }

    /// The entries of a mapping.
    pub(crate) fn entries<'n>(&self, node: &'n YamlNode, what: &str) -> Option<&'n [YamlEntry]> {
        match &node.data {
            NodeData::Map(entries) => Some(entries),
            _ => self.wrong_kind(node, what, "a mapping"),
        }
    }

    /// What was meant, or all there is.
    pub(super) fn near(&self, written: &str, known: &[&str], all: &str) -> String {
        self.closest_name(written, known.iter().copied())
            .map_or_else(
                || format!("{all}: {}", known.join(", ")),
                |near| format!("did you mean `{near}`?"),
            )
    }

    pub(crate) fn wrong_kind<T>(&self, node: &YamlNode, what: &str, wanted: &str) -> Option<T> {
        let mut place = node.place;
        place.end = place.end.min(place.start + 60);
        self.error(
            place,
            format!("{what} is {}, expected {wanted}", node.kind()),
        );
        None
    }

    /// The elements of a list; a single scalar is a list of one.
    pub(crate) fn one_or_more<'n>(
        &self,
        node: &'n YamlNode,
        what: &str,
    ) -> Option<Vec<&'n YamlNode>> {
        match &node.data {
            NodeData::List(values) => Some(values.iter().map(|value| &**value).collect()),
            NodeData::Scalar {
                value: ExprValue::Null,
                ..
            }
            | NodeData::Map(_) => self.wrong_kind(node, what, "a text or a list of texts"),
            NodeData::Scalar { .. } => Some(vec![node]),
        }
    }

    /// A scalar's text as it stands for itself (`1.10` is 1.1, `True` is true), no expression in
    /// it.
    pub(crate) fn plain(&self, node: &YamlNode, what: &str) -> Option<String> {
        match &node.data {
            NodeData::Scalar { value, .. } if *value != ExprValue::Null => {
                Some(value.as_text().to_string())
            }
            _ => self.wrong_kind(node, what, "a text"),
        }
    }

    /// A boolean, no expression.
    pub(crate) fn boolean(&self, node: &YamlNode, what: &str) -> Option<bool> {
        match &node.data {
            NodeData::Scalar {
                value: ExprValue::Bool(value),
                ..
            } => Some(*value),
            _ => self.wrong_kind(node, what, "true or false"),
        }
    }

    /// A scalar that may hold expressions; nothing is the empty text.
    pub(crate) fn template(
        &self,
        node: &YamlNode,
        what: &str,
        availability: Availability,
    ) -> Option<ExprTemplate> {
        let NodeData::Scalar { text, value } = &node.data else {
            return self.wrong_kind(node, what, "a text");
        };
        match value {
            ExprValue::Text(_) => match ExprTemplate::parse_all(text, node.place) {
                Ok(template) => {
                    template
                        .expressions()
                        .for_each(|expr| self.check(expr, node.place, availability));
                    Some(template)
                }
                Err(errors) => {
                    let wrong = errors.iter().take(MAX_FINDINGS);
                    wrong.for_each(|error| self.wrong_expression(node, text, error));
                    None
                }
            },
            ExprValue::Null => Some(ExprTemplate::literal("", "".into(), node.place)),
            value => Some(ExprTemplate::literal(text, value.clone(), node.place)),
        }
    }

    /// An `if`.
    pub(crate) fn condition(
        &self,
        node: &YamlNode,
        availability: Availability,
    ) -> Option<IfCondition> {
        let NodeData::Scalar { text, value } = &node.data else {
            return self.wrong_kind(node, "if", "an expression");
        };
        if !matches!(value, ExprValue::Text(_)) {
            self.constant(value, node.place, true);
            return Some(IfCondition::literal(text, value.clone(), node.place));
        }
        match IfCondition::parse(text, node.place) {
            Ok(condition) => {
                self.check(condition.expr(), node.place, availability);
                if condition.always_true {
                    let message =
                        "this condition always holds: text around `${{ }}` makes a text of it";
                    let trimmed = IfCondition::parse(text.trim(), node.place);
                    let help = if trimmed.is_ok_and(|condition| !condition.always_true) {
                        "take away the spaces and line breaks around it (`|-` instead of `|`), or the `${{ }}`"
                    } else {
                        "put the whole condition inside `${{ }}`"
                    };
                    self.warn(node.place, message, help);
                } else if let Some(value) = condition.expr().constant() {
                    let is_bare = matches!(condition.expr(), Expr::Literal(_));
                    self.constant(&value, node.place, is_bare);
                }
                Some(condition)
            }
            Err(error) => {
                self.wrong_expression(node, text, &error);
                None
            }
        }
    }

    /// A condition that says the same in every run. Whoever writes `false` alone means it.
    fn constant(&self, value: &ExprValue, place: SourceLocation, is_bare: bool) {
        if is_bare && !value.truthy() {
            return;
        }
        let (message, help) = if value.truthy() {
            ("this condition always holds", "leave it out")
        } else {
            (
                "this condition never holds",
                "what it stands at is never run",
            )
        };
        self.warn(place, message, help);
    }

    /// A whole value with expressions in its texts.
    pub(crate) fn data(
        &self,
        node: &YamlNode,
        what: &str,
        availability: Availability,
    ) -> Option<Data> {
        match &node.data {
            NodeData::Scalar {
                value: ExprValue::Null,
                ..
            } => Some(Data::Scalar(ExprTemplate::literal(
                "",
                ExprValue::Null,
                node.place,
            ))),
            NodeData::Scalar { .. } => self.template(node, what, availability).map(Data::Scalar),
            NodeData::List(values) => {
                let values = values
                    .iter()
                    .map(|value| self.data(value, what, availability));
                values.collect::<Option<Vec<_>>>().map(Data::List)
            }
            NodeData::Map(entries) if entries.iter().any(|entry| entry.key.contains("${{")) => {
                let entries = entries.iter().map(|entry| {
                    let key = self.key(entry, availability)?;
                    Some((key, self.data(&entry.value, what, availability)?))
                });
                entries.collect::<Option<Vec<_>>>().map(Data::Computed)
            }
            NodeData::Map(entries) => {
                let entries = entries.iter().map(|entry| {
                    Some((
                        entry.key.clone(),
                        self.data(&entry.value, what, availability)?,
                    ))
                });
                entries.collect::<Option<Vec<_>>>().map(Data::Map)
            }
        }
    }

    /// A key that may have expressions.
    pub(super) fn key(&self, entry: &YamlEntry, availability: Availability) -> Option<DataKey> {
        if is_insert(&entry.key) {
            return Some(DataKey::Insert);
        }
        match ExprTemplate::parse(&entry.key, entry.key_place) {
            Ok(template) => {
                template
                    .expressions()
                    .for_each(|expr| self.check(expr, entry.key_place, availability));
                Some(DataKey::Text(template))
            }
            Err(error) => {
                self.error(entry.key_place, error.to_string());
                None
            }
        }
    }

    /// Names and templates.
    pub(crate) fn templates(
        &self,
        node: &YamlNode,
        what: &str,
        availability: Availability,
    ) -> Vec<(String, ExprTemplate)> {
        if node.is_null() {
            return Vec::new();
        }
        let entries = self.entries(node, what).unwrap_or_default();
        let read = |entry: &YamlEntry| {
            let template = self.at_key(&entry.key, || {
                self.template(&entry.value, what, availability)
            });
            Some((entry.key.clone(), template?))
        };
        entries.iter().filter_map(read).collect()
    }

    /// Whether an expression uses only what there is at its place.
    pub(crate) fn check(&self, expr: &Expr, place: SourceLocation, availability: Availability) {
        expr.walk(&mut |expr| match expr {
            Expr::Context(context) if !availability.contexts.contains(context) => {
                let names: Vec<&str> = availability
                    .contexts
                    .iter()
                    .map(|context| context.name())
                    .collect();
                let message = format!(
                    "the context `{}` cannot be used in {}",
                    context.name(),
                    availability.name
                );
                self.error_help(place, message, format!("there are: {}", names.join(", ")));
            }
            Expr::Call(function, _) => {
                let name = crate::expr::Function::NAMES[*function as usize];
                let status = function.is_status() && !availability.status;
                let files = *function == crate::expr::Function::HashFiles && !availability.files;
                if status || files {
                    self.error(
                        place,
                        format!(
                            "the function `{name}` cannot be called in {}",
                            availability.name
                        ),
                    );
                }
            }
            _ => {}
        });
    }

    fn wrong_expression(&self, node: &YamlNode, text: &str, error: &ExprError) {
        let place = self.expression_place(node.place, text, error.at);
        self.add_finding(place, false, error.message.clone(), error.help.clone());
    }
}

/// The entries whose keys are not `known`. Each is compared with every known key: not more of them
/// than are shown.
pub(super) fn unknown<'n>(
    entries: &'n [YamlEntry],
    known: &[&str],
) -> impl Iterator<Item = &'n YamlEntry> {
    let unknown = |entry: &&YamlEntry| !known.contains(&entry.key.as_str());
    entries.iter().filter(unknown).take(MAX_FINDINGS)
}

fn to_diagnostic(source: &SourceText, finding: &Finding) -> Diagnostic {
    let severity = if finding.warning {
        Severity::Warning
    } else {
        Severity::Error
    };
    let place = finding.start as usize..finding.end as usize;
    source.diagnostic(
        severity,
        place,
        &finding.message,
        finding.help.as_deref(),
        &finding.path,
    )
}
