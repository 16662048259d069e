//! Making an image: Debian packages by mmdebstrap, an ext4 file system by `mke2fs -d`. No mount, no
//! container engine; as root directly, otherwise in a user namespace that mmdebstrap makes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use super::{Image, ImageError, ImageStore, Recipe, files, node, python, tool};
use crate::event::OnProgress;

/// Run by mmdebstrap outside the new system, whose root is `$1`: it still sees the files as owned
/// by whom they should be. `$OUT` is the disk to make. `/proc` and the like are mounted there
/// meanwhile, so what belongs to the system itself is copied first. What mmdebstrap keeps services
/// from starting by is still in it then, and would keep them from starting in the VM too; so are
/// the packages that were fetched, which nobody needs any more.
///
/// A quarter is added for the file system's own tables and for growth of small files; what a job
/// needs beyond comes from the disk being enlarged. Without a journal: such a disk is thrown away.
const MAKE_DISK: &str = r#"set -e
copy="$OUT.tree"
mkdir -p "$copy"
cp -a -x "$1/." "$copy"
rm -f "$copy/usr/sbin/policy-rc.d" "$copy"/tmp/mmdebstrap.apt.conf.*
rm -f "$copy"/var/cache/apt/archives/*.deb "$copy"/var/cache/apt/*.bin
if [ -e "$copy/sbin/start-stop-daemon.REAL" ]; then mv -f "$copy/sbin/start-stop-daemon.REAL" "$copy/sbin/start-stop-daemon"; fi
size=$(du -s --apparent-size --block-size=1K "$copy" | cut -f1)
mke2fs -q -F -t ext4 -O ^has_journal -m 0 -b 4096 -E root_owner=0:0,lazy_itable_init=1 -d "$copy" "$OUT" "$((size + size / 4 + 65536))k"
rm -rf "$copy"
"#;

/// Left out of a slim image.
const UNNEEDED: [&str; 4] = [
    "/usr/share/doc/*",
    "/usr/share/man/*",
    "/usr/share/locale/*",
    "/usr/share/info/*",
];

/// Folders of manuals, which are left out: packages with several programs of one name, such as
/// Java's, link these and those of their manuals, and fail without the folder.
const MANUALS: &str = "for at in 1 2 3 4 5 6 7 8; do mkdir -p \"$1/usr/share/man/man$at\"; done";

impl ImageStore {
    /// Makes an image by its recipe, and names it.
    ///
    /// # Errors
    /// [`ImageError`]; nothing is stored then.
    pub fn build(
        &self,
        recipe: &Recipe,
        progress: OnProgress<'_>,
    ) -> Result<Arc<Image>, ImageError> {
        let work = self.scratch()?;
        let root = rustix::process::geteuid().is_root();
        if !root {
            // The namespace's users must be able to write the disk.
            fs::set_permissions(&work.0, fs::Permissions::from_mode(0o777))
                .map_err(files("opening", &work.0))?;
        }
        let disk = work.0.join("disk");
        progress(&format!(
            "fetching {} packages and what they need",
            recipe.packages.len()
        ));
        let mut hooks = node::fetch(recipe, &work.0, progress)?;
        hooks.extend(python::fetch(recipe, &work.0, progress)?);
        let mut command = mmdebstrap(recipe, root, &disk, &hooks);
        match root {
            true => tool::run_apart(&command, &work.0)?,
            false => tool::run(&mut command)?,
        }
        progress("storing the image");
        let owned = work.0.join("owned");
        if root {
            fs::rename(&disk, &owned).map_err(files("moving", &disk))?;
        } else {
            fs::copy(&disk, &owned).map_err(files("copying", &disk))?;
        }
        self.adopt(
            &owned,
            &recipe.name,
            &format!(
                "built from {} with {}",
                recipe.suite,
                recipe.packages.join(", ")
            ),
        )
    }

    /// Makes an ext4 disk of a folder and stores it. As root owners are kept.
    pub(super) fn adopt_folder(
        &self,
        folder: &Path,
        name: &vm_core::ImageRef,
        origin: &str,
    ) -> Result<Arc<Image>, ImageError> {
        let work = self.scratch()?;
        let disk = work.0.join("disk");
        let mut command = Command::new("sh");
        tool::run(
            command
                .args(["-c", MAKE_DISK, "sh"])
                .arg(folder)
                .env("OUT", &disk),
        )?;
        self.adopt(&disk, name, origin)
    }
}

fn mmdebstrap(recipe: &Recipe, root: bool, disk: &Path, hooks: &[String]) -> Command {
    let mut command = base(recipe, root, hooks);
    command.env("OUT", disk).arg("--format=null");
    command.arg(format!("--customize-hook={MAKE_DISK}"));
    command.arg(&recipe.suite).arg("/dev/null");
    command.args(recipe.mirror.iter());
    command
}

/// The system of a recipe, without where it goes.
pub(super) fn base(recipe: &Recipe, root: bool, hooks: &[String]) -> Command {
    let mut command = Command::new("mmdebstrap");
    command.arg(if root {
        "--mode=root"
    } else {
        "--mode=unshare"
    });
    command.args(["--variant=minbase", "--quiet"]);
    if !recipe.packages.is_empty() {
        command.arg(format!("--include={}", recipe.packages.join(",")));
    }
    if recipe.slim {
        for path in UNNEEDED {
            command.arg(format!("--dpkgopt=path-exclude={path}"));
        }
        command.arg("--dpkgopt=path-include=/usr/share/doc/*/copyright");
        command.arg(format!("--essential-hook={MANUALS}"));
    }
    for line in &recipe.run {
        command.arg(format!(
            "--customize-hook=chroot \"$1\" sh -e -c {}",
            tool::quoted(line)
        ));
    }
    for hook in hooks {
        command.arg(format!("--customize-hook={hook}"));
    }
    // The host names would be the builder's; the agent sets its own.
    command.arg("--customize-hook=rm -f \"$1/etc/hostname\" \"$1/etc/resolv.conf\"; printf '127.0.0.1 localhost\\n::1 localhost ip6-localhost ip6-loopback\\n' > \"$1/etc/hosts\"; mkdir -p \"$1/workspace\" \"$1/opt/tools\"; chmod 777 \"$1/opt/tools\"");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kept_services_from_starting_meanwhile_is_not_in_the_image() {
        let tree = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("usr/sbin/policy-rc.d", "exit 101"),
            ("tmp/mmdebstrap.apt.conf.x", "of the builder"),
            ("sbin/start-stop-daemon", "a stand-in"),
            ("sbin/start-stop-daemon.REAL", "the program"),
            ("var/cache/apt/archives/x_1_all.deb", "a package"),
            ("var/cache/apt/pkgcache.bin", "a table of packages"),
        ] {
            let path = tree.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let (made, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        // In place of mke2fs: keeps what would be on the disk.
        let mke2fs = tools.path().join("mke2fs");
        fs::write(&mke2fs, "#!/bin/sh\ncp -a \"$OUT.tree\" \"$OUT\"\n").unwrap();
        fs::set_permissions(&mke2fs, fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap();
        let disk = made.path().join("disk");
        let mut command = Command::new("sh");
        command.args(["-c", MAKE_DISK, "sh"]).arg(tree.path());
        command.env("PATH", format!("{}:{path}", tools.path().display()));
        tool::run(command.env("OUT", &disk)).unwrap();
        assert!(!disk.join("usr/sbin/policy-rc.d").exists());
        assert!(!disk.join("tmp/mmdebstrap.apt.conf.x").exists());
        assert!(!disk.join("sbin/start-stop-daemon.REAL").exists());
        // A sixth of the image `full` was packages that it had installed.
        assert!(!disk.join("var/cache/apt/archives/x_1_all.deb").exists());
        assert!(!disk.join("var/cache/apt/pkgcache.bin").exists());
        assert!(disk.join("var/cache/apt/archives").is_dir());
        let program = fs::read_to_string(disk.join("sbin/start-stop-daemon")).unwrap();
        assert_eq!(program, "the program");
    }

    /// Java's packages link their manuals, and could not be installed.
    #[test]
    fn i17_a_slim_image_has_folders_for_links_to_manuals() {
        let slim = Recipe::default_image();
        assert!(slim.slim);
        let words = |recipe: &Recipe| {
            let command = base(recipe, true, &[]);
            let words = command.get_args().map(|word| word.to_string_lossy());
            words.map(String::from).collect::<Vec<_>>()
        };
        let hooks = |words: Vec<String>| -> Vec<String> {
            let hooks = words.iter();
            let hooks = hooks.filter_map(|word| word.strip_prefix("--essential-hook="));
            hooks.map(str::to_owned).collect()
        };
        let root = tempfile::tempdir().unwrap();
        let found = hooks(words(&slim));
        let mut command = Command::new("sh");
        command.args(["-e", "-c", &found[0], "sh"]).arg(root.path());
        tool::run(&mut command).unwrap();
        assert!(root.path().join("usr/share/man/man1").is_dir());
        let whole = Recipe {
            slim: false,
            ..slim
        };
        assert!(hooks(words(&whole)).is_empty());
    }

    #[test]
    fn a_command_of_a_recipe_stays_one_word() {
        assert_eq!(
            tool::quoted("echo 'a' \"$HOME\""),
            r#"'echo '\''a'\'' "$HOME"'"#
        );
        let recipe = Recipe {
            run: vec!["id; x".to_owned()],
            ..Recipe::default_image()
        };
        let command = mmdebstrap(&recipe, true, Path::new("/d"), &[]);
        let words: Vec<_> = command
            .get_args()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        assert!(
            words.contains(&"--customize-hook=chroot \"$1\" sh -e -c 'id; x'".to_owned()),
            "{words:?}"
        );
        assert!(words.contains(&"--include=git,bash,coreutils,python3,ca-certificates".to_owned()));
    }
}
