//! What the scripts of a job, and actions that build images, ask for and do not get here: said by
//! `check` before they run.

use crate::expr::ExprTemplate;
use crate::forge_address;
use crate::plan::{NativeAction, PlannedStep, StepKind};
use crate::workflow::{PermissionLevel, Permissions};

/// Commands of GitHub's own client that reach the forge by the token of a job.
const GH_COMMANDS: [&str; 8] = [
    "api", "cache", "issue", "label", "pr", "release", "run", "workflow",
];
/// Those that do not get there: settings, other repositories and what is GitHub's alone.
const GH_APART: [&str; 9] = [
    "attestation",
    "auth",
    "codespace",
    "gist",
    "org",
    "project",
    "search",
    "secret",
    "variable",
];
/// Processors whose programs machines run: their own, and by emulators of the image `full`. As
/// `machine/platforms.py` has them.
const OWN: [&str; 5] = ["", "amd64", "x86_64", "386", "i386"];
const EMULATED: [&str; 7] = [
    "arm64", "aarch64", "arm", "armhf", "ppc64le", "riscv64", "s390x",
];

const GH_ALONE: &str = "its scripts call `gh` for what the token of a job does not reach (sign-in, secrets, variables, projects, attestations, searches, other repositories): that fails without a token of your own in `GH_TOKEN`";
const PUSH: &str = "its scripts call `git push`, and the job's `permissions` lack `contents: write` (`token_permissions` of the runner, where it names none): the token of the job pushes nothing, one of your own at the checkout (`token`, `ssh-key`) does";
const PLATFORM: &str = "it builds images of other platforms than those that machines here run or emulate (linux on amd64, 386, arm64, arm, ppc64le, riscv64, s390x), which fails";
const OWN_ADDRESS: &str = "it asks the forge at its own address (`github.server_url`): the token of a job counts at `github.api_url` only (`token_at_forge` of the runner), so that fails without a token of your own";
const PACKAGES: &str = "it sends packages or images to a registry, or signs in at one: the token of a job does not reach the forge's registries (`token_at_forge` of the runner), a token of your own as a secret does";
const PACKAGES_UNWRITTEN: &str = "it sends packages or images to a registry, or signs in at one: with the token of the job at the forge's own that only reads, since its `permissions` lack `packages: write` (`token_permissions` of the runner, where it names none)";
const ELSEWHERE: &str = "it makes pull requests in other repositories: the token of a job is of its own repository, so that fails without a token of your own";
const EMULATION: &str = "it builds images of other platforms: their programs are emulated, many times slower, and images that they build on come from a registry that the machine's network allows";

/// The notes of a job with these steps, and whether Gitea and Forgejo run it. Where they do and it
/// asks for its token, also what that does not reach: less where it counts at the forge's own
/// address.
pub(crate) fn script_notes(
    steps: &[PlannedStep],
    permissions: &Permissions,
    (is_of_forge, asks, at_forge): (bool, bool, bool),
) -> Vec<String> {
    let mut seen = ScriptUses::default();
    seen.steps(steps);
    let pushes = permissions.allows("contents", PermissionLevel::Write);
    let publishes = permissions.allows("packages", PermissionLevel::Write);
    let forge_token = is_of_forge && asks;
    let notes = [
        (seen.gh_apart, GH_ALONE),
        (seen.push && !seen.token && !pushes, PUSH),
        (seen.platform, PLATFORM),
        (seen.emulated, EMULATION),
        (seen.own_address && forge_token && !at_forge, OWN_ADDRESS),
        (seen.elsewhere && forge_token && at_forge, ELSEWHERE),
        (seen.packages && forge_token && !at_forge, PACKAGES),
        (
            seen.packages && forge_token && at_forge && !publishes,
            PACKAGES_UNWRITTEN,
        ),
    ];
    let notes = notes.into_iter().filter(|(is_so, _)| *is_so);
    notes.map(|(_, note)| note.to_owned()).collect()
}

/// Whether its scripts call GitHub's own client.
pub(crate) fn calls_gh(steps: &[PlannedStep]) -> bool {
    let mut seen = ScriptUses::default();
    seen.steps(steps);
    seen.gh
}

#[derive(Default)]
struct ScriptUses {
    gh: bool,
    /// For what its token does not reach.
    gh_apart: bool,
    push: bool,
    /// A checkout leaves credentials.
    token: bool,
    /// Platforms that nothing here runs, and those that are emulated.
    platform: bool,
    emulated: bool,
    /// The forge by its own address, and its registries.
    own_address: bool,
    packages: bool,
    /// Other repositories of it.
    elsewhere: bool,
}

