//! What `cache` of a `setup-…` step keeps between runs: the folders of a package manager, by the
//! hash of its lock files.

use config_core::quoted;

/// What is kept for a package manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetupCache {
    /// As the input names it.
    pub manager: &'static str,
    /// Patterns of the files whose hash is in the key; `cache-dependency-path` stands for them.
    pub lock_files: &'static [&'static str],
    /// A shell script that prints the folders, one a line.
    pub folders: &'static str,
}

/// Says folders to the runner, those below the home folder by `~`; without the manager nothing.
/// What follows prints them.
pub const FOLDERS_SCRIPT_START: &str = r#"
export PATH="$1:$PATH"
say() { while IFS= read -r folder; do
  case $folder in "") continue ;; "$HOME"/*) folder="~${folder#"$HOME"}" ;; esac
  printf '::set-output name=folder::%s\n' "$folder"
done; }
{ "#;
/// Ends it.
pub const FOLDERS_SCRIPT_END: &str = "\n} 2>/dev/null | say\nexit 0\n";

const NODE: &[SetupCache] = &[
    SetupCache {
        manager: "npm",
        lock_files: &[
            "**/package-lock.json",
            "**/npm-shrinkwrap.json",
            "**/yarn.lock",
        ],
        folders: "npm config get cache",
    },
    SetupCache {
        manager: "pnpm",
        lock_files: &["**/pnpm-lock.yaml"],
        folders: "pnpm store path --silent",
    },
    SetupCache {
        manager: "yarn",
        lock_files: &["**/yarn.lock"],
        folders: "case $(yarn --version) in 1.*) yarn cache dir ;; ?*) yarn config get cacheFolder ;; esac",
    },
];
const PYTHON: &[SetupCache] = &[
    SetupCache {
        manager: "pip",
        lock_files: &["**/requirements.txt", "**/pyproject.toml"],
        folders: "python3 -m pip cache dir",
    },
    SetupCache {
        manager: "pipenv",
        lock_files: &["**/Pipfile.lock"],
        folders: "echo \"$HOME/.local/share/virtualenvs\"",
    },
    SetupCache {
        manager: "poetry",
        lock_files: &["**/poetry.lock"],
        folders: "[ \"$(poetry config virtualenvs.in-project)\" != true ] || echo \"$PWD/.venv\"; poetry config virtualenvs.path",
    },
];
const JAVA: &[SetupCache] = &[
    SetupCache {
        manager: "maven",
        lock_files: &[
            "**/pom.xml",
            "**/.mvn/wrapper/maven-wrapper.properties",
            "**/.mvn/extensions.xml",
        ],
        folders: "echo \"$HOME/.m2/repository\"; echo \"$HOME/.m2/wrapper/dists\"",
    },
    SetupCache {
        manager: "gradle",
        lock_files: &[
            "**/*.gradle*",
            "**/gradle.properties",
            "**/gradle-wrapper.properties",
            "**/gradle/*.versions.toml",
            "**/versions.properties",
            "buildSrc/**/Versions.kt",
            "buildSrc/**/Dependencies.kt",
            "**/gradle.lockfile",
        ],
        folders: "echo \"$HOME/.gradle/caches\"; echo \"$HOME/.gradle/wrapper\"",
    },
    SetupCache {
        manager: "sbt",
        lock_files: &[
            "**/*.sbt",
            "**/project/build.properties",
            "**/project/*.scala",
            "**/project/*.sbt",
        ],
        folders: "echo \"$HOME/.ivy2/cache\"; echo \"$HOME/.sbt\"; echo \"$HOME/.cache/coursier\"",
    },
];
const GO: SetupCache = SetupCache {
    manager: "go",
    lock_files: &["**/go.mod", "**/go.sum"],
    folders: "go env GOMODCACHE; go env GOCACHE",
};
const DOTNET: SetupCache = SetupCache {
    manager: "nuget",
    lock_files: &["**/packages.lock.json"],
    folders: "found=$(dotnet nuget locals global-packages --list | sed -n 's/^.*global-packages: *//p'); echo \"${found:-${NUGET_PACKAGES:-$HOME/.nuget/packages}}\"",
};
const DENO: SetupCache = SetupCache {
    manager: "deno",
    lock_files: &["**/deno.lock"],
    folders: "echo \"${DENO_DIR:-$HOME/.cache/deno}\"",
};

