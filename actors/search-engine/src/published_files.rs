//! The files of a source whose documents came with a snapshot: the sources themselves are not here.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use url::Url;

use crate::files::{FileLocation, SourceFiles};
use crate::index::IndexSnapshot;
use crate::packs::{ContentForm, ContentId, TextPack};
use crate::walk::{FileBytes, SkipReason, decode_key};

/// Where the source itself is, on the machine that indexed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePlace {
    /// The folder, or the repository.
    pub folder: PathBuf,
    /// What of a repository was read: the name of a commit.
    pub revision: Option<String>,
}

impl SourcePlace {
    /// Of files that are here.
    #[must_use]
    pub fn from_files(files: &dyn SourceFiles) -> Option<Self> {
        let probe = files.location("probe")?;
        if let Some(path) = probe.path {
            let folder = PathBuf::from(path).parent()?.to_owned();
            return Some(Self {
                folder,
                revision: None,
            });
        }
        let url = Url::parse(&probe.url).ok()?;
        let revision = url.fragment()?.strip_suffix(":probe")?.to_owned();
        Some(Self {
            folder: url.to_file_path().ok()?,
            revision: Some(revision),
        })
    }
}

/// Reads files out of packs.
#[derive(Debug)]
pub struct PublishedFiles {
    place: SourcePlace,
    snapshot: IndexSnapshot,
    packs: Vec<Arc<TextPack>>,
    has_times: bool,
    top_names: Vec<String>,
}

impl PublishedFiles {
    /// The files of the documents of a snapshot.
    #[must_use]
    pub fn new(
        place: SourcePlace,
        snapshot: IndexSnapshot,
        packs: Vec<Arc<TextPack>>,
        has_times: bool,
    ) -> Self {
        Self {
            place,
            snapshot,
            packs,
            has_times,
            top_names: Vec::new(),
        }
    }

    /// The same, with what lies at the top of the source: it tells what its notes are written in.
    #[must_use]
    pub fn with_top_names(mut self, names: Vec<String>) -> Self {
        self.top_names = names;
        self
    }

    fn content(&self, key: &str) -> Result<(Vec<u8>, crate::index::DocumentRecord), SkipReason> {
        let record = self.snapshot.document(key).ok().flatten();
        let record = record.ok_or(SkipReason::Vanished)?;
        let id = ContentId::new(ContentForm::File, &record.file.hash);
        let most = record.file.size;
        let mut packs = self.packs.iter();
        let found = packs.find_map(|pack| pack.content(&id, most));
        Ok((found.ok_or(SkipReason::Vanished)?, record))
    }
}

/// A file without a name, in memory.
fn in_memory(content: &[u8]) -> io::Result<File> {
    let file = rustix::fs::memfd_create("text", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = File::from(file);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}

impl SourceFiles for PublishedFiles {
    fn read(
        &self,
        key: &str,
        limit: u64,
        reject: &dyn Fn(&[u8]) -> bool,
    ) -> Result<FileBytes, SkipReason> {
        let (bytes, record) = self.content(key)?;
        if bytes.len() as u64 > limit {
            return Err(SkipReason::TooLarge);
        }
        if reject(&bytes[..bytes.len().min(8 * 1024)]) {
            return Err(SkipReason::Binary);
        }
        Ok(FileBytes {
            size: record.file.size,
            mtime_ns: record.file.modified_ns,
            hash: Some(record.file.hash),
            bytes,
        })
    }

    fn open_file(&self, key: &str) -> Result<File, SkipReason> {
        let (bytes, _) = self.content(key)?;
        in_memory(&bytes).map_err(|_| SkipReason::Unreadable)
    }

    fn location(&self, key: &str) -> Option<FileLocation> {
        let folder = &self.place.folder;
        if let Some(name) = &self.place.revision {
            let mut url = Url::from_file_path(folder).ok()?;
            url.set_fragment(Some(&format!("{name}:{key}")));
            return Some(FileLocation {
                url: url.into(),
                path: None,
            });
        }
        let path = folder.join(decode_key(key)?);
        let url = Url::from_file_path(&path).map(String::from);
        Some(FileLocation {
            url: url.unwrap_or_default(),
            path: Some(path.to_string_lossy().into_owned()),
        })
    }

    fn has_times(&self) -> bool {
        self.has_times
    }

    fn top_names(&self) -> Vec<String> {
        self.top_names.clone()
    }
}
