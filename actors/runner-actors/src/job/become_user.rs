//! Steps that are a user of the image: who that is, and what root has put there for them.

use runner_core::context::WORKSPACE;
use runner_core::state::StepEnd;

use super::execute::ProcessExit;
use super::step_runner::StepRunner;
use super::step_user::StepUser;

/// Looks a user up: `$1`. Prints its numbers and its home folder.
const LOOK_UP: &str = r#"
uid=$(id -u "$1" 2> /dev/null) && gid=$(id -g "$1") || exit 3
command -v setpriv > /dev/null || exit 4
home=$(getent passwd "$1" 2> /dev/null | cut -d: -f6)
[ -n "$home" ] || home=$(sed -n "s/^$1:[^:]*:[^:]*:[^:]*:[^:]*:\([^:]*\):.*/\1/p" /etc/passwd)
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
        let Some(name) = self.request.machine.user.as_deref() else {
            return Ok(());
        };
        if name == "root" {
            return Ok(());
        }
        let argv = ["sh", "-c", LOOK_UP, "sh", name].map(str::to_owned);
        let exit = self.command(argv.to_vec()).await;
        let found = StepUser::of(name, &exit.commands.outputs);
        let user = match (exit.end, found) {
            (StepEnd::Exited(0), Some(user)) => user,
            (StepEnd::Exited(4), _) => {
                return Err("the machine's image has no setpriv (Debian's util-linux), which `user` of the machine needs".to_owned());
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
    pub(super) async fn give_to_user(&mut self) -> Result<(), ProcessExit> {
        let machine = self.machine;
        let Some(user) = machine.user.get() else {
            return Ok(());
        };
        if !machine.user.take_foreign() {
            return Ok(());
        }
        let [uid, gid, home] = user.place();
        let argv = ["sh", "-c", GIVE, "sh", uid, gid, WORKSPACE, home];
        let exit = self.command(argv.map(str::to_owned).to_vec()).await;
        match exit.end {
            StepEnd::Exited(0) => Ok(()),
            _ => Err(exit),
        }
    }
}
