//! `setup-…`: of the releases of a tool that the image has the one that is wanted becomes the one
//! that later steps find.

use runner_core::plan::SetupTool;
use runner_core::problem_matcher::of_setup;
use runner_core::setup::effects::{SetupEffects, SetupWishes, effects, prepended};
use runner_core::setup::installed::{InstalledTool, choose, installed, list_command, select};
use runner_core::setup::python;
use runner_core::setup::{
    VersionRequirement, extended_package, rust_parts, usual_version_file, version_in_file,
};
use runner_core::state::StepEnd;

use super::execute::ProcessExit;
use super::frame::{ARCH, StepResult, in_workspace, set};
use super::native_input::{NativeStep, lines, script};
use super::setup_files::{BUN_PROGRAMS, DENO_PROGRAMS};
use super::setup_input::{WantedVersion, jdk_file};
use super::step_runner::StepRunner;
use crate::log::LineKind;

/// Where programs look for libraries.
const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// A release that the image has, and what it does to later steps.
type ChosenRelease = (InstalledTool, SetupEffects);

impl StepRunner<'_> {
    pub(super) async fn setup(
        &mut self,
        tool: SetupTool,
        uses: &str,
        step: NativeStep<'_>,
    ) -> StepResult {
        match self.set_up(tool, uses, step).await {
            Ok(result) | Err(result) => result,
        }
    }

    async fn set_up(
        &mut self,
        tool: SetupTool,
        uses: &str,
        step: NativeStep<'_>,
    ) -> Result<StepResult, StepResult> {
        if !step.input("bun-download-url").is_empty() && tool.command == "bun" {
            return self.downloaded_bun(step).await;
        }
        let wanted = self.wanted_versions(tool, uses, step).await?;
        let all = self.list_for(tool, &wanted, step).await?;
        let mut chosen: Vec<ChosenRelease> = Vec::new();
        for version in &wanted {
            let found = self
                .chosen_release((tool, uses), version, &all, step)
                .await?;
            let wishes = SetupWishes {
                distribution: step.input("distribution"),
                version: &version.text,
                arch: ARCH,
            };
            let effects = effects(tool.command, &found, wishes);
            chosen.push((found, effects));
        }
        let Some((main, given)) = chosen.last().cloned() else {
            return Err(absent(tool, "", &all));
        };
        // First: the original is to find a job without the image's Rust.
        self.check_rust_parts(tool, &main, step).await?;
        self.apply_choice(tool, &chosen, &all, step);
        if step.input("problem-matcher") != "false" {
            // Those of the job come first: they are many only where the job made them so.
            let _ = self.variables.matchers.add(of_setup(tool.command));
        }
        let mut outputs = given.outputs;
        if tool.command == "dotnet"
            && step.input(tool.version_file_input).is_empty()
            && let Some((_, newest)) = chosen.iter().max_by(|a, b| a.0.is_newer(&b.0))
        {
            // Of several the newest is said.
            outputs.clone_from(&newest.outputs);
        }
        let added = self
            .complete_tool((tool, uses), &wanted, &chosen, step)
            .await?;
        outputs.extend(added);
        let cached = self.setup_cache(tool.command, &main, step).await?;
        outputs.extend(cached);
        Ok(StepResult::success(outputs))
    }

    /// Has later steps find what was chosen: all of it, or of Java only by its version's own name.
    fn apply_choice(
        &mut self,
        tool: SetupTool,
        chosen: &[ChosenRelease],
        all: &[InstalledTool],
        step: NativeStep<'_>,
    ) {
        if step.input("set-default") == "false" && tool.command == "java" {
            // Only what names the release's own version.
            let env = chosen.iter().flat_map(|(_, effects)| &effects.env);
            for pair in env.filter(|(name, _)| name.starts_with("JAVA_HOME_")) {
                set(&mut self.variables.env, pair.clone());
            }
        } else if step.input("update-environment") != "false" {
            let tools: Vec<_> = chosen.iter().map(|(found, _)| found).collect();
            select(&mut self.variables.path, &tools, all);
            chosen.iter().for_each(|(_, effects)| self.apply(effects));
        }
    }

    /// What belongs to a tool beside its programs: packages, registries, names. Returns outputs.
    async fn complete_tool(
        &mut self,
        (tool, uses): (SetupTool, &str),
        wanted: &[WantedVersion],
        chosen: &[ChosenRelease],
        step: NativeStep<'_>,
    ) -> Result<Vec<(String, String)>, StepResult> {
        let Some((main, _)) = chosen.last() else {
            return Ok(Vec::new());
        };
        match tool.command {
            "rustc" => self.cargo_home(step).await?,
            "go" => self.add_go_programs(main, step).await?,
            "node" => {
                self.quieten_node(&main.says, step.input("update-environment"));
                self.npm_registry(step).await?;
            }
            "java" => {
                let tools = chosen.iter().map(|(tool, _)| tool);
                let versions = wanted.iter().map(|version| version.text.as_str());
                let releases: Vec<_> = tools.zip(versions).collect();
                self.maven(&releases, uses, step).await?;
            }
            "python3" => {
                self.python_name(main, step).await?;
                self.pip_packages(main, step).await?;
            }
            "dotnet" => {
                self.dotnet_workloads(main, step).await?;
                self.nuget_source(step).await?;
            }
            "deno" => {
                self.deno_name(main, step).await?;
                self.add_programs(DENO_PROGRAMS, step).await?;
            }
            "bun" => {
                self.add_programs(BUN_PROGRAMS, step).await?;
                self.bun_registries(step).await?;
                return self.bun_revision(&main.path, step).await;
            }
            _ => {}
        }
        Ok(Vec::new())
    }

    /// The release for one of the versions that are wanted.
    async fn chosen_release(
        &mut self,
        (tool, uses): (SetupTool, &str),
        version: &WantedVersion,
        all: &[InstalledTool],
        step: NativeStep<'_>,
    ) -> Result<InstalledTool, StepResult> {
        let found = match version.text.is_empty() {
            true => all.first(),
            false => choose(&version.requirement, all),
        };
        let found = found.ok_or_else(|| absent(tool, &version.text, all))?;
        self.record_choice(tool, version, found, step).await;
        if tool.command == "rustc" {
            let is_newest = is_newest(version, step);
            let rust = is_newest.then(|| (uses.to_owned(), found.says.clone()));
            self.machine.causes.lock().image_rust = rust;
        }
        match found.with_python_names() {
            None => Ok(found.clone()),
            Some(named) => {
                let argv = script(python::NAME_SCRIPT, &[&found.path, named.folder()]);
                self.in_job(step, argv, "its program gets no other names")
                    .await?;
                Ok(named)
            }
        }
    }

    /// The versions that the step names, itself or in a file.
    async fn wanted_versions(
        &mut self,
        tool: SetupTool,
        uses: &str,
        step: NativeStep<'_>,
    ) -> Result<Vec<WantedVersion>, StepResult> {
        let named = uses.split_once('@').map_or("", |(_, version)| version);
        let is_file_first =
            tool.command == "deno" && !step.input(tool.version_file_input).is_empty();
        let (version, of) = match step.input(tool.version_input) {
            _ if is_file_first => {
                let version = self.version_in_file(tool, step).await?;
                (version, tool.version_file_input)
            }
            "" if tool.named_by_reference => (named.to_owned(), tool.version_input),
            "" => {
                let version = self.version_in_file(tool, step).await?;
                (version, tool.version_file_input)
            }
            // Of .NET that of the file comes to those of the step.
            given
                if tool.command == "dotnet" && !step.input(tool.version_file_input).is_empty() =>
            {
                let of_file = self.version_in_file(tool, step).await?;
                (format!("{given}\n{of_file}"), tool.version_input)
            }
            given => (given.to_owned(), tool.version_input),
        };
        let mut texts = lines(&version);
        if texts.is_empty() {
            // Deno's action has a version where none is named; others take what there is.
            let usual = if tool.command == "deno" { "2.x" } else { "" };
            texts.push(usual.to_owned());
        }
        let channel = step.input("dotnet-channel");
        if tool.command == "dotnet" && !channel.is_empty() {
            let newest = texts.iter_mut();
            let newest = newest.filter(|text| text.eq_ignore_ascii_case("latest"));
            newest.for_each(|text| channel.clone_into(text));
        }
        // A range of a project that its action cannot read is none.
        if of == tool.version_file_input
            && step.input(of).ends_with(".toml")
            && tool.command == "python3"
            && let Some(reason) = texts
                .iter()
                .find_map(|text| VersionRequirement::parse(tool.command, text).err())
        {
            let text = format!("{of}: {reason}");
            self.log
                .line(self.current.number, LineKind::Warning, &text)
                .await;
            texts = vec![String::new()];
        }
        let parsed = texts.into_iter().map(|text| {
            let requirement = VersionRequirement::parse(tool.command, &text);
            let mut requirement =
                requirement.map_err(|reason| StepResult::error(format!("{of}: {reason}")))?;
            if step.input("freethreaded") == "true" {
                requirement = requirement.free_threaded();
            }
            Ok(WantedVersion { text, requirement })
        });
        parsed.collect()
    }

    /// The releases that come into question: where the one in `PATH` is right, it alone is asked.
    async fn list_for(
        &mut self,
        tool: SetupTool,
        wanted: &[WantedVersion],
        step: NativeStep<'_>,
    ) -> Result<Vec<InstalledTool>, StepResult> {
        if tool.command == "java"
            && let Some(file) = jdk_file(step)
        {
            return self.unpacked_java(tool, wanted, file, step).await;
        }
        if let [version] = wanted
            && !is_newest(version, step)
            && (version.text.is_empty() || version.requirement.is_narrow())
        {
            let found = self.list_tool(tool, false, step).await?;
            if choose(&version.requirement, &found).is_some() {
                return Ok(found);
            }
        }
        self.list_tool(tool, true, step).await
    }

    async fn list_tool(
        &mut self,
        tool: SetupTool,
        elsewhere: bool,
        step: NativeStep<'_>,
    ) -> Result<Vec<InstalledTool>, StepResult> {
        let words = list_command(tool.command, tool.version_argument, elsewhere);
        self.listed(words, step).await
    }

    /// What a command that lists releases has found.
    pub(super) async fn listed(
        &mut self,
        words: Vec<String>,
        step: NativeStep<'_>,
    ) -> Result<Vec<InstalledTool>, StepResult> {
        let exit = self
            .in_job(step, words, "its releases cannot be listed")
            .await?;
        Ok(installed(&exit.commands.outputs))
    }

    /// A command of a setup step; what goes wrong ends the step.
    pub(super) async fn in_job(
        &mut self,
        step: NativeStep<'_>,
        argv: Vec<String>,
        what: &str,
    ) -> Result<ProcessExit, StepResult> {
        let exit = self.command_as_step(argv, step.env).await;
        match exit.end {
            StepEnd::Exited(0) => Ok(exit),
            StepEnd::Lost => Err(StepResult::lost(exit.reason.unwrap_or_default())),
            end => Err(StepResult {
                end,
                ..StepResult::error(format!("{what}: {}", exit.reason.unwrap_or_default()))
            }),
        }
    }

    async fn record_choice(
        &self,
        tool: SetupTool,
        version: &WantedVersion,
        found: &InstalledTool,
        step: NativeStep<'_>,
    ) {
        let mut text = format!("{}: {} in {}", tool.command, found.says, found.path);
        if is_newest(version, step) {
            text += "; what is newest moves with time, this is the newest that the image has";
        }
        let distribution = step.input("distribution");
        if !distribution.is_empty() && jdk_file(step).is_none() {
            text += &format!("; it stands for the distribution {distribution}");
        }
        self.log.info(self.current.number, &text).await;
    }

    /// Variables of later steps.
    fn apply(&mut self, effects: &SetupEffects) {
        for pair in &effects.env {
            set(&mut self.variables.env, pair.clone());
        }
        if let Some(folder) = &effects.library_folder {
            let known = self
                .variables
                .env
                .iter()
                .find(|(name, _)| name == LIBRARIES);
            let known = known.map_or("", |(_, value)| value.as_str());
            let folders = prepended(folder, known);
            set(&mut self.variables.env, (LIBRARIES.to_owned(), folders));
        }
        for (name, value) in &effects.defaults {
            if !self.variables.env.iter().any(|(known, _)| known == name) {
                self.variables
                    .env
                    .push(((*name).to_owned(), (*value).to_owned()));
            }
        }
    }

    /// The version in the file that an input names, or in the one that is usual; nothing where
    /// there is none.
    async fn version_in_file(
        &self,
        tool: SetupTool,
        step: NativeStep<'_>,
    ) -> Result<String, StepResult> {
        let given = match tool.version_file_input {
            "" => "",
            name => step.input(name),
        };
        let usual = usual_version_file(tool.command).filter(|_| given.is_empty());
        let Some(file) = usual.or((!given.is_empty()).then_some(given)) else {
            return Ok(String::new());
        };
        let Some(mut text) = self.small_text(file).await else {
            let reason = format!("{}: there is no file {file}", tool.version_file_input);
            return match usual {
                Some(_) => Ok(String::new()),
                None if tool.command == "bun" => {
                    self.log
                        .line(self.current.number, LineKind::Warning, &reason)
                        .await;
                    Ok(String::new())
                }
                None => Err(StepResult::error(reason)),
            };
        };
        let mut file = file.to_owned();
        let extended = extended_package(&file, &text);
        if let Some(other) = extended.filter(|_| tool.command == "node") {
            file = other;
            text = self.small_text(&file).await.unwrap_or_default();
        }
        let reason = match version_in_file(tool.command, &file, &text) {
            Ok(version) => return Ok(version),
            // A `global.json` may be about other things.
            Err(_) if usual.is_some() => return Ok(String::new()),
            Err(reason) => format!("{}: {reason}", tool.version_file_input),
        };
        if tool.command == "java" {
            return Err(StepResult::error(reason));
        }
        self.log
            .line(self.current.number, LineKind::Warning, &reason)
            .await;
        // Others go on with what there is, .NET with the newest line of long support.
        let usual = if tool.command == "dotnet" { "LTS" } else { "" };
        Ok(usual.to_owned())
    }

    /// The text of a file of the workspace; nothing where there is none.
    pub(super) async fn small_text(&self, file: &str) -> Option<String> {
        let files = self.fetch_small(&in_workspace(file)).await;
        let name = file.rsplit('/').next().unwrap_or(file);
        let files = files.unwrap_or_default().into_iter();
        let mut named = files.filter(|(found, _)| found.rsplit('/').next() == Some(name));
        let (_, bytes) = named.next()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Checks that a chosen Rust has the components and targets that are wanted.
    async fn check_rust_parts(
        &mut self,
        tool: SetupTool,
        chosen: &InstalledTool,
        step: NativeStep<'_>,
    ) -> Result<(), StepResult> {
        if tool.command != "rustc" {
            return Ok(());
        }
        let targets = format!("{},{}", step.input("targets"), step.input("target"));
        let parts = rust_parts(step.input("components"), &targets);
        let parts = parts.map_err(|reason| StepResult::error(format!("components: {reason}")))?;
        for part in parts {
            // Outside of the workspace: its own toolchain is not the one that was chosen.
            let script = format!(
                "PATH=\"$2:$PATH\"; unset RUSTUP_TOOLCHAIN; cd /; {}",
                part.test
            );
            let argv = ["sh", "-c", &script, "sh", &part.name, chosen.folder()];
            let exit = self
                .command_as_step(argv.map(str::to_owned).to_vec(), step.env)
                .await;
            match exit.end {
                StepEnd::Exited(0) => {}
                StepEnd::Lost => return Err(StepResult::lost(exit.reason.unwrap_or_default())),
                _ => {
                    let reason = format!("the image's Rust has no {}", part.name);
                    return Err(absent_of(reason));
                }
            }
        }
        Ok(())
    }
}

/// Whether the step wants the newest there is.
fn is_newest(version: &WantedVersion, step: NativeStep<'_>) -> bool {
    version.requirement.moves() || step.input("check-latest") == "true"
}

/// Why no release will do.
fn absent(tool: SetupTool, version: &str, all: &[InstalledTool]) -> StepResult {
    let command = tool.command;
    let has: Vec<&str> = all.iter().map(|tool| tool.says.as_str()).collect();
    let reason = match has.as_slice() {
        [] => format!("{command} is not in the image of this label"),
        has => format!(
            "the image has no {command} {version}; it has {}",
            has.join(", ")
        ),
    };
    absent_of(reason)
}

/// What only the action's original could do.
fn absent_of(reason: String) -> StepResult {
    StepResult {
        absent: true,
        ..StepResult::error(reason)
    }
}
