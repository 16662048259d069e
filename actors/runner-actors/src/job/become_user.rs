//! Steps that are a user of the image: who that is, and what root has put there for them.

use std::path::Path;

use runner_core::context::WORKSPACE;
use runner_core::state::StepEnd;

use super::execute::ProcessExit;
use super::step_runner::StepRunner;
use super::step_user::StepUser;

/// Looks a user up: `$1`. Prints its numbers and its home folder. Where `$3` is another folder than
/// `$2`, that becomes a link to it.
const LOOK_UP: &str = r#"
uid=$(id -u "$1" 2> /dev/null) && gid=$(id -g "$1") || exit 3
command -v setpriv > /dev/null || exit 4
home=$(getent passwd "$1" 2> /dev/null | cut -d: -f6)
[ -n "$home" ] || home=$(sed -n "s/^$1:[^:]*:[^:]*:[^:]*:[^:]*:\([^:]*\):.*/\1/p" /etc/passwd)
if [ "$2" != "$3" ] && [ ! -L "$2" ]; then
  mkdir -p "$3" || exit 5
  { rmdir "$2" 2> /dev/null || { cp -a "$2/." "$3" && rm -rf "$2"; }; } && ln -s "$3" "$2" || exit 5
fi
for pair in "uid=$uid" "gid=$gid" "home=${home:-/}"; do
  printf '::set-output name=%s::%s\n' "${pair%%=*}" "${pair#*=}"
done
"#;
/// Gives what root has put into the user's folders to the user: `$1:$2`, then the folders.
const GIVE: &str = r#"
user=$1 group=$2; shift 2
for folder in "$@"; do
  [ -d "$folder" ] && find "$folder" -xdev -user 0 -exec chown -h "$user:$group" {} +
done
exit 0
"#;

impl StepRunner<'_> {
    /// Looks the machine's user up, if it names one, before its first step.
    ///
    /// # Errors
    /// Why the job cannot have it.
    pub(super) async fn become_user(&mut self) -> Result<(), String> {
        let Some(name) = self.request.placement.machine.user.as_deref() else {
            return Ok(());
        };
        if name == "root" {
            return Ok(());
        }
        let workspace = self.folders.workspace.as_str();
        let argv = ["sh", "-c", LOOK_UP, "sh", name, WORKSPACE, workspace];
        let exit = self.command(argv.map(str::to_owned).to_vec()).await;
        let found = StepUser::from_outputs(name, &exit.commands.outputs);
        let user = match (exit.end, found) {
            (StepEnd::Exited(0), Some(user)) => user,
            (StepEnd::Exited(4), _) => {
                return Err("the machine's image has no setpriv (Debian's util-linux), which `user` of the machine needs".to_owned());
            }
            (StepEnd::Exited(5), _) => {
                return Err(format!(
                    "`{WORKSPACE}` of the machine cannot be a link to the checkout; see above"
                ));
            }
            (StepEnd::Exited(_), _) => {
                return Err(format!(
                    "the machine's image has no user `{name}` (`user` of the machine): `full` has `runner`"
                ));
            }
            _ => return Err(exit.reason.unwrap_or_default()),
        };
        self.machine.user.set(user);
        Ok(())
    }

    /// A step's own command begins: what was put there for it is the user's.
    pub(super) async fn chown_to_user(&mut self) -> Result<(), ProcessExit> {
        let machine = self.machine;
        let Some(user) = machine.user.get() else {
            return Ok(());
        };
        if !machine.user.take_foreign() {
            return Ok(());
        }
        let [uid, gid, home] = user.place();
        let mut argv = vec!["sh", "-c", GIVE, "sh", uid, gid, home];
        // A link to a folder is not that folder, and what is below the home folder goes with it.
        let work = match self.folders.is_hosted() {
            true => &self.folders.around,
            false => WORKSPACE,
        };
        argv.extend(Some(work).filter(|work| !Path::new(work).starts_with(home)));
        let argv = argv.into_iter().map(str::to_owned).collect();
        let exit = self.command(argv).await;
        match exit.end {
            StepEnd::Exited(0) => Ok(()),
            _ => Err(exit),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn i17_the_workspace_becomes_a_link_to_the_checkout() {
        let root = tempfile::tempdir().unwrap();
        for (name, before) in [("new", None), ("kept", Some("own/file"))] {
            let (work, to) = (root.path().join(name), root.path().join("work").join(name));
            std::fs::create_dir_all(work.join(before.map_or("", |_| "own"))).unwrap();
            if let Some(file) = before {
                std::fs::write(work.join(file), "kept").unwrap();
            }
            // Again: it is a link already.
            for _ in 0..2 {
                let mut look_up = Command::new("sh");
                look_up.args(["-c", LOOK_UP, "sh", "root"]);
                let output = look_up.args([&work, &to]).output().unwrap();
                let said = String::from_utf8_lossy(&output.stdout);
                assert!(said.contains("name=home::/root"), "{name}: {output:?}");
            }
            assert_eq!(std::fs::read_link(&work).unwrap(), to);
            let file = before.map(|file| std::fs::read_to_string(to.join(file)).unwrap());
            assert_eq!(file.as_deref(), before.map(|_| "kept"));
        }
    }
}
