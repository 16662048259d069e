//! The outbox_worker against the scripted forge, over a real store.

#![allow(clippy::unwrap_used)] // the lint knows tests, but not their helpers

mod comments;
mod common;
mod statuses;
