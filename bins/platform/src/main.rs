//! The whole platform in one process: the quick start.

fn main() {}
