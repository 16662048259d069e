//! Who the steps of a job are in its machine: root, or a user of the image (`user` of a machine).

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A user of the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepUser {
    name: String,
    uid: String,
    gid: String,
    home: String,
}

/// The user of a machine's steps.
#[derive(Debug, Default)]
pub(super) struct MachineUser {
    known: OnceLock<StepUser>,
    /// Files were put there as root since the last step.
    has_foreign: AtomicBool,
}

impl StepUser {
    /// Of what a machine has said of it: `uid`, `gid`, `home`.
    pub(super) fn from_outputs(name: &str, outputs: &[(String, String)]) -> Option<Self> {
        let value = |wanted: &str| {
            let mut named = outputs.iter().filter(|(name, _)| name == wanted);
            named.next().map(|(_, value)| value.clone())
        };
        Some(Self {
            name: name.to_owned(),
            uid: value("uid")?,
            gid: value("gid")?,
            home: value("home")?,
        })
    }

    /// A command as this user.
    pub(crate) fn command(&self, argv: Vec<String>) -> Vec<String> {
        let words = ["setpriv", "--reuid", &self.uid, "--regid", &self.gid];
        let words = words.into_iter().chain(["--init-groups", "--"]);
        words.map(str::to_owned).chain(argv).collect()
    }

    /// Variables that say who it is, where nothing else does.
    pub(crate) fn add_to(&self, env: &mut BTreeMap<String, String>) {
        let pairs = [
            ("HOME", &self.home),
            ("USER", &self.name),
            ("LOGNAME", &self.name),
        ];
        for (name, value) in pairs {
            env.entry(name.to_owned()).or_insert_with(|| value.clone());
        }
    }
}

impl StepUser {
    /// Its numbers and its home folder.
    pub(super) fn place(&self) -> [&str; 3] {
        [&self.uid, &self.gid, &self.home]
    }

    /// The same for commands of the runner, which are root: they find the user's folder, and git
    /// in it works with repositories of the user.
    pub(super) fn add_to_root(&self, env: &mut BTreeMap<String, String>) {
        env.entry("HOME".to_owned())
            .or_insert_with(|| self.home.clone());
        if !env.contains_key("GIT_CONFIG_COUNT") {
            for (name, value) in [
                ("GIT_CONFIG_COUNT", "1"),
                ("GIT_CONFIG_KEY_0", "safe.directory"),
                ("GIT_CONFIG_VALUE_0", "*"),
            ] {
                env.insert(name.to_owned(), value.to_owned());
            }
        }
    }
}

impl MachineUser {
    /// Has its steps be this user from now on.
    pub(super) fn set(&self, user: StepUser) {
        // Nobody else sets it.
        let _ = self.known.set(user);
        self.record_root_files();
    }

    /// Whether files were put there as root since this was last asked.
    pub(super) fn take_foreign(&self) -> bool {
        self.has_foreign.swap(false, Ordering::Relaxed)
    }

    /// Who it is, unless root.
    pub(super) fn get(&self) -> Option<&StepUser> {
        self.known.get()
    }

    /// Files were put there as root.
    pub(super) fn record_root_files(&self) {
        self.has_foreign.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_step_is_the_user_of_its_machine() {
        let outputs = [("uid", "1001"), ("gid", "1002"), ("home", "/home/runner")];
        let outputs = outputs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let user = StepUser::from_outputs("runner", &outputs).unwrap();
        let argv = user.command(vec!["bash".to_owned(), "-c".to_owned()]);
        assert_eq!(
            argv.join(" "),
            "setpriv --reuid 1001 --regid 1002 --init-groups -- bash -c"
        );
        let mut env = BTreeMap::from([("USER".to_owned(), "own".to_owned())]);
        user.add_to(&mut env);
        assert_eq!(env["HOME"], "/home/runner");
        assert_eq!((&*env["USER"], &*env["LOGNAME"]), ("own", "runner"));
        assert_eq!(StepUser::from_outputs("runner", &outputs[..2]), None);
    }
}
