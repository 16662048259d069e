//! What `setup-…` steps do beside the choice of a release: settings of registries, packages, and
//! what is kept between runs.

use runner_core::context::{OWN_DIRECTORY, WORKSPACE};
use runner_core::setup::caching::setup_cache;
use runner_core::setup::installed::InstalledTool;
use runner_core::setup::maven::{self, MavenServer, MavenToolchains};
use runner_core::setup::{bun, npm};
use runner_core::state::StepEnd;

use super::frame::{ARCH, StepResult, set};
use super::native_input::{NativeStep, lines};
use super::step_runner::StepRunner;
use crate::log::LineKind;

/// Prints where Go puts what it installs. Argument: the folder of the program.
const GO_PROGRAMS: &str =
    "PATH=\"$1:$PATH\"; printf '::set-output name=folder::%s/bin\\n' \"$(go env GOPATH)\"";
/// Installs packages. Arguments: the folder of the program, pip's version, packages and options.
const PIP: &str = r#"
PATH="$1:$PATH" version=$2; shift 2
export PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
[ -z "$version" ] || python3 -m pip install "pip==$version" || exit 1
[ $# -eq 0 ] || python3 -m pip install "$@"
"#;
/// Installs workloads of .NET. Arguments: the folder of the program, workloads.
const WORKLOADS: &str = "PATH=\"$1:$PATH\"; shift; dotnet workload install \"$@\"";
/// Gives a program another name beside it. Arguments: the program, the name.
const NAME: &str = "ln -sf \"$1\" \"${1%/*}/$2\"";
/// Imports a key for signatures.
const GPG: &str = "gpg --batch --import \"$1\"";
/// Where the key lies until then; the job's container sees it too.
const KEY_FOLDER: &str = "setup";

fn script(text: &str, arguments: &[&str]) -> Vec<String> {
    let words = ["sh", "-c", text, "sh"].into_iter();
    words
        .chain(arguments.iter().copied())
        .map(str::to_owned)
        .collect()
}

impl StepRunner<'_> {
    /// What `go install` makes is found, as on GitHub.
    pub(super) async fn add_go_programs(
        &mut self,
        chosen: &InstalledTool,
        step: NativeStep<'_>,
    ) -> Result<(), StepResult> {
        let argv = script(GO_PROGRAMS, &[chosen.folder()]);
        let exit = self.in_job(step, argv, "`go env GOPATH`").await?;
        for (_, folder) in exit.commands.outputs {
            if folder.starts_with('/') && !self.path.contains(&folder) {
                self.path.insert(0, folder);
            }
        }
        Ok(())
    }

    /// `registry-url`, `scope`, `always-auth`
    pub(super) async fn npm_registry(&mut self, step: NativeStep<'_>) -> Result<(), StepResult> {
        let url = step.input("registry-url");
        if url.is_empty() {
            return Ok(());
        }
        let owner = self.request.repository.split('/').next();
        let (scope, auth) = (step.input("scope"), step.input("always-auth"));
        let text = npm::settings(url, scope, owner.unwrap_or_default(), auth);
        let text = text.map_err(StepResult::error)?;
        let argv = script(npm::WRITE_SCRIPT, &[npm::FILE, &text.lines, &text.registry]);
        self.in_job(step, argv, "the settings of npm cannot be written")
            .await?;
        let file = (npm::VARIABLE.to_owned(), npm::FILE.to_owned());
        set(&mut self.env, file);
        let mut own = step.env.iter();
        if let Some(token) = own.find(|(name, _)| name == npm::TOKEN) {
            set(&mut self.env, token.clone());
        }
        Ok(())
    }

    /// `server-…`, `settings-path`, `gpg-…`, `mvn-toolchain-…`
    pub(super) async fn maven(
        &mut self,
        chosen: &[(&InstalledTool, &str)],
        step: NativeStep<'_>,
    ) -> Result<(), StepResult> {
        let key = step.input("gpg-private-key");
        let passphrase = match step.input("gpg-passphrase") {
            _ if key.is_empty() => "",
            "" => "GPG_PASSPHRASE",
            name => name,
        };
        let server = MavenServer {
            id: step.input("server-id"),
            username: step.input("server-username"),
            password: step.input("server-password"),
            passphrase,
        };
        let folder = match step.input("settings-path") {
            "" => "~/.m2",
            folder => folder,
        };
        let is_asked = [server.id, server.username, server.password, key];
        let overwrites = step.input("overwrite-settings") != "false";
        // An image's own settings stay where the step says nothing of servers.
        let keep = match is_asked.iter().any(|given| !given.is_empty()) && overwrites {
            true => "",
            false => "keep",
        };
        let text = maven::settings(server);
        let argv = script(maven::WRITE_SCRIPT, &[folder, "settings.xml", &text, keep]);
        self.in_job(step, argv, "the settings of Maven cannot be written")
            .await?;
        let (ids, vendors) = (
            lines(step.input("mvn-toolchain-id")),
            lines(step.input("mvn-toolchain-vendor")),
        );
        let toolchains = MavenToolchains {
            ids: &ids,
            vendors: &vendors,
            distribution: step.input("distribution"),
        };
        if let Some(text) = maven::toolchains(chosen, toolchains) {
            let argv = script(maven::WRITE_SCRIPT, &["~/.m2", "toolchains.xml", &text]);
            self.in_job(step, argv, "the toolchains of Maven cannot be written")
                .await?;
        }
        self.signing_key(key, step).await
    }

    async fn signing_key(&mut self, key: &str, step: NativeStep<'_>) -> Result<(), StepResult> {
        if key.is_empty() {
            return Ok(());
        }
        // The user of a container reads it, and may not be the one who can remove it.
        let folder = format!("{OWN_DIRECTORY}/{KEY_FOLDER}");
        let put = self.put(&folder, &[("key", key.as_bytes(), 0o644)]).await;
        put.map_err(|error| StepResult::lost(format!("the key could not be put: {error}")))?;
        let argv = script(GPG, &[&format!("{folder}/key")]);
        let imported = self.in_job(step, argv, "`gpg-private-key` cannot be imported");
        let imported = imported.await;
        let remove = ["rm", "-rf", &folder].map(str::to_owned).to_vec();
        let removed = self.command(remove).await;
        imported?;
        match removed.end {
            StepEnd::Exited(0) => Ok(()),
            _ => Err(StepResult::lost("the key cannot be removed again")),
        }
    }

    /// `pip-version`, `pip-install`
    pub(super) async fn pip_packages(
        &mut self,
        chosen: &InstalledTool,
        step: NativeStep<'_>,
    ) -> Result<(), StepResult> {
        let (version, packages) = (step.input("pip-version"), step.input("pip-install"));
        if version.is_empty() && packages.is_empty() {
            return Ok(());
        }
        let mut arguments = vec![chosen.folder(), version];
        arguments.extend(packages.split_whitespace());
        self.in_job(step, script(PIP, &arguments), "`pip install` failed")
            .await?;
        Ok(())
    }

    /// `workloads`
    pub(super) async fn dotnet_workloads(
        &mut self,
        chosen: &InstalledTool,
        step: NativeStep<'_>,
    ) -> Result<(), StepResult> {
        let workloads = step.input("workloads").split([',', ' ']).map(str::trim);
        let workloads: Vec<&str> = workloads.filter(|one| !one.is_empty()).collect();
        if !workloads.is_empty() {
            let argv = script(WORKLOADS, &[&[chosen.folder()], &workloads[..]].concat());
            self.in_job(step, argv, "`dotnet workload install` failed")
                .await?;
        }
        Ok(())
    }

    /// `deno-binary-name`
    pub(super) async fn deno_name(
        &mut self,
        chosen: &InstalledTool,
        step: NativeStep<'_>,
    ) -> Result<(), StepResult> {
        let name = step.input("deno-binary-name");
        if matches!(name, "" | "deno") {
            return Ok(());
        }
        if name.contains('/') {
            return Err(StepResult::error(
                "`deno-binary-name` has a slash: it takes a name",
            ));
        }
        let argv = script(NAME, &[&chosen.path, name]);
        self.in_job(step, argv, "the program gets no other name")
            .await?;
        Ok(())
    }

    /// `registries`, and `registry-url` with `scope` as older versions had them.
    pub(super) async fn bun_registries(&mut self, step: NativeStep<'_>) -> Result<(), StepResult> {
        let mut registries = lines(step.input("registries"));
        let (url, scope) = (step.input("registry-url"), step.input("scope"));
        registries.extend(match (url, scope.trim_start_matches('@')) {
            ("", _) => None,
            (url, "") => Some(url.to_owned()),
            (url, scope) => Some(format!("@{scope}:{url}")),
        });
        if registries.is_empty() {
            return Ok(());
        }
        let text = bun::settings(&registries).map_err(StepResult::error)?;
        let file = format!("{WORKSPACE}/bunfig.toml");
        self.in_job(
            step,
            script(bun::WRITE_SCRIPT, &[&file, &text]),
            "Bun's settings stay",
        )
        .await?;
        Ok(())
    }

    /// `cache`: restored now, saved after the job as by `actions/cache`; the outputs of it.
    pub(super) async fn setup_cache(
        &mut self,
        command: &str,
        chosen: &InstalledTool,
        step: NativeStep<'_>,
    ) -> Result<Vec<(String, String)>, StepResult> {
        let cache = step.input("cache");
        let Some(kept) = setup_cache(command, cache).map_err(StepResult::error)? else {
            return Ok(Vec::new());
        };
        let none = vec![("cache-hit".to_owned(), "false".to_owned())];
        let mut patterns = lines(step.input("cache-dependency-path"));
        if patterns.is_empty() {
            patterns = kept.lock_files.iter().map(|it| (*it).to_owned()).collect();
        }
        let mut hash = self.hash_now(&patterns).await?;
        if hash.is_empty() {
            // Go's is kept unasked: nobody misses it.
            if !cache.is_empty() {
                let text = format!("nothing is cached: no file is {}", patterns.join(" or "));
                self.log.line(self.number, LineKind::Warning, &text).await;
            }
            return Ok(none);
        }
        let more = step.input("cache-hash");
        if !more.is_empty() {
            hash = format!("{hash}-{more}");
        }
        let argv = script(&kept.script(), &[chosen.folder()]);
        let exit = self
            .in_job(step, argv, "the folders of a cache are not known")
            .await?;
        let folders = exit.commands.outputs.into_iter().map(|(_, folder)| folder);
        let folders: Vec<String> = folders.collect();
        if folders.is_empty() {
            let text = format!("nothing is cached: {} is not in the image", kept.manager);
            self.log.line(self.number, LineKind::Warning, &text).await;
            return Ok(none);
        }
        let key = kept.key(command, ARCH, &chosen.version(), &hash);
        let pair = |name: &str, value: String| (name.to_owned(), value);
        let inputs = [pair("key", key), pair("path", folders.join("\n"))];
        let result = self.cache(&inputs, true).await;
        match result.end {
            StepEnd::Exited(0) => Ok(result.outputs),
            _ => Err(result),
        }
    }
}
