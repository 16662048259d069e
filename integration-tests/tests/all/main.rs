//! One test binary for the whole: real servers on port 0, real folders, real processes.
//! Tests of attack and fault cases are named by their id.

mod edges;
mod files;
mod harness;
mod openapi;
mod query_language;
mod searching;
mod watching;
mod workflow_runs;
mod workflow_stage;
mod wrong_input;
