//! The search server.

fn main() {}
