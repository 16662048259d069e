//! Everything the platform would read, checked in one pass: its file, the products' own files, the
//! environment.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use config_core::{
    ConfigInput, Diagnostic, Diagnostics, Environment, Secret, Severity, UnknownKeys, ValueError,
    WrittenValue,
};
use daemon::peers::{self, PeerFault};
use daemon::vm_hosts;
use orchestrator_actors::file_migration;
use orchestrator_actors::load::{SystemHost, load};
use orchestrator_core::config::CheckedConfig as Agents;
use runner_web::config::{RunnerConfig, RunnerConfigFile, RunnerFlags};
use search_actors::ConfigPublisher;
use search_core::role::{Os, ServerFlags, ServerSettings, parse_environment};
use search_web::boot::{self, SearchBootError};
use store::StoreOptions;
use vm_engine::image::agent;
use vm_web::boot as vm_boot;
use vm_web::config::{FileValues as VmTable, ManagerConfig, ManagerFlags};

use crate::settings::{PlatformFile, SearchTable};

/// The variable that the orchestrator's files can name the data folder by.
pub(crate) const DATA_VARIABLE: &str = "PLATFORM_DATA";

/// What will run.
#[derive(Debug)]
pub(crate) struct PlatformPlan {
    /// Where everything is kept.
    pub(crate) data: PathBuf,
    /// How much is logged.
    pub(crate) log_level: String,
    /// What people sign in with at the front door, where it is set.
    pub(crate) token: Option<Secret<String>>,
    /// The search server.
    pub(crate) search: Option<SearchPlan>,
    /// The VM manager.
    pub(crate) vm_manager: Option<ManagerConfig>,
    /// The workflow runner.
    pub(crate) runner: Option<RunnerConfig>,
    /// The file, which is read again while the runner works.
    pub(crate) file: PlanFile,
    /// The orchestrator.
    pub(crate) orchestrator: Option<AgentPlan>,
    /// What is odd, but does not stop a start.
    pub(crate) warnings: Diagnostics,
}

/// The platform's file, and what it said.
#[derive(Debug)]
pub(crate) struct PlanFile {
    pub(crate) path: PathBuf,
    pub(crate) written: WrittenValue,
}

/// The search server's settings.
#[derive(Debug)]
pub(crate) struct SearchPlan {
    pub(crate) settings: ServerSettings,
    /// The role file, which is followed while the server runs.
    pub(crate) configuration: ConfigPublisher,
}

/// The orchestrator's settings.
#[derive(Debug)]
pub(crate) struct AgentPlan {
    pub(crate) path: PathBuf,
    pub(crate) checked: Agents,
    /// The environment with the data folder in it.
    pub(crate) environment: Environment,
}

/// How the runner's store is opened.
pub(crate) fn runner_store_options() -> StoreOptions {
    runner_web::boot::store_options("platform")
}

/// Reads and checks everything.
///
/// # Errors
/// Every mistake of every file and variable, in one list.
pub(crate) fn plan(path: &Path, environment: &Environment) -> Result<PlatformPlan, Diagnostics> {
    let (name, text, base) = text_of(path)?;
    let (file, found) = PlatformFile::read(&name, &text, environment, &base);
    // The products are checked even when it is not known where they are kept.
    let data = file.data_dir.clone().unwrap_or_else(|| base.join("data"));
    // How much is logged is one decision for all of them; an empty variable counts as unset.
    let quiet = environment.clone().with("LOG_LEVEL", "");
    let mut checker = Checker {
        environment: &quiet,
        data: &data,
        found,
    };
    let token = file.token;
    let log_level = file.log_level.unwrap_or("info").to_owned();
    let search = file.search.map(|table| checker.search(&table));
    let vm_manager = file.vm_manager.map(|table| checker.vm_manager(table));
    let runner = file.runner.map(|table| checker.runner(table));
    let orchestrator = file
        .orchestrator
        .map(|path| checker.orchestrator(path, environment));
    let found = checker.found;
    if found.has_errors() {
        return Err(found);
    }
    let written = ConfigInput::toml(&name, &text, environment)
        .base(&base)
        .written()?;
    let mut plan = PlatformPlan {
        file: PlanFile {
            path: path.to_owned(),
            written,
        },
        log_level,
        token,
        search: search.flatten(),
        vm_manager: vm_manager.flatten(),
        runner: runner.flatten(),
        orchestrator: orchestrator.flatten(),
        warnings: found,
        data,
    };
    for clash in clashes(&plan.addresses()) {
        plan.warnings.extend(mistake_without_place(&name, clash));
    }
    if plan.warnings.has_errors() {
        return Err(plan.warnings);
    }
    Ok(plan)
}

