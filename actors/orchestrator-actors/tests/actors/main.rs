//! Actors of an orchestrator by a manual clock, beside the scripted forge; and its ledger without
//! actors.

#![allow(clippy::unwrap_used)] // the lint knows tests, but not their helpers

mod dispatcher;
mod intake;
mod ledger;
mod polling;
mod world;
