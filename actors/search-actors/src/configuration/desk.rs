//! The configuration desk: the only one who writes the role file, and who looks whether somebody else has.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Context, Handler, ResponseFuture, WrapFuture};
use search_core::role::RoleDocument;
use supervision::{ChildRef, ChildSpec, start_tick};
use tokio::sync::Mutex;

use super::allowed;
use super::file::{self, Stamp};
use super::{Configuration, InForce};
use crate::messages::{ApplyRoles, Precondition, SaveRefused, SaveRoles};
use crate::roles::RoleDesk;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// The longest a save may take: a disk, and the thesauri of the new roles.
const SAVE_TIMEOUT: Duration = Duration::from_secs(45);

/// The actor.
pub struct ConfigurationDesk {
    work: Arc<Work>,
}

/// What its saves and looks share. One of them at a time.
struct Work {
    configuration: Configuration,
    roles: ChildRef<RoleDesk>,
    /// The state of the file that was looked at last.
    seen: Mutex<Option<Stamp>>,
}

/// The spec of a desk for the file behind `configuration`.
#[must_use]
pub fn configuration_desk(
    configuration: Configuration,
    roles: ChildRef<RoleDesk>,
) -> ChildSpec<ConfigurationDesk> {
    ChildSpec::new("configuration", move |_| ConfigurationDesk {
        work: Arc::new(Work {
            configuration: configuration.clone(),
            roles: roles.clone(),
            seen: Mutex::default(),
        }),
    })
    .capacity(4)
    .ask_timeout(SAVE_TIMEOUT)
}

impl Actor for ConfigurationDesk {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        start_tick(ctx, LOOK, |desk: &mut Self, _| {
            let work = Arc::clone(&desk.work);
            Box::pin(async move { work.look().await }.into_actor(desk))
        });
    }
}

impl Handler<SaveRoles> for ConfigurationDesk {
    type Result = ResponseFuture<Result<InForce, SaveRefused>>;

    fn handle(&mut self, order: SaveRoles, _: &mut Self::Context) -> Self::Result {
        let work = Arc::clone(&self.work);
        Box::pin(async move { work.save(order).await })
    }
}

/// What a look at the file has shown.
enum Seen {
    Same,
    Changed(Box<RoleDocument>),
    /// It cannot be used.
    Wrong(String),
}

impl Work {
    /// Follows a file that somebody else has changed.
    async fn look(&self) {
        let mut seen = self.seen.lock().await;
        let configuration = self.configuration.clone();
        let last = seen.clone();
        let looked = actix_rt::task::spawn_blocking(move || look(&configuration, last));
        let Ok((stamp, found)) = looked.await else {
            return;
        };
        *seen = stamp;
        match found {
            None => {}
            Some(Seen::Same) => {
                self.configuration.tell(None);
            }
            Some(Seen::Wrong(reason)) => self.wrong(&reason),
            Some(Seen::Changed(document)) => match self.apply(*document).await {
                Ok(_) => tracing::info!(
                    event = "config.reloaded",
                    detail = "the role file was changed on disk"
                ),
                // Looked at again, as if nothing had been seen.
                Err(_) => *seen = None,
            },
        }
    }

    fn wrong(&self, reason: &str) {
        if self.configuration.tell(Some(reason.to_owned())) {
            tracing::error!(event = "config.refused", error = %reason, "the role file on disk is wrong; the one in force stays");
        }
    }

    async fn save(&self, order: SaveRoles) -> Result<InForce, SaveRefused> {
        let mut seen = self.seen.lock().await;
        let configuration = self.configuration.clone();
        let saving = actix_rt::task::spawn_blocking(move || save(&configuration, &order));
        let (document, stamp) = saving
            .await
            .map_err(|_| SaveRefused::Disk("the work broke off".to_owned()))??;
        let in_force = self.apply(document).await?;
        *seen = stamp;
        tracing::info!(
            event = "config.reloaded",
            detail = "the role file was saved through the API"
        );
        Ok(in_force)
    }

    async fn apply(&self, document: RoleDocument) -> Result<InForce, SaveRefused> {
        let roles = self.configuration.place().roles(&document);
        let applied = self.roles.ask(ApplyRoles(roles)).await;
        applied.map_err(|error| SaveRefused::NotApplied(error.to_string()))?;
        Ok(self.configuration.put(document))
    }
}

fn look(configuration: &Configuration, last: Option<Stamp>) -> (Option<Stamp>, Option<Seen>) {
    let place = configuration.place();
    let path = &place.path;
    let wrong = |error: std::io::Error| {
        let reason = format!("{} cannot be read: {error}", path.display());
        (None, Some(Seen::Wrong(reason)))
    };
    let stamp = match Stamp::of(path) {
        Ok(stamp) if last.as_ref() == Some(&stamp) => return (last, None),
        Ok(stamp) => stamp,
        Err(error) => return wrong(error),
    };
    let text = match read(path) {
        Ok(text) => text,
        Err(error) => return wrong(error),
    };
    let found = if text == configuration.now().document.text().as_bytes() {
        Seen::Same
    } else {
        match place.parse(&text) {
            Ok(document) => Seen::Changed(Box::new(document)),
            Err(diagnostics) => {
                let lines: Vec<String> = diagnostics.iter().map(|one| one.headline()).collect();
                Seen::Wrong(lines.join("; "))
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

fn save(
    configuration: &Configuration,
    order: &SaveRoles,
) -> Result<(RoleDocument, Option<Stamp>), SaveRefused> {
    let place = configuration.place();
    let now = configuration.now();
    if let Precondition::Version(versions) = &order.condition {
        if !versions.contains(&now.version) {
            return Err(SaveRefused::Stale);
        }
        let on_disk = read(&place.path);
        if on_disk.is_ok_and(|text| text != now.document.text().as_bytes()) {
            return Err(SaveRefused::ChangedOnDisk);
        }
    }
    let (name, environment) = ("the document", &place.environment);
    let document = RoleDocument::replacing(name, &order.text, environment, &now.document)?;
    let (in_force, submitted) = (place.roles(&now.document), place.roles(&document));
    allowed::check(&in_force, &submitted, environment).map_err(SaveRefused::NotAllowed)?;
    let disk = |error: std::io::Error| SaveRefused::Disk(error.to_string());
    file::write_in_one_step(&place.path, document.text().as_bytes()).map_err(disk)?;
    Ok((document, Stamp::of(&place.path).ok()))
}
