//! All actors of an orchestrator against the scripted forge.

#![allow(clippy::unwrap_used)] // the lint knows tests, but not their helpers

mod intake;
mod polling;
mod world;
