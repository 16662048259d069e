//! What is uploaded or downloaded by a signed address: the part of Azure's block blobs that the
//! clients use.
//!
//! Blocks are files of one folder until a list puts them together; all of it goes with the blob.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{ServiceFault, TransferRoom};
use crate::stored_tar::hashed;

/// Blocks of one blob, as Azure bounds them.
const MAX_BLOCKS: usize = 50_000;
/// The longest name of a block.
const MAX_BLOCK_NAME: usize = 256;
/// The file that all blocks became.
const WHOLE: &str = "whole";

/// Something at a signed address.
pub struct SignedBlob {
    id: String,
    signature: String,
    pub(super) content: Content,
}

pub(super) enum Content {
    Upload(Upload),
    Download(BlobDownload),
}

/// What is being uploaded.
pub(super) struct Upload {
    pub(super) purpose: UploadPurpose,
    folder: PathBuf,
    room: TransferRoom,
    /// Bytes that it may have.
    most: u64,
    staged: Mutex<StagedBlocks>,
}

/// What an upload becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UploadPurpose {
    Artifact {
        name: String,
        /// The type of a file that is taken as it is; otherwise it is a zip.
        raw: Option<String>,
        /// When it goes, in milliseconds since the Unix epoch.
        expires_at: Option<u64>,
    },
    Cache {
        key: String,
        version: String,
        /// As the first version of the cache service names it.
        number: u64,
    },
}

#[derive(Default)]
struct StagedBlocks {
    blocks: BTreeMap<String, u64>,
    /// Bytes on the disk, what is being written included.
    bytes: u64,
    whole: Option<u64>,
}

impl StagedBlocks {
    /// Copies blocks behind each other. Each takes its bytes once, so that the whole is no larger
    /// than what was sent.
    fn put_together(
        &self,
        folder: &Path,
        names: &[String],
        whole: &Path,
        most: u64,
    ) -> Result<u64, ServiceFault> {
        let mut seen = HashSet::new();
        let wrong = |text: &str| Err(ServiceFault::Wrong(text.to_owned()));
        let mut bytes = 0;
        for name in names {
            let Some(length) = self.blocks.get(name) else {
                return wrong("the list names a block that was not sent");
            };
            if !seen.insert(name) {
                return wrong("the list names a block twice");
            }
            bytes += length;
        }
        if bytes > most {
            return Err(too_large(most));
        }
        std::fs::create_dir_all(folder)?;
        let mut whole = File::create(whole)?;
        for name in names {
            std::io::copy(&mut File::open(folder.join(hashed(name)))?, &mut whole)?;
        }
        Ok(bytes)
    }
}

/// A file to be read.
#[derive(Debug)]
pub struct BlobDownload {
    /// Where it is.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Its type.
    pub content_type: String,
    /// What it is called.
    pub name: String,
    /// A folder that goes with the address.
    pub(super) folder: Option<PathBuf>,
    /// From which its bytes were taken.
    pub(super) room: Option<TransferRoom>,
}

