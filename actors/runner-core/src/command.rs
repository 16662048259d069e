//! Workflow commands: lines of a step's output that say something to the runner (`::error::…`).
//!
//! Page "Workflow commands".

use crate::job_folders::below_workspace;

/// What a line of output says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepCommand {
    /// A group of lines begins.
    Group(String),
    /// It ends.
    EndGroup,
    /// Something to show beside a file.
    Annotation(Annotation),
    /// Shown only where debugging is asked for.
    Debug(String),
    /// A text to mask from here on.
    AddMask(String),
    /// An output, in the old way.
    SetOutput {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// A state of an action, in the old way.
    SaveState {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// Whether commands are shown.
    Echo(bool),
    /// A command that is known and has no effect here.
    NoEffect(String),
    /// A variable for later steps, where this is allowed.
    SetEnv {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// A directory for the `PATH` of later steps, where this is allowed.
    AddPath(String),
    /// A file of problem matchers that hold from here on.
    AddMatcher(String),
    /// Problem matchers hold no longer: those of an owner, or of a file.
    RemoveMatcher {
        /// Whose.
        owner: Option<String>,
        /// The file that they came from.
        file: String,
    },
    /// A command that is switched off because output of others could use it: it fails the step.
    Disabled(String),
}

/// Something to show beside a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// How bad it is.
    pub level: Level,
    /// What it says.
    pub message: String,
    /// Its title.
    pub title: Option<String>,
    /// The file.
    pub file: Option<String>,
    /// The first line and the last.
    pub lines: (Option<u32>, Option<u32>),
    /// The first column and the last.
    pub columns: (Option<u32>, Option<u32>),
}

/// How bad an annotation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// To be known.
    Notice,
    /// To be looked at.
    Warning,
    /// To be mended.
    Error,
}

/// Finds commands in the lines of one step; `stop-commands` is remembered.
#[derive(Debug, Clone, Default)]
pub struct StepCommandParser {
    stopped: Option<String>,
    /// Whether `set-env` and `add-path` are done: the step sets `ACTIONS_ALLOW_UNSECURE_COMMANDS`.
    unsecure: bool,
}

/// The file that is written to in place of a command that is switched off.
#[must_use]
pub fn replacement(name: &str) -> &'static str {
    if name.eq_ignore_ascii_case("add-path") {
        "$GITHUB_PATH"
    } else {
        "$GITHUB_ENV"
    }
}

impl StepCommandParser {
    /// Finds commands; `unsecure` ones only where the step allows them.
    #[must_use]
    pub fn new(unsecure: bool) -> Self {
        Self {
            stopped: None,
            unsecure,
        }
    }

    /// What a line (without its end) says, if it is a command that is known.
    pub fn line(&mut self, line: &str) -> Option<StepCommand> {
        let (name, properties, data) = split(line).or_else(|| split_old(line))?;
        if let Some(token) = &self.stopped {
            if name.eq_ignore_ascii_case(token) {
                self.stopped = None;
            }
            return None;
        }
        let data = unescape(data, false);
        let property = |wanted: &str| {
            properties
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
                .map(|(_, value)| value.clone())
        };
        Some(match name.to_ascii_lowercase().as_str() {
            "group" => StepCommand::Group(data),
            "endgroup" => StepCommand::EndGroup,
            "notice" => StepCommand::Annotation(annotation(Level::Notice, data, property)),
            "warning" => StepCommand::Annotation(annotation(Level::Warning, data, property)),
            "error" => StepCommand::Annotation(annotation(Level::Error, data, property)),
            "debug" => StepCommand::Debug(data),
            "add-mask" => StepCommand::AddMask(data),
            "stop-commands" if data.trim().is_empty() => return None,
            "stop-commands" => {
                self.stopped = Some(data.trim().to_owned());
                StepCommand::NoEffect("stop-commands".to_owned())
            }
            "set-output" => StepCommand::SetOutput {
                name: property("name")?,
                value: data,
            },
            "save-state" => StepCommand::SaveState {
                name: property("name")?,
                value: data,
            },
            "echo" => match data.trim() {
                "on" => StepCommand::Echo(true),
                "off" => StepCommand::Echo(false),
                _ => return None,
            },
            "add-matcher" => StepCommand::AddMatcher(data),
            "remove-matcher" => StepCommand::RemoveMatcher {
                owner: property("owner"),
                file: data,
            },
            "set-env" if self.unsecure => StepCommand::SetEnv {
                name: property("name")?,
                value: data,
            },
            "add-path" if self.unsecure => StepCommand::AddPath(data),
            "set-env" | "add-path" => StepCommand::Disabled(name.to_owned()),
            _ => return None,
        })
    }
}

type Properties = Vec<(String, String)>;

/// `::name key=value,key=value::data`.
fn split(line: &str) -> Option<(&str, Properties, &str)> {
    let rest = line.trim_start().strip_prefix("::")?;
    let (head, data) = rest.split_once("::")?;
    let (name, properties) = match head.find(' ') {
        Some(blank) => (&head[..blank], head[blank + 1..].trim()),
        None => (head, ""),
    };
    if name.is_empty() {
        return None;
    }
    let pairs = properties.split(',').filter_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        Some((key.trim().to_owned(), unescape(value, true)))
    });
    Some((
        name,
        pairs.filter(|(_, value)| !value.is_empty()).collect(),
        data,
    ))
}

/// The form of old: `##[name key=value;key=value;]data`, which actions made with an early toolkit
/// still print.
fn split_old(line: &str) -> Option<(&str, Properties, &str)> {
    let rest = line.trim_start().strip_prefix("##[")?;
    let (head, data) = rest.split_once(']')?;
    let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
    let pairs = properties.split(';').filter_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        let value = value.replace("%3B", ";").replace("%5D", "]");
        Some((key.trim().to_owned(), unescape(&value, false)))
    });
    Some((
        name,
        pairs.filter(|(_, value)| !value.is_empty()).collect(),
        data,
    ))
}

/// `%0A` and its like back to what they stand for; in properties also `%3A` and `%2C`.
fn unescape(text: &str, property: bool) -> String {
    let mut text = text.replace("%0D", "\r").replace("%0A", "\n");
    if property {
        text = text.replace("%3A", ":").replace("%2C", ",");
    }
    // Last, so that `%250A` stays `%0A`.
    text.replace("%25", "%")
}

fn annotation(
    level: Level,
    message: String,
    property: impl Fn(&str) -> Option<String>,
) -> Annotation {
    let number = |name: &str| property(name).and_then(|text| text.trim().parse().ok());
    // As GitHub's runner has it: a file of the workspace from there on, and one line for two.
    let workspace = |file: String| {
        let below = below_workspace(&file).and_then(|it| it.strip_prefix('/'));
        below.map_or_else(|| file.clone(), str::to_owned)
    };
    let lines = (number("line"), number("endLine"));
    Annotation {
        level,
        message,
        title: property("title"),
        file: property("file").map(workspace),
        lines: (lines.0.or(lines.1), lines.1),
        columns: (number("col"), number("endColumn")),
    }
}
