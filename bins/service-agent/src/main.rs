//! The search server's terminal client.

fn main() {}
