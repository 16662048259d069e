//! Benchmark of the edge (see below).
fn main() {}
