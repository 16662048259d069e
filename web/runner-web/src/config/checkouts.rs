//! `[checkouts]`: what the commits of a repository, and of whoever opens a pull request, may cost.

use std::time::Duration;

use config_core::{ByteSize, Item, ValueError};
use runner_actors::CheckoutLimits;

/// The least that git runs in.
const LEAST_MEMORY: u64 = 64 << 20;
const LEAST_BYTES: u64 = 1 << 20;

pub(super) fn checkouts(item: &Item<'_>) -> Option<CheckoutLimits> {
    const KEYS: [&str; 9] = [
        "entries",
        "bytes",
        "depth",
        "fetch",
        "memory",
        "time",
        "at_once",
        "per_repository",
        "total",
    ];
    item.fields("the limits of checkouts", &KEYS, |fields| {
        let mut limits = CheckoutLimits::default();
        let number = |item: &Item<'_>| {
            let number = item.integer(1..=100_000_000)?;
            u64::try_from(number).ok()
        };
        let count = |item: &Item<'_>| {
            let number = item.integer(1..=256)?;
            usize::try_from(number).ok()
        };
        let bytes = |item: &Item<'_>| at_least(item, LEAST_BYTES);
        let tree = &mut limits.tree;
        tree.entries = fields.optional("entries", number).unwrap_or(tree.entries);
        tree.bytes = fields.optional("bytes", bytes).unwrap_or(tree.bytes);
        let deep = |item: &Item<'_>| {
            let number = item.integer(1..=4096)?;
            u64::try_from(number).ok()
        };
        tree.depth = fields.optional("depth", deep).unwrap_or(tree.depth);
        limits.fetch_bytes = fields
            .optional("fetch", bytes)
            .unwrap_or(limits.fetch_bytes);
        limits.memory = fields
            .optional("memory", |item| at_least(item, LEAST_MEMORY))
            .unwrap_or(limits.memory);
        limits.time = fields
            .optional("time", |item| span(item, 1, 86_400))
            .unwrap_or(limits.time);
        limits.at_once = fields.optional("at_once", count).unwrap_or(limits.at_once);
        limits.per_repository = fields
            .optional("per_repository", count)
            .unwrap_or(limits.per_repository);
        limits.total_bytes = fields
            .optional("total", bytes)
            .unwrap_or(limits.total_bytes);
        Some(limits)
    })
}

fn at_least(item: &Item<'_>, least: u64) -> Option<u64> {
    let bytes = item.byte_size()?.bytes();
    if bytes < least {
        let error = ValueError::new(format!("{} is too small", ByteSize::new(bytes)));
        item.error(error.help(format!("give {} or more", ByteSize::new(least))));
        return None;
    }
    Some(bytes)
}

/// A time between so many seconds.
pub(super) fn span(item: &Item<'_>, least: u64, most: u64) -> Option<Duration> {
    let time = item.duration()?;
    if (least..=most).contains(&time.as_secs()) {
        return Some(time);
    }
    let error = ValueError::new(format!("{} s is out of bounds", time.as_secs_f64()));
    item.error(error.help(format!("give {least} to {most} s, such as \"{least}s\"")));
    None
}
