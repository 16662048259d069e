//! The config manager: the only one who writes the role file, and who looks whether somebody else
//! has.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Context, Handler, ResponseFuture, WrapFuture};
use search_core::role::RoleDocument;
use supervision::{ChildRef, ChildSpec, start_tick};
use tokio::sync::Mutex;

use super::allowed;
use super::file::{self, FileStamp};
use super::{ActiveConfig, ConfigPublisher, ConfigView};
use crate::messages::{ApplyRoles, Precondition, SaveError, SaveRoles};
use crate::role_manager::RoleManager;

/// How often the file is looked at.
const FILE_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The longest a save may take: a disk, and the thesauri of the new roles.
const SAVE_TIMEOUT: Duration = Duration::from_secs(45);

/// The actor.
pub struct ConfigManager {
    work: Arc<ConfigWork>,
}

/// What its saves and looks share. One of them at a time.
struct ConfigWork {
    publisher: ConfigPublisher,
    roles: ChildRef<RoleManager>,
    /// The state of the file that was looked at last.
    seen: Mutex<Option<FileStamp>>,
}

/// The spec of a manager for the file behind `publisher`.
#[must_use]
pub fn config_manager(
    publisher: ConfigPublisher,
    roles: ChildRef<RoleManager>,
) -> ChildSpec<ConfigManager> {
    ChildSpec::new("config", move |_| ConfigManager {
        work: Arc::new(ConfigWork {
            publisher: publisher.clone(),
            roles: roles.clone(),
            seen: Mutex::default(),
        }),
    })
    .capacity(4)
    .ask_timeout(SAVE_TIMEOUT)
}

impl Actor for ConfigManager {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        start_tick(ctx, FILE_POLL_INTERVAL, |manager: &mut Self, _| {
            let work = Arc::clone(&manager.work);
            Box::pin(async move { work.poll().await }.into_actor(manager))
        });
    }
}

impl Handler<SaveRoles> for ConfigManager {
    type Result = ResponseFuture<Result<ActiveConfig, SaveError>>;

    fn handle(&mut self, request: SaveRoles, _: &mut Self::Context) -> Self::Result {
        let work = Arc::clone(&self.work);
        Box::pin(async move { work.save(request).await })
    }
}

/// What a look at the file has shown.
enum FileChange {
    Same,
    Changed(Box<RoleDocument>),
    /// It cannot be used.
    Wrong(String),
}

impl ConfigWork {
    /// Follows a file that somebody else has changed.
    async fn poll(&self) {
        let mut seen = self.seen.lock().await;
        let config = self.publisher.view().clone();
        let last = seen.clone();
        let looked = actix_rt::task::spawn_blocking(move || poll_file(&config, last));
        let Ok((stamp, found)) = looked.await else {
            return;
        };
        *seen = stamp;
        match found {
            None => {}
            Some(FileChange::Same) => {
                self.publisher.report_error(None);
            }
            Some(FileChange::Wrong(reason)) => self.record_error(&reason),
            Some(FileChange::Changed(document)) => match self.apply(*document).await {
                Ok(_) => tracing::info!(
                    event = "config.reloaded",
                    detail = "the role file was changed on disk"
                ),
                // Looked at again, as if nothing had been seen.
                Err(_) => *seen = None,
            },
        }
    }

    fn record_error(&self, reason: &str) {
        if self.publisher.report_error(Some(reason.to_owned())) {
            tracing::error!(event = "config.refused", error = %reason, "the role file on disk is wrong; the one in force stays");
        }
    }

    async fn save(&self, request: SaveRoles) -> Result<ActiveConfig, SaveError> {
        let mut seen = self.seen.lock().await;
        let config = self.publisher.view().clone();
        let saving = actix_rt::task::spawn_blocking(move || save_file(&config, &request));
        let (document, stamp) = saving
            .await
            .map_err(|_| SaveError::Disk("the work broke off".to_owned()))??;
        let in_force = self.apply(document).await?;
        *seen = stamp;
        tracing::info!(
            event = "config.reloaded",
            detail = "the role file was saved through the API"
        );
        Ok(in_force)
    }

    async fn apply(&self, document: RoleDocument) -> Result<ActiveConfig, SaveError> {
        let roles = self.publisher.view().location().roles(&document);
        let applied = self.roles.ask(ApplyRoles(roles)).await;
        applied.map_err(|error| SaveError::NotApplied(error.to_string()))?;
        Ok(self.publisher.publish(document))
    }
}

fn poll_file(
    config: &ConfigView,
    last: Option<FileStamp>,
) -> (Option<FileStamp>, Option<FileChange>) {
    let location = config.location();
    let path = &location.path;
    let wrong = |error: std::io::Error| {
        let reason = format!("{} cannot be read: {error}", path.display());
        (None, Some(FileChange::Wrong(reason)))
    };
    let stamp = match FileStamp::from_path(path) {
        Ok(stamp) if last.as_ref() == Some(&stamp) => return (last, None),
        Ok(stamp) => stamp,
        Err(error) => return wrong(error),
    };
    let text = match read(path) {
        Ok(text) => text,
        Err(error) => return wrong(error),
    };
    let found = if text == config.now().document.text().as_bytes() {
        FileChange::Same
    } else {
        match location.parse(&text) {
            Ok(document) => FileChange::Changed(Box::new(document)),
            Err(diagnostics) => {
                let lines: Vec<String> = diagnostics.iter().map(|one| one.headline()).collect();
                FileChange::Wrong(lines.join("; "))
            }
        }
    };
    (Some(stamp), Some(found))
}

/// Reads a file, but not much more of it than a role file may have.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut text = Vec::new();
    let most = config_core::MAX_FILE_BYTES as u64 + 1;
    std::fs::File::open(path)?
        .take(most)
        .read_to_end(&mut text)?;
    Ok(text)
}

fn save_file(
    config: &ConfigView,
    request: &SaveRoles,
) -> Result<(RoleDocument, Option<FileStamp>), SaveError> {
    let location = config.location();
    let now = config.now();
    if let Precondition::Version(versions) = &request.condition {
        if !versions.contains(&now.version) {
            return Err(SaveError::Stale);
        }
        let on_disk = read(&location.path);
        if on_disk.is_ok_and(|text| text != now.document.text().as_bytes()) {
            return Err(SaveError::ChangedOnDisk);
        }
    }
    let (name, environment) = ("the document", &location.environment);
    let document = RoleDocument::replacing(name, &request.text, environment, &now.document)?;
    let (in_force, submitted) = (location.roles(&now.document), location.roles(&document));
    allowed::check(&in_force, &submitted, environment).map_err(SaveError::NotAllowed)?;
    let disk = |error: std::io::Error| SaveError::Disk(error.to_string());
    file::write_in_one_step(&location.path, document.text().as_bytes()).map_err(disk)?;
    Ok((document, FileStamp::from_path(&location.path).ok()))
}
