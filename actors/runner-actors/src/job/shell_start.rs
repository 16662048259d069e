//! What a shell in the VM of a failed job begins with: as the step that failed had it.

use std::collections::BTreeMap;

use runner_core::context::WORKSPACE;
use runner_core::mask::Secrets;

/// The environment and the directory of the process that failed the job.
#[derive(Debug, Default)]
pub(super) struct ShellStart {
    env: BTreeMap<String, String>,
    cwd: Option<String>,
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
}

impl ShellStart {
    /// A process has failed; the job may go on all the same.
    pub(super) fn failed(&mut self, env: &BTreeMap<String, String>, cwd: &str) {
        if !self.settled {
            self.env.clone_from(env);
            self.cwd = Some(cwd.to_owned());
        }
    }

    /// The job has failed by what failed last.
    pub(super) fn settle(&mut self) {
        self.settled = true;
    }

    /// For a shell: without the variables whose values hold secrets, unless those are wanted.
    pub(super) fn environment(self, secrets: &Secrets, with_secrets: bool) -> ShellEnvironment {
        let holds_secret = |value: &str| secrets.mask(value) != value;
        let mut env = self.env;
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
            cwd: self.cwd.unwrap_or_else(|| WORKSPACE.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_shell_has_what_the_failed_step_had_but_for_secrets() {
        let mut secrets = Secrets::default();
        secrets.add("hunter2-hunter2").unwrap();
        let env = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            let pairs = pairs.iter();
            pairs
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let step = env(&[("CI", "true"), ("URL", "https://a:hunter2-hunter2@b")]);
        let start = || {
            let mut start = ShellStart::default();
            start.failed(&env(&[("FORGIVEN", "1")]), "/");
            start.failed(&step, "/workspace/web");
            start.settle();
            start.failed(&env(&[("LATER", "1")]), "/tmp");
            start
        };
        let shell = start().environment(&secrets, false);
        assert_eq!(shell.env, env(&[("CI", "true")]));
        assert_eq!(shell.hidden, ["URL"]);
        assert_eq!(shell.cwd, "/workspace/web");
        assert_eq!(start().environment(&secrets, true).env, step);
        let none = ShellStart::default().environment(&secrets, false);
        assert_eq!(none.cwd, "/workspace");
    }
}
