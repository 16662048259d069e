//! Actions that the runner does itself, and which of their inputs it can do.

use serde::Serialize;

use super::rust_parts::rust_parts;
use super::versions::VersionRequirement;
use crate::expr::Template;
use crate::workflow::Need;

/// An action the runner does itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NativeAction {
    /// `actions/checkout`: the host puts the commit's tree into the workspace.
    Checkout,
    /// `actions/cache`: restored before, saved after the job.
    Cache,
    /// `actions/cache/restore`
    CacheRestore,
    /// `actions/cache/save`
    CacheSave,
    /// `actions/upload-artifact`
    UploadArtifact,
    /// `actions/download-artifact`
    DownloadArtifact,
    /// `setup-…`: checks that the tool and version are in the image.
    Setup(SetupTool),
}

/// A tool that `setup-…` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SetupTool {
    /// The command whose presence is checked.
    pub command: &'static str,
    /// The argument that makes it print its version.
    pub version_argument: &'static str,
    /// The input that names the version wanted.
    pub version_input: &'static str,
    /// The input that names a file with it; empty: there is none.
    pub version_file_input: &'static str,
    /// Whether the version stands behind the action's name, `…@1.75`.
    pub named_by_reference: bool,
}

/// A native action: its name, what it is, the inputs it takes, and those that must be left out or
/// have one of these values.
struct Entry {
    name: &'static str,
    action: NativeAction,
    /// Inputs that change what it does and are done.
    inputs: &'static [&'static str],
    /// Inputs that change nothing here.
    idle: &'static [&'static str],
    /// Inputs without which it fails.
    required: &'static [&'static str],
    /// What it gives, as its own page says.
    outputs: &'static [&'static str],
}

const fn setup(
    command: &'static str,
    version_argument: &'static str,
    version_input: &'static str,
) -> NativeAction {
    NativeAction::Setup(SetupTool {
        command,
        version_argument,
        version_input,
        version_file_input: "",
        named_by_reference: false,
    })
}

/// The same of a tool whose version may stand in a file.
const fn setup_by_file(
    command: &'static str,
    version_argument: &'static str,
    version_input: &'static str,
    version_file_input: &'static str,
) -> NativeAction {
    NativeAction::Setup(SetupTool {
        command,
        version_argument,
        version_input,
        version_file_input,
        named_by_reference: false,
    })
}

const CACHE: &[&str] = &[
    "path",
    "key",
    "restore-keys",
    "enableCrossOsArchive",
    "fail-on-cache-miss",
    "lookup-only",
];
/// The cache a setup action would keep is only about speed.
const SETUP_IDLE: &[&str] = &[
    "cache",
    "cache-dependency-path",
    "token",
    "update-environment",
];

