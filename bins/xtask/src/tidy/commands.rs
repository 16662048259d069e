//! Commands in the documentation: the programs, tasks and packages they name exist.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::markdown;
use super::packages::Package;

/// Programs that a reader has, or that the text says how to get.
const ELSEWHERE: [&str; 32] = [
    "apt",
    "apt-get",
    "cargo",
    "cat",
    "cd",
    "chmod",
    "cp",
    "curl",
    "echo",
    "export",
    "git",
    "grep",
    "head",
    "install",
    "journalctl",
    "jq",
    "kill",
    "ls",
    "mkdir",
    "mv",
    "printf",
    "node",
    "npm",
    "openssl",
    "podman",
    "python3",
    "rg",
    "rustup",
    "sed",
    "sh",
    "systemctl",
    "tail",
];

/// Names that commands may use.
#[derive(Debug, Default)]
pub(super) struct CommandNames {
    tasks: BTreeSet<String>,
    programs: BTreeSet<String>,
    packages: BTreeSet<String>,
    benches: BTreeSet<String>,
}

impl CommandNames {
    /// This program's tasks, read from its `main.rs`, and the names that the packages define.
    pub(super) fn new(packages: &[Package], main: &str) -> Self {
        let flat = |names: fn(&Package) -> &Vec<String>| {
            packages.iter().flat_map(names).cloned().collect()
        };
        Self {
            tasks: tasks(main).collect(),
            programs: flat(|package| &package.bins),
            packages: packages
                .iter()
                .map(|package| package.name.clone())
                .collect(),
            benches: flat(|package| &package.benches),
        }
    }
}

/// The variants of `enum Task`, as they are typed.
fn tasks(main: &str) -> impl Iterator<Item = String> {
    let inside = main.lines().skip_while(|line| *line != "enum Task {");
    let variants = inside
        .skip(1)
        .take_while(|line| *line != "}")
        .map(str::trim);
    variants.filter_map(|line| Some(line.strip_suffix("),")?.split_once('(')?.0.to_lowercase()))
}

/// Checks the commands in ```sh and ```console blocks, and every `cargo xtask` anywhere.
pub(super) fn check(path: &str, text: &str, known: &CommandNames) -> Vec<Finding> {
    let (blocks, prose) = markdown::split(text);
    let shell = blocks
        .iter()
        .filter(|block| ["sh", "bash", "console"].contains(&block.language));
    let lines = shell.flat_map(|block| {
        let prompt = block.language == "console";
        block
            .lines
            .iter()
            .filter_map(move |(number, line)| Some((*number, typed(line, prompt)?)))
    });
    let commands = lines.flat_map(|(number, line)| {
        simple_commands(line)
            .into_iter()
            .map(move |words| (number, words))
    });
    let wrong = commands.filter_map(|(number, words)| Some((number, problem(&words, known)?)));
    let mentions = prose
        .iter()
        .filter_map(|(number, line)| Some((*number, strange_task(line, known)?)));
    wrong
        .chain(mentions)
        .map(|(number, text)| Finding::error(format!("{path}:{number}"), text))
        .collect()
}

/// What a person types of a line: all of it in a script, what follows `$ ` in a session.
fn typed(line: &str, prompt: bool) -> Option<&str> {
    let line = if prompt {
        line.trim_start().strip_prefix("$ ")?
    } else {
        line
    };
    let line = line.trim();
    (!line.is_empty() && !line.starts_with('#')).then_some(line)
}

/// The words of each command of a line, split at `|`, `&&` and `;` outside of quotes.
fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![vec![String::new()]];
    let mut quote = None;
    for c in line.chars() {
        let words = commands
            .last_mut()
            .expect("one is put in above and none is taken out");
        let word = words
            .last_mut()
            .expect("one is put in above and none is taken out");
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') if word.is_empty() => break,
            (None, '|' | '&' | ';') => commands.push(vec![String::new()]),
            (None, c) if c.is_whitespace() => words.push(String::new()),
            (None, c) => word.push(c),
        }
    }
    let full = |words: Vec<String>| {
        words
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
    };
    commands
        .into_iter()
        .map(full)
        .filter(|words| !words.is_empty())
        .collect()
}

