//! What an image is made of, as people write it down.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

/// The recipe of the image `default`.
pub const DEFAULT_RECIPE: &str = include_str!("default.toml");
/// The recipe of the image `full`.
pub const FULL_RECIPE: &str = include_str!("full.toml");

/// How a container of an image starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContainerConfig {
    /// Its program.
    #[serde(default)]
    pub entrypoint: Vec<String>,
    /// Arguments, or the program where there is no entry point.
    #[serde(default)]
    pub cmd: Vec<String>,
    /// Variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Its user; root unless given.
    #[serde(default)]
    pub user: String,
    /// Where it starts.
    #[serde(default)]
    pub workdir: String,
    /// Ports that it serves, such as `5432/tcp`.
    #[serde(default)]
    pub ports: Vec<String>,
}

/// A recipe file, checked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The name that the image gets.
    pub name: vm_core::ImageRef,
    /// Debian's release.
    #[serde(default = "stable")]
    pub suite: String,
    /// Where packages come from; the host's own sources unless given.
    #[serde(default)]
    pub mirror: Option<String>,
    /// Packages beside the smallest system.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Commands run in the new system by `sh -e`, after the packages are there.
    #[serde(default)]
    pub run: Vec<String>,
    /// Major versions of Node.js, each put into `/opt/node<major>` with an npm that runs on it; the
    /// last one is `node` in `PATH`. They come from the npm registry, by the host's npm.
    #[serde(default)]
    pub node: Vec<String>,
    /// Programs of npm, each with its version: put into `/usr/local` by the npm of the image,
    /// without what they depend on. They come by the host's npm; `node` has to be there too.
    #[serde(default)]
    pub npm: Vec<String>,
    /// Programs of PyPI, each with its version: put into `/usr/local` without what they depend on,
    /// which are packages of Debian. They come by the host's pip.
    #[serde(default)]
    pub python: Vec<String>,
    /// How a container of it starts, for `--oci`.
    #[serde(default)]
    pub container: ContainerConfig,
    /// Whether documentation, translations and package lists are left out.
    #[serde(default = "yes")]
    pub slim: bool,
}

fn stable() -> String {
    "bookworm".to_owned()
}

fn yes() -> bool {
    true
}

/// A recipe that cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// Not TOML, or not the keys of a recipe.
    #[error("the recipe {name}: {source}")]
    Syntax {
        /// Which file.
        name: String,
        /// Where and what.
        source: toml::de::Error,
    },
    /// A word that would be taken for an option, or for several words.
    #[error(
        "the recipe {name}: {field} has {word:?}: only a-z, 0-9 and `+.:/-_=@` may stand in it, and it must not begin with a dash"
    )]
    Word {
        /// Which file.
        name: String,
        /// Which key.
        field: &'static str,
        /// The word.
        word: String,
    },
    /// Not a major version.
    #[error("the recipe {name}: node has {word:?}: name major versions, such as \"24\"")]
    Node {
        /// Which file.
        name: String,
        /// The word.
        word: String,
    },
}

impl Recipe {
    /// Reads the text of the file `name`.
    ///
    /// # Errors
    /// [`RecipeError`].
    pub fn parse(name: &Path, text: &str) -> Result<Self, RecipeError> {
        let name = name.display().to_string();
        let recipe: Self = toml::from_str(text).map_err(|source| RecipeError::Syntax {
            name: name.clone(),
            source,
        })?;
        let words = recipe.packages.iter().map(|word| ("packages", word));
        let words = words
            .chain(recipe.python.iter().map(|word| ("python", word)))
            .chain(recipe.npm.iter().map(|word| ("npm", word)))
            .chain([("suite", &recipe.suite)])
            .chain(recipe.mirror.iter().map(|word| ("mirror", word)));
        for (field, word) in words {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+.:/-_=@".contains(&byte);
            if word.is_empty() || word.starts_with('-') || !word.bytes().all(allowed) {
                return Err(RecipeError::Word {
                    name,
                    field,
                    word: word.clone(),
                });
            }
        }
        let digits = |word: &&String| !word.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(word) = recipe
            .node
            .iter()
            .find(|word| word.is_empty() || digits(word))
        {
            return Err(RecipeError::Node {
                name,
                word: word.clone(),
            });
        }
        Ok(recipe)
    }

