//! The examples at the end of each `--help`: whether every command has some, and whether the
//! program would take them.

use clap::{Command, CommandFactory};

/// What stands above them.
const HEAD: &str = "Examples:";

/// For a unit test of each program: its arguments are consistent, and nothing is wrong with the
/// examples of it and its commands.
///
/// # Panics
/// When something is wrong.
pub fn assert_understood<A: CommandFactory>() {
    let faults = faults(&A::command());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Everything that is wrong with the examples of a program and its commands.
fn faults(program: &Command) -> Vec<String> {
    let mut program = program.clone();
    program.build();
    let mut faults = Vec::new();
    let name = program.get_name().to_owned();
    walk(&program, &program, &name, &mut faults);
    faults
}

fn walk(program: &Command, command: &Command, path: &str, faults: &mut Vec<String>) {
    let help = command
        .get_after_long_help()
        .or(command.get_after_help())
        .map(ToString::to_string)
        .unwrap_or_default();
    let lines = examples(&help);
    if !lines.iter().any(|line| line.contains(path)) {
        faults.push(format!("`{path} --help` does not end with examples of it"));
    }
    for line in lines {
        if let Err(reason) = check(program, line) {
            faults.push(format!("`{path} --help`: {line}: {reason}"));
        }
    }
    for inner in command.get_subcommands() {
        if inner.get_name() != "help" && !inner.is_hide_set() {
            walk(
                program,
                inner,
                &format!("{path} {}", inner.get_name()),
                faults,
            );
        }
    }
}

/// The lines of the last paragraph, where that is one of examples.
fn examples(help: &str) -> Vec<&str> {
    let last = help.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let mut lines = last.lines();
    if lines.next().map(str::trim) != Some(HEAD) {
        return Vec::new();
    }
    lines.map(str::trim).collect()
}

/// Whether the program takes what an example calls it with.
fn check(program: &Command, line: &str) -> Result<(), String> {
    let name = program.get_name();
    let line = line.split("  #").next().unwrap_or(line);
    let words = words(line)?;
    let start = words.iter().position(|word| word == name);
    let start = start.ok_or_else(|| format!("it does not call {name}"))?;
    let ends = |word: &String| matches!(word.as_str(), "|" | ">" | ">>" | "<" | "&&" | "&" | ")");
    let call = words[start..].iter().take_while(|word| !ends(word));
    match program.clone().try_get_matches_from(call) {
        Ok(_) => Ok(()),
        Err(error) if !error.use_stderr() => Ok(()),
        Err(error) => Err(error.render().to_string().trim().to_owned()),
    }
}

/// The words of a line as a shell sees them, as far as examples need it.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            // What a command prints becomes a value: the command is what is looked at.
            (None, '(') if word.as_deref().is_some_and(|word| word.ends_with('$')) => word = None,
            (None, ')') => {
                words.extend(word.take());
                words.push(")".to_owned());
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match quote {
        Some(open) => Err(format!("{open} is not closed")),
        None => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;

    fn program(examples: &'static str) -> Command {
        Command::new("sky")
            .arg(Arg::new("place").long("place"))
            .after_help(examples)
    }

    #[test]
    fn examples_that_the_program_takes_are_good() {
        let good = "Environment: X.\n\nExamples:\n  sky --place 'the west'   # in the evening\n  \
                    X=1 sky --place \"here\" | less\n  PLACE=$(sky --place x)\n";
        assert_eq!(faults(&program(good)), Vec::<String>::new());
    }

    #[test]
    fn a_command_without_examples_and_one_that_is_refused_are_faults() {
        for wrong in [
            "",
            "Examples:\n  sky\n\nExit codes: 0.",
            "Examples:\n  sky --plaice x",
            "Examples:\n  ground --place x",
            "Examples:\n  sky --place 'x",
            "Examples:\n  PLACE=$(sky --plaice x)",
        ] {
            assert!(!faults(&program(wrong)).is_empty(), "{wrong}");
        }
        let inner = program("Examples:\n  sky").subcommand(Command::new("moon"));
        assert_eq!(faults(&inner).len(), 1);
    }
}
