//! What every program's command line has beside its commands: completions for shells, manual pages,
//! and examples below each `--help`, which are checked against the options there are.

mod documentation;
pub mod examples;

pub use clap_complete::Shell;
pub use documentation::{
    CompletionsOptions, ManOptions, completions, manual, print_completions, print_manual,
    write_manuals,
};
