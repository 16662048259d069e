//! `setup-java` beside the choice of a release: a JDK of the repository, and the settings of Maven.

use runner_core::context::OWN_DIRECTORY;
use runner_core::plan::{SetupTool, is_release_since};
use runner_core::setup::installed::{InstalledTool, UNPACKED_JAVA, list_command};
use runner_core::setup::maven::{
    self, GpgPassphrase, MavenRepository, MavenServer, MavenSettings, MavenToolchains,
};
use runner_core::state::StepEnd;

use super::frame::{StepResult, in_workspace, set};
use super::native_input::{NativeStep, lines, script};
use super::setup_input::{WantedVersion, decoded_text};
use super::step_runner::StepRunner;

/// Unpacks an archive with a JDK and says where. Arguments: the archive, the folder of all.
const UNPACK: &str = r#"
file=$1
case $file in "~"*) file=$HOME${file#"~"} ;; esac
[ -f "$file" ] || { echo "there is no file $file" >&2; exit 1; }
mkdir -p "$2" && folder=$(mktemp -d "$2/XXXXXX") && chmod 755 "$folder" || exit 1
case $file in *.zip) unzip -q "$file" -d "$folder" ;; *) tar -xf "$file" -C "$folder" ;; esac || exit 1
for home in "$folder" "$folder"/*; do
  [ -x "$home/bin/java" ] && { printf '::set-output name=home::%s\n' "$home"; exit 0; }
done
echo "$file has no bin/java" >&2
exit 1
"#;
/// Prints the file of toolchains in base64, where there is one. Argument: its folder.
const READ_TOOLCHAINS: &str = r#"
case $1 in "~"*) folder=$HOME${1#"~"} ;; *) folder=$1 ;; esac
if [ -f "$folder/toolchains.xml" ]; then
  printf '::set-output name=text::%s\n' "$(base64 -w 0 < "$folder/toolchains.xml")"
fi
"#;
/// Imports a key for signatures.
const GPG: &str = "gpg --batch --import \"$1\"";
/// Where the key lies until then; the job's container sees it too.
const KEY_FOLDER: &str = "setup";
/// The variable by which Maven is told of arguments.
const MAVEN_ARGUMENTS: &str = "MAVEN_ARGS";

impl StepRunner<'_> {
    /// The JDK of an archive of the repository.
    pub(super) async fn unpacked_java(
        &mut self,
        tool: SetupTool,
        wanted: &[WantedVersion],
        file: &str,
        step: NativeStep<'_>,
    ) -> Result<Vec<InstalledTool>, StepResult> {
        let place = match file.starts_with(['/', '~']) {
            true => file.to_owned(),
            false => in_workspace(file),
        };
        let argv = script(UNPACK, &[&place, UNPACKED_JAVA]);
        let exit = self.in_job(step, argv, "`jdk-file` cannot be used").await?;
        let mut homes = exit.commands.outputs.into_iter().map(|(_, home)| home);
        let program = format!("{}/bin/java", homes.next_back().unwrap_or_default());
        let words = list_command(&program, tool.version_argument, false);
        let found = self.listed(words, step).await?;
        let fits = |wanted: &WantedVersion| {
            found
                .iter()
                .any(|it| wanted.requirement.is_met_by(&it.says))
        };
        if let Some(other) = wanted.iter().find(|version| !fits(version)) {
            let says = found.first().map_or("no Java", |tool| tool.says.as_str());
            return Err(StepResult::error(format!(
                "`jdk-file`: {file} has {says}, and the step wants {}",
                other.text
            )));
        }
        Ok(found)
    }

    /// `server-…`, `mvn-…`, `settings-path`, `gpg-…`, `show-download-progress`
    pub(super) async fn maven(
        &mut self,
        chosen: &[(&InstalledTool, &str)],
        uses: &str,
        step: NativeStep<'_>,
    ) -> Result<(), StepResult> {
        let key = step.input("gpg-private-key");
        let folder = match step.input("settings-path") {
            "" => "~/.m2",
            folder => folder,
        };
        let asked = [
            "server-id",
            "server-username",
            "server-username-env-var",
            "server-password",
            "server-password-env-var",
            "mvn-server-credentials",
            "mvn-repositories",
            "gpg-private-key",
        ];
        let is_asked = !step.input_of(&asked).is_empty();
        let overwrites = step.input("overwrite-settings") != "false";
        // An image's own settings stay where the step says nothing of servers.
        let keep = if is_asked && overwrites { "" } else { "keep" };
        let text = maven_settings(uses, step).map_err(StepResult::error)?;
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
        let known = self.known_toolchains(folder, step).await?;
        let text = maven::toolchains(chosen, toolchains, &known);
        let text = text.map_err(StepResult::error)?;
        let argv = script(maven::WRITE_SCRIPT, &[folder, "toolchains.xml", &text]);
        self.in_job(step, argv, "the toolchains of Maven cannot be written")
            .await?;
        self.quiet_maven(step);
        self.signing_key(key, step).await
    }

    /// What the file of toolchains has; nothing where there is none.
    async fn known_toolchains(
        &mut self,
        folder: &str,
        step: NativeStep<'_>,
    ) -> Result<String, StepResult> {
        let argv = script(READ_TOOLCHAINS, &[folder]);
        let exit = self
            .in_job(step, argv, "the toolchains of Maven cannot be read")
            .await?;
        Ok(decoded_text(&exit).unwrap_or_default())
    }

    /// Maven says nothing of downloads unless the step wants it.
    fn quiet_maven(&mut self, step: NativeStep<'_>) {
        if step.input("show-download-progress") == "true" {
            return;
        }
        let mut known = step.env.iter().chain(&self.variables.env);
        let known = known.find(|(name, _)| name == MAVEN_ARGUMENTS);
        let known = known.map_or("", |(_, value)| value.as_str());
        if let Some(arguments) = maven::quiet_arguments(known) {
            set(
                &mut self.variables.env,
                (MAVEN_ARGUMENTS.to_owned(), arguments),
            );
        }
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
}

/// `settings.xml` of the inputs.
fn maven_settings(uses: &str, step: NativeStep<'_>) -> Result<String, String> {
    let mut servers = MavenServer::read(&lines(step.input("mvn-server-credentials")))?;
    if servers.is_empty() {
        servers.push(MavenServer::new(
            step.input("server-id"),
            step.input_of(&["server-username-env-var", "server-username"]),
            step.input_of(&["server-password-env-var", "server-password"]),
        ));
    }
    let is = |name: &str| step.input(name) != "false";
    let repositories = MavenRepository::read(
        &lines(step.input("mvn-repositories")),
        is("mvn-repositories-include-central"),
        is("mvn-repositories-prioritize-central"),
    )?;
    let variable = match step.input_of(&["gpg-passphrase-env-var", "gpg-passphrase"]) {
        "" => "GPG_PASSPHRASE",
        name => name,
    };
    let passphrase = match step.input("gpg-private-key") {
        "" => GpgPassphrase::None,
        _ if is_release_since(uses, 6) => GpgPassphrase::Property(variable),
        _ => GpgPassphrase::Server(variable),
    };
    Ok(maven::settings(MavenSettings {
        servers: &servers,
        repositories: &repositories,
        passphrase,
    }))
}
