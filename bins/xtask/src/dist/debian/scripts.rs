//! Users, folders and maintainer scripts of a service's package, as small as debhelper's.

use std::fmt::Write as _;

use super::description::Description;

/// What systemd-sysusers makes: the service's user, and the group that may use KVM where the unit
/// names it.
pub(super) fn sysusers(package: &Description, unit: &str) -> Option<String> {
    let (user, state) = (package.user.as_ref()?, package.state.as_ref()?);
    let mut text = format!(
        "u {user} - \"{}\" /var/lib/{state} /usr/sbin/nologin\n",
        package.summary
    );
    if unit.lines().any(|line| line == "SupplementaryGroups=kvm") {
        // The unit does not start without the group, and without udev nobody else makes it.
        text += "g kvm -\n";
    }
    Some(text)
}

/// What systemd-tmpfiles makes: the settings' folder, the service's own, and in it the first role
/// file, which the server itself saves later on.
pub(super) fn tmpfiles(package: &Description) -> Option<String> {
    let (user, state) = (package.user.as_ref()?, package.state.as_ref()?);
    let mut text =
        format!("d /etc/orrery 0755 root root -\nd /var/lib/{state} 0700 {user} {user} -\n");
    for (_, place) in &package.files {
        let _ = writeln!(
            text,
            "C /var/lib/{state}/roles.json 0600 {user} {user} - /{place}"
        );
    }
    for (_, place) in &package.configuration {
        // Settings may hold secrets. That their user could write them is prevented by the unit.
        let _ = writeln!(text, "z /{place} 0600 {user} {user} -");
    }
    Some(text)
}

/// `postinst`: users and folders, then the service. An upgrade restarts one that runs, when the new
/// program takes the settings; otherwise the old one goes on, and that is said.
pub(super) fn after_install(package: &Description) -> Option<String> {
    let (unit, check) = (package.unit.as_ref()?, package.check.as_ref()?);
    let user = package.user.as_ref()?;
    let name = &package.name;
    let first = if package.starts {
        format!(
            "    deb-systemd-helper unmask {unit}.service >/dev/null || true
    if deb-systemd-helper --quiet was-enabled {unit}.service; then
        deb-systemd-helper enable {unit}.service >/dev/null || true
    fi
    deb-systemd-helper update-state {unit}.service >/dev/null || true
"
        )
    } else {
        format!("    deb-systemd-helper update-state {unit}.service >/dev/null || true\n")
    };
    let start = if package.starts {
        format!("        deb-systemd-invoke start {unit}.service >/dev/null || true\n")
    } else {
        format!(
            "        echo \"{name} is installed; when its settings are yours: systemctl enable --now {unit}\"\n"
        )
    };
    Some(format!(
        "#!/bin/sh
set -e

if [ \"$1\" = configure ]; then
    systemd-sysusers {name}.conf
    systemd-tmpfiles --create {name}.conf || true
{first}fi

if [ \"$1\" = configure ] && [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
    if ! systemctl --quiet is-active {unit}.service; then
{start}    elif {unit_check}; then
        deb-systemd-invoke restart {unit}.service >/dev/null || true
    else
        echo \"{name}: the new version refuses the settings, so the former one goes on; what is wrong:\" >&2
        echo \"  sudo -u {user} {check}; then: systemctl restart {unit}\" >&2
    fi
fi
",
        unit_check = format_args!("/usr/lib/orrery/would-start {unit}"),
    ))
}

/// `prerm`: a service whose package goes is stopped.
pub(super) fn before_removal(package: &Description) -> Option<String> {
    let unit = package.unit.as_ref()?;
    Some(format!(
        "#!/bin/sh
set -e

if [ \"$1\" = remove ] && [ -d /run/systemd/system ]; then
    deb-systemd-invoke stop {unit}.service >/dev/null || true
fi
"
    ))
}

/// `postrm`: what the scripts above left. Data stay, even with `purge`: they may be the only copy.
pub(super) fn after_removal(package: &Description) -> Option<String> {
    let (unit, state) = (package.unit.as_ref()?, package.state.as_ref()?);
    let name = &package.name;
    Some(format!(
        "#!/bin/sh
set -e

if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
fi
if [ \"$1\" = purge ]; then
    if command -v deb-systemd-helper >/dev/null; then
        deb-systemd-helper purge {unit}.service >/dev/null || true
    fi
    rmdir --ignore-fail-on-non-empty /etc/orrery/orchestrator /etc/orrery 2>/dev/null || true
fi
if [ \"$1\" = purge ] && [ -d /var/lib/{state} ]; then
    echo \"{name}: its data are kept in /var/lib/{state}; remove them when nobody wants them\"
fi
"
    ))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::description::Descriptions;
    use super::*;

    #[test]
    fn scripts_are_posix_and_say_nothing_of_other_packages() {
        let root = std::path::absolute("../..").expect("a folder to work in");
        let all = Descriptions::read(&root).expect("the descriptions can be read");
        for package in all.package.iter().filter(|package| package.unit.is_some()) {
            for script in [after_install, before_removal, after_removal] {
                let text = script(package).expect("a service has scripts");
                let checked = Command::new("sh").args(["-n", "-c", &text]).output();
                let checked = checked.expect("sh runs");
                assert!(checked.status.success(), "{text}");
            }
            let text = tmpfiles(package).expect("a service has folders");
            let state = package.state.as_ref().expect("and one for its state");
            assert!(
                text.contains(&format!("d /var/lib/{state} 0700 ")),
                "{text}"
            );
        }
    }

    #[test]
    fn what_needs_kvm_gets_its_group() {
        let root = std::path::absolute("../..").expect("a folder to work in");
        let all = Descriptions::read(&root).expect("the descriptions can be read");
        let package = &all.package[2];
        let with = sysusers(package, "User=x\nSupplementaryGroups=kvm\n").expect("it has a user");
        assert!(with.ends_with("g kvm -\n"), "{with}");
        let without = sysusers(package, "User=x\n").expect("it has a user");
        assert!(!without.contains("kvm"), "{without}");
    }
}
