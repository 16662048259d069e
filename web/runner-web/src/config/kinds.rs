//! Sizes and times of the runner's settings, with their bounds.

use std::time::Duration;

use config_core::{ByteSize, TextKind, ValueError, format_duration, parse_duration};

pub(super) const SIZE: TextKind<u64> = TextKind::new("size", at_least::<0>, shown);
/// At least 1 MiB.
pub(super) const BYTES: TextKind<u64> = TextKind::new("size", at_least::<{ 1 << 20 }>, shown);
/// At least 64 MiB: the least that git runs in.
pub(super) const GIT_MEMORY: TextKind<u64> = TextKind::new("size", at_least::<{ 64 << 20 }>, shown);
/// 1 s to a day.
pub(super) const SPAN: TextKind<Duration> = TextKind::new("duration", span::<1>, written);
/// 10 s to a day.
pub(super) const LONG_SPAN: TextKind<Duration> = TextKind::new("duration", span::<10>, written);

fn at_least<const LEAST: u64>(text: &str) -> Result<u64, ValueError> {
    let bytes = ByteSize::parse(text)?.bytes();
    if bytes < LEAST {
        let error = ValueError::new(format!("{} is too small", ByteSize::new(bytes)));
        return Err(error.help(format!("give {} or more", ByteSize::new(LEAST))));
    }
    Ok(bytes)
}

/// A time between so many seconds and a day.
fn span<const LEAST: u64>(text: &str) -> Result<Duration, ValueError> {
    const DAY: u64 = 86_400;
    let time = parse_duration(text)?;
    if (LEAST..=DAY).contains(&time.as_secs()) {
        return Ok(time);
    }
    let error = ValueError::new(format!("{} s is out of bounds", time.as_secs_f64()));
    Err(error.help(format!("give {LEAST} to {DAY} s, such as \"{LEAST}s\"")))
}

pub(super) fn shown(bytes: &u64) -> String {
    ByteSize::new(*bytes).to_string()
}

fn written(time: &Duration) -> String {
    format_duration(*time)
}
