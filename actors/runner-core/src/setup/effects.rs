//! What a release of a tool is to later steps: variables and outputs, as the tool's own action
//! gives them.

use super::installed::InstalledTool;

/// What later steps find.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SetupEffects {
    /// Variables of the job.
    pub env: Vec<(String, String)>,
    /// Variables that are set where the job has none of the name.
    pub defaults: Vec<(&'static str, &'static str)>,
    /// Outputs of the step.
    pub outputs: Vec<(String, String)>,
    /// A folder of libraries that programs need.
    pub library_folder: Option<String>,
}

/// What a step asked for beside the version.
#[derive(Debug, Default, Clone, Copy)]
pub struct SetupWishes<'a> {
    /// The input `distribution` of Java.
    pub distribution: &'a str,
    /// The version as it is written.
    pub version: &'a str,
    /// `X64` or `ARM64`.
    pub arch: &'a str,
}

/// Variables and outputs of a chosen release.
#[must_use]
pub fn effects(command: &str, tool: &InstalledTool, wishes: SetupWishes<'_>) -> SetupEffects {
    let (version, prefix) = (tool.version(), tool.prefix());
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    };
    let (env, defaults, outputs): (_, &[_], _) = match command {
        "node" => (vec![], &[], pairs(&[("node-version", &tool.says)])),
        "python3" => (
            python(prefix),
            // Debian's pip wants to be told that this is no system to be kept.
            &[("PIP_BREAK_SYSTEM_PACKAGES", "1")],
            pairs(&[
                ("python-version", &tool.python_version()),
                ("python-path", &tool.path),
            ]),
        ),
        "go" => {
            let version = version.trim_start_matches("go");
            (
                // The chosen release does not fetch another one for a `go.mod` that wants it.
                pairs(&[("GOTOOLCHAIN", "local")]),
                &[],
                pairs(&[("go-version", version), ("go-path", &tool.path)]),
            )
        }
        "java" => {
            // Java 8 calls itself 1.8.0_392.
            let version = match version.strip_prefix("1.") {
                Some(old) => old.replace('_', "."),
                None => version,
            };
            let major = version.split('.').next().unwrap_or_default();
            let of_major = format!("JAVA_HOME_{major}_{}", wishes.arch);
            let outputs = [
                ("distribution", installer_name(wishes.distribution)),
                ("version", &version),
                ("path", prefix),
            ];
            let env = [("JAVA_HOME", prefix), (&of_major, prefix)];
            (pairs(&env), &[], pairs(&outputs))
        }
        "dotnet" => (
            pairs(&[("DOTNET_ROOT", prefix)]),
            &[("DOTNET_NOLOGO", "1"), ("DOTNET_CLI_TELEMETRY_OPTOUT", "1")],
            pairs(&[("dotnet-version", &version)]),
        ),
        "rustc" => (
            vec![],
            &[("CARGO_INCREMENTAL", "0"), ("CARGO_TERM_COLOR", "always")],
            rust(tool, wishes.version),
        ),
        "deno" => {
            let is_canary = version.contains('+');
            let channel = if is_canary { "canary" } else { "stable" };
            let outputs = [("deno-version", &*version), ("release-channel", channel)];
            (vec![], &[], pairs(&outputs))
        }
        "bun" => (
            vec![],
            &[],
            pairs(&[
                ("bun-version", &version),
                ("bun-path", &tool.path),
                ("bun-download-url", ""),
                ("cache-hit", "false"),
            ]),
        ),
        _ => Default::default(),
    };
    let mut defaults = defaults.to_vec();
    if command == "rustc" {
        defaults.extend(of_old_cargo(&tool.version()));
    }
    let is_apart = command == "python3" && prefix != "/usr" && !tool.is_pypy();
    SetupEffects {
        env,
        defaults,
        outputs,
        library_folder: is_apart.then(|| format!("{prefix}/lib")),
    }
}

