//! Searching without a server: the same actors in this process, over the same index.

use std::path::Path;
use std::time::Duration;

use config_core::Environment;
use search_actors::messages::Search;
use search_actors::{SearchService, SearchSettings};
use search_core::answer::{RoleList, SearchAnswer, SourceState};
use search_core::role::{RoleFile, ServerSettings, parse as parse_roles};
use search_engine::answering::{SearchFailure, SearchOrder};
use store::FolderLock;
use supervision::{Root, SupervisorSpec};

use crate::failure::Failure;
use crate::human::say;

/// How often the progress of indexing is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The roles of the role file.
pub(crate) fn roles(
    settings: &ServerSettings,
    environment: &Environment,
) -> Result<RoleFile, Failure> {
    let path = &settings.settings_path.value;
    let text = std::fs::read(path).map_err(|error| {
        Failure::Configuration(format!(
            "no search server runs here, and {} cannot be read: {error}; start search-server once, or name a role file with --config",
            path.display()
        ))
    })?;
    let file = parse_roles(&path.display().to_string(), &text, environment);
    let file = file.map_err(|diagnostics| Failure::Configuration(diagnostics.to_string()))?;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    Ok(file.relative_to(absolute.parent().unwrap_or(Path::new("/"))))
}

/// Brings the indexes of all sources up to date, then searches.
pub(crate) async fn search(
    settings: &ServerSettings,
    roles: RoleFile,
    order: SearchOrder,
) -> Result<SearchAnswer, Failure> {
    let data = &settings.data_path.value;
    let failed =
        |error: &dyn std::fmt::Display| Failure::Other(format!("{}: {error}", data.display()));
    std::fs::create_dir_all(data).map_err(|error| failed(&error))?;
    let _lock = FolderLock::take(data, "service-agent").map_err(|error| failed(&error))?;
    let service = SearchService::new(&SearchSettings {
        roles,
        data: data.join("index"),
        max_concurrent_searches: 1,
        search_timeout: Duration::from_secs(30),
        search_threads: 1,
    });
    let board = service.board;
    let root = Root::start(SupervisorSpec::root("service-agent").supervisor(service.supervisor));
    let mut told = None;
    while !board.is_settled() {
        tell_progress(&board.health(), &mut told);
        tokio::time::sleep(LOOK).await;
    }
    let answer = service.desk.ask(Search(order)).await;
    root.handle().stop();
    let _ = root.verdict().await;
    board.wait_for_threads();
    let answer = answer.map_err(|error| Failure::Other(error.to_string()))?;
    answer.map_err(|failure| match failure {
        SearchFailure::UnknownRole { .. } | SearchFailure::Query(_) => {
            Failure::Refused(failure.to_string())
        }
        other => Failure::Other(other.to_string()),
    })
}

/// A line each time a source has come a tenth further.
fn tell_progress(sources: &[search_core::answer::SourceHealth], told: &mut Option<(usize, u64)>) {
    for (number, source) in sources.iter().enumerate() {
        let Some(progress) = source.progress else {
            continue;
        };
        if source.state != SourceState::Indexing || progress.total < 1000 {
            continue;
        }
        let tenth = progress.done * 10 / progress.total;
        if *told != Some((number, tenth)) {
            *told = Some((number, tenth));
            say(&format!(
                "indexing {}: {} of {} files",
                source.name, progress.done, progress.total
            ));
        }
    }
}

/// The role list as a server would answer it.
pub(crate) fn role_list(roles: &RoleFile) -> RoleList {
    search_actors::Board::new(roles).role_list()
}
