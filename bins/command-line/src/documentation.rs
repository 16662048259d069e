//! Completions and manual pages, made of a program's command line.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

/// `completions …`
#[derive(Debug, Clone, Copy, Args)]
pub struct CompletionsOptions {
    /// The shell
    pub shell: Shell,
}

/// `man …`
#[derive(Debug, Clone, Default, Args)]
pub struct ManOptions {
    /// Write the program's page and one for each command into this folder, as
    /// `program-command.1`, instead of printing the program's
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

/// The script that completes a program's words in a shell.
#[must_use]
pub fn completions(mut command: Command, shell: Shell) -> Vec<u8> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    script
}

/// A program's manual page, in roff.
///
/// # Errors
/// When it cannot be made.
pub fn manual(command: Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(page)
}

/// Writes the pages of a program and all its commands into a folder, which is made.
///
/// # Errors
/// When they cannot be written.
pub fn write_manuals(command: Command, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(command.disable_help_subcommand(true), folder)
}

/// Runs `completions`.
#[must_use]
pub fn print_completions<P: CommandFactory>(options: &CompletionsOptions) -> ExitCode {
    print(&completions(P::command(), options.shell))
}

/// Runs `man`.
#[must_use]
pub fn print_manual<P: CommandFactory>(options: &ManOptions) -> ExitCode {
    let done = match &options.out {
        Some(folder) => write_manuals(P::command(), folder)
            .map_err(|error| format!("{}: {error}", folder.display())),
        None => match manual(P::command()) {
            Ok(page) => return print(&page),
            Err(error) => Err(error.to_string()),
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// A reader that has left (`| head`) is no failure.
fn print(bytes: &[u8]) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> Command {
        Command::new("sky")
            .about("Looks up")
            .after_help("Examples:\n  sky moon")
            .subcommand(Command::new("moon").about("The moon"))
    }

    #[test]
    fn every_shell_gets_a_script_that_knows_the_commands() {
        for shell in [
            Shell::Bash,
            Shell::Zsh,
            Shell::Fish,
            Shell::Elvish,
            Shell::PowerShell,
        ] {
            let script = completions(command(), shell);
            let script = String::from_utf8_lossy(&script);
            assert!(script.contains("moon"), "{shell}: {script}");
        }
    }

    #[test]
    fn each_command_gets_a_page() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("man1");
        write_manuals(command(), &inner).expect("written");
        let entries = std::fs::read_dir(&inner).expect("a folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["sky-moon.1", "sky.1"]);
        let page = String::from_utf8(manual(command()).expect("a page")).expect("text");
        assert!(page.contains("Examples"), "{page}");
    }
}
