//! Caches as both versions of the cache service have them: archives that the client packs, by key
//! and by what was packed and how.

use std::sync::Arc;

use super::blob::{BlobDownload, BlockWriter, Content, SignedBlob, Upload, UploadPurpose};
use super::{JobSession, ServiceFault};

/// The longest key, as clients bound it.
const MAX_KEY: usize = 512;
/// The longest version: a hash.
const MAX_VERSION: usize = 128;

impl JobSession {
    /// Where a new cache is uploaded to, and its number. Blocks.
    ///
    /// # Errors
    /// When there is one of this key and version, or the job may save none.
    pub fn create_cache(&self, key: &str, version: &str) -> Result<(String, u64), ServiceFault> {
        let mode = self.grant.cache_mode;
        if !mode.saves() {
            // The beginning is what clients know it by.
            let text = format!("cache write denied: the cache-mode is {}", mode.name());
            return Err(ServiceFault::Denied(text));
        }
        let fits = |text: &str, most| !text.is_empty() && text.len() <= most;
        if !fits(key, MAX_KEY) || !fits(version, MAX_VERSION) {
            let text = format!(
                "a cache has a key of 1 to {MAX_KEY} bytes and a version of 1 to {MAX_VERSION}"
            );
            return Err(ServiceFault::Wrong(text));
        }
        if self
            .caches()
            .has_packed(&self.grant.scopes[0], key, version)?
        {
            return Err(ServiceFault::Exists(format!(
                "the cache {key} exists already"
            )));
        }
        let number = self.number();
        let purpose = UploadPurpose::Cache {
            key: key.to_owned(),
            version: version.to_owned(),
            number,
        };
        let (room, most) = (self.grant.room.clone(), self.caches().most());
        let upload = Upload::new(purpose, self.folder(), room, most);
        let address = self.open(SignedBlob::new(Content::Upload(upload)))?;
        Ok((address, number))
    }

    /// Makes an uploaded cache count; gives its number. Blocks.
    ///
    /// # Errors
    /// When it is not what it was said to be.
    pub fn finalize_cache(&self, key: &str, version: &str, size: u64) -> Result<u64, ServiceFault> {
        self.keep_cache(size, |purpose| {
            matches!(purpose, UploadPurpose::Cache { key: own, version: of, .. } if own == key && of == version)
        })
    }

    /// A reserved cache, of the first version of the service. Blocks.
    ///
    /// # Errors
    /// When the job has none of this number.
    fn reserved_cache(&self, number: u64) -> Result<Arc<SignedBlob>, ServiceFault> {
        self.find_upload(|blob| {
            let purpose = blob.upload().map(|upload| &upload.purpose);
            matches!(purpose, Ok(UploadPurpose::Cache { number: own, .. }) if *own == number)
        })
    }

    /// A piece of a reserved cache, which begins there. Blocks.
    ///
    /// # Errors
    /// When the job has none of this number, or a bound is reached.
    pub fn cache_piece(&self, number: u64, begins: u64) -> Result<BlockWriter, ServiceFault> {
        self.reserved_cache(number)?.block(&block_at(begins))
    }

    /// Makes a reserved cache count whose pieces were named by where they begin. Blocks.
    ///
    /// # Errors
    /// When it is not whole.
    pub fn commit_cache(&self, number: u64, size: u64) -> Result<u64, ServiceFault> {
        let blob = self.reserved_cache(number)?;
        let mut at = 0;
        let mut names = Vec::new();
        for (name, bytes) in blob.upload()?.blocks() {
            if name != block_at(at) {
                return Err(ServiceFault::Wrong(format!("nothing came for byte {at}")));
            }
            at += bytes;
            names.push(name);
        }
        blob.commit(&names)?;
        self.keep_cache(
            size,
            |purpose| matches!(purpose, UploadPurpose::Cache { number: own, .. } if *own == number),
        )
    }

    fn keep_cache(
        &self,
        size: u64,
        wanted: impl Fn(&UploadPurpose) -> bool,
    ) -> Result<u64, ServiceFault> {
        let wanted = |blob: &SignedBlob| blob.upload().is_ok_and(|upload| wanted(&upload.purpose));
        self.find_upload(wanted)?.upload()?.complete_file()?;
        let blob = self.take(wanted)?;
        let upload = blob.upload()?;
        let (path, bytes) = upload.complete_file()?;
        if size != bytes {
            let text = format!("{bytes} bytes were uploaded, and not {size}");
            return Err(ServiceFault::Wrong(text));
        }
        let UploadPurpose::Cache {
            key,
            version,
            number,
        } = &upload.purpose
        else {
            return Err(ServiceFault::NotFound("it is no cache".to_owned()));
        };
        let own = &self.grant.scopes[0];
        self.caches().keep_packed(own, key, version, &path)?;
        Ok(*number)
    }

    /// Where the cache of this version is read whose key is `key`, else whose key begins with one
    /// of `prefixes`; and its key. Blocks.
    ///
    /// # Errors
    /// The host's disk, or the job may restore none.
    pub fn find_cache(
        &self,
        key: &str,
        prefixes: &[String],
        version: &str,
    ) -> Result<Option<(String, String)>, ServiceFault> {
        let mode = self.grant.cache_mode;
        if !mode.restores() {
            let text = format!("cache read denied: the cache-mode is {}", mode.name());
            return Err(ServiceFault::Denied(text));
        }
        let found = self
            .caches()
            .find_packed(&self.grant.scopes, key, prefixes, version)?;
        let Some((key, path)) = found else {
            return Ok(None);
        };
        let download =
            BlobDownload::link(&path, self.folder(), "application/octet-stream", "cache")?
                .counted(&self.grant.room)?;
        let address = self.open(SignedBlob::new(Content::Download(download)))?;
        Ok(Some((address, key)))
    }
}

/// The name of the block that begins there: names are in the order of places.
fn block_at(byte: u64) -> String {
    format!("{byte:020}")
}
