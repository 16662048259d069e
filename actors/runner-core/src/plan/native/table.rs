//! The actions that the runner does itself, and what each of their inputs is to it.

use super::types::{NativeAction, SetupTool};

/// A native action: its name, what it is, the inputs it takes, and those that must be left out or
/// have one of these values.
pub(super) struct NativeActionRow {
    pub(super) name: &'static str,
    pub(super) action: NativeAction,
    /// Inputs that change what it does and are done.
    pub(super) inputs: &'static [&'static str],
    /// Inputs that change nothing here.
    pub(super) idle: &'static [&'static str],
    /// Inputs that are done with these values only.
    values: &'static [(&'static str, &'static [&'static str])],
    /// Inputs without which it fails.
    pub(super) required: &'static [&'static str],
    /// What it gives, as its own page says.
    pub(super) outputs: &'static [&'static str],
}

impl NativeActionRow {
    /// The only values of an input that are done; nothing where any is, or none.
    pub(super) fn values_of(&self, input: &str) -> Option<&'static [&'static str]> {
        let mut values = self.values.iter();
        let found = values.find(|(name, _)| name.eq_ignore_ascii_case(input));
        found.map(|(_, values)| *values)
    }

    /// Why a value of such an input is not done.
    pub(super) fn undone(&self, input: &str, value: &str) -> Option<String> {
        let values = self.values_of(input)?;
        let is_done = harmless(value) || values.iter().any(|it| it.eq_ignore_ascii_case(value));
        (!is_done).then(|| {
            let (input, value) = (config_core::quoted(input), config_core::quoted(value));
            format!(
                "its input {input} is {value}, and only {} is done here",
                values.join(", ")
            )
        })
    }
}