const NATIVE: &[Entry] = &[
    Entry {
        name: "actions/checkout",
        action: NativeAction::Checkout,
        inputs: &[
            "repository",
            "ref",
            "token",
            "persist-credentials",
            "path",
            "clean",
            "sparse-checkout",
            "sparse-checkout-cone-mode",
            "fetch-depth",
            "fetch-tags",
            "submodules",
            "lfs",
            "github-server-url",
            "ssh-key",
            "ssh-strict",
            "ssh-user",
            "ssh-known-hosts",
        ],
        // Objects that a filter leaves out are there all the same, and steps own their files.
        idle: &["filter", "show-progress", "set-safe-directory"],
        required: &[],
        outputs: &["ref", "commit"],
    },
    Entry {
        name: "actions/cache",
        action: NativeAction::Cache,
        inputs: CACHE,
        idle: &["upload-chunk-size", "save-always"],
        required: &["path", "key"],
        outputs: &["cache-hit"],
    },
    Entry {
        name: "actions/cache/restore",
        action: NativeAction::CacheRestore,
        inputs: CACHE,
        idle: &[],
        required: &["path", "key"],
        outputs: &["cache-hit", "cache-primary-key", "cache-matched-key"],
    },
    Entry {
        name: "actions/cache/save",
        action: NativeAction::CacheSave,
        inputs: CACHE,
        idle: &["upload-chunk-size"],
        required: &["path", "key"],
        outputs: &[],
    },
    Entry {
        name: "actions/upload-artifact",
        action: NativeAction::UploadArtifact,
        inputs: &[
            "name",
            "path",
            "if-no-files-found",
            "retention-days",
            "overwrite",
            "include-hidden-files",
        ],
        idle: &["compression-level"],
        required: &["path"],
        outputs: &["artifact-id", "artifact-url", "artifact-digest"],
    },
    Entry {
        name: "actions/download-artifact",
        action: NativeAction::DownloadArtifact,
        inputs: &[
            "name",
            "path",
            "pattern",
            "merge-multiple",
            "run-id",
            "repository",
            "github-token",
        ],
        idle: &[],
        required: &[],
        outputs: &["download-path"],
    },
    Entry {
        name: "actions/setup-node",
        action: setup_by_file("node", "--version", "node-version", "node-version-file"),
        inputs: &["node-version", "node-version-file"],
        idle: SETUP_IDLE,
        required: &[],
        outputs: &["cache-hit", "node-version"],
    },
    Entry {
        name: "actions/setup-python",
        action: setup_by_file(
            "python3",
            "--version",
            "python-version",
            "python-version-file",
        ),
        inputs: &["python-version", "python-version-file"],
        // One more version that would do; the image is held to what is wanted.
        idle: &[
            "cache",
            "cache-dependency-path",
            "token",
            "update-environment",
            "allow-prereleases",
        ],
        required: &[],
        outputs: &["cache-hit", "python-version", "python-path"],
    },
    Entry {
        name: "actions/setup-go",
        action: setup_by_file("go", "version", "go-version", "go-version-file"),
        inputs: &["go-version", "go-version-file"],
        idle: SETUP_IDLE,
        required: &[],
        outputs: &["cache-hit", "go-version", "go-path"],
    },
    Entry {
        name: "actions/setup-java",
        action: setup_by_file("java", "-version", "java-version", "java-version-file"),
        inputs: &["java-version", "java-version-file", "distribution"],
        idle: SETUP_IDLE,
        required: &[],
        outputs: &[
            "cache-hit",
            "cache-primary-key",
            "distribution",
            "version",
            "path",
        ],
    },
    Entry {
        name: "actions/setup-dotnet",
        action: setup("dotnet", "--version", "dotnet-version"),
        inputs: &["dotnet-version"],
        idle: SETUP_IDLE,
        required: &[],
        outputs: &["cache-hit", "dotnet-version"],
    },
    Entry {
        name: "dtolnay/rust-toolchain",
        action: setup("rustc", "--version", "toolchain"),
        inputs: &["toolchain", "components", "targets", "target"],
        idle: SETUP_IDLE,
        required: &[],
        outputs: &["cachekey", "name"],
    },
    Entry {
        name: "denoland/setup-deno",
        action: setup("deno", "--version", "deno-version"),
        inputs: &["deno-version"],
        idle: SETUP_IDLE,
        required: &[],
        outputs: &["cache-hit", "deno-version", "release-channel"],
    },
    Entry {
        name: "oven-sh/setup-bun",
        action: setup("bun", "--version", "bun-version"),
        inputs: &["bun-version"],
        idle: SETUP_IDLE,
        required: &[],
        outputs: &[
            "cache-hit",
            "bun-version",
            "bun-revision",
            "bun-path",
            "bun-download-url",
        ],
    },
];

/// The names of the native actions, for documentation and suggestions.
pub fn native_actions() -> impl Iterator<Item = &'static str> {
    NATIVE.iter().map(|entry| entry.name)
}

/// The inputs a native action takes: those that do something, and those that change nothing here.
pub fn native_inputs(name: &str) -> Option<(&'static [&'static str], &'static [&'static str])> {
    NATIVE
        .iter()
        .find(|entry| entry.name == name)
        .map(|entry| (entry.inputs, entry.idle))
}

/// The inputs without which a native action fails; none of one that is not native.
pub(crate) fn required_inputs(uses: &str) -> &'static [&'static str] {
    entry(uses).map_or(&[], |entry| entry.required)
}

