//! What can be seen without a VM.

use std::os::unix::fs::PermissionsExt as _;

use vm_core::UnixMs;
use vm_core::token::{TokenKey, TokenScope};

use scripted_peers::Program;

use crate::manager::{program, text};

#[test]
fn it_says_its_version_and_what_is_wrong_with_its_settings() {
    let home = tempfile::tempdir().unwrap();
    let version = program(home.path()).arg("--version").output().unwrap();
    assert!(
        text(&version).starts_with("vm-manager 0."),
        "{}",
        text(&version)
    );
    let file = home.path().join("vm-manager.toml");
    std::fs::write(&file, "[capacity]\nvmss = 3\n").unwrap();
    let check = |arguments: &[&str]| {
        let output = program(home.path()).args(arguments).output().unwrap();
        (output.status.code(), text(&output))
    };
    let path = file.to_str().unwrap();
    let agent = home.path().join("vm-guest");
    executable(&agent, STATIC);
    let agent = agent.to_str().unwrap();
    let (code, said) = check(&["--config", path, "--check"]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("vm-manager.toml:2:1: unknown key `vmss`"),
        "{said}"
    );
    assert!(said.contains("did you mean `vms`?"), "{said}");
    let qemu = home.path().join("qemu");
    executable(&qemu, b"#!/bin/false\n");
    std::fs::write(&file, "[capacity]\nvms = 3\n[qemu]\nprogram = \"./qemu\"\n").unwrap();
    let (code, said) = check(&["--config", path, "--agent", agent, "--check"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("qemu on 127.0.0.1:0"), "{said}");
    assert!(
        !home.path().join("data").exists(),
        "a check changes nothing"
    );
    assert_eq!(check(&["--config", "missing.toml", "--check"]).0, Some(1));
    assert_eq!(check(&["--listen", "here", "--check"]).0, Some(1));
    assert_eq!(check(&["--no-such-flag"]).0, Some(2));
}

/// The beginning of an ELF program without program headers: no loader is asked for.
pub(crate) const STATIC: &[u8; 64] = &{
    let mut bytes = [0; 64];
    (bytes[0], bytes[1], bytes[2], bytes[3]) = (0x7f, b'E', b'L', b'F');
    bytes
};

pub(crate) fn executable(path: &std::path::Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("it can be written");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).expect("it is ours");
}

#[test]
fn a_check_says_what_is_missing_and_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("vm-manager.toml");
    let check = |settings: &str| {
        std::fs::write(&file, settings).unwrap();
        let mut command = program(home.path());
        command.env("PATH", "").arg("--config").arg(&file);
        let output = command.arg("--check").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{settings}");
        text(&output)
    };
    let said = check("agent = \"absent\"\n");
    let agent = home.path().join("absent").display().to_string();
    for part in [
        "qemu.program: there is no program qemu-system-x86_64",
        "install Debian's qemu-system-x86",
        &format!("agent: there is no program {agent}"),
        "install vm-guest beside this program",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    std::fs::write(home.path().join("plain"), STATIC).unwrap();
    let said =
        check("agent = \"plain\"\ndriver = \"firecracker\"\n[firecracker]\nprogram = \"bin/fc\"\n");
    assert!(said.contains("bin/fc") && said.contains("/plain"), "{said}");
    executable(&home.path().join("script"), b"#!/bin/sh\n");
    let said = check("agent = \"script\"\n");
    assert!(said.contains("is not a static program"), "{said}");
    let said = check("driver = \"namespace-sandbox\"\n");
    assert!(said.contains("install Debian's bubblewrap"), "{said}");
    assert!(
        !home.path().join("data").exists(),
        "a check changes nothing"
    );
}

#[test]
fn a_pool_that_does_not_fit_into_the_capacity_is_refused_with_both_numbers() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("vm-manager.toml");
    for (settings, part) in [
        (
            "[capacity]\nvms = 3\n[pool]\nclones = 2\nwarm = [{}, {memory = \"512MiB\"}]\n",
            "4 VMs would wait (2 in pool.warm, each pool.clones = 2 times), but capacity.vms is 3",
        ),
        (
            "[pool]\nclones = 3\nwarm = [{vcpus = 2}]\n",
            "VMs with 6 processors would wait (1 in pool.warm, each pool.clones = 3 times), but capacity.vcpus is 4",
        ),
        (
            "[pool]\nwarm = [{memory = \"2GiB\"}]\n",
            "VMs with 4096 MiB memory would wait (1 in pool.warm, each pool.clones = 2 times), but capacity.memory is 2048 MiB",
        ),
    ] {
        std::fs::write(&file, settings).unwrap();
        let mut command = program(home.path());
        let output = command.arg("--config").arg(&file).arg("--check").output();
        let output = output.unwrap();
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn t5_what_is_held_for_all_guests_is_a_setting_with_a_least_value() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("vm-manager.toml");
    for (size, part) in [("4MiB", "must be at least `16MiB`"), ("many", "3:11")] {
        std::fs::write(
            &file,
            format!("[capacity]\nvms = 3\nbuffers = \"{size}\"\n"),
        )
        .unwrap();
        let mut command = program(home.path());
        let output = command.arg("--config").arg(&file).arg("--check").output();
        let said = text(&output.unwrap());
        assert!(
            said.contains(part) && said.contains("vm-manager.toml:3:"),
            "{said}"
        );
    }
}

#[test]
fn tokens_are_made_with_a_key_that_only_its_owner_reads() {
    let home = tempfile::tempdir().unwrap();
    let token = |arguments: &[&str]| {
        let mut command = program(home.path());
        command.arg("token").args(arguments);
        command.output().unwrap()
    };
    let output = token(&["--subject", "ci", "--scope", "admin", "--lifetime", "1h"]);
    assert!(output.status.success(), "{}", text(&output));
    let path = home.path().join("data/token.key");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let key = TokenKey::new(&std::fs::read(&path).unwrap()).unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let claims = key
        .verify(printed.trim(), TokenScope::Admin, vm_actors::wall())
        .unwrap();
    assert_eq!((claims.sub.as_str(), claims.exp - claims.iat), ("ci", 3600));
    let said = String::from_utf8(output.stderr).unwrap();
    let end = UnixMs(claims.exp * 1000);
    assert!(said.contains(&format!("the token ends {end}")), "{said}");
    assert_eq!(token(&["--lifetime", "soon"]).status.code(), Some(2));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = token(&[]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused).contains("chmod 600"), "{}", text(&refused));
}

#[test]
fn a_second_manager_on_the_same_folder_is_refused_and_what_is_missing_is_said() {
    let home = tempfile::tempdir().unwrap();
    let agent = home.path().join("vm-guest");
    std::fs::write(&agent, "no program").unwrap();
    let programs = home.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let command = || {
        let mut command = program(home.path());
        // Without programs there are neither images nor VMs; the manager says so and answers.
        command.env("PATH", &programs).arg("--agent").arg(&agent);
        command
    };
    let mut without = Program::start(command());
    let failed = without.wait_for("vm.prepare_failed");
    assert!(failed.contains("install Debian's qemu"), "{failed}");
    assert_eq!(without.end().0, Some(0));
    let qemu = programs.join("qemu-system-x86_64");
    std::os::unix::fs::symlink("/bin/true", qemu).unwrap();
    let mut first = Program::start(command());
    let failed = first.wait_for("vm.prepare_failed");
    assert!(failed.contains("mmdebstrap"), "{failed}");
    let second = command().output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second).contains("vm-manager"), "{}", text(&second));
    let (code, log) = first.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("server.stopped"), "{log}");
}
