//! From a line to a command: the client's own table of commands, and a few for the loop itself.

use clap::{CommandFactory, Parser, Subcommand};
use service_agent::ClientFailure;

use crate::arguments::{Command, ConfigCommand, OutputFormat};

/// A line.
#[derive(Debug, Parser)]
#[command(
    name = "",
    no_binary_name = true,
    disable_version_flag = true,
    about = "The commands; each has --help."
)]
pub(crate) struct ReplLine {
    #[command(subcommand)]
    command: ReplCommand,
    /// How this answer is printed.
    #[arg(long, value_enum, global = true)]
    format: Option<OutputFormat>,
}

/// What a line may say: every command of the client, and these.
#[derive(Debug, Subcommand)]
pub(crate) enum ReplCommand {
    #[command(flatten)]
    Client(Command),
    /// Search as this role until another is named; the default role without a name.
    #[command(after_help = "Examples:\n  use Sky\n  use")]
    Use {
        /// The role.
        role: Option<String>,
    },
    /// Leave; `exit` and Ctrl-D do as well.
    #[command(alias = "exit", after_help = "Examples:\n  quit")]
    Quit,
}

/// A line that was understood.
#[derive(Debug)]
pub(crate) struct ParsedLine {
    pub(crate) command: ReplCommand,
    pub(crate) format: Option<OutputFormat>,
}

/// A line that runs nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LineRefusal {
    /// It asks for this text.
    Shown(String),
    /// It is wrong.
    Wrong(String),
}

/// The table of commands.
pub(crate) fn table() -> clap::Command {
    ReplLine::command()
}

/// Reads a line; `None` for an empty one and a comment.
///
/// # Errors
/// The help that it asks for, or what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Option<ParsedLine>, LineRefusal> {
    let text = text.trim();
    if text.is_empty() || text.starts_with('#') {
        return Ok(None);
    }
    let mut words = split(text).map_err(LineRefusal::Wrong)?;
    // As in chats: /help.
    if let Some(first) = words.first_mut()
        && let Some(name) = first.strip_prefix('/')
    {
        *first = name.to_owned();
    }
    let parsed = ReplLine::try_parse_from(&words).map_err(|error| refusal(&error, &words))?;
    Ok(Some(ParsedLine {
        command: parsed.command,
        format: parsed.format,
    }))
}

fn refusal(error: &clap::Error, words: &[String]) -> LineRefusal {
    let text = error.render().to_string();
    let text = text.trim_end();
    if !error.use_stderr() {
        return LineRefusal::Shown(text.to_owned());
    }
    let takes_text = matches!(words.first().map(String::as_str), Some("search" | "chat"));
    if takes_text && error.kind() == clap::error::ErrorKind::UnknownArgument {
        let hint = format!(
            "more than one word is quoted: {} 'orbit of planets'",
            words[0]
        );
        return LineRefusal::Wrong(format!("{text}\n\n{hint}"));
    }
    LineRefusal::Wrong(text.to_owned())
}

/// The words of a line, quoted as in a shell.
///
/// # Errors
/// When a quote is not closed.
pub(crate) fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let next = characters.next();
                let next = next.ok_or("a \\ stands at the end: nothing follows it")?;
                let word = word.get_or_insert_default();
                // Inside quotes it is itself, but before what it protects.
                if quote.is_some() && !matches!(next, '"' | '\\') {
                    word.push('\\');
                }
                word.push(next);
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(open) = quote {
        return Err(format!("the quote {open} is not closed"));
    }
    words.extend(word);
    Ok(words)
}

/// Refuses what cannot run inside the loop, because standard input is the loop's.
///
/// # Errors
/// What to do instead.
pub(crate) fn check(command: &Command) -> Result<(), ClientFailure> {
    let reads_input = match command {
        Command::Chat { message, .. } => message == "-",
        Command::Config {
            command: ConfigCommand::Set { file } | ConfigCommand::Validate { file },
        } => file.as_os_str() == "-",
        Command::Mcp => true,
        Command::Repl => return Err(ClientFailure::Refused("this is the repl".to_owned())),
        _ => false,
    };
    if reads_input {
        let text = "standard input is the repl's: run this one from the shell";
        return Err(ClientFailure::Refused(text.to_owned()));
    }
    Ok(())
}