/// What the input `cache` asks for; nothing where a tool keeps nothing.
///
/// # Errors
/// Package managers that the tool has none of, and which it has.
pub fn setup_cache(command: &str, cache: &str) -> Result<Option<SetupCache>, String> {
    let switch = |kept: SetupCache, usual: bool| match cache {
        "true" => Ok(Some(kept)),
        "" if usual => Ok(Some(kept)),
        "" | "false" => Ok(None),
        other => Err(format!(
            "`cache` is {}: it is `true` or `false`",
            quoted(other)
        )),
    };
    let known = match command {
        "node" => NODE,
        "python3" => PYTHON,
        "java" => JAVA,
        // As on GitHub it is kept unless the step says otherwise.
        "go" => return switch(GO, true),
        "dotnet" => return switch(DOTNET, false),
        "deno" => return switch(DENO, false),
        _ => return Ok(None),
    };
    if matches!(cache, "" | "false") {
        return Ok(None);
    }
    let found = known.iter().find(|kept| kept.manager == cache);
    found.copied().map(Some).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|kept| kept.manager).collect();
        format!(
            "`cache` is {}: known are {}",
            quoted(cache),
            names.join(", ")
        )
    })
}

impl SetupCache {
    /// How the key begins of what will do until there is that of these lock files, as with the
    /// tool's own action; nothing where a cache of other lock files is none.
    #[must_use]
    pub fn beginning(&self, command: &str, arch: &str, version: &str) -> Option<String> {
        let falls_back = matches!(self.manager, "pip" | "deno");
        falls_back.then(|| self.key(command, arch, version, ""))
    }

    /// The script that prints the folders; its argument is the tool's own folder.
    #[must_use]
    pub fn script(&self) -> String {
        format!("{FOLDERS_SCRIPT_START}{}{FOLDERS_SCRIPT_END}", self.folders)
    }

    /// The key of what is kept: another tool, system, release or lock file has another.
    #[must_use]
    pub fn key(&self, command: &str, arch: &str, version: &str, hash: &str) -> String {
        let tool = command.trim_end_matches('3');
        // Packages of Python and Go are built for a release; those of others are as they came.
        let version = match command {
            "python3" | "go" => format!("-{version}"),
            _ => String::new(),
        };
        format!("setup-{tool}-Linux-{arch}{version}-{}-{hash}", self.manager)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_package_manager_has_folders_and_lock_files() {
        for (command, cache, expected) in [
            ("node", "npm", Ok(Some("npm"))),
            ("node", "", Ok(None)),
            ("node", "bower", Err("known are npm, pnpm, yarn")),
            ("python3", "pip", Ok(Some("pip"))),
            ("java", "gradle", Ok(Some("gradle"))),
            ("go", "", Ok(Some("go"))),
            ("go", "false", Ok(None)),
            ("go", "maybe", Err("`true` or `false`")),
            ("dotnet", "", Ok(None)),
            ("dotnet", "true", Ok(Some("nuget"))),
            ("bun", "", Ok(None)),
        ] {
            let found = setup_cache(command, cache);
            let names = found.as_ref().map(|kept| kept.map(|kept| kept.manager));
            match (names, expected) {
                (Ok(name), Ok(expected)) => assert_eq!(name, expected, "{command} {cache}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
                _ => panic!("{command} {cache}: {found:?}"),
            }
        }
        let pip = setup_cache("python3", "pip").unwrap().unwrap();
        let key = pip.key("python3", "X64", "3.11.2", "abc");
        assert_eq!(key, "setup-python-Linux-X64-3.11.2-pip-abc");
        let beginning = pip.beginning("python3", "X64", "3.11.2");
        assert_eq!(
            beginning.as_deref(),
            Some("setup-python-Linux-X64-3.11.2-pip-")
        );
        let npm = setup_cache("node", "npm").unwrap().unwrap();
        assert_eq!(npm.beginning("node", "X64", "22"), None);
        assert_eq!(
            npm.key("node", "X64", "22", "abc"),
            "setup-node-Linux-X64-npm-abc"
        );
    }

    #[test]
    fn i17_folders_are_said_from_home() {
        let kept = SetupCache {
            manager: "x",
            lock_files: &[],
            folders: "echo \"$HOME/a b\"; echo /c; echo; missing-command",
        };
        let mut command = std::process::Command::new("sh");
        command
            .env("HOME", "/home/me")
            .args(["-c", &kept.script(), "sh", "/x"]);
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert_eq!(
            output,
            "::set-output name=folder::~/a b\n::set-output name=folder::/c\n"
        );
    }
}
