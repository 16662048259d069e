//! How a script is run: the shell's command line (page "Workflow syntax", `steps[*].shell`).

use forge_core::Forge;

/// A command line with the script's file in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// The program and its arguments; the script's path stands where `{0}` was.
    pub argv: Vec<String>,
    /// What the script's file name ends in.
    pub extension: &'static str,
    /// It is PowerShell by its name alone: scripts are framed as GitHub does it.
    pub is_framed: bool,
}

/// Before and after a script of PowerShell: an error ends it, and its last program's exit code is
/// its own (page "Workflow syntax", "Exit codes and error action preference").
const FRAME: [&str; 2] = [
    "$ErrorActionPreference = 'stop'",
    "if ((Test-Path -LiteralPath variable:\\LASTEXITCODE)) { exit $LASTEXITCODE }",
];

/// In a container of Forgejo: bash where there is one, else `sh`.
const BASH_OR_SH: &str = "sh -c 'if command -v bash >/dev/null 2>&1; \
     then exec bash --noprofile --norc -e -o pipefail \"$0\"; fi; exec sh -e \"$0\"' {0}";

/// The shell of scripts that name none, where it is not that of GitHub's machines: containers need
/// not have bash, and Gitea and Forgejo let a script fail by any program of a pipe.
#[must_use]
pub fn default_shell(forge: Option<Forge>, in_container: bool) -> Option<&'static str> {
    match (forge, in_container) {
        (Some(Forge::Forgejo), true) => Some(BASH_OR_SH),
        (_, true) => Some("sh"),
        (Some(Forge::Gitea | Forge::Forgejo), false) => Some("bash"),
        (_, false) => None,
    }
}

/// Why a shell cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShellError {
    /// A shell of Windows.
    #[error("the shell `{0}` is one of Windows; this runner has Linux")]
    Windows(String),
    /// A name that is not known, without `{{0}}`.
    #[error(
        "unknown shell {0}: use bash, sh, python, pwsh, or a command with {{0}} for the script's file"
    )]
    Unknown(String),
}

/// Splits a shell into its command line with `{0}` in it; `None` is the default shell.
///
/// # Errors
/// When it is not known, or one of Windows.
pub fn resolve(shell: Option<&str>) -> Result<ShellCommand, ShellError> {
    let shell = shell.map(str::trim).filter(|shell| !shell.is_empty());
    let Some(shell) = shell else {
        return Ok(command("bash -e {0}", ".sh"));
    };
    let found = match shell.to_ascii_lowercase().as_str() {
        "bash" => command("bash --noprofile --norc -e -o pipefail {0}", ".sh"),
        "sh" => command("sh -e {0}", ".sh"),
        "python" => command("python {0}", ".py"),
        // Forgejo's; GitHub refuses the name when the file is read.
        "node" => command("node {0}", ".js"),
        "pwsh" => ShellCommand {
            argv: ["pwsh", "-command", ". '{0}'"].map(str::to_owned).to_vec(),
            extension: ".ps1",
            is_framed: true,
        },
        "cmd" | "powershell" => return Err(ShellError::Windows(shell.to_owned())),
        _ if shell.contains("{0}") => custom(shell),
        _ => return Err(ShellError::Unknown(config_core::quoted(shell))),
    };
    Ok(found)
}

/// Whether a shell can be used: `node` is one at Gitea and Forgejo only (`is_forge`).
///
/// # Errors
/// When it is not known, or one of Windows.
pub fn check(shell: &str, is_forge: bool) -> Result<(), ShellError> {
    if !is_forge && shell.trim().eq_ignore_ascii_case("node") {
        return Err(ShellError::Unknown(config_core::quoted(shell)));
    }
    resolve(Some(shell)).map(|_| ())
}

impl ShellCommand {
    /// The script as its file has it.
    pub fn framed(&self, script: String) -> String {
        let [before, after] = FRAME;
        match self.is_framed {
            true => format!("{before}\n{script}\n{after}"),
            false => script,
        }
    }

    /// The command line with the script's path filled in.
    pub fn with_script(&self, path: &str) -> Vec<String> {
        self.argv
            .iter()
            .map(|argument| argument.replace("{0}", path))
            .collect()
    }
}

/// A command line of the file's own: what its script is called goes by the program, as GitHub's
/// `ScriptHandlerHelpers` has it.
fn custom(shell: &str) -> ShellCommand {
    let program = shell.split_whitespace().next().unwrap_or_default();
    let program = program.to_ascii_lowercase();
    let extension = match program.as_str() {
        "bash" | "sh" => ".sh",
        "python" => ".py",
        "pwsh" => ".ps1",
        _ => "",
    };
    ShellCommand {
        is_framed: program == "pwsh",
        ..command(shell, extension)
    }
}

/// Words between blanks; quotes hold a word together.
fn command(line: &str, extension: &'static str) -> ShellCommand {
    let mut argv: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, blank) if blank.is_whitespace() => argv.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    argv.extend(word);
    ShellCommand {
        argv,
        extension,
        is_framed: false,
    }
}
