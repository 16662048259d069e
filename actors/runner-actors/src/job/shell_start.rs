//! What a shell in the VM of a failed job begins with: as the step that failed had it.

use std::collections::BTreeMap;

use runner_core::context::WORKSPACE;
use runner_core::mask::MaskedSecrets;

use super::frame::{ProcessStart, StepContainer};
use super::step_user::StepUser;
use crate::job_services::git_address;

/// The environment, directory and container of the process that failed the job.
#[derive(Debug, Default)]
pub(super) struct ShellStart {
    start: Option<ProcessStart>,
    settled: bool,
}

/// What a shell is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShellEnvironment {
    pub(crate) env: BTreeMap<String, String>,
    /// Names of variables that are left out: their values hold secrets.
    pub(crate) hidden: Vec<String>,
    /// Where it begins.
    pub(crate) cwd: String,
    /// The container that it begins in, where the job's steps do.
    pub(crate) container: Option<StepContainer>,
    /// Who it is, unless root or in the container.
    pub(crate) user: Option<StepUser>,
}

impl ShellStart {
    /// A process has failed; the job may go on all the same.
    pub(super) fn failed(&mut self, start: ProcessStart) {
        if !self.settled {
            self.start = Some(start);
        }
    }

    /// What has failed in a step beside.
    pub(super) fn take_over(&mut self, other: Self) {
        if let Some(start) = other.start {
            self.failed(start);
        }
    }

    /// The job has failed by what failed last.
    pub(super) fn settle(&mut self) {
        self.settled = true;
    }

    /// For a shell: without the variables whose values hold secrets, unless those are wanted.
    pub(super) fn environment(
        self,
        secrets: &MaskedSecrets,
        with_secrets: bool,
    ) -> ShellEnvironment {
        let holds_secret = |value: &str| secrets.mask(value) != value;
        let start = self.start.unwrap_or_else(|| ProcessStart {
            cwd: WORKSPACE.to_owned(),
            ..ProcessStart::default()
        });
        let mut env = start.env;
        // The job's token is none any more: git goes by its own settings again.
        let leads = |(name, value): (&String, &String)| {
            name.starts_with("GIT_CONFIG_KEY_") && value.contains(&git_address())
        };
        if env.iter().any(leads) {
            env.retain(|name, _| !name.starts_with("GIT_CONFIG_"));
        }
        let mut hidden = Vec::new();
        if !with_secrets {
            env.retain(|name, value| {
                let kept = !holds_secret(value);
                if !kept {
                    hidden.push(name.clone());
                }
                kept
            });
        }
        ShellEnvironment {
            env,
            hidden,
            cwd: start.cwd,
            container: start.container,
            user: start.user,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_shell_has_what_the_failed_step_had_but_for_secrets() {
        let mut secrets = MaskedSecrets::default();
        secrets.add("hunter2-hunter2").unwrap();
        let env = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            let pairs = pairs.iter();
            pairs
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let step = env(&[("CI", "true"), ("URL", "https://a:hunter2-hunter2@b")]);
        let at = |env: &BTreeMap<String, String>, cwd: &str| ProcessStart {
            env: env.clone(),
            cwd: cwd.to_owned(),
            ..ProcessStart::default()
        };
        let start = || {
            let mut start = ShellStart::default();
            start.failed(at(&env(&[("FORGIVEN", "1")]), "/"));
            start.failed(at(&step, "/workspace/web"));
            start.settle();
            start.failed(at(&env(&[("LATER", "1")]), "/tmp"));
            start
        };
        let shell = start().environment(&secrets, false);
        assert_eq!(shell.env, env(&[("CI", "true")]));
        assert_eq!(shell.hidden, ["URL"]);
        assert_eq!(shell.cwd, "/workspace/web");
        assert_eq!(start().environment(&secrets, true).env, step);
        let git = env(&[
            ("CI", "true"),
            ("GIT_CONFIG_COUNT", "1"),
            (
                "GIT_CONFIG_KEY_0",
                "url.http://127.0.0.1:3128/a/b.insteadOf",
            ),
            ("GIT_CONFIG_VALUE_0", "https://forge.example/a/b"),
        ]);
        let mut start = ShellStart::default();
        start.failed(at(&git, "/workspace"));
        let shell = start.environment(&secrets, true);
        assert_eq!(
            shell.env,
            env(&[("CI", "true")]),
            "the token is gone with the job"
        );
        let none = ShellStart::default().environment(&secrets, false);
        assert_eq!(none.cwd, "/workspace");
    }
}