/// What the file says of the runner now, and all that is written there.
///
/// # Errors
/// Every mistake of the file, and of the runner's table.
pub(crate) fn runner_again(
    path: &Path,
    environment: &Environment,
) -> Result<(Option<RunnerConfig>, WrittenValue), Diagnostics> {
    let (name, text, base) = text_of(path)?;
    let (file, found) = PlatformFile::read(&name, &text, environment, &base);
    let data = file.data_dir.clone().unwrap_or_else(|| base.join("data"));
    let quiet = environment.clone().with("LOG_LEVEL", "");
    let mut checker = Checker {
        environment: &quiet,
        data: &data,
        found,
    };
    let runner = file.runner.map(|table| checker.runner(table));
    if checker.found.has_errors() {
        return Err(checker.found);
    }
    let written = ConfigInput::toml(&name, &text, environment)
        .base(&base)
        .written()?;
    Ok((runner.flatten(), written))
}

/// The file's name, its text, and the folder that paths in it are meant from.
fn text_of(path: &Path) -> Result<(String, Vec<u8>, PathBuf), Diagnostics> {
    let name = path.display().to_string();
    let text = std::fs::read(path)
        .map_err(|error| mistake_without_place(&name, format!("it cannot be read: {error}")))?;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let base = absolute.parent().unwrap_or(Path::new("/")).to_owned();
    Ok((name, text, base))
}

/// Products that would want one port: the second of them could not start.
fn clashes(addresses: &[(&'static str, String)]) -> Vec<String> {
    let parsed = |text: &String| text.parse::<SocketAddr>().ok();
    let mut found = Vec::new();
    for (nth, (first, one)) in addresses.iter().enumerate() {
        for (second, other) in &addresses[nth + 1..] {
            let same = match (parsed(one), parsed(other)) {
                (Some(a), Some(b)) => {
                    let any = a.ip().is_unspecified() || b.ip().is_unspecified();
                    a.port() == b.port() && a.port() != 0 && (any || a.ip() == b.ip())
                }
                _ => one == other && !one.ends_with(":0"),
            };
            if same {
                found.push(format!(
                    "{first} ({one}) and {second} ({other}) would listen on one port; give one of them another `listen`"
                ));
            }
        }
    }
    found
}

/// A mistake that has no place in a text.
pub(crate) fn mistake_without_place(name: &str, message: String) -> Diagnostics {
    Diagnostic::for_setting(name, ValueError::new(message)).into()
}

struct Checker<'a> {
    environment: &'a Environment,
    data: &'a Path,
    found: Diagnostics,
}

impl Checker<'_> {
    fn kept<T>(&mut self, value: Result<T, Diagnostics>) -> Option<T> {
        value.map_err(|wrong| self.found.extend(wrong)).ok()
    }

    /// A folder of the data folder, as text: what flags say to a program of its own.
    fn folder(&mut self, name: &str) -> Option<String> {
        let folder = self.data.join(name);
        let text = folder.to_str().map(str::to_owned);
        if text.is_none() {
            self.found.extend(mistake_without_place(
                "data_dir",
                "the path is not Unicode".to_owned(),
            ));
        }
        text
    }

    fn search(&mut self, table: &SearchTable) -> Option<SearchPlan> {
        let data = self.folder("search")?;
        let flags = ServerFlags {
            config: table.settings.to_str().map(str::to_owned),
            data: Some(data),
            listen: table.listen.clone(),
            ..ServerFlags::default()
        };
        let settings = parse_environment(&flags, self.environment, Os::current());
        let settings = self.kept(settings)?;
        match settings.check_exposure(false) {
            Ok(warning) => self.found.extend(warning),
            Err(error) => self.found.push(*error),
        }
        self.found.extend(settings.warnings.clone());
        let path = &settings.settings_path.value;
        if !path.exists() {
            let message = format!("there is no role file at {}", path.display());
            self.found
                .extend(mistake_without_place("settings in [search]", message));
            return None;
        }
        let read = boot::read_configuration(path, self.environment, self.data);
        let read = read.map_err(|error| match error {
            SearchBootError::Roles(wrong) => wrong,
            other => mistake_without_place("settings in [search]", other.to_string()),
        });
        let (configuration, _) = self.kept(read)?;
        let roles = configuration.view().roles();
        self.found.extend(roles.warnings().iter().cloned());
        Some(SearchPlan {
            settings,
            configuration,
        })
    }

    fn vm_manager(&mut self, table: VmTable) -> Option<ManagerConfig> {
        let data = self.folder("vm-manager")?;
        let flags = ManagerFlags {
            data: (!table.has_data()).then_some(data),
            ..ManagerFlags::default()
        };
        let config = ManagerConfig::from_file(table, &flags, self.environment);
        self.kept(config)
    }

    fn runner(&mut self, table: RunnerConfigFile) -> Option<RunnerConfig> {
        let data = self.folder("workflow-runner")?;
        let flags = RunnerFlags {
            data: (!table.has_data()).then_some(data),
            ..RunnerFlags::default()
        };
        let config = RunnerConfig::from_file(table, &flags, self.environment);
        self.kept(config)
    }

    fn orchestrator(&mut self, path: PathBuf, environment: &Environment) -> Option<AgentPlan> {
        let data = self.data.to_string_lossy();
        let environment = environment.clone().with(DATA_VARIABLE, &data);
        let files = load(&path, &environment).map_err(|error| {
            mistake_without_place("settings in [orchestrator]", error.to_string())
        });
        let files = self.kept(files)?;
        let host = SystemHost::new(&environment);
        let checked =
            orchestrator_core::config::check(&files, &environment, &host, UnknownKeys::Refuse);
        let checked = self.kept(checked)?;
        self.found.extend(checked.warnings.iter().cloned());
        Some(AgentPlan {
            path,
            checked,
            environment,
        })
    }
}

