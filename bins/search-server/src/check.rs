//! `--check`: reads everything the server would read, and says all that is wrong at once.

use std::path::Path;
use std::process::ExitCode;

use config_core::{Diagnostic, Diagnostics, Environment, ValueError};
use search_core::role::{RoleFile, ServerSettings};
use search_engine::walk::RootFolder;
use search_graph_engine::embedding::EmbeddingModel;
use search_graph_engine::thesaurus;
use search_web::boot::{self, BootError};

use crate::FAILED;
use crate::arguments::{Arguments, OutputFormat, print, say};

/// Checks, prints, and ends with 0 (valid) or 1.
pub(crate) fn run(
    arguments: &Arguments,
    settings: &ServerSettings,
    environment: &Environment,
) -> ExitCode {
    let path = &settings.settings_path.value;
    if !path.exists() {
        say(&format!(
            "there is no role file at {}; the first start creates it",
            path.display()
        ));
        return ExitCode::from(FAILED);
    }
    let roles = match boot::read_roles(path, environment, Path::new("/")) {
        Ok((roles, _)) => roles,
        Err(BootError::Roles(diagnostics)) => return arguments.report(&diagnostics),
        Err(error) => {
            say(&error.to_string());
            return ExitCode::from(FAILED);
        }
    };
    let mut found = settings.warnings.clone();
    for warning in roles.warnings().iter() {
        found.push(warning.clone());
    }
    check_folders(&roles, &mut found);
    check_concepts(&roles, &mut found);
    match settings.check_exposure(arguments.allow_unauthenticated) {
        Ok(Some(warning)) => found.push(warning),
        Err(error) => found.push(*error),
        Ok(None) => {}
    }
    let code = if found.is_empty() && arguments.format == OutputFormat::Human {
        ExitCode::SUCCESS
    } else {
        arguments.report(&found)
    };
    if !found.has_errors() && arguments.format == OutputFormat::Human {
        print(&summary(path, &roles));
    }
    code
}

/// Folders that cannot be opened, by role and source.
fn check_folders(roles: &RoleFile, found: &mut Diagnostics) {
    for role in roles.roles() {
        for haystack in &role.haystacks {
            let Some(files) = haystack.indexed_files() else {
                continue;
            };
            if let Err(error) = RootFolder::open(&files.folder) {
                let place = format!("role `{}`, haystack `{}`", role.name, haystack.name);
                found.push(Diagnostic::of_setting(
                    &place,
                    ValueError::new(error.to_string()),
                ));
            }
        }
    }
}

/// Thesauri and embedding models that cannot be read, by role.
fn check_concepts(roles: &RoleFile, found: &mut Diagnostics) {
    for role in roles.roles() {
        let extra = &role.extra;
        let thesaurus = extra.thesaurus.as_ref();
        let thesaurus = thesaurus.and_then(|path| thesaurus::load(path).err());
        let model = extra.embedding_model.as_ref();
        let model = model.and_then(|folder| EmbeddingModel::open(folder).err());
        let wrong = [
            ("thesaurus", thesaurus.map(|error| error.to_string())),
            ("embedding_model", model.map(|error| error.to_string())),
        ];
        for (key, error) in wrong {
            if let Some(error) = error {
                let place = format!("role `{}`, `extra.{key}`", role.name);
                found.push(Diagnostic::of_setting(&place, ValueError::new(error)));
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
