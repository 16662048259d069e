//! The edge over real connections. Tests of attack cases are named by their id.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod api;
mod connections;
mod forge_schema;
mod framing;
mod guards;
mod serving;
mod support;
mod webhooks;
