//! Sizes and times of the runner's settings, with their bounds.

use std::time::Duration;

use config_core::{TextKind, size, span};

pub(super) use config_core::shown_size as shown;

pub(super) const SIZE: TextKind<u64> = size::<0>();
/// At least 1 MiB.
pub(super) const BYTES: TextKind<u64> = size::<{ 1 << 20 }>();
/// At least 64 MiB: the least that git runs in.
pub(super) const GIT_MEMORY: TextKind<u64> = size::<{ 64 << 20 }>();
/// 1 s to a day.
pub(super) const SPAN: TextKind<Duration> = span::<1>();
/// 10 s to a day.
pub(super) const LONG_SPAN: TextKind<Duration> = span::<10>();