/// Names the role of a command that takes one and names none.
pub(crate) fn set_role(command: &mut Command, name: &str) {
    let role = match command {
        Command::Search(search) => &mut search.role,
        Command::Graph { role, .. } | Command::Chat { role, .. } => role,
        _ => return,
    };
    role.get_or_insert_with(|| name.to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_in_a_shell() {
        for (text, expected) in [
            ("search orbit", Ok(vec!["search", "orbit"])),
            (
                "search 'a b'  --limit 3",
                Ok(vec!["search", "a b", "--limit", "3"]),
            ),
            (
                r#"search '"exact words"'"#,
                Ok(vec!["search", "\"exact words\""]),
            ),
            (r#"search "a \"b\" c""#, Ok(vec!["search", "a \"b\" c"])),
            (r"search a\ b", Ok(vec!["search", "a b"])),
            (r#"search "\d""#, Ok(vec!["search", r"\d"])),
            ("search ''", Ok(vec!["search", ""])),
            ("search 'a", Err("the quote ' is not closed")),
            (
                "search \\",
                Err("a \\ stands at the end: nothing follows it"),
            ),
        ] {
            let expected = expected
                .map(|words: Vec<&str>| words.into_iter().map(str::to_owned).collect())
                .map_err(str::to_owned);
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[test]
    fn every_command_of_the_client_is_one_of_the_loop() {
        let here = table();
        for command in crate::arguments::Arguments::command().get_subcommands() {
            let name = command.get_name();
            assert!(here.find_subcommand(name).is_some(), "{name} is missing");
        }
        for own in ["use", "quit"] {
            assert!(here.find_subcommand(own).is_some(), "{own}");
        }
        here.debug_assert();
    }

    #[test]
    fn lines_are_commands_comments_and_help() {
        assert!(matches!(parse("  "), Ok(None)));
        assert!(matches!(parse("# roles"), Ok(None)));
        let of = |text| parse(text).expect(text).expect(text);
        assert!(matches!(of("exit").command, ReplCommand::Quit));
        assert!(matches!(of("/quit").command, ReplCommand::Quit));
        assert_eq!(
            of("roles list --format json").format,
            Some(OutputFormat::Json)
        );
        let Err(LineRefusal::Shown(help)) = parse("help") else {
            panic!("help is shown")
        };
        assert!(help.contains("search") && help.contains("quit"), "{help}");
        let Err(LineRefusal::Shown(help)) = parse("search --help") else {
            panic!("help is shown")
        };
        assert!(help.contains("--limit"), "{help}");
        let Err(LineRefusal::Wrong(text)) = parse("search orbit of planets") else {
            panic!("it is refused")
        };
        assert!(text.contains("search 'orbit of planets'"), "{text}");
        assert!(matches!(parse("serch x"), Err(LineRefusal::Wrong(_))));
    }

    #[test]
    fn what_reads_standard_input_is_refused() {
        for (text, is_allowed) in [
            ("chat -", false),
            ("chat hello", true),
            ("config set -", false),
            ("config set file", true),
            ("mcp", false),
            ("repl", false),
            ("interactive", true),
        ] {
            let ReplCommand::Client(command) = parse(text).expect(text).expect(text).command else {
                panic!("{text} is the client's")
            };
            assert_eq!(check(&command).is_ok(), is_allowed, "{text}");
        }
    }

    #[test]
    fn the_role_in_use_is_that_of_commands_that_name_none() {
        for (text, expected) in [("search x", "Sky"), ("search x --role Sea", "Sea")] {
            let ReplCommand::Client(mut command) = parse(text).expect(text).expect(text).command
            else {
                panic!("{text}")
            };
            set_role(&mut command, "Sky");
            let Command::Search(search) = command else {
                panic!("{text}")
            };
            assert_eq!(search.role.as_deref(), Some(expected));
        }
    }
}