/// A value that asks for nothing.
pub(super) fn harmless(value: &str) -> bool {
    matches!(value, "" | "false")
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
/// The machine's own, as `architecture` names it.
const ARCHITECTURES: &[&str] = if cfg!(target_arch = "aarch64") {
    &["arm64", "aarch64"]
} else {
    &["x64", "amd64", "x86_64"]
};

pub(super) const NATIVE: &[NativeActionRow] = &[
    NativeActionRow {
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
            "allow-unsafe-pr-checkout",
        ],
        // Objects that a filter leaves out are there all the same, and steps own their files.
        idle: &["filter", "show-progress", "set-safe-directory"],
        values: &[],
        required: &[],
        outputs: &["ref", "commit"],
    },
    NativeActionRow {
        name: "actions/cache",
        action: NativeAction::Cache,
        inputs: CACHE,
        idle: &["upload-chunk-size", "save-always"],
        values: &[],
        required: &["path", "key"],
        outputs: &["cache-hit"],
    },
    NativeActionRow {
        name: "actions/cache/restore",
        action: NativeAction::CacheRestore,
        inputs: CACHE,
        idle: &[],
        values: &[],
        required: &["path", "key"],
        outputs: &["cache-hit", "cache-primary-key", "cache-matched-key"],
    },
    NativeActionRow {
        name: "actions/cache/save",
        action: NativeAction::CacheSave,
        inputs: CACHE,
        idle: &["upload-chunk-size"],
        values: &[],
        required: &["path", "key"],
        outputs: &[],
    },
    NativeActionRow {
        name: "actions/upload-artifact",
        action: NativeAction::UploadArtifact,
        inputs: &[
            "name",
            "path",
            "if-no-files-found",
            "retention-days",
            "overwrite",
            "include-hidden-files",
            "archive",
        ],
        idle: &["compression-level"],
        values: &[],
        required: &["path"],
        outputs: &["artifact-id", "artifact-url", "artifact-digest"],
    },
    NativeActionRow {
        name: "actions/download-artifact",
        action: NativeAction::DownloadArtifact,
        inputs: &[
            "name",
            "artifact-ids",
            "path",
            "pattern",
            "merge-multiple",
            "run-id",
            "repository",
            "github-token",
            "skip-decompress",
        ],
        // What is fetched here is what was stored.
        idle: &["digest-mismatch"],
        values: &[],
        required: &[],
        outputs: &["download-path"],
    },
    NativeActionRow {
        name: "actions/setup-node",
        action: setup_by_file("node", "--version", "node-version", "node-version-file"),
        inputs: &[
            "node-version",
            "node-version-file",
            "check-latest",
            "cache",
            "cache-dependency-path",
            "registry-url",
            "scope",
            "always-auth",
            "package-manager-cache",
        ],
        idle: &["token", "mirror", "mirror-token"],
        values: &[("architecture", ARCHITECTURES)],
        required: &[],
        outputs: &[
            "cache-hit",
            "cache-primary-key",
            "cache-matched-key",
            "node-version",
        ],
    },
    NativeActionRow {
        name: "actions/setup-python",
        action: setup_by_file(
            "python3",
            "--version",
            "python-version",
            "python-version-file",
        ),
        inputs: &[
            "python-version",
            "python-version-file",
            "check-latest",
            "cache",
            "cache-dependency-path",
            "update-environment",
            "pip-version",
            "pip-install",
            "freethreaded",
        ],
        idle: &["token", "allow-prereleases"],
        values: &[("architecture", ARCHITECTURES)],
        required: &[],
        outputs: &["cache-hit", "python-version", "python-path"],
    },
    NativeActionRow {
        name: "actions/setup-go",
        action: setup_by_file("go", "version", "go-version", "go-version-file"),
        inputs: &[
            "go-version",
            "go-version-file",
            "check-latest",
            "cache",
            "cache-dependency-path",
        ],
        idle: &["token", "go-download-base-url"],
        values: &[("architecture", ARCHITECTURES)],
        required: &[],
        outputs: &["cache-hit", "go-version", "go-path"],
    },
    NativeActionRow {
        name: "actions/setup-java",
        action: setup_by_file("java", "-version", "java-version", "java-version-file"),
        inputs: &[
            "java-version",
            "java-version-file",
            "distribution",
            "check-latest",
            "cache",
            "cache-dependency-path",
            "cache-path",
            "cache-read-only",
            "jdk-file",
            "jdkFile",
            "set-default",
            "problem-matcher",
            "server-id",
            "server-username",
            "server-username-env-var",
            "server-password",
            "server-password-env-var",
            "settings-path",
            "overwrite-settings",
            "gpg-private-key",
            "gpg-passphrase",
            "gpg-passphrase-env-var",
            "mvn-server-credentials",
            "mvn-repositories",
            "mvn-repositories-include-central",
            "mvn-repositories-prioritize-central",
            "mvn-toolchain-id",
            "mvn-toolchain-vendor",
            "show-download-progress",
        ],
        // Nothing is downloaded, so nothing is verified or kept of it.
        idle: &[
            "token",
            "job-status",
            "cache-jdk",
            "force-download",
            "verify-signature",
            "verify-signature-public-key",
        ],
        values: &[
            ("architecture", ARCHITECTURES),
            ("java-package", &["jdk", "jre"]),
        ],
        required: &[],
        outputs: &[
            "cache-hit",
            "cache-primary-key",
            "distribution",
            "version",
            "path",
        ],
    },
    NativeActionRow {
        name: "actions/setup-dotnet",
        action: setup_by_file(
            "dotnet",
            "--list-sdks",
            "dotnet-version",
            "global-json-file",
        ),
        inputs: &[
            "dotnet-version",
            "global-json-file",
            "cache",
            "cache-dependency-path",
            "workloads",
            "dotnet-channel",
            "source-url",
            "owner",
            "config-file",
        ],
        idle: &["token", "dotnet-quality"],
        values: &[("architecture", ARCHITECTURES)],
        required: &[],
        outputs: &["cache-hit", "dotnet-version"],
    },
    NativeActionRow {
        name: "dtolnay/rust-toolchain",
        action: setup("rustc", "--version", "toolchain"),
        inputs: &["toolchain", "components", "targets", "target"],
        idle: &["token"],
        values: &[],
        required: &[],
        outputs: &["cachekey", "name"],
    },
    NativeActionRow {
        name: "denoland/setup-deno",
        action: setup_by_file("deno", "--version", "deno-version", "deno-version-file"),
        inputs: &[
            "deno-version",
            "deno-version-file",
            "cache",
            "cache-hash",
            "deno-binary-name",
        ],
        idle: &["token"],
        values: &[],
        required: &[],
        outputs: &["cache-hit", "deno-version", "release-channel"],
    },
    NativeActionRow {
        name: "oven-sh/setup-bun",
        action: setup_by_file("bun", "--version", "bun-version", "bun-version-file"),
        inputs: &[
            "bun-version",
            "bun-version-file",
            "bun-download-url",
            "registries",
            "registry-url",
            "scope",
        ],
        idle: &["token", "no-cache"],
        values: &[],
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
