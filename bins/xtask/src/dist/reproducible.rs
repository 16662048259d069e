//! Whether two builds of the same sources, in two places, give the same bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use super::programs::{PROGRAMS, host};
use super::{archive, source_date};
use crate::project::ProjectCheckout;
use crate::{shell, terminal};

/// What separates flags in `CARGO_ENCODED_RUSTFLAGS`.
const SEPARATOR: &str = "\u{1f}";

/// Has a build of cargo write neither the checkout's place nor that of the registry into programs.
///
/// # Errors
/// When no home of cargo is known.
pub(super) fn remap_paths(command: &mut Command, root: &Path) -> Result<()> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let home = home.context("neither CARGO_HOME nor HOME is set")?;
    let (root, home) = (root.display(), home.display());
    let flags = [
        format!("--remap-path-prefix={root}=/orrery"),
        format!("--remap-path-prefix={home}=/cargo"),
    ];
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join(SEPARATOR));
    let of_c = format!("-ffile-prefix-map={root}=/orrery -ffile-prefix-map={home}=/cargo");
    command.env("CFLAGS", &of_c).env("CXXFLAGS", &of_c);
    Ok(())
}

/// Builds the programs twice, from the commit that is checked out, in two folders whose names
/// differ in length, and compares their archives byte by byte.
///
/// # Errors
/// When a build fails; archives that differ are a failing exit code.
pub(super) fn check(
    project: &ProjectCheckout,
    programs: &[String],
    profile: &str,
) -> Result<ExitCode> {
    for program in programs {
        let known = PROGRAMS.contains(&program.as_str()) || program == "vm-guest";
        ensure!(known, "there is no program `{program}` in a release");
    }
    let epoch = source_date::epoch(&project.root)?;
    let place = project.target()?.join("reproducible");
    let mut sums: Vec<Vec<String>> = Vec::new();
    for name in ["one", "another-folder"] {
        let folder = place.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(folder.join("out"))?;
        let source = folder.join("source");
        checkout(&project.root, &source)?;
        let mut own = Vec::new();
        for program in programs {
            own.push(build(&source, &folder, program, profile, epoch)?);
        }
        sums.push(own);
    }
    let mut differ = 0;
    for ((program, first), second) in programs.iter().zip(&sums[0]).zip(&sums[1]) {
        let verdict = if first == second {
            "equal"
        } else {
            "DIFFERENT"
        };
        differ += u32::from(first != second);
        terminal::line(&format!("{program}: {verdict}: {first} {second}"));
    }
    Ok(if differ == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn checkout(root: &Path, place: &Path) -> Result<()> {
    fs::create_dir_all(place)?;
    let script = "git archive HEAD | tar -x -C \"$1\"";
    shell::run(
        shell::command("sh", root)
            .args(["-e", "-c", script, "sh"])
            .arg(place),
    )
}

/// Builds and packs one program; gives its archive's checksum.
fn build(source: &Path, folder: &Path, program: &str, profile: &str, epoch: u64) -> Result<String> {
    let target = folder.join("target");
    let guest = program == "vm-guest";
    let profile = if guest { "guest" } else { profile };
    let host = host()?;
    let arguments = [
        "build",
        "--locked",
        "--bin",
        program,
        "--profile",
        profile,
        "--target",
        &host,
    ];
    let mut command = shell::cargo(source, &arguments);
    command.env("CARGO_TARGET_DIR", &target);
    remap_paths(&mut command, source)?;
    if guest {
        let flags = command
            .get_envs()
            .find(|(name, _)| *name == "CARGO_ENCODED_RUSTFLAGS");
        let flags = flags
            .and_then(|(_, value)| value?.to_str())
            .unwrap_or_default()
            .to_owned();
        command.env(
            "CARGO_ENCODED_RUSTFLAGS",
            format!("{flags}{SEPARATOR}-Ctarget-feature=+crt-static"),
        );
    }
    shell::run(&mut command)?;
    let built = match profile {
        "dev" => "debug",
        other => other,
    };
    let archive = folder.join("out").join(format!("{program}.tar.gz"));
    archive::pack(&target.join(&host).join(built), &[program], &archive, epoch)?;
    let mut sum = shell::command("sha256sum", folder);
    let summed = shell::quiet(sum.arg(&archive))?;
    let sum = summed.out.split_whitespace().next().unwrap_or_default();
    ensure!(!sum.is_empty(), "sha256sum: {}", summed.err);
    Ok(sum.to_owned())
}
