//! Supervision as its users see it, on real actix systems. One binary, a module for each topic.

mod common;
mod dynamic;
mod hangs;
mod incarnations;
mod references;
mod rounds;
mod ticks;
mod trees;