impl SignedBlob {
    pub(super) fn new(content: Content) -> Self {
        let random = || uuid::Uuid::new_v4().simple().to_string();
        Self {
            id: random(),
            signature: random() + &random(),
            content,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn is_signed(&self, signature: &str) -> bool {
        // Both are hashed, so that the time says nothing of how much was right.
        blake3::hash(self.signature.as_bytes()) == blake3::hash(signature.as_bytes())
    }

    /// Its signed address: account, container and blob, as Azure's library takes it apart.
    pub(super) fn address(&self, base: &str, ends: u64) -> String {
        let ends = jiff::Timestamp::from_second(i64::try_from(ends).unwrap_or(i64::MAX));
        let ends = ends.map_or_else(|_| String::new(), |ends| ends.to_string());
        format!(
            "{base}blobs/job/{}?se={}&sp=rw&sig={}",
            self.id,
            ends.replace(':', "%3A"),
            self.signature
        )
    }

    /// What is to be read here.
    ///
    /// # Errors
    /// When it is an upload.
    pub fn download(&self) -> Result<&BlobDownload, ServiceFault> {
        match &self.content {
            Content::Download(download) => Ok(download),
            Content::Upload(_) => Err(ServiceFault::NotFound(
                "nothing is read from an upload".to_owned(),
            )),
        }
    }

    pub(super) fn upload(&self) -> Result<&Upload, ServiceFault> {
        match &self.content {
            Content::Upload(upload) => Ok(upload),
            Content::Download(_) => Err(ServiceFault::Wrong("nothing is uploaded here".to_owned())),
        }
    }

    /// A block to be written, in place of one of its name. Blocks.
    ///
    /// # Errors
    /// When it is no upload, or a bound is reached.
    pub fn block(self: &Arc<Self>, name: &str) -> Result<BlockWriter, ServiceFault> {
        let upload = self.upload()?;
        if name.is_empty() || name.len() > MAX_BLOCK_NAME {
            return Err(ServiceFault::Wrong(format!(
                "a block's name has 1 to {MAX_BLOCK_NAME} bytes"
            )));
        }
        {
            let staged = upload.staged.lock();
            if staged.whole.is_some() {
                return Err(ServiceFault::Wrong("the upload is complete".to_owned()));
            }
            if staged.blocks.len() >= MAX_BLOCKS && !staged.blocks.contains_key(name) {
                return Err(ServiceFault::Full(format!("more than {MAX_BLOCKS} blocks")));
            }
        }
        std::fs::create_dir_all(&upload.folder)?;
        let part = upload.folder.join(format!("{}.part", uuid::Uuid::new_v4()));
        Ok(BlockWriter {
            file: File::create_new(&part)?,
            part,
            name: name.to_owned(),
            bytes: 0,
            blob: Arc::clone(self),
        })
    }

    /// Puts blocks together, in this order. Blocks.
    ///
    /// # Errors
    /// When one is not there, or named twice, or it is no upload.
    pub fn commit(&self, names: &[String]) -> Result<u64, ServiceFault> {
        let upload = self.upload()?;
        let mut staged = upload.staged.lock();
        if let Some(bytes) = staged.whole {
            // Its answer was lost, and it is asked again.
            return Ok(bytes);
        }
        let whole = upload.folder.join(WHOLE);
        let bytes = staged.put_together(&upload.folder, names, &whole, upload.most);
        let bytes = bytes.inspect_err(|_| {
            // What was copied so far is not counted. It may not have been begun.
            let _ = std::fs::remove_file(&whole);
        })?;
        for name in staged.blocks.keys() {
            let _ = std::fs::remove_file(upload.folder.join(hashed(name)));
        }
        staged.blocks.clear();
        staged.whole = Some(bytes);
        Ok(bytes)
    }
}

impl Upload {
    pub(super) fn new(
        purpose: UploadPurpose,
        folder: PathBuf,
        room: TransferRoom,
        most: u64,
    ) -> Self {
        Self {
            purpose,
            folder,
            room,
            most,
            staged: Mutex::default(),
        }
    }

    /// The complete file, and its length.
    pub(super) fn complete_file(&self) -> Result<(PathBuf, u64), ServiceFault> {
        let whole = self.staged.lock().whole;
        let bytes = whole
            .ok_or_else(|| ServiceFault::Wrong("the upload has not come to its end".to_owned()))?;
        Ok((self.folder.join(WHOLE), bytes))
    }

    /// The names of its blocks, in the order of names, each with its length.
    pub(super) fn blocks(&self) -> Vec<(String, u64)> {
        let staged = self.staged.lock();
        staged.blocks.clone().into_iter().collect()
    }
}

impl BlobDownload {
    /// Another name of a file that may be removed meanwhile.
    pub(super) fn link(
        path: &Path,
        folder: PathBuf,
        content_type: &str,
        name: &str,
    ) -> std::io::Result<Self> {
        std::fs::create_dir_all(&folder)?;
        let own = folder.join(WHOLE);
        if std::fs::hard_link(path, &own).is_err() {
            std::fs::copy(path, &own)?;
        }
        Ok(Self {
            bytes: std::fs::metadata(&own)?.len(),
            path: own,
            content_type: content_type.to_owned(),
            name: name.to_owned(),
            folder: Some(folder),
            room: None,
        })
    }

    /// Takes its bytes from what the job may have.
    pub(super) fn counted(mut self, room: &TransferRoom) -> Result<Self, ServiceFault> {
        room.take(self.bytes)?;
        self.room = Some(room.clone());
        Ok(self)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // Nothing is there when nothing was sent.
        let _ = std::fs::remove_dir_all(&self.folder);
        self.room.release(self.staged.get_mut().bytes);
    }
}

impl Drop for BlobDownload {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
        if let Some(room) = &self.room {
            room.release(self.bytes);
        }
    }
}

/// A block as it comes; it counts only when it is [finished](Self::finish).
pub struct BlockWriter {
    file: File,
    part: PathBuf,
    name: String,
    bytes: u64,
    blob: Arc<SignedBlob>,
}

impl BlockWriter {
    /// Adds bytes, as far as the upload may have so many. Blocks.
    ///
    /// # Errors
    /// When it may not, or the disk is full.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), ServiceFault> {
        let more = bytes.len() as u64;
        {
            let upload = self.blob.upload()?;
            let mut staged = upload.staged.lock();
            if staged.bytes + more > upload.most {
                return Err(too_large(upload.most));
            }
            upload.room.take(more)?;
            staged.bytes += more;
        }
        self.bytes += more;
        Ok(self.file.write_all(bytes)?)
    }

    /// Makes it count. Blocks.
    ///
    /// # Errors
    /// When the upload was completed meanwhile.
    pub fn finish(self) -> Result<(), ServiceFault> {
        let upload = self.blob.upload()?;
        let mut staged = upload.staged.lock();
        if staged.whole.is_some() {
            return Err(ServiceFault::Wrong("the upload is complete".to_owned()));
        }
        std::fs::rename(&self.part, upload.folder.join(hashed(&self.name)))?;
        let former = staged.blocks.insert(self.name.clone(), self.bytes);
        staged.bytes -= former.unwrap_or_default();
        upload.room.release(former.unwrap_or_default());
        Ok(())
    }
}

impl Drop for BlockWriter {
    fn drop(&mut self) {
        // A finished one has another name by now.
        if std::fs::remove_file(&self.part).is_ok()
            && let Ok(upload) = self.blob.upload()
        {
            upload.staged.lock().bytes -= self.bytes;
            upload.room.release(self.bytes);
        }
    }
}

fn too_large(most: u64) -> ServiceFault {
    ServiceFault::Full(format!(
        "it is larger than {most} bytes, which the operator can change (`artifact_max`, `cache_max`)"
    ))
}
