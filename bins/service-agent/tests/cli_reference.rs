//! The `--help` of these programs and of each subcommand is what docs/CLI.md shows.

use std::path::Path;

#[path = "../../xtask/src/docs/help.rs"]
mod help;

#[test]
fn the_cli_reference_is_current() {
    let programs = [
        ("service-agent", env!("CARGO_BIN_EXE_service-agent")),
        ("service-cli", env!("CARGO_BIN_EXE_service-cli")),
    ];
    for (name, program) in programs {
        let section = help::section(Path::new(program), name).expect("it has a help");
        let rest = include_str!("../../../docs/CLI.md").split_once(&section);
        let is_whole = rest.is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with("\n## "));
        assert!(
            is_whole,
            "docs/CLI.md is stale, run `cargo xtask docs`:\n{section}"
        );
    }
}
