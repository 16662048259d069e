//! What `setup-…` steps do beside the choice of a release: settings of registries, packages, and
//! what is kept between runs.

use runner_core::context::WORKSPACE;
use runner_core::setup::caching::setup_cache;
use runner_core::setup::installed::InstalledTool;
use runner_core::setup::{bun, is_npm_project, npm, nuget, python};
use runner_core::state::StepEnd;

use super::frame::{ARCH, StepResult, in_workspace, set};
use super::native_input::{NativeStep, lines, script};
use super::setup_input::decoded_text;
use super::step_runner::StepRunner;
use crate::log::LineKind;

/// Prints where Go puts what it installs. Argument: the folder of the program.
const GO_PROGRAMS: &str =
    "PATH=\"$1:$PATH\"; printf '::set-output name=folder::%s/bin\\n' \"$(go env GOPATH)\"";
/// Where `bun add -g` puts programs.
pub(super) const BUN_PROGRAMS: &str = "printf '::set-output name=folder::%s\\n' \"$HOME/.bun/bin\"";
/// Where `deno install` puts programs.
pub(super) const DENO_PROGRAMS: &str =
    "printf '::set-output name=folder::%s/bin\\n' \"${DENO_INSTALL_ROOT:-$HOME/.deno}\"";
/// Says where cargo keeps what it fetches.
const CARGO_HOME: &str = "printf '::set-output name=folder::%s\\n' \"${CARGO_HOME:-$HOME/.cargo}\"";
/// Installs packages. Arguments: the folder of the program, pip's version, packages and options.
const PIP: &str = r#"
PATH="$1:$PATH" version=$2; shift 2
export PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
[ -z "$version" ] || python3 -m pip install "pip==$version" || exit 1
[ $# -eq 0 ] || python3 -m pip install "$@"
"#;
/// Installs workloads of .NET. Arguments: the folder of the program, workloads.
const WORKLOADS: &str =
    "PATH=\"$1:$PATH\"; shift; dotnet workload update && dotnet workload install \"$@\"";
/// Writes a file. Arguments: the file, its text.
const WRITE: &str = "printf '%s' \"$2\" > \"$1\"";
/// Gives a program another name beside it. Arguments: the program, the name.
const NAME: &str = "ln -sf \"$1\" \"${1%/*}/$2\"";
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
            if folder.starts_with('/') && !self.variables.path.contains(&folder) {
                self.variables.path.insert(0, folder);
            }
        }
        Ok(())
    }

    /// `CARGO_HOME`, which caches name; what `cargo install` makes is found.
    pub(super) async fn cargo_home(&mut self, step: NativeStep<'_>) -> Result<(), StepResult> {
        let argv = script(CARGO_HOME, &[]);
        let exit = self.in_job(step, argv, "`CARGO_HOME` is not known").await?;
        for (_, folder) in exit.commands.outputs {
            self.append_to_path(format!("{folder}/bin"));
            set(&mut self.variables.env, ("CARGO_HOME".to_owned(), folder));
        }
        Ok(())
    }

    /// What a tool's own way to install programs makes is found. The script says where.
    pub(super) async fn add_programs(
        &mut self,
        text: &str,
        step: NativeStep<'_>,
    ) -> Result<(), StepResult> {
        let argv = script(text, &[]);
        let exit = self
            .in_job(step, argv, "the home folder is not known")
            .await?;
        for (_, folder) in exit.commands.outputs {
            self.append_to_path(folder);
        }
        Ok(())
    }

    /// After the folders that are there: the release that was chosen stays the first.
    fn append_to_path(&mut self, folder: String) {
        if folder.starts_with('/') && !self.variables.path.contains(&folder) {
            self.variables.path.push(folder);
        }
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
        set(&mut self.variables.env, file);
        let mut own = step.env.iter();
        if let Some(token) = own.find(|(name, _)| name == npm::TOKEN) {
            set(&mut self.variables.env, token.clone());
        }
        Ok(())
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

    /// A release of Python is called `python`, too: Debian's package has `python3` only.
    pub(super) async fn python_name(
        &mut self,
        chosen: &InstalledTool,
        step: NativeStep<'_>,
    ) -> Result<(), StepResult> {
        if step.input("update-environment") == "false" {
            return Ok(());
        }
        let arguments = [chosen.path.as_str(), python::PLAIN_NAME];
        let argv = script(python::PLAIN_NAME_SCRIPT, &arguments);
        let exit = self
            .in_job(step, argv, "its program gets no name `python`")
            .await?;
        // That of a release chosen before is another's.
        self.variables
            .path
            .retain(|folder| folder != python::PLAIN_NAME);
        if !exit.commands.outputs.is_empty() {
            self.variables.path.insert(0, python::PLAIN_NAME.to_owned());
        }
        Ok(())
    }

    /// `registries`, and `registry-url` with `scope` as older versions had them.
    pub(super) async fn bun_registries(&mut self, step: NativeStep<'_>) -> Result<(), StepResult> {
        let registries = lines(step.input("registries"));
        let registries = registries.iter().map(|line| bun::registry(line));
        let registries: Result<Vec<_>, _> = registries.collect();
        let mut registries = registries.map_err(StepResult::error)?;
        let url = step.input("registry-url");
        if !url.is_empty() {
            let registry = bun::new_registry(step.input("scope"), url, bun::TOKEN);
            registries.push(registry.map_err(StepResult::error)?);
        }
        if registries.is_empty() {
            return Ok(());
        }
        let project = self.small_text(bun::FILE).await.unwrap_or_default();
        let text = bun::settings(&project, &registries).map_err(StepResult::error)?;
        let file = in_workspace(bun::FILE);
        self.in_job(step, script(WRITE, &[&file, &text]), "Bun's settings stay")
            .await?;
        Ok(())
    }

    /// `bun-download-url`: what lies there, whatever its version.
    pub(super) async fn downloaded_bun(
        &mut self,
        step: NativeStep<'_>,
    ) -> Result<StepResult, StepResult> {
        self.bun_registries(step).await?;
        let url = step.input("bun-download-url");
        let argv = script(bun::DOWNLOAD_SCRIPT, &[url]);
        let exit = self.in_job(step, argv, "Bun cannot be fetched").await?;
        let mut paths = exit.commands.outputs.into_iter().map(|(_, path)| path);
        let path = paths.next_back().unwrap_or_default();
        let Some((folder, _)) = path.rsplit_once('/') else {
            return Err(StepResult::error("Bun cannot be fetched: it is nowhere"));
        };
        self.variables.path.retain(|known| known != folder);
        self.variables.path.insert(0, folder.to_owned());
        let revision = self.bun_revision(&path, step).await?;
        let version = revision.first().map(|(_, revision)| revision.as_str());
        let version = version.and_then(|revision| revision.split('+').next());
        let version = version.unwrap_or_default().to_owned();
        self.log
            .info(self.current.number, &format!("bun: {version} in {path}"))
            .await;
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut outputs = vec![
            pair("bun-version", &version),
            pair("bun-path", &path),
            pair("bun-download-url", url),
            pair("cache-hit", "false"),
        ];
        outputs.extend(revision);
        Ok(StepResult::success(outputs))
    }

    /// The output `bun-revision`.
    pub(super) async fn bun_revision(
        &mut self,
        path: &str,
        step: NativeStep<'_>,
    ) -> Result<Vec<(String, String)>, StepResult> {
        let argv = script(bun::REVISION_SCRIPT, &[path]);
        let exit = self.in_job(step, argv, "Bun cannot be asked").await?;
        let revisions = exit.commands.outputs.into_iter();
        let named = revisions.map(|(_, revision)| ("bun-revision".to_owned(), revision));
        Ok(named.collect())
    }

    /// `source-url`, `owner`, `config-file`
    pub(super) async fn nuget_source(&mut self, step: NativeStep<'_>) -> Result<(), StepResult> {
        let source = step.input("source-url");
        if source.is_empty() {
            return Ok(());
        }
        let own = step.env.iter().chain(&self.variables.env);
        let mut tokens = own.filter(|(name, value)| name == nuget::TOKEN && !value.is_empty());
        let Some((_, token)) = tokens.next().cloned() else {
            return Err(StepResult::error(format!(
                "`source-url` needs the token of the source in the variable {} of the step",
                nuget::TOKEN
            )));
        };
        let argv = script(nuget::READ_SCRIPT, &[WORKSPACE, step.input("config-file")]);
        let exit = self
            .in_job(step, argv, "the settings of NuGet cannot be read")
            .await?;
        let project = decoded_text(&exit);
        let owner = match step.input("owner") {
            "" => self.request.repository.split('/').next(),
            owner => Some(owner),
        };
        let owner = owner.unwrap_or_default();
        let text = nuget::settings(project.as_deref(), source, owner, &token);
        let text = text.map_err(StepResult::error)?;
        let argv = script(nuget::WRITE_SCRIPT, &[WORKSPACE, &text]);
        self.in_job(step, argv, "the settings of NuGet cannot be written")
            .await?;
        Ok(())
    }

    /// Whether the packages of npm are kept unasked: the project names it as its manager.
    async fn is_npm_kept(&self, command: &str, step: NativeStep<'_>) -> bool {
        if command != "node" || step.input("package-manager-cache") == "false" {
            return false;
        }
        let package = self.small_text("package.json").await;
        package.is_some_and(|package| is_npm_project(&package))
    }

    /// `cache`: restored now, saved after the job as by `actions/cache`; the outputs of it.
    pub(super) async fn setup_cache(
        &mut self,
        command: &str,
        chosen: &InstalledTool,
        step: NativeStep<'_>,
    ) -> Result<Vec<(String, String)>, StepResult> {
        let asked = step.input("cache");
        let own_hash = step.input("cache-hash");
        let cache = match asked {
            "" if self.is_npm_kept(command, step).await => "npm",
            "" | "false" if !own_hash.is_empty() && command == "deno" => "true",
            asked => asked,
        };
        let Some(kept) = setup_cache(command, cache).map_err(StepResult::error)? else {
            return Ok(Vec::new());
        };
        let none = vec![("cache-hit".to_owned(), "false".to_owned())];
        let mut patterns = lines(step.input("cache-dependency-path"));
        if patterns.is_empty() {
            patterns = kept.lock_files.iter().map(|it| (*it).to_owned()).collect();
        }
        let hash = match own_hash {
            "" => self.hash_now(&patterns).await?,
            own => own.to_owned(),
        };
        if hash.is_empty() {
            // What is kept unasked nobody misses.
            if !asked.is_empty() {
                let text = format!("nothing is cached: no file is {}", patterns.join(" or "));
                self.log
                    .line(self.current.number, LineKind::Warning, &text)
                    .await;
            }
            return Ok(none);
        }
        let mut folders = lines(step.input("cache-path"));
        if folders.is_empty() {
            let argv = script(&kept.script(), &[chosen.folder()]);
            let exit = self
                .in_job(step, argv, "the folders of a cache are not known")
                .await?;
            let said = exit.commands.outputs.into_iter().map(|(_, folder)| folder);
            folders.extend(said);
        }
        if folders.is_empty() {
            let text = format!("nothing is cached: {} is not in the image", kept.manager);
            self.log
                .line(self.current.number, LineKind::Warning, &text)
                .await;
            return Ok(none);
        }
        let key = kept.key(command, ARCH, &chosen.version(), &hash);
        let beginning = kept.beginning(command, ARCH, &chosen.version());
        let pair = |name: &str, value: String| (name.to_owned(), value);
        let inputs = [
            pair("key", key),
            pair("restore-keys", beginning.unwrap_or_default()),
            pair("path", folders.join("\n")),
        ];
        let saves = step.input("cache-read-only") != "true";
        let mut result = self.cache(&inputs, saves).await;
        if result.end != StepEnd::Exited(0) {
            return Err(result);
        }
        let outputs = result.outputs.iter_mut();
        for (_, hit) in outputs.filter(|(name, hit)| name == "cache-hit" && hit.is_empty()) {
            "false".clone_into(hit);
        }
        Ok(result.outputs)
    }
}
