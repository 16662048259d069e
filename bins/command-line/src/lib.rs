//! What every program's command line has beside its commands: completions for shells, manual pages
//! and lines of output; and, with the feature `screen`, a full screen.

mod documentation;
mod output;
mod quoting;
#[cfg(feature = "screen")]
pub mod terminal;

pub use clap_complete::Shell;
pub use documentation::{
    CompletionsOptions, ManOptions, completions, manual, print_completions, print_manual,
    write_manuals,
};
pub use output::{print, say};
pub use quoting::quoted;
