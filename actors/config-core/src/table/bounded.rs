//! Sizes and times with bounds.

use std::time::Duration;

use super::texts::TextKind;
use crate::bytes::ByteSize;
use crate::duration::{format_duration, parse_duration};
use crate::value_error::ValueError;

/// A number of bytes, `LEAST` at least.
#[must_use]
pub const fn size<const LEAST: u64>() -> TextKind<u64> {
    TextKind::new("size", at_least::<LEAST>, format_size)
}

/// A time of `LEAST` seconds to a day.
#[must_use]
pub const fn span<const LEAST: u64>() -> TextKind<Duration> {
    TextKind::new("duration", up_to_a_day::<LEAST>, written)
}

/// A number of bytes as settings write it.
#[must_use]
pub fn format_size(bytes: &u64) -> String {
    ByteSize::new(*bytes).to_string()
}

fn at_least<const LEAST: u64>(text: &str) -> Result<u64, ValueError> {
    let bytes = ByteSize::parse(text)?.bytes();
    if bytes < LEAST {
        let error = ValueError::new(format!("{} is too small", ByteSize::new(bytes)));
        return Err(error.help(format!("give {} or more", ByteSize::new(LEAST))));
    }
    Ok(bytes)
}

fn up_to_a_day<const LEAST: u64>(text: &str) -> Result<Duration, ValueError> {
    const DAY: u64 = 86_400;
    let time = parse_duration(text)?;
    if (LEAST..=DAY).contains(&time.as_secs()) {
        return Ok(time);
    }
    let error = ValueError::new(format!("{} s is out of bounds", time.as_secs_f64()));
    Err(error.help(format!("give {LEAST} to {DAY} s, such as \"{LEAST}s\"")))
}

fn written(time: &Duration) -> String {
    format_duration(*time)
}
