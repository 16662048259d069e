//! Booleans and numbers.

use std::ops::RangeInclusive;

use super::item::ConfigItem;
use crate::tree::ConfigValue;
use crate::value_error::ValueError;

impl ConfigItem<'_> {
    /// `true` or `false`.
    pub fn boolean(&self) -> Option<bool> {
        match self.node.value {
            ConfigValue::Boolean(boolean) => Some(boolean),
            _ => self.expected("true or false"),
        }
    }

    /// A whole number within `range`.
    pub fn integer(&self, range: RangeInclusive<i64>) -> Option<i64> {
        let integer = match self.node.value {
            ConfigValue::Integer(integer) => i64::try_from(integer).ok(),
            ConfigValue::Huge => None,
            _ => return self.expected("an integer"),
        };
        let within = integer.filter(|integer| range.contains(integer));
        if within.is_none() {
            let (low, high) = (range.start(), range.end());
            self.error(ValueError::new(format!(
                "the number must be from {low} to {high}"
            )));
        }
        within
    }

    /// A finite number within `range`, whole or not.
    pub fn number(&self, range: RangeInclusive<f64>) -> Option<f64> {
        let number = match self.node.value {
            // Beyond 2^53 neighbours merge; no setting is that exact.
            ConfigValue::Integer(integer) => Some(integer as f64),
            ConfigValue::Float(float) => Some(float),
            ConfigValue::Huge => None,
            _ => return self.expected("a number"),
        };
        let within = number.filter(|number| range.contains(number));
        if within.is_none() {
            let (low, high) = (range.start(), range.end());
            self.error(ValueError::new(format!(
                "the number must be from {low} to {high}"
            )));
        }
        within
    }
}
