//! Tests of the forge facts through their public interface. Attack cases carry their id as a
//! prefix.

// A helper of a test may fail like the test itself.
#![allow(clippy::unwrap_used)]

mod event_errors;
mod events;
mod ids;
mod json_attacks;
mod markers_and_statuses;
mod mentions;
mod properties;
mod reviews_and_packages;
mod signatures;
mod support;