/// What the action calls a distribution in its output.
fn installer_name(distribution: &str) -> &str {
    const NAMES: [(&str, &str); 10] = [
        ("temurin", "Temurin-Hotspot"),
        ("zulu", "Zulu"),
        ("corretto", "Corretto"),
        ("liberica", "Liberica"),
        ("microsoft", "Microsoft"),
        ("oracle", "Oracle"),
        ("semeru", "IBM_Semeru"),
        ("dragonwell", "Dragonwell"),
        ("sapmachine", "SapMachine"),
        ("jetbrains", "JetBrains"),
    ];
    let known = NAMES.iter().find(|(name, _)| *name == distribution);
    known.map_or(distribution, |(_, name)| *name)
}

/// A folder before those that a variable of the kind of `PATH` has already.
#[must_use]
pub fn prepended(folder: &str, known: &str) -> String {
    let is_there = known.split(':').any(|one| one == folder);
    match known {
        "" => folder.to_owned(),
        known if is_there => known.to_owned(),
        known => format!("{folder}:{known}"),
    }
}

/// Where the release is, by the names that build tools look for.
fn python(prefix: &str) -> Vec<(String, String)> {
    let names = [
        "pythonLocation",
        "Python_ROOT_DIR",
        "Python2_ROOT_DIR",
        "Python3_ROOT_DIR",
    ];
    let mut env: Vec<_> = names
        .map(|name| (name.to_owned(), prefix.to_owned()))
        .to_vec();
    if prefix != "/usr" {
        env.push((
            "PKG_CONFIG_PATH".to_owned(),
            format!("{prefix}/lib/pkgconfig"),
        ));
    }
    env
}

/// How releases of Cargo reach the index of crates.io that have it otherwise than later ones:
/// sparse since 1.68, by itself since 1.70, with a fault of its HTTP/2 in 1.70 and 1.71.
fn of_old_cargo(version: &str) -> Option<(&'static str, &'static str)> {
    let minor = version.strip_prefix("1.")?.split('.').next()?;
    match minor {
        "66" | "67" => Some(("CARGO_REGISTRIES_CRATES_IO_PROTOCOL", "git")),
        "68" | "69" => Some(("CARGO_REGISTRIES_CRATES_IO_PROTOCOL", "sparse")),
        "70" | "71" => Some(("CARGO_HTTP_MULTIPLEXING", "false")),
        _ => None,
    }
}