impl PlatformPlan {
    /// What is wrong with the databases, object storages and VM hosts of the products; those that
    /// are no addresses only, where nobody is to be asked.
    pub(crate) fn peer_faults(&self, is_offline: bool) -> Vec<PeerFault> {
        let mut faults = Vec::new();
        if let Some(config) = self.runner.as_ref().filter(|_| !is_offline) {
            let url = config.store.as_ref();
            faults.extend(peers::try_store(
                "[runner.store]",
                url,
                &runner_store_options(),
            ));
            let objects = config.runner.objects.as_ref();
            faults.extend(peers::try_objects("[runner.objects]", objects));
            if faults.is_empty() {
                let files = runner_actors::file_migration(&config.runner, false);
                let of_store = (url, &runner_store_options());
                let setting = "[runner.objects]";
                faults.extend(peers::try_owner(setting, files.as_ref(), of_store));
            }
            let hosts = &config.runner.vm_hosts;
            faults.extend(vm_hosts::try_vm_hosts("[runner.vm_hosts]", hosts));
        }
        if let Some(agents) = &self.orchestrator {
            let config = &agents.checked.config;
            let url = config.store.url.as_ref().map(|url| url.expose().as_str());
            let options = orchestrator_web::boot::store_options("platform");
            let setting = "[store] of the orchestrator";
            let of_store = peers::try_store_address(setting, url, &options, is_offline);
            let is_asked = of_store.is_none() && !is_offline;
            faults.extend(of_store);
            let setting = "[objects] of the orchestrator";
            let objects = config.objects.as_ref().filter(|_| !is_offline);
            faults.extend(peers::try_objects(setting, objects).or_else(|| {
                let files = file_migration(config, false).filter(|_| is_asked);
                let url = url.and_then(|url| url.parse().ok());
                peers::try_owner(setting, files.as_ref(), (url.as_ref(), &options))
            }));
            if !is_offline {
                let setting = "[vm_hosts] of the orchestrator";
                faults.extend(vm_hosts::try_vm_hosts(setting, &config.vm_hosts));
            }
        }
        faults
    }

    /// What of the machine is missing for the products: what a start would refuse, or a first job.
    /// Nothing is made or started.
    pub(crate) fn missing(&self) -> Diagnostics {
        let mut missing = Diagnostics::default();
        if let Some(config) = &self.vm_manager {
            let own = std::env::current_exe().unwrap_or_default();
            let agent = agent::find(config.agent.as_deref(), &own);
            missing.extend(vm_boot::missing(config, agent.as_deref()));
        }
        missing
    }