    /// A recipe that the program knows by its name.
    ///
    /// # Panics
    /// Never: the texts are part of the program, and a test reads them.
    pub fn find(name: &str) -> Option<Self> {
        let text = match name {
            "default" => DEFAULT_RECIPE,
            "full" => FULL_RECIPE,
            _ => return None,
        };
        Some(Self::parse(Path::new(name), text).expect("it is tested"))
    }

    /// The recipe of the image `default`: git, bash, coreutils, python3 and certificates.
    ///
    /// # Panics
    /// Never: the text is part of the program, and a test reads it.
    pub fn default_image() -> Self {
        Self::parse(Path::new("default.toml"), DEFAULT_RECIPE).expect("it is tested")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Recipe, RecipeError> {
        Recipe::parse(Path::new("r.toml"), text)
    }

    #[test]
    fn the_default_image_has_what_was_promised() {
        let recipe = Recipe::default_image();
        assert_eq!(recipe.name.as_str(), "default");
        for package in ["git", "bash", "coreutils", "python3", "ca-certificates"] {
            assert!(
                recipe.packages.iter().any(|word| word == package),
                "{package}"
            );
        }
    }

    /// rustup knew Debian's Rust as a toolchain without components: `component add rustfmt` failed,
    /// and `stable` was to be downloaded.
    #[test]
    fn i17_rustup_takes_debian_s_rust_for_its_own() {
        let recipe = Recipe::find("full").unwrap();
        let mut steps = recipe.run.iter();
        let step = steps.find(|step| step.contains("multirust")).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let make = format!(
            "mkdir -p toolchains/stable-{host}/bin toolchains/stable-{host}/lib/rustlib && cd toolchains/stable-{host} && printf '#!/bin/sh\necho \"rustc 1.85.1 (4eb161250 2025-03-15)\"\n' > bin/rustc && chmod +x bin/rustc && ln -s rustc bin/cargo"
        );
        let run = |script: &str| {
            std::process::Command::new("sh")
                .args(["-ec", script])
                .current_dir(folder.path())
                .env("RUSTUP_HOME", folder.path())
                .env("CARGO_HOME", folder.path().join("cargo"))
                // Nothing is fetched.
                .env("RUSTUP_DIST_SERVER", "https://127.0.0.1:9")
                .env_remove("RUSTUP_TOOLCHAIN")
                .output()
                .unwrap()
        };
        for script in [make.as_str(), step, step] {
            let output = run(script);
            assert!(output.status.success(), "{output:?}");
        }
        let lib = folder
            .path()
            .join(format!("toolchains/stable-{host}/lib/rustlib"));
        let files = std::fs::read_to_string(lib.join(format!("manifest-rustc-{host}"))).unwrap();
        assert_eq!(files, "file:bin/rustc\nfile:bin/cargo\n");
        let manifest = std::fs::read_to_string(lib.join("multirust-channel-manifest.toml"));
        let manifest: toml::Table = manifest.unwrap().parse().unwrap();
        assert_eq!(manifest["pkg"].as_table().unwrap().len(), 6);
        // Where there is rustup, it says so itself.
        if run("command -v rustup").status.success() {
            for words in [
                "default stable",
                "component add rustfmt clippy",
                "target add $HOST",
            ] {
                let output = run(&format!("HOST={host}; rustup {words}"));
                assert!(output.status.success(), "{words}: {output:?}");
            }
        }
    }

    #[test]
    fn i17_the_full_image_has_what_workflows_expect() {
        let recipe = Recipe::find("full").unwrap();
        assert_eq!(recipe.name.as_str(), "full");
        for package in [
            "sudo",
            "curl",
            "wget",
            "make",
            "gcc",
            "git",
            "git-lfs",
            "gh",
            "jq",
            "zip",
            "unzip",
            "tar",
            "zstd",
            "python3-pip",
            "python-is-python3",
            "podman",
            "crun",
            "socat",
            "iproute2",
            "netavark",
            "aardvark-dns",
            "python3-yaml",
            "python3-dotenv",
            "openssh-client",
            "gnupg",
            "cmake",
            "ninja-build",
            "pipx",
            "ruby",
            "shellcheck",
            "autoconf",
            "gettext-base",
            "iputils-ping",
            "postgresql-client",
            "ruby-dev",
            "sqlite3",
            "strace",
            "rustup",
            "openjdk-21-jdk-headless",
            "maven",
            "ant",
            "golang-go",
            "clang",
            "lld",
        ] {
            let mut packages = recipe.packages.iter();
            assert!(packages.any(|word| word == package), "{package}");
        }
        assert_eq!(recipe.suite, "trixie");
        assert_eq!(recipe.node, ["20", "22", "24"]);
        assert_eq!(recipe.npm, ["yarn@1", "pnpm@10", "corepack@0"]);
        assert_eq!(recipe.python, ["podman-compose==1.6.0"]);
        assert!(Recipe::find("fuller").is_none());
        let error = parse("name = \"x\"\nnode = [\"lts\"]").unwrap_err();
        assert!(error.to_string().contains("major versions"), "{error}");
    }

    /// A script that installs packages was asked whether it may, and aborted.
    #[test]
    fn i17_apt_of_the_full_image_asks_nothing() {
        let recipe = Recipe::find("full").unwrap();
        let line = recipe.run.iter().find(|line| line.contains("90assumeyes"));
        let line = line
            .expect("apt has settings")
            .replace("/etc/apt", "etc/apt");
        let root = tempfile::tempdir().unwrap();
        let settings = root.path().join("etc/apt/apt.conf.d");
        std::fs::create_dir_all(&settings).unwrap();
        let of_mmdebstrap = "Apt::Install-Recommends false;\nAcquire::Languages \"none\";\n";
        std::fs::write(settings.join("00mmdebstrap"), of_mmdebstrap).unwrap();
        let mut shell = std::process::Command::new("sh");
        let shell = shell.args(["-e", "-c", &line]).current_dir(root.path());
        assert!(shell.status().unwrap().success(), "{line}");
        let read = |name: &str| std::fs::read_to_string(settings.join(name)).unwrap();
        assert_eq!(read("90assumeyes"), "APT::Get::Assume-Yes \"true\";\n");
        assert_eq!(read("80-retries"), "Acquire::Retries \"10\";\n");
        assert_eq!(read("00mmdebstrap"), "Acquire::Languages \"none\";\n");
    }

    #[test]
    fn i17_sudo_of_the_full_image_keeps_the_way_to_the_network() {
        let recipe = Recipe::find("full").unwrap();
        let line = recipe.run.iter().find(|line| line.contains("sudoers"));
        let line = line.expect("sudo has settings");
        for name in [
            "http_proxy",
            "HTTPS_PROXY",
            "no_proxy",
            "GIT_CONFIG_*",
            "GH_*",
        ] {
            assert!(line.contains(name), "{name}: {line}");
        }
        // sudo refuses to start with a file of its settings that others may write.
        assert!(line.ends_with("chmod 440 /etc/sudoers.d/orrery"), "{line}");
    }

    #[test]
    fn unknown_keys_and_words_that_are_options_are_refused() {
        assert!(parse("name = \"x\"").unwrap().slim);
        let error = parse("name = \"x\"\npackage = []").unwrap_err().to_string();
        assert!(
            error.contains("r.toml") && error.contains("package"),
            "{error}"
        );
        for wrong in [
            "packages = [\"-oX\"]",
            "packages = [\"a b\"]",
            "suite = \"\"",
            "mirror = \"$(id)\"",
        ] {
            let error = parse(&format!("name = \"x\"\n{wrong}")).unwrap_err();
            assert!(
                matches!(error, RecipeError::Word { .. }),
                "{wrong}: {error}"
            );
        }
    }
}
