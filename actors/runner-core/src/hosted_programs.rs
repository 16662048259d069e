//! What scripts of a job call that the image `full` has not, and what needs a network: said by
//! `check` before they run.

use crate::hosted_label::{is_hosted_ubuntu, is_usual_at_forges};
use crate::plan::{ForeseenJob, PlannedStep, PlannedWork, StepKind};
use crate::workflow::Dialect;

/// Programs that GitHub's machines have and the image `full` has not, and what stands in the names
/// of actions that bring them.
const MISSING: &[(&str, &[&str])] = &[
    ("ansible", &["ansible"]),
    ("aws", &["aws-cli"]),
    ("az", &["azure/cli", "setup-azure"]),
    ("brew", &["homebrew"]),
    ("cabal", &["haskell"]),
    ("composer", &["php", "composer"]),
    (
        "conda",
        &["miniconda", "setup-miniconda", "micromamba", "mambaforge"],
    ),
    ("dotnet", &["dotnet"]),
    ("gcloud", &["setup-gcloud"]),
    ("gfortran", &["fortran"]),
    ("ghc", &["haskell"]),
    ("google-chrome", &["chrome"]),
    ("gradle", &["gradle"]),
    ("helm", &["helm"]),
    ("kubectl", &["kubectl", "kind", "k3", "minikube"]),
    ("mysql", &["mysql"]),
    ("php", &["php"]),
    ("pwsh", &["powershell", "pwsh"]),
    ("sbt", &["sbt", "scala"]),
    ("stack", &["haskell"]),
    ("swift", &["swift"]),
    ("terraform", &["terraform"]),
    ("yq", &["yq"]),
];
/// What fetches packages, and by which of its commands; none: by all.
const FETCHERS: &[(&str, &[&str])] = &[
    ("add-apt-repository", &[]),
    ("apt", &["install", "update", "build-dep"]),
    ("apt-get", &["install", "update", "build-dep"]),
    ("brew", &["install"]),
    ("bun", &["install", "i", "add"]),
    ("bundle", &["install"]),
    ("cabal", &["build", "update", "install"]),
    (
        "cargo",
        &[
            "build", "check", "clippy", "doc", "fetch", "install", "publish", "run", "test",
        ],
    ),
    ("composer", &["install", "update", "require"]),
    ("conda", &["install", "create", "env"]),
    ("dotnet", &["build", "publish", "restore", "test", "tool"]),
    ("gem", &["install"]),
    ("go", &["build", "get", "install", "mod", "run", "test"]),
    ("gradle", &[]),
    ("gradlew", &[]),
    ("mvn", &[]),
    ("mvnw", &[]),
    ("npm", &["ci", "i", "install", "exec"]),
    ("npx", &[]),
    ("nox", &[]),
    ("pip", &["install", "download"]),
    ("pip3", &["install", "download"]),
    ("pipx", &["install", "run"]),
    ("pnpm", &["add", "dlx", "i", "install"]),
    ("poetry", &["install"]),
    ("rustup", &[]),
    ("sbt", &[]),
    ("tox", &[]),
    ("uv", &["pip", "run", "sync", "tool"]),
    ("uvx", &[]),
    ("yarn", &["add", "install"]),
];
/// What may stand before a command in its place.
const BEFORE: [&str; 15] = [
    "!", "command", "do", "elif", "else", "env", "eval", "exec", "if", "nohup", "sudo", "then",
    "time", "until", "while",
];
/// Names of one note.
const MAX_NAMES: usize = 6;

/// The notes of a job; `has_network` says it of a machine with such labels. At Gitea and Forgejo
/// more labels stand for the image.
pub(crate) fn program_notes(
    foreseen: &ForeseenJob<'_>,
    has_network: &dyn Fn(&[String]) -> bool,
    dialect: Dialect,
) -> Vec<String> {
    let job = foreseen.job;
    let PlannedWork::Steps(steps) = &job.work else {
        return Vec::new();
    };
    let mut seen = Seen::default();
    seen.steps(steps);
    let mut notes = Vec::new();
    let missing = seen.missing();
    let is_hosted = has_label(foreseen, is_hosted_ubuntu);
    let has_full = is_hosted || dialect.is_forge() && has_label(foreseen, is_usual_at_forges);
    if has_full && job.job.container.is_none() && !missing.is_empty() {
        let there = match is_hosted {
            true => "which GitHub's machines have and the image `full` has not",
            false => "which the image `full` has not, for which its label stands",
        };
        notes.push(format!(
            "its scripts call {}, {there}: an action that sets it up, a line that installs it or an image of your own does",
            named(&missing)
        ));
    }
    let mut machines = foreseen.machines.iter();
    let is_networked = foreseen.is_complete && machines.all(|it| has_network(&it.labels));
    if !seen.fetchers.is_empty() && !is_networked {
        notes.push(format!(
            "its scripts fetch packages ({}): its machine needs a network, and has none by itself (`network` of the machine)",
            named(&seen.fetchers)
        ));
    }
    notes
}

/// Whether a machine of it has such a label.
fn has_label(job: &ForeseenJob<'_>, is_it: fn(&str) -> bool) -> bool {
    let mut labels = job.machines.iter().flat_map(|machine| &machine.labels);
    labels.any(|label| is_it(label))
}

