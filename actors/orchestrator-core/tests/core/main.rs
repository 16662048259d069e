//! The orchestrator's decisions, seen from outside.

mod fleet;
mod hostile;
mod intake;
mod outcomes;
mod reconciling;
mod samples;
