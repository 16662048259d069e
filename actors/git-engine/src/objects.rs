//! Contents of objects, asked for one after the other: `git cat-file --batch`.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::error::GitError;
use crate::repository::Repository;
use crate::session::Session;

/// Processes that wait for the next question.
const MAX_IDLE: usize = 2;
/// The longest that one read may take: a file system may be away.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Reads objects of a repository. Each thread that reads at the same time has a process of its own.
#[derive(Debug)]
pub struct Objects {
    repository: Repository,
    idle: Mutex<Vec<(Instant, Session)>>,
}

/// The content of a file in the object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// Its name: 40 or 64 hexadecimal digits.
    pub id: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// What stands in the object store under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobLookup {
    /// A file.
    Blob(Blob),
    /// A file of more bytes than are wanted.
    TooLarge(u64),
    /// Nothing, or no file.
    Nothing,
}

impl Objects {
    /// The objects of a repository; no process is started yet.
    #[must_use]
    pub fn new(repository: Repository) -> Self {
        Self {
            repository,
            idle: Mutex::default(),
        }
    }

    /// The repository.
    #[must_use]
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The file of this name (`COMMIT:PATH`, or an object's name) with at most `limit` bytes.
    ///
    /// # Errors
    /// When git cannot run, takes too long, or says something unexpected.
    pub fn blob(&self, name: &[u8], limit: u64) -> Result<BlobLookup, GitError> {
        if name.is_empty() {
            return Ok(BlobLookup::Nothing);
        }
        // It would be two questions.
        if name.contains(&b'\n') {
            return match self.repository.object_id(name)? {
                Some(id) => self.blob(id.as_bytes(), limit),
                None => Ok(BlobLookup::Nothing),
            };
        }
        let idle = self.idle.lock().pop();
        let mut session = match idle {
            Some((_, session)) => session,
            None => self.begin()?,
        };
        let found = match ask(&mut session, name, limit) {
            // One that waited may have been ended from outside meanwhile.
            Err(GitError::Unexpected { .. }) => {
                session = self.begin()?;
                ask(&mut session, name, limit)?
            }
            found => found?,
        };
        // The bytes of one that is too large are still to come: ending it is cheaper.
        let mut idle = self.idle.lock();
        if !matches!(found, BlobLookup::TooLarge(_)) && idle.len() < MAX_IDLE {
            idle.push((Instant::now(), session));
        }
        Ok(found)
    }

    /// Ends processes that have waited longer than `most`: each maps the repository's packs.
    pub fn rest(&self, most: Duration) {
        self.idle.lock().retain(|(since, _)| since.elapsed() < most);
    }

    fn begin(&self) -> Result<Session, GitError> {
        let call = self.repository.call("cat-file").within(MAX_WAIT);
        call.arg("--batch").session()
    }
}

/// `<id> blob <size>\n<bytes>\n`, or one line that ends with what is wrong.
fn ask(session: &mut Session, name: &[u8], limit: u64) -> Result<BlobLookup, GitError> {
    let line = [name, b"\n"].concat();
    session.ask(&line)?;
    let unexpected = |reason: &str| GitError::Unexpected {
        what: "cat-file".to_owned(),
        reason: reason.to_owned(),
    };
    let head = session.until(b'\n')?;
    let head = head.ok_or_else(|| unexpected("it has ended"))?;
    let head = String::from_utf8_lossy(&head);
    let mut words = head.rsplit(' ');
    let (last, kind) = (words.next().unwrap_or_default(), words.next());
    let Ok(size) = last.parse::<u64>() else {
        return Ok(BlobLookup::Nothing);
    };
    let id = words.next().unwrap_or_default().to_owned();
    if size > limit && kind == Some("blob") {
        return Ok(BlobLookup::TooLarge(size));
    }
    let length = usize::try_from(size).map_err(|_| unexpected("an object without end"))?;
    let bytes = session.bytes(length)?;
    session.bytes(1)?;
    Ok(match kind {
        Some("blob") => BlobLookup::Blob(Blob { id, bytes }),
        _ => BlobLookup::Nothing,
    })
}
