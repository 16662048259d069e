//! A place in a JSON tree that knows its path, so that every error can name it.

use std::fmt::Write as _;
use std::str::FromStr;

use super::Json;
use super::field::known_field;
use crate::text::shorten;
use crate::{CommitSha, EventError, ForgeIdError, ObjectFormats};

/// Longest part of a wrong value repeated in an error, in bytes.
const SHOWN: usize = 40;

/// One step of a path.
#[derive(Clone, Copy)]
enum Step {
    Root,
    Field(&'static str),
    Item(usize),
}

/// A place that a value may stand at. `null` counts as absent: forges write it for "none".
pub(crate) struct JsonNode<'n> {
    parent: Option<&'n JsonNode<'n>>,
    step: Step,
    value: Option<&'n Json<'n>>,
}

impl<'n> JsonNode<'n> {
    /// The body itself.
    pub(crate) fn root(value: &'n Json<'n>) -> Self {
        Self {
            parent: None,
            step: Step::Root,
            value: Some(value),
        }
    }

    /// A member, there or not.
    pub(crate) fn field(&'n self, name: &'static str) -> JsonNode<'n> {
        debug_assert!(known_field(name).is_some(), "{name} is not kept");
        let value = self.value.and_then(|value| value.get(name));
        let value = value.filter(|value| !matches!(value, Json::Null));
        JsonNode {
            parent: Some(self),
            step: Step::Field(name),
            value,
        }
    }

    pub(crate) fn is_present(&self) -> bool {
        self.value.is_some()
    }

    /// Whether an object stands here.
    pub(crate) fn is_object(&self) -> bool {
        matches!(self.value, Some(Json::Object(_)))
    }

    /// This place if an object stands here, nothing if it is absent.
    pub(crate) fn opt_object(&self) -> Result<Option<&Self>, EventError> {
        match self.value {
            None => Ok(None),
            Some(Json::Object(_)) => Ok(Some(self)),
            Some(_) => Err(self.type_error("an object")),
        }
    }

    /// This place, where an object must stand.
    pub(crate) fn object(&self) -> Result<&Self, EventError> {
        self.opt_object()?.ok_or_else(|| self.missing())
    }

    pub(crate) fn opt_text(&self) -> Result<Option<&'n str>, EventError> {
        match self.value {
            None => Ok(None),
            Some(Json::Text(text)) => Ok(Some(text)),
            Some(_) => Err(self.type_error("a string")),
        }
    }

    pub(crate) fn text(&self) -> Result<&'n str, EventError> {
        self.opt_text()?.ok_or_else(|| self.missing())
    }

    /// An owned text, if there is one.
    pub(crate) fn opt_string(&self) -> Result<Option<String>, EventError> {
        Ok(self.opt_text()?.map(str::to_owned))
    }

    pub(crate) fn opt_bool(&self) -> Result<Option<bool>, EventError> {
        match self.value {
            None => Ok(None),
            Some(Json::Bool(value)) => Ok(Some(*value)),
            Some(_) => Err(self.type_error("true or false")),
        }
    }

    /// A number of a checked kind, if there is one.
    pub(crate) fn opt_number<T: TryFrom<u64>>(
        &self,
        expected: &'static str,
    ) -> Result<Option<T>, EventError> {
        match self.value {
            None => Ok(None),
            Some(Json::Unsigned(number)) => T::try_from(*number)
                .map(Some)
                .map_err(|_| self.type_error(expected)),
            Some(_) => Err(self.type_error(expected)),
        }
    }

    pub(crate) fn number<T: TryFrom<u64>>(&self, expected: &'static str) -> Result<T, EventError> {
        self.opt_number(expected)?.ok_or_else(|| self.missing())
    }

    /// A text of a checked kind.
    pub(crate) fn id<T: FromStr<Err = ForgeIdError>>(&self) -> Result<T, EventError> {
        self.text()?.parse().map_err(|reason| self.invalid(reason))
    }

    /// A text of a checked kind, if there is one; an empty text counts as absent, since Gitea
    /// writes it for "none".
    pub(crate) fn opt_id<T: FromStr<Err = ForgeIdError>>(&self) -> Result<Option<T>, EventError> {
        match self.opt_text()? {
            None | Some("") => Ok(None),
            Some(text) => text
                .parse()
                .map(Some)
                .map_err(|reason| self.invalid(reason)),
        }
    }

    /// A commit name.
    pub(crate) fn commit(&self, formats: ObjectFormats) -> Result<CommitSha, EventError> {
        self.opt_commit(formats)?.ok_or_else(|| self.missing())
    }

    /// A commit name, if there is one; an empty text counts as absent.
    pub(crate) fn opt_commit(
        &self,
        formats: ObjectFormats,
    ) -> Result<Option<CommitSha>, EventError> {
        let Some(text) = self.opt_text()?.filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        CommitSha::parse(text, formats)
            .map(Some)
            .map_err(|reason| self.invalid(reason))
    }

    /// A commit name, or nothing for the zeros that stand for no commit.
    pub(crate) fn commit_or_zeros(
        &self,
        formats: ObjectFormats,
    ) -> Result<Option<CommitSha>, EventError> {
        if CommitSha::is_none_marker(self.text()?) {
            Ok(None)
        } else {
            self.commit(formats).map(Some)
        }
    }

    /// The items of an array; none if it is absent.
    pub(crate) fn items(&'n self) -> Result<impl Iterator<Item = JsonNode<'n>>, EventError> {
        let items: &'n [Json<'n>] = match self.value {
            None => &[],
            Some(Json::Array(items)) => items,
            Some(_) => return Err(self.type_error("an array")),
        };
        let node = |(at, value)| JsonNode {
            parent: Some(self),
            step: Step::Item(at),
            value: Some(value),
        };
        Ok(items.iter().enumerate().map(node))
    }

    /// This place is empty and must not be; or something above it is no object.
    pub(crate) fn missing(&self) -> EventError {
        let mut above = self.parent;
        while let Some(node) = above {
            match node.value {
                None => above = node.parent,
                Some(Json::Object(_)) => break,
                Some(_) => return node.type_error("an object"),
            }
        }
        EventError::Missing { path: self.path() }
    }

    fn type_error(&self, expected: &'static str) -> EventError {
        EventError::WrongType {
            path: self.path(),
            found: self.describe(),
            expected,
        }
    }

    /// The value here breaks a rule.
    pub(crate) fn invalid(&self, reason: ForgeIdError) -> EventError {
        EventError::Invalid {
            path: self.path(),
            reason,
        }
    }

    /// The value as an error shows it: numbers themselves, never a text (it may be anything).
    fn describe(&self) -> String {
        match self.value {
            None | Some(Json::Null) => "null".to_owned(),
            Some(Json::Bool(value)) => value.to_string(),
            Some(Json::Unsigned(number)) => number.to_string(),
            Some(Json::Negative(number)) => number.to_string(),
            Some(Json::Float(number)) => shorten(&number.to_string(), SHOWN).into_owned(),
            Some(Json::Text(_)) => "a string".to_owned(),
            Some(Json::Array(_)) => "an array".to_owned(),
            Some(Json::Object(_)) => "an object".to_owned(),
        }
    }

    /// E.g. `pull_request.head.sha` or `commits[2].id`; the root is `the body`.
    pub(crate) fn path(&self) -> String {
        let mut steps = vec![self.step];
        let mut above = self.parent;
        while let Some(node) = above {
            steps.push(node.step);
            above = node.parent;
        }
        let mut path = String::new();
        for step in steps.into_iter().rev() {
            step.append_to(&mut path);
        }
        if path.is_empty() {
            "the body".to_owned()
        } else {
            path
        }
    }
}

impl Step {
    fn append_to(self, path: &mut String) {
        match self {
            Self::Root => {}
            Self::Field(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
            Self::Item(at) => {
                write!(path, "[{at}]").expect("writing to a String cannot fail");
            }
        }
    }
}
