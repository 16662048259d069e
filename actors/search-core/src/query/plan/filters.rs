//! Fields of a query and their values.

use jiff::civil::Date;

use super::Planner;
use crate::analysis::{folded_line, words};
use crate::definitions::DefinitionKind;
use crate::file_roles::FileRole;
use crate::query::condition::QueryCondition;
use crate::query::error::QueryError;
use crate::query::grammar::TermValue;
use crate::query::terms::{Field, FieldFilter};

impl Planner<'_> {
    /// The condition that a field has a value.
    pub(super) fn filter(
        &mut self,
        field: Field,
        value: TermValue<'_>,
        at: usize,
    ) -> Result<QueryCondition, QueryError> {
        let line = folded_line(value.text);
        let mut indices = Vec::new();
        if field == Field::Title {
            for word in words(value.text) {
                indices.extend(self.word(word.text, false)?);
            }
        } else {
            self.count_word()?;
        }
        if line.is_empty() && matches!(field, Field::Title | Field::Tag) {
            let name = field.as_str();
            return Err(QueryError::at_offset(
                self.text,
                at,
                format!("the value of `{name}:` holds no word"),
            ));
        }
        let value_text = match field {
            Field::Kind => self.kind_name(&line, at)?,
            Field::Is => self.role_name(&line, at)?,
            Field::After | Field::Before => self.day(field, value.text, at)?,
            _ => value.text.trim().to_owned(),
        };
        self.query.filters.push(FieldFilter {
            field,
            value: value_text,
            line,
            is_phrase: value.is_quoted && indices.len() > 1,
            words: indices,
        });
        Ok(QueryCondition::Filter(self.query.filters.len() - 1))
    }

    /// A day as it is compared; a year or a month is its first day.
    fn day(&self, field: Field, value: &str, at: usize) -> Result<String, QueryError> {
        let day = first_day(value).ok_or_else(|| {
            let name = field.as_str();
            let forms = format!("{name}:2026, {name}:2026-11 or {name}:2026-11-28");
            QueryError::at_offset(
                self.text,
                at,
                format!("`{name}:` takes a day of the calendar: {forms}"),
            )
        })?;
        Ok(day.to_string())
    }

    /// The name of the kind that is called `line`.
    fn kind_name(&self, line: &str, at: usize) -> Result<String, QueryError> {
        let kind = DefinitionKind::from_name(line).ok_or_else(|| {
            let all = DefinitionKind::all_names();
            QueryError::at_offset(self.text, at, format!("`kind:` is one of {all}"))
        })?;
        Ok(kind.as_str().to_owned())
    }

    /// The name of the role that is called `line`.
    fn role_name(&self, line: &str, at: usize) -> Result<String, QueryError> {
        let role = FileRole::from_name(line).ok_or_else(|| {
            let all = FileRole::all_names();
            QueryError::at_offset(self.text, at, format!("`is:` is one of {all}"))
        })?;
        Ok(role.as_str().to_owned())
    }
}

/// The first day of a year, a month or a day, written with hyphens or slashes.
fn first_day(value: &str) -> Option<Date> {
    let mut parts = value.trim().split(['-', '/']);
    let year = parts.next().filter(|year| year.len() == 4)?;
    let mut part = || match parts.next() {
        None => Some(1),
        Some(part) if part.len() <= 2 => part.parse().ok(),
        Some(_) => None,
    };
    let date = Date::new(year.parse().ok()?, part()?, part()?).ok()?;
    parts.next().is_none().then_some(date)
}
