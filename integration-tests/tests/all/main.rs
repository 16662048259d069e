//! One test binary for the whole: real servers on port 0, real folders, real processes.
//! Tests of attack and fault cases are named by their id.

mod edges;
mod files;
mod harness;
mod openapi;
mod searching;
mod watching;
mod wrong_input;