fn problem(words: &[String], known: &CommandNames) -> Option<String> {
    let is_prefix = |word: &&String| {
        *word == "sudo"
            || word
                .split_once('=')
                .is_some_and(|(name, _)| is_variable(name))
    };
    let words: Vec<&str> = words
        .iter()
        .skip_while(is_prefix)
        .map(String::as_str)
        .collect();
    let program = words.first()?.rsplit('/').next()?;
    if program != "cargo" {
        let found = ELSEWHERE.contains(&program) || known.programs.contains(program);
        return (!found).then(|| format!("there is no program `{program}` here"));
    }
    if words.get(1) == Some(&"xtask") {
        let task = words.get(2).filter(|task| !task.starts_with('-'))?;
        return (!known.tasks.contains(*task))
            .then(|| format!("there is no task `cargo xtask {task}`"));
    }
    unknown_name(&words, &["-p", "--package"], &known.packages, "package")
        .or_else(|| unknown_name(&words, &["--bin"], &known.programs, "program"))
        .or_else(|| unknown_name(&words, &["--bench"], &known.benches, "benchmark"))
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

fn unknown_name(
    words: &[&str],
    flags: &[&str],
    names: &BTreeSet<String>,
    what: &str,
) -> Option<String> {
    let mut given = words
        .windows(2)
        .filter(|pair| flags.contains(&pair[0]))
        .map(|pair| pair[1]);
    let unknown = given.find(|name| !names.contains(*name))?;
    Some(format!("there is no {what} `{unknown}` here"))
}

/// A task named in running text that does not exist.
fn strange_task(line: &str, known: &CommandNames) -> Option<String> {
    let named = line.split("cargo xtask ").skip(1).map(|rest| {
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        &rest[..end]
    });
    let is_task = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase()) && !word.is_empty();
    let strange = named
        .filter(is_task)
        .find(|task| !known.tasks.contains(*task))?;
    Some(format!("there is no task `cargo xtask {strange}`"))
}

#[cfg(test)]
mod tests {
    use super::super::packages::Package;
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let mut store = Package::example("actors/store", &[]);
        store.benches = vec!["appends".to_owned()];
        let main = "enum Other {\n    Tests(A),\n}\nenum Task {\n    /// Doc (x),\n    Up(up::Options),\n    Test(test::Options),\n}\n";
        let known = CommandNames::new(&[Package::example("bins/search-server", &[]), store], main);
        check("README.md", text, &known)
            .into_iter()
            .map(|finding| finding.text)
            .collect()
    }

    #[test]
    fn commands_that_exist_pass() {
        let text = "Run `cargo xtask up`.\n```sh\n# a remark\ncargo xtask test --only fmt\nLOG_LEVEL=debug search-server --check\n\
                    cargo bench -p store --bench appends\ncurl -s 'localhost/x|y' | jq . && ls\ntarget/release/search-server\n```\n\
                    ```console\n$ cargo run -p search-server\nwhatever it prints\n```\n```text\nnonsense\n```\n";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn each_name_that_does_not_exist_is_refused() {
        for (line, expected) in [
            ("cargo xtask tests", "there is no task `cargo xtask tests`"),
            (
                "A=1 serch-server --check",
                "there is no program `serch-server` here",
            ),
            ("ls | colour", "there is no program `colour` here"),
            ("cargo run -p nothing", "there is no package `nothing` here"),
            (
                "cargo bench -p store --bench nothing",
                "there is no benchmark `nothing` here",
            ),
            (
                "cargo run --bin nothing",
                "there is no program `nothing` here",
            ),
        ] {
            assert_eq!(
                found(&format!("```sh\n{line}\n```\n")),
                [expected],
                "{line}"
            );
            assert_eq!(
                found(&format!("```console\n$ {line}\n```\n")),
                [expected],
                "{line}"
            );
        }
        assert_eq!(
            found("Say `cargo xtask start` to start."),
            ["there is no task `cargo xtask start`"]
        );
    }
}
