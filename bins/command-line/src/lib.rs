//! What every program's command line has beside its commands: completions for shells, manual pages,
//! lines of output and what protects its secrets; and, with the feature `screen`, a full screen.

mod documentation;
pub mod exit_code;
mod hardening;
mod output;
mod quoting;
#[cfg(feature = "screen")]
pub mod terminal;

pub use clap_complete::Shell;
pub use documentation::{
    CompletionsOptions, ManOptions, completions, manual, print_completions, print_manual,
    write_manuals,
};
pub use hardening::harden_process;
pub use output::{print, print_note, print_raw, write_data};
pub use quoting::quoted;
