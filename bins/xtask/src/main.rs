//! Build, test, benchmark and document the project.

fn main() {}
