//! The `--help` of this program and of each subcommand is what docs/CLI.md shows.

#[path = "../../../bins/xtask/src/docs/help.rs"]
mod help;

#[test]
fn the_cli_reference_is_current() {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_soak"));
    let section = help::section(program, "soak").expect("it has a help");
    let rest = include_str!("../../../docs/CLI.md").split_once(&section);
    let is_whole = rest.is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with("\n## "));
    assert!(
        is_whole,
        "docs/CLI.md is stale, run `cargo xtask docs`:\n{section}"
    );
}
