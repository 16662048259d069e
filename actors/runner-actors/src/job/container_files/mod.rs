//! The programs that carry out containers in a job's machine: they are put there when its
//! containers start.

/// The text of each file beside its name.
macro_rules! machine_files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../containers/machine/", $name)))),*]
    };
}

/// The files that carry out the engine's commands, by their names in the machine.
pub(in crate::job) const ENGINE: [(&str, &str); 22] = machine_files![
    "engine.sh",
    "docker.sh",
    "crun.sh",
    "iptables.sh",
    "podman.sh",
    "common.py",
    "keeper.py",
    "client.py",
    "build.py",
    "buildx.py",
    "bake.py",
    "bake_answers.py",
    "bake_files.py",
    "bake_functions.py",
    "hcl.py",
    "hcl_values.py",
    "platforms.py",
    "emulators.py",
    "imagetools.py",
    "dockerfile.py",
    "compose.py",
    "compose_names.py",
];

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_bake;
#[cfg(test)]
mod tests_of_bake_answers;
