//! `--check`: reads everything the daemon would read, and says all that is wrong at once.

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;

use config_core::{
    Colours, Diagnostic, Diagnostics, Environment, TableInfo, UnknownKeys, ValueError,
};
use daemon::peers::{self, PeerFault};
use daemon::settings::{ConfigOptions, ConfigText, effective, schema};
use daemon::vm_hosts;
use orchestrator_actors::file_migration;
use orchestrator_actors::load::{SystemHost, as_values, check_view, isolation_here, load};
use orchestrator_core::admin::CheckView;
use orchestrator_core::config::{
    CheckedConfig, Config, ConfigFile, ConfigFiles, WorktreeMode, check, fragment_keys, keys,
    routes, table,
};
use orchestrator_web::boot;

use crate::arguments::{Arguments, EXIT_FAILED, OutputFormat, complain, print, print_note};

/// The checked configuration, or the exit code after what is wrong with it was said.
pub(crate) fn read(
    arguments: &Arguments,
    environment: &Environment,
) -> Result<CheckedConfig, ExitCode> {
    let files = files(arguments.config.as_deref(), environment)?;
    let host = SystemHost::new(environment);
    check(&files, environment, &host, UnknownKeys::Refuse).map_err(|wrong| {
        if arguments.check && arguments.format == OutputFormat::Json {
            let view = CheckView {
                valid: false,
                diagnostics: as_values(&wrong),
                routes: Vec::new(),
            };
            print_json(&view);
        } else {
            show(&wrong);
            let errors = wrong
                .iter()
                .filter(|one| one.severity == config_core::Severity::Error);
            print_note(&format!("{} errors in the configuration", errors.count()));
        }
        ExitCode::from(EXIT_FAILED)
    })
}

/// The checked configuration of a file, for commands that only look something up.
pub(crate) fn read_file(path: &Path, environment: &Environment) -> Result<CheckedConfig, String> {
    let files = load(path, environment).map_err(|error| error.to_string())?;
    let host = SystemHost::new(environment);
    check(&files, environment, &host, UnknownKeys::Refuse).map_err(|wrong| wrong.to_string())
}

fn files(path: Option<&Path>, environment: &Environment) -> Result<ConfigFiles, ExitCode> {
    load(path.unwrap_or(Path::new("")), environment).map_err(|error| {
        print_note(&error.to_string());
        ExitCode::from(EXIT_FAILED)
    })
}

/// Prints what may be set, or what is in force.
pub(crate) fn settings(
    what: ConfigOptions,
    path: Option<&Path>,
    environment: &Environment,
) -> ExitCode {
    if what.schema {
        print(&schema("orchestrator.toml", &keys()));
        return ExitCode::SUCCESS;
    }
    let files = match files(path, environment) {
        Ok(files) => files,
        Err(code) => return code,
    };
    match in_force(&files, environment) {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            show(&wrong);
            ExitCode::from(EXIT_FAILED)
        }
    }
}

/// The settings of all files, each below its name.
fn in_force(files: &ConfigFiles, environment: &Environment) -> Result<String, Diagnostics> {
    check(
        files,
        environment,
        &SystemHost::new(environment),
        UnknownKeys::Refuse,
    )?;
    let text = |keys: &TableInfo, file: &ConfigFile| {
        let file = ConfigText {
            name: file.name.clone(),
            text: file.bytes.clone(),
            base: files.folder.clone(),
        };
        effective(keys, &file, &[], environment)
    };
    let mut all = text(&keys(), &files.main)?;
    for fragment in &files.fragments {
        let settings = text(&fragment_keys(), fragment)?;
        all.push_str(&format!("\n# {}\n{settings}", fragment.name));
    }
    Ok(all)
}

/// Reports a valid configuration, whose database is asked and whose object storage is tried with an
/// object that is removed again.
pub(crate) fn report(
    arguments: &Arguments,
    checked: &CheckedConfig,
    environment: &Environment,
) -> ExitCode {
    let faults = peer_faults(checked, arguments.offline);
    if !faults.is_empty() {
        let wrong = faults.iter().map(|fault| {
            Diagnostic::for_setting(fault.setting, ValueError::new(fault.reason.clone()))
        });
        let wrong: Diagnostics = wrong.collect();
        if arguments.format == OutputFormat::Json {
            print_json(&CheckView {
                valid: false,
                diagnostics: as_values(&wrong),
                routes: Vec::new(),
            });
        } else {
            show(&wrong);
        }
        return peers::exit_code(&faults);
    }
    if arguments.format == OutputFormat::Json {
        print_json(&check_view(checked));
    } else {
        show(&checked.warnings);
        let of_reports = reports_warning(&checked.config.directories.reports);
        for warning in checkout_warnings(&checked.config).iter().chain(&of_reports) {
            print_note(warning);
        }
        let rows = routes(&checked.config);
        let projects = checked.config.projects.len();
        print(&table(&rows));
        print(&format!(
            "{} agents in {projects} projects; the configuration is valid\n",
            rows.len()
        ));
        print_note(&isolation_here(environment));
    }
    ExitCode::SUCCESS
}

