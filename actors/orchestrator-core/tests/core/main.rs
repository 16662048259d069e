//! The orchestrator's decisions, seen from outside.

mod fleet;
mod intake;
mod outcomes;
mod reconciling;
mod samples;