fn named(names: &[&str]) -> String {
    let mut shown: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let more = shown.len().saturating_sub(MAX_NAMES);
    shown.truncate(MAX_NAMES);
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[derive(Default)]
struct Seen {
    called: Vec<&'static str>,
    fetchers: Vec<&'static str>,
    /// Names of actions, and lines that install something, in small letters.
    sources: Vec<String>,
}

impl Seen {
    fn steps(&mut self, steps: &[PlannedStep]) {
        for step in steps {
            match &step.work {
                StepKind::Run { script, shell, .. } => {
                    let shell = shell.as_ref().map(|shell| shell.source.trim());
                    match shell {
                        None => self.script(&script.source),
                        Some(shell) if shell.starts_with("bash") || shell.starts_with("sh") => {
                            self.script(&script.source);
                        }
                        Some(shell) if shell.starts_with("pwsh") => add(&mut self.called, "pwsh"),
                        Some(_) => {}
                    }
                }
                StepKind::Composite(action) => {
                    self.sources.push(action.uses.to_ascii_lowercase());
                    self.steps(&action.steps);
                }
                StepKind::Native { uses, .. } | StepKind::Refused { uses } => {
                    self.sources.push(uses.to_ascii_lowercase());
                }
                StepKind::Node(action) => self.sources.push(action.uses.to_ascii_lowercase()),
                StepKind::Docker(action) => self.sources.push(action.uses.to_ascii_lowercase()),
                StepKind::Deferred(action) => self.sources.push(action.uses.to_ascii_lowercase()),
                StepKind::Wait(_) | StepKind::WaitAll | StepKind::Cancel(_) => {}
            }
        }
    }

    fn script(&mut self, script: &str) {
        let joined = script.replace("\\\n", " ");
        for line in joined.lines().map(str::trim) {
            if line.starts_with('#') {
                continue;
            }
            if ["install", "://", "corepack"]
                .iter()
                .any(|sign| line.contains(sign))
            {
                self.sources.push(line.to_ascii_lowercase());
            }
            for part in line.split([';', '|', '&', '(', ')', '{', '}', '`']) {
                let words = part.split_whitespace();
                let words = words.map(|word| word.trim_matches(['"', '\'']));
                let words: Vec<&str> = words.skip_while(|word| is_before(word)).collect();
                self.command(&words);
            }
        }
    }

    fn command(&mut self, words: &[&str]) {
        let words = match words {
            ["python" | "python3", "-m", rest @ ..] => rest,
            all => all,
        };
        let Some(program) = words.first() else {
            return;
        };
        let program = program.rsplit('/').next().unwrap_or_default();
        if let Some((name, _)) = MISSING.iter().find(|(name, _)| *name == program) {
            add(&mut self.called, name);
        }
        let Some((name, by)) = FETCHERS.iter().find(|(name, _)| *name == program) else {
            return;
        };
        let mut rest = words.iter().skip(1);
        let asked = rest.find(|word| !word.starts_with(['-', '+']));
        if by.is_empty() || asked.is_some_and(|asked| by.contains(asked)) {
            add(&mut self.fetchers, name);
        }
    }

    /// What is called and nothing brings.
    fn missing(&self) -> Vec<&'static str> {
        let is_brought = |name: &str| {
            let own = [name];
            let known = MISSING.iter().find(|(known, _)| *known == name);
            let mut signs = known.iter().flat_map(|(_, signs)| signs.iter()).chain(&own);
            signs.any(|sign| self.sources.iter().any(|source| brings(source, sign)))
        };
        let called = self.called.iter().copied();
        called.filter(|name| !is_brought(name)).collect()
    }
}

/// Whether a name of an action, or a line, has this word in it.
fn brings(source: &str, sign: &str) -> bool {
    source.match_indices(sign).any(|(at, _)| {
        let before = source[..at].chars().next_back();
        let after = source[at + sign.len()..].chars().next();
        let mut ends = [before, after].into_iter().flatten();
        let is_word = !ends.any(|c| c.is_ascii_alphanumeric());
        // `brew install x` brings no brew.
        is_word && !source.starts_with(&format!("{sign} "))
    })
}

fn is_before(word: &str) -> bool {
    let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
        let mut letters = name.chars();
        !name.is_empty() && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    is_assignment || word.starts_with('-') || BEFORE.contains(&word)
}

fn add(names: &mut Vec<&'static str>, name: &'static str) {
    if !names.contains(&name) {
        names.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(script: &str) -> (String, String) {
        let mut seen = Seen::default();
        seen.script(script);
        (seen.missing().join(" "), seen.fetchers.join(" "))
    }

    #[test]
    fn i17_programs_are_found_where_they_are_called() {
        for (script, missing, fetchers) in [
            ("rustup show && RUST_LOG=1 cargo test", "", "rustup cargo"),
            ("sudo -E apt-get -y install php\nphp x.php", "", "apt-get"),
            ("out=$(yq .a b.yml)\n# helm lint", "yq", ""),
            ("echo helm to the next; git helm", "", ""),
            ("curl https://x/helm.sh | sh\nhelm version", "", ""),
            ("curl https://x/helmet | sh\nhelm version", "helm", ""),
            ("brew install foo", "brew", "brew"),
            ("./gradlew build", "", "gradlew"),
            ("python -m pip install x; npm run build", "", "pip"),
            ("if ! aws s3 ls; then gcloud info; fi", "aws gcloud", ""),
        ] {
            let expected = (missing.to_owned(), fetchers.to_owned());
            assert_eq!(seen(script), expected, "{script}");
        }
    }

    /// They were said to be missing: `full` had neither Rust nor Java, Go or clang.
    #[test]
    fn i17_what_the_full_image_has_is_not_missing() {
        let script = "rustup default stable; cargo build; rustc x.rs; java Hello.java; javac x.java\nmvn verify; ant; go run .; clang x.c; ./mvnw verify";
        assert_eq!(seen(script).0, "");
    }
}
