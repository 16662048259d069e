//! What scripts of a job call that the image `full` has not, and what needs a network: said by
//! `check` before they run.

mod checkout_location;
mod command_prefix;
mod tables;

use checkout_location::{beside_note, written_out_note};
use command_prefix::is_before;
use tables::{FETCHERS, MISSING, RIGHTS, SERVICES};

use crate::expr::ExprTemplate;
use crate::hosted_label::{is_hosted_ubuntu, is_usual_at_forges};
use crate::plan::{ForeseenJob, KnownValues, PlannedStep, PlannedWork, StepKind, run_defaults};
use crate::workflow::Dialect;

/// Names of one note.
const MAX_NAMES: usize = 6;

/// What is said of the machine with some labels.
type OfMachine<'a> = &'a dyn Fn(&[String]) -> bool;

/// The notes of a job; `has_network` and `has_user` say it of a machine with such labels. At Gitea
/// and Forgejo more labels stand for the image.
pub(crate) fn program_notes(
    foreseen: &ForeseenJob<'_>,
    (has_network, has_user): (OfMachine<'_>, OfMachine<'_>),
    dialect: Dialect,
) -> Vec<String> {
    let job = foreseen.job;
    let PlannedWork::Steps(steps) = &job.work else {
        return Vec::new();
    };
    // What runs elsewhere only, or never, calls nothing here.
    let mut seen = ProgramUses {
        known: KnownValues::of_copies(&foreseen.copies),
        ..ProgramUses::default()
    };
    let (shell, folder) = run_defaults(&job.job.defaults, &foreseen.workflow.defaults);
    seen.steps(steps, shell);
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
    let all = |of_machine: OfMachine<'_>| {
        let mut machines = foreseen.machines.iter();
        foreseen.is_complete && machines.all(|it| of_machine(&it.labels))
    };
    let is_user = job.job.container.is_none() && all(has_user);
    if has_full && job.job.container.is_none() && folder.is_none() && !is_user {
        notes.extend(beside_note(steps, &seen.known));
    }
    let named_paths = (foreseen.workflow, job);
    notes.extend(written_out_note(named_paths, steps, &seen.known, is_user));
    let is_networked = all(has_network);
    if !seen.fetchers.is_empty() && !is_networked {
        notes.push(format!(
            "its scripts fetch packages ({}): its machine needs a network, and has none by itself (`network` of the machine)",
            named(&seen.fetchers)
        ));
    }
    if seen.fetchers.is_empty() && !seen.reached.is_empty() && !is_networked {
        notes.push(format!(
            "its scripts fetch from elsewhere ({}): its machine needs a network, and has none by itself (`network` of the machine)",
            named(&seen.reached)
        ));
    }
    if !seen.rights.is_empty() {
        notes.push(format!(
            "its scripts call {}: that needs rights that steps do not have here (no mounts, no kernel modules, no devices, no packet filters)",
            named(&seen.rights)
        ));
    }
    if !seen.services.is_empty() {
        notes.push(format!(
            "its scripts call {}: there is no systemd in the machines, start the program itself, or have it as one of the job's `services`",
            named(&seen.services)
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
struct ProgramUses {
    /// What conditions of steps are decided by.
    known: KnownValues,
    called: Vec<&'static str>,
    fetchers: Vec<&'static str>,
    /// What has an address elsewhere.
    reached: Vec<&'static str>,
    /// What steps may not do here, and what asks systemd.
    rights: Vec<&'static str>,
    services: Vec<&'static str>,
    /// Names of actions, and lines that install something, in small letters.
    sources: Vec<String>,
}

impl ProgramUses {
    /// `default` is the shell of scripts that name none.
    fn steps(&mut self, steps: &[PlannedStep], default: Option<&ExprTemplate>) {
        for step in steps {
            if self.known.holds(step.condition.as_ref()) == Some(false) {
                continue;
            }
            match &step.work {
                StepKind::Run { script, shell, .. } => {
                    let shell = shell.as_ref().or(default);
                    let shell = shell.map(|shell| shell.source.trim());
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
                    self.steps(&action.steps, None);
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
                let words: Vec<&str> = words.collect();
                // `retry 3 -- sudo apt update`
                let command = |words: &[&str]| words.iter().position(|word| !is_before(word));
                for words in words.split(|word| *word == "--") {
                    self.command(command(words).map_or(&[][..], |at| &words[at..]));
                }
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
        self.privileged(program, words);
        if let Some(name) = reached(program, words) {
            add(&mut self.reached, name);
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

    /// What needs more than steps may do.
    fn privileged(&mut self, program: &str, words: &[&str]) {
        let asked = |by: &[&str]| by.is_empty() || words.iter().any(|word| by.contains(word));
        for (table, found) in [(RIGHTS, &mut self.rights), (SERVICES, &mut self.services)] {
            let known = table.iter().find(|(name, _)| *name == program);
            let is_set = |word: &&str| program == "sysctl" && word.contains('=');
            if let Some((name, _)) = known.filter(|(_, by)| asked(by) || words.iter().any(is_set)) {
                add(found, name);
            }
        }
        let has_gpu = |word: &&str| word.starts_with("--gpus");
        if program == "docker" && words.iter().any(has_gpu) {
            add(&mut self.rights, "docker --gpus");
        }
        if words.iter().any(|word| word.contains("/dev/kvm")) {
            add(&mut self.rights, "/dev/kvm");
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

/// What a command fetches from an address that is written out and not in the machine.
fn reached(program: &str, words: &[&str]) -> Option<&'static str> {
    let name = match program {
        "curl" => "curl",
        "wget" => "wget",
        "git" if words.contains(&"clone") => "git clone",
        "git" if words.contains(&"submodule") && words.contains(&"update") => {
            return Some("git submodule update");
        }
        _ => return None,
    };
    let mut addresses = words.iter().filter_map(|word| {
        let (scheme, rest) = word.split_once("://")?;
        let host = rest.split(['/', ':', '?']).next().unwrap_or_default();
        let is_web = scheme.ends_with("http") || scheme.ends_with("https");
        (is_web && !host.is_empty()).then_some(host)
    });
    let inside = ["localhost", "127.", "0.0.0.0", "[", "host.docker.internal"];
    let is_elsewhere = |host: &str| {
        host.contains('.')
            && !host.contains(['$', '@'])
            && !inside.iter().any(|own| host.starts_with(own))
    };
    addresses.any(is_elsewhere).then_some(name)
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

fn add(names: &mut Vec<&'static str>, name: &'static str) {
    if !names.contains(&name) {
        names.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(script: &str) -> (String, String) {
        let mut seen = ProgramUses::default();
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
            (
                "mix deps.get && mix test; opam exec -- dune test",
                "",
                "mix",
            ),
            ("tool retry -- sudo apt update", "", "apt"),
            ("dnf -y install make; nix develop -c x", "", "dnf nix"),
            ("terraform init\nterraform fmt", "terraform", "terraform"),
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

    /// Names of what needs a network, more rights, or systemd: nothing said so.
    #[test]
    fn i17_what_steps_may_not_do_and_what_they_fetch_is_named() {
        for (script, reached, rights, services) in [
            (
                "sudo modprobe loop && losetup -f",
                "",
                "modprobe losetup",
                "",
            ),
            ("mount -t tmpfs x y\nmount | grep x", "", "mount", ""),
            ("sudo sysctl -w a=1", "", "sysctl", ""),
            ("sysctl vm.x=1; sysctl -n kernel.y", "", "sysctl", ""),
            ("sysctl -n kernel.y", "", "", ""),
            (
                "sudo dmsetup ls; iptables -L; nft list",
                "",
                "dmsetup iptables nft",
                "",
            ),
            ("sudo snap install x; snap list", "", "snap", ""),
            ("docker run --gpus all x", "", "docker --gpus", ""),
            ("sudo chmod 666 /dev/kvm", "", "/dev/kvm", ""),
            ("sudo systemctl start mysql", "", "", "systemctl"),
            (
                "sudo service postgresql start; service x status",
                "",
                "",
                "service",
            ),
            ("git add mount; echo systemctl", "", "", ""),
            ("curl -fsSL https://code.example/x | sh", "curl", "", ""),
            ("git clone https://code.example/a/b", "git clone", "", ""),
            ("wget \"https://code.example/$V/a\"", "wget", "", ""),
            (
                "git submodule update --init",
                "git submodule update",
                "",
                "",
            ),
            ("git submodule status", "", "", ""),
            (
                "curl http://localhost:8080/x; wget http://127.0.0.1",
                "",
                "",
                "",
            ),
            (
                "curl $URL; curl https://$HOST/x; git clone ../a",
                "",
                "",
                "",
            ),
        ] {
            let mut seen = ProgramUses::default();
            seen.script(script);
            let found = [&seen.reached, &seen.rights, &seen.services].map(|it| it.join(" "));
            assert_eq!(found, [reached, rights, services], "{script}");
        }
    }

    #[test]
    fn i17_more_programs_that_the_full_image_has_not_are_known() {
        for (script, missing) in [
            ("bazel build //...; bazelisk test", "bazel bazelisk"),
            ("kind create cluster; kustomize build", "kind kustomize"),
            ("ansible-playbook x.yml", "ansible-playbook"),
            ("pip install ansible\nansible-playbook x.yml", ""),
            ("sdkmanager x; adb devices", "sdkmanager adb"),
            ("xvfb-run make", "xvfb-run"),
            ("sudo apt-get install xvfb\nxvfb-run make", ""),
            (
                "oras push x; packer init .; pulumi up",
                "oras packer pulumi",
            ),
        ] {
            assert_eq!(seen(script).0, missing, "{script}");
        }
    }
}