/// The toolchain's name, and a key that changes with the compiler: `rustc 1.75.0 (82e1608df
/// 2023-12-21)` is `2023122182e1`, its date and the beginning of its commit.
fn rust(tool: &InstalledTool, version: &str) -> Vec<(String, String)> {
    let built = tool.says.split_once('(').map(|(_, built)| built);
    let built = built.and_then(|built| built.split(')').next()?.split_once(' '));
    let key = match built {
        Some((commit, date)) => {
            let key = format!("{}{commit}", date.replace('-', ""));
            key.chars().take(12).collect()
        }
        None => tool.version(),
    };
    let own = tool.version();
    let line: Vec<&str> = own.split('.').take(2).collect();
    let name = match version {
        "" => own.clone(),
        // YAML has cut 1.80.
        cut if cut.starts_with("1.") && cut.matches('.').count() == 1 => line.join("."),
        name => name.to_owned(),
    };
    vec![("cachekey".to_owned(), key), ("name".to_owned(), name)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tool, where it is, what it says, what later steps find: `=` of a variable or an output,
    /// `?` of a variable that is set where there is none.
    const CASES: [(&str, &str, &str, &str); 11] = [
        (
            "node",
            "/opt/node24/bin/node",
            "v24.1.0",
            "node-version=v24.1.0",
        ),
        (
            "python3",
            "/usr/bin/python3",
            "Python 3.11.2",
            "pythonLocation=/usr Python_ROOT_DIR=/usr Python2_ROOT_DIR=/usr Python3_ROOT_DIR=/usr PIP_BREAK_SYSTEM_PACKAGES?1 python-version=3.11.2 python-path=/usr/bin/python3",
        ),
        (
            "python3",
            "/opt/python3.13/bin/python3",
            "Python 3.13.0",
            "pythonLocation=/opt/python3.13 Python_ROOT_DIR=/opt/python3.13 Python2_ROOT_DIR=/opt/python3.13 Python3_ROOT_DIR=/opt/python3.13 PKG_CONFIG_PATH=/opt/python3.13/lib/pkgconfig LIBRARIES=/opt/python3.13/lib PIP_BREAK_SYSTEM_PACKAGES?1 python-version=3.13.0 python-path=/opt/python3.13/bin/python3",
        ),
        (
            "go",
            "/usr/bin/go",
            "go version go1.21.5 linux/amd64",
            "GOTOOLCHAIN=local go-version=1.21.5 go-path=/usr/bin/go",
        ),
        (
            "java",
            "/usr/lib/jvm/j17/bin/java",
            "openjdk version \"17.0.9\" 2023-10-17",
            "JAVA_HOME=/usr/lib/jvm/j17 JAVA_HOME_17_X64=/usr/lib/jvm/j17 distribution=Temurin-Hotspot version=17.0.9 path=/usr/lib/jvm/j17",
        ),
        (
            "dotnet",
            "/usr/lib/dotnet/dotnet",
            "8.0.105 [/usr/lib/dotnet/sdk]",
            "DOTNET_ROOT=/usr/lib/dotnet DOTNET_NOLOGO?1 DOTNET_CLI_TELEMETRY_OPTOUT?1 dotnet-version=8.0.105",
        ),
        (
            "rustc",
            "/usr/bin/rustc",
            "rustc 1.75.0 (82e1608df 2023-12-21)",
            "CARGO_INCREMENTAL?0 CARGO_TERM_COLOR?always cachekey=2023122182e1 name=stable",
        ),
        (
            "rustc",
            "/opt/rust/bin/rustc",
            "rustc 1.69.0 (84c898d65 2023-04-16)",
            "CARGO_INCREMENTAL?0 CARGO_TERM_COLOR?always CARGO_REGISTRIES_CRATES_IO_PROTOCOL?sparse cachekey=2023041684c8 name=stable",
        ),
        // As Debian builds it.
        (
            "rustc",
            "/usr/bin/rustc",
            "rustc 1.85.1 (4eb161250 2025-03-15) (built from a source tarball)",
            "CARGO_INCREMENTAL?0 CARGO_TERM_COLOR?always cachekey=202503154eb1 name=stable",
        ),
        (
            "deno",
            "/opt/deno/bin/deno",
            "deno 2.1.0 (stable, release, x86_64)",
            "deno-version=2.1.0 release-channel=stable",
        ),
        (
            "bun",
            "/opt/bun/bin/bun",
            "1.2.0",
            "bun-version=1.2.0 bun-path=/opt/bun/bin/bun bun-download-url= cache-hit=false",
        ),
    ];

    #[test]
    fn i17_later_steps_find_what_the_tools_own_action_gives() {
        for (command, path, says, expected) in CASES {
            let tool = InstalledTool {
                path: path.to_owned(),
                real_path: path.to_owned(),
                says: says.to_owned(),
            };
            let wishes = SetupWishes {
                distribution: "temurin",
                version: "stable",
                arch: "X64",
            };
            let found = effects(command, &tool, wishes);
            let env = found
                .env
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            let defaults = found
                .defaults
                .iter()
                .map(|(name, value)| format!("{name}?{value}"));
            let outputs = found
                .outputs
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            let libraries = found
                .library_folder
                .map(|folder| format!("LIBRARIES={folder}"));
            let env = env.chain(libraries);
            let all: Vec<String> = env.chain(defaults).chain(outputs).collect();
            assert_eq!(all.join(" "), expected, "{command}");
        }
    }
}