impl ScriptUses {
    fn steps(&mut self, steps: &[PlannedStep]) {
        for step in steps {
            if let Some(uses) = step.work.uses() {
                self.own_address |= forge_address::is_of_forge(uses);
                self.packages |= forge_address::signs_in(uses);
                self.elsewhere |= forge_address::is_of_several(uses);
            }
            match &step.work {
                StepKind::Run { script, .. } => {
                    self.own_address |= forge_address::calls_api(&script.source, "");
                    self.packages |= forge_address::sends_packages(&script.source);
                    self.script(&script.source);
                }
                StepKind::Composite(action) => self.steps(&action.steps),
                StepKind::Native {
                    action: NativeAction::Checkout,
                    with,
                    ..
                } => {
                    let given = |(name, _): &(String, ExprTemplate)| {
                        let credentials = ["token", "ssh-key"];
                        credentials.iter().any(|one| name.eq_ignore_ascii_case(one))
                    };
                    self.token |= with.iter().any(given);
                }
                StepKind::Node(action) => {
                    let name = action.uses.split('@').next().unwrap_or_default();
                    if name.eq_ignore_ascii_case("docker/build-push-action") {
                        let inputs = action.inputs.iter();
                        let platforms = inputs.filter(|(name, _)| name == "platforms");
                        let values = platforms.filter_map(|(_, value)| value.as_ref()?.fixed());
                        for value in values {
                            self.platforms(&value.as_text());
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn script(&mut self, script: &str) {
        let lines = script.lines().map(str::trim_start);
        for line in lines.filter(|line| !line.starts_with('#')) {
            let apart = |c: char| c.is_whitespace() || ";|&(){}`\"'".contains(c);
            let words: Vec<&str> = line.split(apart).filter(|word| !word.is_empty()).collect();
            self.token |= has_own_token(line);
            let builds = words.contains(&"docker");
            for (at, word) in words.iter().enumerate() {
                let next = words.get(at + 1).copied().unwrap_or_default();
                match *word {
                    "gh" => {
                        self.gh_apart |= GH_APART.contains(&next);
                        self.gh |= GH_COMMANDS.contains(&next) || GH_APART.contains(&next);
                    }
                    "git" => self.push |= next == "push",
                    "--platform" if builds => self.platforms(next),
                    word if builds => {
                        if let Some(value) = word.strip_prefix("--platform=") {
                            self.platforms(value);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Platforms of a build; one that a variable names is not known.
    fn platforms(&mut self, names: &str) {
        for name in names.split([',', '\n']).map(str::trim) {
            let name = name.to_ascii_lowercase();
            let mut parts = name.split('/');
            let system = parts.next().unwrap_or_default();
            let processor = parts.next().unwrap_or(match system {
                "linux" | "local" | "" => "",
                processor => processor,
            });
            let is_linux = system == processor || matches!(system, "linux" | "local" | "");
            if name.contains('$') || is_linux && OWN.contains(&processor) {
                continue;
            }
            let is_emulated = is_linux && EMULATED.contains(&processor);
            self.emulated |= is_emulated;
            self.platform |= !is_emulated;
        }
    }
}

/// Whether a line has an address with a token in it that is not the job's.
fn has_own_token(line: &str) -> bool {
    let addresses = line.split("://").skip(1);
    let mut accounts = addresses.filter_map(|rest| {
        let rest = rest.split(['"', '\'']).next().unwrap_or(rest);
        let (account, _) = rest.split_once('@')?;
        Some(account.to_ascii_lowercase())
    });
    accounts.any(|account| {
        let own = [
            "github_token",
            "github.token",
            "gitea_token",
            "gitea.token",
            "forgejo_token",
            "forgejo.token",
            "forge_token",
        ];
        account.contains('$') && !own.iter().any(|own| account.contains(own))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(script: &str) -> Vec<&'static str> {
        let mut seen = ScriptUses::default();
        seen.script(script);
        let all = [
            (seen.gh, "gh"),
            (seen.gh_apart, "gh apart"),
            (seen.push && !seen.token, "push"),
            (seen.platform, "platform"),
            (seen.emulated, "emulated"),
        ];
        let all = all.into_iter().filter(|(is_so, _)| *is_so);
        all.map(|(_, name)| name).collect()
    }

    #[test]
    fn i17_what_scripts_ask_for_and_do_not_get_is_found() {
        for (script, expected) in [
            ("number=$(gh pr list --json number)", &["gh"][..]),
            ("if x; then `gh release create v1`; fi", &["gh"]),
            ("gh secret set A", &["gh", "gh apart"]),
            ("cd gh\napi\nnight pr\n# gh pr create", &[]),
            ("sudo apt install gh", &[]),
            ("git add . && git push origin HEAD", &["push"]),
            ("sudo git push", &["push"]),
            ("sudo -E git push; git lfs push origin main", &["push"]),
            ("git lfs push origin main", &[]),
            ("git pushd\nlegit push", &[]),
            (
                "git push \"https://x-access-token:${TAP_TOKEN}@code.example/a/b.git\" HEAD",
                &[],
            ),
            (
                "git remote set-url origin https://me:${{ secrets.PAT }}@code.example/a/b\ngit push",
                &[],
            ),
            (
                "git push https://x:${{ secrets.GITHUB_TOKEN }}@code.example/a/b",
                &["push"],
            ),
            ("docker build --platform linux/arm64 .", &["emulated"]),
            ("docker build --platform arm64 .", &["emulated"]),
            (
                "docker buildx build --platform=linux/amd64,linux/arm/v7 .",
                &["emulated"],
            ),
            (
                "docker build --platform linux/arm64,linux/mips64le .",
                &["platform", "emulated"],
            ),
            ("docker build --platform windows/amd64 .", &["platform"]),
            ("docker build --platform linux,linux/386 .", &[]),
            ("docker build --platform linux/amd64 .", &[]),
            ("docker build --platform $PLATFORM .", &[]),
            ("make --platform linux/arm64", &[]),
        ] {
            assert_eq!(notes(script), expected, "{script}");
        }
    }
}
