//! Sizes with a unit.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::suggest::quoted;
use crate::value_error::ValueError;

/// A number of bytes, written as `512B`, `64MB` (powers of 1000) or `64MiB` (powers of 1024).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteSize(u64);

/// Units by name, in bytes. The case of letters does not count.
const UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

impl ByteSize {
    /// So many bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// Reads a whole number and its unit: `64MB`, `1 GiB`, `0B`. `0` is nothing in any unit.
    ///
    /// # Errors
    /// Not a number, no unit or an unknown one, more than 2^64 bytes.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        let wrong =
            |help: &str| Err(ValueError::new(format!("{} is not a size", quoted(text))).help(help));
        if text.trim() == "0" {
            return Ok(Self(0));
        }
        let digits = text.trim().trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit = text.trim()[digits.len()..].trim();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return wrong("write a whole number and a unit, for example `64MB`");
        }
        let Some((_, factor)) = UNITS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))
        else {
            return wrong(&unit_help(digits, unit));
        };
        match digits
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(*factor))
        {
            Some(bytes) => Ok(Self(bytes)),
            None => Err(ValueError::new(format!("{} is too large", quoted(text)))),
        }
    }
}

fn unit_help(digits: &str, unit: &str) -> String {
    let letter = unit
        .chars()
        .next()
        .map(|letter| letter.to_ascii_uppercase());
    match letter {
        None => format!("give a unit, for example `{digits}MB`"),
        Some(letter @ ('K' | 'M' | 'G' | 'T')) if unit.len() == 1 => {
            format!(
                "write `{digits}{letter}B` (powers of 1000) or `{digits}{letter}iB` (powers of 1024)"
            )
        }
        Some(_) => "units: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB".to_owned(),
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |(_, factor): &&(&str, u64)| self.0 > 0 && self.0.is_multiple_of(*factor);
        let (unit, factor) = UNITS
            .iter()
            .filter(whole)
            .max_by_key(|(_, factor)| *factor)
            .unwrap_or(&UNITS[0]);
        write!(f, "{}{unit}", self.0 / factor)
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes, shown) in [
            ("64MB", 64_000_000, "64MB"),
            ("1GiB", 1 << 30, "1GiB"),
            (" 2 kib ", 2048, "2KiB"),
            ("0B", 0, "0B"),
            ("0", 0, "0B"),
            ("1500kB", 1_500_000, "1500kB"),
            ("18446744073709551615B", u64::MAX, "18446744073709551615B"),
        ] {
            assert_eq!(ByteSize::parse(text), Ok(ByteSize::new(bytes)), "{text}");
            assert_eq!(ByteSize::new(bytes).to_string(), shown);
        }
    }

    #[test]
    fn wrong_sizes_are_explained() {
        for (text, message) in [
            (
                "",
                "`` is not a size (write a whole number and a unit, for example `64MB`)",
            ),
            (
                "MB",
                "`MB` is not a size (write a whole number and a unit, for example `64MB`)",
            ),
            (
                "-1MB",
                "`-1MB` is not a size (write a whole number and a unit, for example `64MB`)",
            ),
            (
                "1.5GB",
                "`1.5GB` is not a size (write a whole number and a unit, for example `64MB`)",
            ),
            ("64", "`64` is not a size (give a unit, for example `64MB`)"),
            (
                "64m",
                "`64m` is not a size (write `64MB` (powers of 1000) or `64MiB` (powers of 1024))",
            ),
            (
                "64XB",
                "`64XB` is not a size (units: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)",
            ),
            ("99999999999TB", "`99999999999TB` is too large"),
        ] {
            assert_eq!(ByteSize::parse(text).unwrap_err().to_string(), message);
        }
    }
}
