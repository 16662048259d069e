//! What `setup-…` steps do beside the choice of a release: settings of registries, packages, and
//! what is kept between runs.

use runner_core::context::{OWN_DIRECTORY, WORKSPACE};
use runner_core::setup::caching::setup_cache;
use runner_core::setup::installed::InstalledTool;
use runner_core::setup::maven::{self, MavenServer};
use runner_core::setup::{bun, npm, nuget};
use runner_core::state::StepEnd;

use super::frame::{ARCH, StepResult, in_workspace, set};
use super::native_input::{input, lines};
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
/// Imports a key for signatures and removes its file.
const GPG: &str = "gpg --batch --import \"$1\"; code=$?; rm -f \"$1\"; exit $code";
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
    ) -> Result<(), StepResult> {
        let argv = script(GO_PROGRAMS, &[chosen.folder()]);
        let exit = self.in_job(argv, "`go env GOPATH`").await?;
        for (_, folder) in exit.commands.outputs {
            if folder.starts_with('/') && !self.path.contains(&folder) {
                self.path.insert(0, folder);
            }
        }
        Ok(())
    }

    /// `registry-url`, `scope`, `always-auth`
    pub(super) async fn npm_registry(
        &mut self,
        inputs: &[(String, String)],
    ) -> Result<(), StepResult> {
        let url = input(inputs, "registry-url");
        if url.is_empty() {
            return Ok(());
        }
        let owner = self.request.repository.split('/').next();
        let (scope, auth) = (input(inputs, "scope"), input(inputs, "always-auth"));
        let text = npm::settings(url, scope, owner.unwrap_or_default(), auth);
        let text = text.map_err(StepResult::error)?;
        let argv = script(npm::WRITE_SCRIPT, &[npm::FILE, &text]);
        self.in_job(argv, "the settings of npm cannot be written")
            .await?;
        set(
            &mut self.env,
            (npm::VARIABLE.to_owned(), npm::FILE.to_owned()),
        );
        let (name, value) = npm::TOKEN;
        if !self.env.iter().any(|(known, _)| known == name) {
            self.env.push((name.to_owned(), value.to_owned()));
        }
        Ok(())
    }

    /// `server-…`, `settings-path`, `gpg-…`, `mvn-toolchain-…`
    pub(super) async fn maven(
        &mut self,
        chosen: &[&InstalledTool],
        versions: &[&str],
        inputs: &[(String, String)],
    ) -> Result<(), StepResult> {
        let key = input(inputs, "gpg-private-key");
        let passphrase = match input(inputs, "gpg-passphrase") {
            _ if key.is_empty() => "",
            "" => "GPG_PASSPHRASE",
            name => name,
        };
        let server = MavenServer {
            id: input(inputs, "server-id"),
            username: input(inputs, "server-username"),
            password: input(inputs, "server-password"),
            passphrase,
        };
        let folder = match input(inputs, "settings-path") {
            "" => "~/.m2",
            folder => folder,
        };
        let is_asked = [server.id, server.username, server.password, key];
        let overwrites = input(inputs, "overwrite-settings") != "false";
        // An image's own settings stay where the step says nothing of servers.
        let keep = match is_asked.iter().any(|given| !given.is_empty()) && overwrites {
            true => "",
            false => "keep",
        };
        let text = maven::settings(server);
        let argv = script(maven::WRITE_SCRIPT, &[folder, "settings.xml", &text, keep]);
        self.in_job(argv, "the settings of Maven cannot be written")
            .await?;
        let (ids, vendors) = (
            lines(input(inputs, "mvn-toolchain-id")),
            lines(input(inputs, "mvn-toolchain-vendor")),
        );
        if !(ids.is_empty() && vendors.is_empty()) || chosen.len() > 1 {
            let distribution = input(inputs, "distribution");
            let tools = chosen.iter().zip(versions).enumerate();
            let tools: Vec<_> = tools
                .map(|(index, (tool, version))| {
                    let vendor = vendors.get(index).or(vendors.first()).cloned();
                    let vendor = vendor.unwrap_or_else(|| distribution.to_owned());
                    let id = ids.get(index).cloned();
                    (
                        *tool,
                        id.unwrap_or_else(|| format!("{vendor}_{version}")),
                        vendor,
                    )
                })
                .collect();
            let text = maven::toolchains(&tools);
            let argv = script(maven::WRITE_SCRIPT, &["~/.m2", "toolchains.xml", &text]);
            self.in_job(argv, "the toolchains of Maven cannot be written")
                .await?;
        }
        self.signing_key(key).await
    }

    async fn signing_key(&mut self, key: &str) -> Result<(), StepResult> {
        if key.is_empty() {
            return Ok(());
        }
        let folder = format!("{}/{KEY_FOLDER}", OWN_DIRECTORY);
        let put = self.put(&folder, &[("key", key.as_bytes(), 0o600)]).await;
        put.map_err(|error| StepResult::lost(format!("the key could not be put: {error}")))?;
        let file = format!("{folder}/key");
        self.in_job(
            script(GPG, &[&file]),
            "`gpg-private-key` cannot be imported",
        )
        .await?;
        Ok(())
    }

    /// `pip-version`, `pip-install`
    pub(super) async fn pip_packages(
        &mut self,
        chosen: &InstalledTool,
        inputs: &[(String, String)],
    ) -> Result<(), StepResult> {
        let (version, packages) = (input(inputs, "pip-version"), input(inputs, "pip-install"));
        if version.is_empty() && packages.is_empty() {
            return Ok(());
        }
        let mut arguments = vec![chosen.folder(), version];
        arguments.extend(packages.split_whitespace());
        self.in_job(script(PIP, &arguments), "`pip install` failed")
            .await?;
        Ok(())
    }

    /// `source-url`, `owner`, `config-file`, `workloads`
    pub(super) async fn dotnet_parts(
        &mut self,
        chosen: &InstalledTool,
        inputs: &[(String, String)],
    ) -> Result<(), StepResult> {
        let url = input(inputs, "source-url");
        if !url.is_empty() {
            let own = self
                .request
                .repository
                .split('/')
                .next()
                .unwrap_or_default();
            let owner = match input(inputs, "owner") {
                "" => own,
                owner => owner,
            };
            let text = nuget::settings(url, owner).map_err(StepResult::error)?;
            let file = match input(inputs, "config-file") {
                "" => nuget::FILE.to_owned(),
                file => in_workspace(file),
            };
            let (folder, name) = file.rsplit_once('/').unwrap_or(("", &file));
            let folder = format!("{folder}/");
            let argv = script(maven::WRITE_SCRIPT, &[&folder, name, &text]);
            self.in_job(argv, "the settings of NuGet cannot be written")
                .await?;
        }
        let workloads = input(inputs, "workloads").split([',', ' ']).map(str::trim);
        let workloads: Vec<&str> = workloads.filter(|one| !one.is_empty()).collect();
        if !workloads.is_empty() {
            let argv = script(WORKLOADS, &[&[chosen.folder()], &workloads[..]].concat());
            self.in_job(argv, "`dotnet workload install` failed")
                .await?;
        }
        Ok(())
    }

    /// `deno-binary-name`
    pub(super) async fn deno_name(
        &mut self,
        chosen: &InstalledTool,
        inputs: &[(String, String)],
    ) -> Result<(), StepResult> {
        let name = input(inputs, "deno-binary-name");
        if matches!(name, "" | "deno") {
            return Ok(());
        }
        if name.contains('/') {
            return Err(StepResult::error(
                "`deno-binary-name` has a slash: it takes a name",
            ));
        }
        let argv = script(NAME, &[&chosen.path, name]);
        self.in_job(argv, "the program gets no other name").await?;
        Ok(())
    }

    /// `registries`, and `registry-url` with `scope` as older versions had them.
    pub(super) async fn bun_registries(
        &mut self,
        inputs: &[(String, String)],
    ) -> Result<(), StepResult> {
        let mut registries = lines(input(inputs, "registries"));
        let (url, scope) = (input(inputs, "registry-url"), input(inputs, "scope"));
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
        inputs: &[(String, String)],
    ) -> Result<Vec<(String, String)>, StepResult> {
        let cache = input(inputs, "cache");
        let Some(kept) = setup_cache(command, cache).map_err(StepResult::error)? else {
            return Ok(Vec::new());
        };
        let none = vec![("cache-hit".to_owned(), "false".to_owned())];
        let mut patterns = lines(input(inputs, "cache-dependency-path"));
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
        let more = input(inputs, "cache-hash");
        if !more.is_empty() {
            hash = format!("{hash}-{more}");
        }
        let argv = script(&kept.script(), &[chosen.folder()]);
        let exit = self
            .in_job(argv, "the folders of a cache are not known")
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