    /// Where data is kept: the folder of all, and what a product keeps elsewhere.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let search = self.search.iter();
        let machines = self.vm_manager.iter();
        let runner = self.runner.iter();
        let agents = self.orchestrator.iter();
        std::iter::once(&self.data)
            .chain(search.map(|plan| &plan.settings.data_path.value))
            .chain(machines.map(|config| &config.data.value))
            .chain(runner.map(|config| &config.runner.data))
            .chain(agents.map(|plan| &plan.checked.config.directories.data))
            .cloned()
            .collect()
    }

    /// The folder of all.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// What runs where, for a person's first screen.
    pub(crate) fn first_rows(&self) -> Vec<(&'static str, String)> {
        let names = |product| match product {
            "search" => "search",
            "vm_manager" => "VMs",
            "runner" => "workflows",
            _ => "agents",
        };
        let addresses = self.addresses().into_iter();
        let mut rows: Vec<_> = addresses
            .map(|(product, address)| (names(product), format!("http://{address}/")))
            .collect();
        rows.push(("data", daemon::first_screen::path(&self.data)));
        rows
    }

    /// What would run, for people.
    pub(crate) fn summary(&self) -> String {
        let mut text = format!(
            "the configuration is valid; data in {}\n",
            self.data.display()
        );
        let mut line = |product: &str, says: String| text += &format!("  {product}: {says}\n");
        if let Some(search) = &self.search {
            let roles = search.configuration.view().roles();
            let roles = roles.roles().len();
            line(
                "search",
                format!("{} roles on {}", roles, search.settings.listen.value),
            );
        }
        if let Some(machines) = &self.vm_manager {
            line(
                "vm_manager",
                format!("{} on {}", machines.driver, machines.listen.value),
            );
        }
        if let Some(runner) = &self.runner {
            line("runner", format!("on {}", runner.listen));
        }
        if let Some(agents) = &self.orchestrator {
            let config = &agents.checked.config;
            line(
                "orchestrator",
                format!(
                    "{} agents on {}",
                    config.agents.len(),
                    config.listeners.webhook
                ),
            );
        }
        text
    }

    /// Where each product would listen.
    fn addresses(&self) -> Vec<(&'static str, String)> {
        let search = self.search.as_ref();
        let search = search.map(|search| search.settings.listen.value.to_string());
        let machines = self.vm_manager.as_ref();
        let machines = machines.map(|config| config.listen.value.to_string());
        let runner = self.runner.as_ref().map(|config| config.listen.to_string());
        let agents = self.orchestrator.as_ref();
        let listeners = agents.map(|agents| &agents.checked.config.listeners);
        let webhook = listeners.map(|listeners| listeners.webhook.clone());
        let admin = listeners.and_then(|listeners| listeners.admin.clone());
        let all = [
            ("search", search),
            ("vm_manager", machines),
            ("runner", runner),
            ("orchestrator", webhook),
            ("the orchestrator's admin bridge", admin),
        ];
        all.into_iter()
            .filter_map(|(product, address)| Some((product, address?)))
            .collect()
    }

    /// Whether anything was found that is only odd.
    pub(crate) fn has_warnings(&self) -> bool {
        self.warnings
            .iter()
            .any(|found| found.severity == Severity::Warning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v13_two_products_on_one_address_are_found_before_the_start() {
        let found = |one: &str, other: &str| {
            let addresses = [("search", one.to_owned()), ("runner", other.to_owned())];
            clashes(&addresses)
        };
        for (one, other) in [
            ("127.0.0.1:3000", "127.0.0.1:3000"),
            ("0.0.0.0:3000", "127.0.0.1:3000"),
            ("[::]:3000", "127.0.0.1:3000"),
            ("localhost:3000", "localhost:3000"),
        ] {
            let said = found(one, other);
            assert!(
                said[0].contains("search") && said[0].contains("runner"),
                "{said:?}"
            );
        }
        for (one, other) in [
            ("127.0.0.1:3000", "127.0.0.1:3001"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("127.0.0.1:3000", "127.0.0.2:3000"),
        ] {
            assert!(found(one, other).is_empty(), "{one} {other}");
        }
    }
}
