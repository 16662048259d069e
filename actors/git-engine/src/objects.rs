//! Contents of objects, asked for one after the other: `git cat-file --batch`.

use std::borrow::Cow;
use std::io::Write;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::error::GitError;
use crate::repository::LocalRepository;
use crate::session::GitSession;

/// Processes that wait for the next question.
const MAX_IDLE: usize = 2;
/// The longest that one read may take: a file system may be away.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Reads objects of a repository. Each thread that reads at the same time has a process of its own.
#[derive(Debug)]
pub struct Objects {
    repository: LocalRepository,
    idle: Mutex<Vec<(Instant, GitSession)>>,
}

/// The content of a file in the object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitBlob {
    /// Its name: 40 or 64 hexadecimal digits.
    pub id: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// What stands in the object store under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobLookup {
    /// A file.
    Blob(GitBlob),
    /// A file of more bytes than are wanted.
    TooLarge(u64),
    /// Nothing, or no file.
    Nothing,
}

impl Objects {
    /// The objects of a repository; no process is started yet.
    #[must_use]
    pub fn new(repository: LocalRepository) -> Self {
        Self {
            repository,
            idle: Mutex::default(),
        }
    }

    /// The repository.
    #[must_use]
    pub fn repository(&self) -> &LocalRepository {
        &self.repository
    }

    /// The file of this name (`COMMIT:PATH`, or an object's name) with at most `limit` bytes.
    ///
    /// # Errors
    /// When git cannot run, takes too long, or says something unexpected.
    pub fn blob(&self, name: &[u8], limit: u64) -> Result<BlobLookup, GitError> {
        let found = self.find(name, limit, GitSession::bytes)?;
        Ok(found.map_or_else(
            |nothing| nothing,
            |(id, bytes)| BlobLookup::Blob(GitBlob { id, bytes }),
        ))
    }

    /// The same, whose bytes are written to `into` as they come, and not held: the answer has none.
    ///
    /// # Errors
    /// As [`blob`](Self::blob), or when they cannot be written.
    pub fn copy(
        &self,
        name: &[u8],
        limit: u64,
        into: &mut dyn Write,
    ) -> Result<BlobLookup, GitError> {
        let found = self.find(name, limit, |session, size| session.copy(size, into))?;
        let bytes = Vec::new();
        Ok(found.map_or_else(
            |nothing| nothing,
            |(id, ())| BlobLookup::Blob(GitBlob { id, bytes }),
        ))
    }

    /// Looks a file up and has its bytes taken; `Err` within where there is nothing to take.
    fn find<T>(
        &self,
        name: &[u8],
        limit: u64,
        take: impl FnOnce(&mut GitSession, usize) -> Result<T, GitError>,
    ) -> Result<Result<(String, T), BlobLookup>, GitError> {
        let mut name = Cow::Borrowed(name);
        // It would be two questions.
        if name.contains(&b'\n') {
            let id = self.repository.object_id(&name)?.unwrap_or_default();
            name = Cow::Owned(id.into_bytes());
        }
        if name.is_empty() {
            return Ok(Err(BlobLookup::Nothing));
        }
        let idle = self.idle.lock().pop();
        let mut session = match idle {
            Some((_, session)) => session,
            None => self.start_session()?,
        };
        let head = match ask(&mut session, &name) {
            // One that waited may have been ended from outside meanwhile.
            Err(GitError::Unexpected { .. }) => {
                session = self.start_session()?;
                ask(&mut session, &name)?
            }
            head => head?,
        };
        let found = match head {
            None => Err(BlobLookup::Nothing),
            // The bytes are still to come: ending it is cheaper.
            Some(head) if head.is_blob && head.size > limit => {
                return Ok(Err(BlobLookup::TooLarge(head.size)));
            }
            Some(head) => {
                let size = usize::try_from(head.size);
                let size = size.map_err(|_| unexpected("an object without end"))?;
                let found = if head.is_blob {
                    Ok((head.id, take(&mut session, size)?))
                } else {
                    session.copy(size, &mut std::io::sink())?;
                    Err(BlobLookup::Nothing)
                };
                // A line ends it.
                session.bytes(1)?;
                found
            }
        };
        let mut idle = self.idle.lock();
        if idle.len() < MAX_IDLE {
            idle.push((Instant::now(), session));
        }
        Ok(found)
    }

    /// Ends processes that have waited longer than `most`: each maps the repository's packs.
    pub fn rest(&self, most: Duration) {
        self.idle.lock().retain(|(since, _)| since.elapsed() < most);
    }

    fn start_session(&self) -> Result<GitSession, GitError> {
        let call = self.repository.call("cat-file").with_limit(MAX_WAIT);
        call.arg("--batch").session()
    }
}

/// What git says of an object before its bytes.
struct Head {
    id: String,
    is_blob: bool,
    size: u64,
}

/// `<id> blob <size>\n<bytes>\n`, of which the first line is read, or one line that ends with what
/// is wrong: then there is nothing.
fn ask(session: &mut GitSession, name: &[u8]) -> Result<Option<Head>, GitError> {
    let line = [name, b"\n"].concat();
    session.ask(&line)?;
    let head = session.read_until(b'\n')?;
    let head = head.ok_or_else(|| unexpected("it has ended"))?;
    let head = String::from_utf8_lossy(&head);
    let mut words = head.rsplit(' ');
    let (last, kind) = (words.next().unwrap_or_default(), words.next());
    let Ok(size) = last.parse::<u64>() else {
        return Ok(None);
    };
    Ok(Some(Head {
        id: words.next().unwrap_or_default().to_owned(),
        is_blob: kind == Some("blob"),
        size,
    }))
}

fn unexpected(reason: &str) -> GitError {
    GitError::Unexpected {
        what: "cat-file".to_owned(),
        reason: reason.to_owned(),
    }
}
