//! The clients against real servers on ports of their own.

#![allow(clippy::unwrap_used)] // the lint knows tests, but not their helpers

mod addresses;
mod bodies;
mod calls;
mod common;
mod forge;
mod llm;
mod redirects;
mod streams;
mod tls;
mod vmm;
