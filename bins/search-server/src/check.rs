//! `--check`: reads everything the server would read, and says all that is wrong at once.

use std::path::Path;
use std::process::ExitCode;

use command_line::{print, print_note};
use config_core::{Diagnostic, Diagnostics, Environment, ValueError};
use daemon::peers::{self, PeerFault};
use search_core::role::{RoleFile, ServerMode, ServerSettings};
use search_graph_engine::embedding::{CrossEncoder, EmbeddingModel};
use search_graph_engine::thesaurus;
use search_web::boot::{self, SearchBootError};

use crate::arguments::{Arguments, FAILED, OutputFormat};

/// Checks, prints, and ends with 0 (valid), 1, or 6 where only the storage of snapshots is away.
pub(crate) fn run(
    arguments: &Arguments,
    settings: &ServerSettings,
    environment: &Environment,
) -> ExitCode {
    let path = &settings.settings_path.value;
    if !path.exists() {
        return check_first_start(arguments, settings);
    }
    let configuration = match boot::read_configuration(path, environment, Path::new("/")) {
        Ok((configuration, _)) => configuration.view().clone(),
        Err(SearchBootError::Roles(diagnostics)) => return arguments.report(&diagnostics),
        Err(error) => {
            print_note(&error.to_string());
            return ExitCode::from(FAILED);
        }
    };
    let document = configuration.now().document;
    let roles = configuration.roles();
    let mut found = settings.warnings.clone();
    for warning in roles.warnings().iter() {
        found.push(warning.clone());
    }
    let name = path.display().to_string();
    found.extend(boot::check_sources(&name, &document, &roles, environment));
    check_data_directory(settings, &mut found);
    check_concepts(&roles, &mut found);
    check_exposure(arguments, settings, &mut found);
    let is_valid = !found.has_errors();
    let snapshots = match arguments.offline {
        true => None,
        false => snapshot_fault(settings),
    };
    found.extend(snapshots.iter().map(|fault| {
        Diagnostic::for_setting(fault.setting, ValueError::new(fault.reason.clone()))
    }));
    let code = if found.is_empty() && arguments.format == OutputFormat::Human {
        ExitCode::SUCCESS
    } else {
        arguments.report(&found)
    };
    if !found.has_errors() && arguments.format == OutputFormat::Human {
        print(&summary(path, &roles));
    }
    match snapshots {
        Some(fault) if is_valid => peers::exit_code(&[fault]),
        _ => code,
    }
}

/// Without a role file there is nothing to read: the first start writes one.
fn check_first_start(arguments: &Arguments, settings: &ServerSettings) -> ExitCode {
    let mut found = settings.warnings.clone();
    let path = settings.settings_path.value.display();
    let none = ValueError::new(format!("there is no role file at {path}"));
    let none = none.help("the first start creates it, with one role that searches a folder");
    let origin = settings.settings_path.origin.to_string();
    found.push(Diagnostic::for_setting(&origin, none).into_warning());
    check_data_directory(settings, &mut found);
    check_exposure(arguments, settings, &mut found);
    arguments.report(&found)
}

fn check_exposure(arguments: &Arguments, settings: &ServerSettings, found: &mut Diagnostics) {
    match settings.check_exposure(arguments.allow_unauthenticated) {
        Ok(Some(warning)) => found.push(warning),
        Err(error) => found.push(*error),
        Ok(None) => {}
    }
}

/// The data folder, or the nearest folder above it that there is: nothing is made here.
fn check_data_directory(settings: &ServerSettings, found: &mut Diagnostics) {
    let data = &settings.data_path.value;
    let there = data.ancestors().find(|path| path.exists());
    if there.is_some_and(|path| !path.is_dir()) {
        let shown = there.unwrap_or(data).display();
        let error = ValueError::new(format!("{shown} is not a folder"));
        let error = error.help("choose another place with SERVICE_DATA_PATH or --data");
        let origin = settings.data_path.origin.to_string();
        found.push(Diagnostic::for_setting(&origin, error));
    }
}

/// The storage of snapshots: written, read and removed where an indexer will, read otherwise.
fn snapshot_fault(settings: &ServerSettings) -> Option<PeerFault> {
    const SETTING: &str = "SERVICE_SNAPSHOTS";
    if settings.mode.value == ServerMode::Local {
        return None;
    }
    let storage = match boot::open_snapshots(settings) {
        Ok(storage) => storage,
        Err(error) => return Some(PeerFault::of_setting(SETTING, &error)),
    };
    let tried = match settings.mode.value {
        ServerMode::Indexer => storage.try_out(),
        _ => storage.probe(),
    };
    tried.err().map(|error| peers::of_objects(SETTING, &error))
}

/// Thesauri and models that cannot be read, by role.
fn check_concepts(roles: &RoleFile, found: &mut Diagnostics) {
    for role in roles.roles() {
        let extra = &role.extra;
        let thesaurus = extra.thesaurus.as_ref();
        let thesaurus = thesaurus.and_then(|path| thesaurus::load(path).err());
        let model = extra.embedding_model.as_ref();
        let model = model.and_then(|folder| EmbeddingModel::open(folder).err());
        let reranker = extra.rerank_model.as_ref();
        let reranker = reranker.and_then(|folder| CrossEncoder::open(folder).err());
        let wrong = [
            ("thesaurus", thesaurus.map(|error| error.to_string())),
            ("embedding_model", model.map(|error| error.to_string())),
            ("rerank_model", reranker.map(|error| error.to_string())),
        ];
        for (key, error) in wrong {
            if let Some(error) = error {
                let place = format!("role `{}`, `extra.{key}`", role.name);
                found.push(Diagnostic::for_setting(&place, ValueError::new(error)));
            }
        }
    }
}

fn summary(path: &Path, roles: &RoleFile) -> String {
    let mut text = format!("{} is valid\n", path.display());
    for role in roles.roles() {
        text += &format!(
            "  role {} ({})\n",
            role.name,
            role.relevance_function.as_str()
        );
        for haystack in &role.haystacks {
            text += &format!(
                "    {} · {} · {}\n",
                haystack.name,
                haystack.service().as_str(),
                haystack.location
            );
        }
    }
    text
}