/// What a native action gives; nothing of one that is not native.
pub(crate) fn native_outputs(uses: &str) -> Option<&'static [&'static str]> {
    entry(uses).map(|entry| entry.outputs)
}

fn entry(uses: &str) -> Option<&'static Entry> {
    let name = action_name(uses);
    NATIVE
        .iter()
        .find(|entry| entry.name.eq_ignore_ascii_case(name))
}

/// Whether it is an action that sets a tool up, whatever version it names.
pub(super) fn sets_up(uses: &str) -> bool {
    entry(uses).is_some_and(|entry| matches!(entry.action, NativeAction::Setup(_)))
}

/// The native action of a `uses`, or everything that is missing for it, and why.
pub(super) fn native(
    uses: &str,
    with: &[(String, Template)],
) -> Result<NativeAction, Vec<(Need, String)>> {
    let Some(entry) = entry(uses) else {
        let reason = "actions from elsewhere are not run (they are JavaScript or containers); do it in a script, or in a composite action of the repository";
        let need = Need::Action(action_name(uses).to_owned());
        return Err(vec![(need, reason.to_owned())]);
    };
    let mut missing = Vec::new();
    for (input, value) in with {
        let known = |list: &[&str]| list.iter().any(|name| name.eq_ignore_ascii_case(input));
        if known(entry.inputs)
            || known(entry.idle)
            || value
                .fixed()
                .is_some_and(|value| harmless(&value.as_text()))
        {
            continue;
        }
        let reason = format!("its input {} is not done here", config_core::quoted(input));
        let need = Need::NativeInput(format!("{input} of {}", entry.name));
        missing.push((need, reason));
    }
    let action = match entry.action {
        NativeAction::Setup(tool) => match checked(tool, uses, with) {
            Ok(tool) => NativeAction::Setup(tool),
            Err(reason) => {
                missing.push((Need::Version(entry.name.to_owned()), reason));
                entry.action
            }
        },
        action => action,
    };
    if missing.is_empty() {
        Ok(action)
    } else {
        Err(missing)
    }
}

/// A tool whose version the image can be held to, as far as it is known before the run.
fn checked(
    mut tool: SetupTool,
    uses: &str,
    with: &[(String, Template)],
) -> Result<SetupTool, String> {
    let given = with
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(tool.version_input));
    let version = match given {
        Some((_, value)) => value.fixed().map(|value| value.as_text().to_string()),
        // `dtolnay/rust-toolchain@1.75` names the version behind the action's name.
        None if tool.command == "rustc" => {
            let version = uses.split_once('@').map_or("", |(_, version)| version);
            // A commit or a branch of the action itself names none.
            let commit =
                version.len() == 40 && version.bytes().all(|byte| byte.is_ascii_hexdigit());
            tool.named_by_reference = !commit && !matches!(version, "" | "master" | "main" | "v1");
            tool.named_by_reference.then(|| version.to_owned())
        }
        None => None,
    };
    let fixed = |name: &str| {
        let mut with = with.iter();
        let (_, value) = with.find(|(input, _)| input.eq_ignore_ascii_case(name))?;
        value.fixed().map(|value| value.as_text().to_string())
    };
    if let Some(components) = fixed("components").filter(|_| tool.command == "rustc") {
        rust_parts(&components, "")?;
    }
    if let Some(version) = version {
        VersionRequirement::parse(tool.command, &version)
            .map_err(|reason| format!("`{}`: {reason}", tool.version_input))?;
    }
    Ok(tool)
}

/// A value that asks for nothing.
fn harmless(value: &str) -> bool {
    matches!(value, "" | "false")
}

/// `owner/name` of `owner/name@v4` and of `https://code.example/owner/name@v4`.
pub(super) fn action_name(uses: &str) -> &str {
    let name = uses.split_once('@').map_or(uses, |(name, _)| name);
    match name.split_once("://") {
        Some((scheme, rest)) if scheme.starts_with("http") => {
            rest.split_once('/').map_or(rest, |(_, path)| path)
        }
        _ => name,
    }
}