/// Checkouts that agents with a worktree commit for, and to which their commits cannot be brought.
fn checkout_warnings(config: &Config) -> Vec<String> {
    let projects = config.projects.iter().filter(|(id, _)| {
        let mut agents = config.agents.iter();
        agents.any(|((of, _), agent)| of == *id && agent.worktree != WorktreeMode::None)
    });
    let warnings = projects.filter_map(|(id, project)| {
        let folder = project.working_dir.join(".git/objects");
        let error = try_write(&folder).err()?;
        let folder = folder.display();
        Some(format!(
            "warning: project {id}: commits of its agents stay in their worktrees, as the checkout \
             in working_dir cannot be written ({folder}: {error}); make it writable for this \
             user (ReadWritePaths= of the unit, no `:ro` of the volume)"
        ))
    });
    warnings.collect()
}

/// The folder of reports cannot be written, in which each run has one of its own.
fn reports_warning(reports: &Path) -> Option<String> {
    // The first run makes it.
    let there = reports.ancestors().find(|one| one.is_dir())?;
    let error = try_write(there).err()?;
    let (reports, there) = (reports.display(), there.display());
    Some(format!(
        "warning: no agent starts, as its folder in {reports} cannot be made ({there}: {error}); \
         name another one with reports_dir, or make it writable for this user (ReadWritePaths= of \
         the unit, a volume)"
    ))
}

/// Whether a file can be made there; it is removed again. A folder that is not there says nothing.
fn try_write(folder: &Path) -> std::io::Result<()> {
    let file = folder.join(format!("orrery-check-{}", std::process::id()));
    let made = std::fs::File::create_new(&file);
    match made {
        Ok(_) => std::fs::remove_file(&file),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(()),
        Err(error) => Err(error),
    }
}

/// What is wrong with the database, the object storage and the VM hosts; without asking them,
/// whether the database's address is one.
fn peer_faults(checked: &CheckedConfig, is_offline: bool) -> Vec<PeerFault> {
    let config = &checked.config;
    let url = config.store.url.as_ref().map(|url| url.expose().as_str());
    let options = boot::store_options("orchestrator");
    let store = peers::try_store_address("`url` in [store]", url, &options, is_offline);
    let objects = config.objects.as_ref().filter(|_| !is_offline);
    let objects = peers::try_objects("[objects]", objects).or_else(|| {
        let is_asked = !is_offline && store.is_none();
        let files = file_migration(config, false).filter(|_| is_asked);
        let url = url.and_then(|url| url.parse().ok());
        peers::try_owner("[objects]", files.as_ref(), (url.as_ref(), &options))
    });
    let hosts = match is_offline {
        true => Vec::new(),
        false => vm_hosts::try_vm_hosts("[vm_hosts]", &config.vm_hosts),
    };
    store.into_iter().chain(objects).chain(hosts).collect()
}

fn print_json(view: &CheckView) {
    let text = serde_json::to_string_pretty(view).expect("texts and numbers always serialise");
    print(&(text + "\n"));
}

fn show(diagnostics: &Diagnostics) {
    let plain = std::env::var_os("NO_COLOR").is_some() || !std::io::stderr().is_terminal();
    let colours = if plain { Colours::Off } else { Colours::On };
    if !diagnostics.is_empty() {
        complain(&diagnostics.render(colours));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_a_folder_that_cannot_be_written_is_told_from_one_that_is_not_there() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(try_write(folder.path()).is_ok());
        let left = std::fs::read_dir(folder.path()).expect("it is there");
        assert_eq!(left.count(), 0);
        assert!(try_write(&folder.path().join("absent")).is_ok());
        // Nobody makes files there, root neither.
        assert!(try_write(Path::new("/sys/kernel")).is_err());
    }

    /// As with a configuration in a folder that a unit or a container does not let be written.
    #[test]
    fn i18_a_folder_of_reports_that_cannot_be_made_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let absent = folder.path().join("reports/deeper");
        assert_eq!(reports_warning(&absent), None);
        let warning = reports_warning(Path::new("/sys/kernel/reports")).expect("nobody can");
        assert!(warning.contains("/sys/kernel/reports"), "{warning}");
        assert!(warning.contains("reports_dir"), "{warning}");
    }
}
