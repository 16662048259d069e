//! Strings, and what is written as one.

use std::time::Duration;

use url::Url;

use super::item::ConfigItem;
use crate::bytes::ByteSize;
use crate::duration::parse_duration;
use crate::link::parse_http_url;
use crate::secret::Secret;
use crate::source::Span;
use crate::suggest::{quoted, suggestion};
use crate::tree::{ConfigString, ConfigValue};
use crate::value_error::ValueError;

/// The spellings of an enumeration. Several may stand for one value: the first is the one that
/// messages and documentation show.
pub type Choices<T> = [(&'static str, T)];

impl<'d> ConfigItem<'d> {
    fn text(&self) -> Option<&'d ConfigString> {
        match &self.node.value {
            ConfigValue::String(text) => Some(text),
            _ => self.expected("a string"),
        }
    }

    /// A string, which may be empty. `None` without a report when one of its variables was wrong:
    /// that has been reported.
    pub fn any_string(&self) -> Option<&'d str> {
        self.text()?.value.as_deref()
    }

    /// A string that holds more than blanks, and no control characters.
    pub fn string(&self) -> Option<String> {
        let string = self.any_string()?;
        if let Some(control) = string.chars().find(|character| character.is_control()) {
            let code = u32::from(control);
            self.error(format!(
                "the string holds the control character U+{code:04X}"
            ));
            return None;
        }
        if string.trim().is_empty() {
            self.error("the string must not be empty");
            return None;
        }
        Some(string.to_owned())
    }

    /// A string that no message shows and no log prints.
    pub fn secret(&self) -> Option<Secret<String>> {
        self.session.hide(self.inner_span(), self.path());
        let ConfigValue::String(text) = &self.node.value else {
            // Without the value, unlike other mistakes of type.
            self.error("expected a string");
            return None;
        };
        let value = text.value.as_ref()?;
        if value.trim().is_empty() {
            self.error("the string must not be empty");
            return None;
        }
        Some(Secret::new(value.clone()))
    }

    /// The place without its quotes.
    fn inner_span(&self) -> Span {
        let Span { start, end } = self.node.span;
        match self.node.value {
            ConfigValue::String(_) if end > start + 1 => Span::new(start + 1, end - 1),
            _ => self.node.span,
        }
    }

    /// A string that `parse` understands. When variables were put in, the message shows the string
    /// as it was written: a variable may hold a secret.
    pub fn parsed<T>(&self, parse: impl FnOnce(&str) -> Result<T, ValueError>) -> Option<T> {
        let string = self.string()?;
        match parse(&string) {
            Ok(value) => Some(value),
            Err(error) => {
                self.error(self.without_variables(&string, error));
                None
            }
        }
    }

    fn without_variables(&self, string: &str, error: ValueError) -> ValueError {
        let expanded = matches!(&self.node.value, ConfigValue::String(text) if text.is_expanded());
        if !expanded {
            return error;
        }
        let written = quoted(self.text().map_or("", |text| &text.written));
        let message = error.message.replace(&quoted(string), &written);
        let leaks = message.contains(string);
        let message = if leaks {
            format!("{written} is not valid here")
        } else {
            message
        };
        ValueError {
            message,
            // Advice is often made of a part of the value.
            help: error.help.filter(|help| !has_common_bytes(help, string)),
        }
    }

    /// One of the `choices`; `what` names the enumeration in messages ("service").
    pub fn choice<T: Copy + PartialEq>(&self, what: &str, choices: &Choices<T>) -> Option<T> {
        self.parsed(|string| choose(what, string, choices))
    }

    /// An `http` or `https` address.
    pub fn http_url(&self) -> Option<Url> {
        self.parsed(parse_http_url)
    }

    /// A size such as `"64MB"`.
    pub fn byte_size(&self) -> Option<ByteSize> {
        self.parsed(ByteSize::parse)
    }

    /// A duration such as `"300s"`.
    pub fn duration(&self) -> Option<Duration> {
        self.parsed(parse_duration)
    }
}

/// Whether four bytes of `value` stand in `text`.
fn has_common_bytes(text: &str, value: &str) -> bool {
    let parts = value.as_bytes().windows(4.min(value.len()).max(1));
    let mut parts = parts.filter(|part| !part.is_empty());
    parts.any(|part| text.as_bytes().windows(part.len()).any(|one| one == part))
}

/// One of the `choices`, for a flag or a variable; `what` names the enumeration in messages.
///
/// # Errors
/// When `string` is none of the spellings; the nearest one, or all of them, are named.
pub fn choose<T: Copy + PartialEq>(
    what: &str,
    string: &str,
    choices: &Choices<T>,
) -> Result<T, ValueError> {
    let found = choices.iter().find(|(spelling, _)| *spelling == string);
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| unknown_choice(what, string, choices))
}

/// How much a program may log.
pub const LOG_LEVELS: &Choices<&str> = &[
    ("debug", "debug"),
    ("info", "info"),
    ("warn", "warn"),
    ("error", "error"),
];

fn unknown_choice<T: Copy + PartialEq>(
    what: &str,
    string: &str,
    choices: &Choices<T>,
) -> ValueError {
    let error = ValueError::new(format!("unknown {what} {}", quoted(string)));
    let near = suggestion(string, choices.iter().map(|(spelling, _)| *spelling));
    let first = |value: &T| choices.iter().find(|(_, other)| other == value);
    let main = |(spelling, value): &(&'static str, T)| {
        first(value)
            .is_some_and(|(first, _)| first == spelling)
            .then_some(*spelling)
    };
    match near {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => {
            let spellings: Vec<&str> = choices.iter().filter_map(main).collect();
            error.help(format!("one of: {}", spellings.join(", ")))
        }
    }
}
