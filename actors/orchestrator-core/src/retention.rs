//! The time that ages are measured by, where something is forgotten for its age.
//!
//! A wall clock can jump ahead: a wrong date on the host, a virtual machine that was suspended.
//! Whatever is forgotten then is gone when the clock is put right. So this time follows the wall
//! clock at a limited pace, measured by the monotonic clock: a jump of a year takes two weeks to
//! have its effect, and a machine that was off for a month has caught up after a day.

pub use forge_core::retention::trusted;
