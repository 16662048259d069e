//! Artifacts as `ArtifactService` has them: a zip comes, and the store keeps what it holds as a
//! tar, as the native actions read and write it.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::blob::{BlobDownload, Content, SignedBlob, Upload, UploadPurpose};
use super::zip_files::tar_of_zip;
use super::{JobSession, ServiceFault};
use crate::artifact_room::{ArtifactOrigin, is_bound};
use crate::artifact_zip::{file_of_tar, zip_of_tar};
use crate::artifacts::{Artifact, NewArtifact, check_artifact_name};
use crate::stored_tar::{PendingTar, sha256};

/// Types that say a zip.
const ZIPS: [&str; 3] = [
    "application/zip",
    "application/x-zip-compressed",
    "application/zip-compressed",
];

/// An artifact, as clients are told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedArtifact {
    /// Its number.
    pub id: u64,
    /// As the workflow calls it.
    pub name: String,
    /// Bytes in the store.
    pub bytes: u64,
    /// When it was stored, in milliseconds since the Unix epoch.
    pub at: u64,
    /// `sha256:…` of what is downloaded; of artifacts of former versions nobody knows.
    pub digest: Option<String>,
}

impl From<Artifact> for ListedArtifact {
    fn from(artifact: Artifact) -> Self {
        Self {
            id: artifact.id(),
            name: artifact.name,
            bytes: artifact.bytes,
            at: artifact.at,
            digest: artifact.digest,
        }
    }
}

impl JobSession {
    /// A request that names a run names its own.
    ///
    /// # Errors
    /// [`ServiceFault::OtherRun`].
    pub fn own_run(&self, named: &str) -> Result<(), ServiceFault> {
        if named.is_empty() || named == self.grant.run {
            Ok(())
        } else {
            Err(ServiceFault::OtherRun)
        }
    }

    /// Where a new artifact is uploaded to; it goes at `expires_at`, in milliseconds since the Unix
    /// epoch. Blocks.
    ///
    /// # Errors
    /// When there is one of this name, or the name is none.
    pub fn create_artifact(
        &self,
        name: &str,
        content_type: &str,
        expires_at: Option<u64>,
    ) -> Result<String, ServiceFault> {
        check_artifact_name(name).map_err(ServiceFault::Wrong)?;
        self.absent(name)?;
        let is_zip = content_type.is_empty() || ZIPS.contains(&content_type);
        let purpose = UploadPurpose::Artifact {
            name: name.to_owned(),
            raw: (!is_zip).then(|| content_type.to_owned()),
            expires_at,
        };
        self.check_room()?;
        let (room, most) = (self.grant.room.clone(), self.artifacts().most());
        let upload = Upload::new(purpose, self.folder(), room, most);
        self.open(SignedBlob::new(Content::Upload(upload)))
    }

    fn origin(&self) -> ArtifactOrigin {
        let forge = &self.grant.forge;
        ArtifactOrigin {
            run: self.grant.run.clone(),
            repository: forge.repository.to_lowercase(),
            untrusted: forge.is_strangers,
        }
    }

    fn check_room(&self) -> Result<(), ServiceFault> {
        let room = self
            .artifacts()
            .check_room(&self.grant.maker, &self.origin());
        room.map_err(not_stored)
    }

    fn absent(&self, name: &str) -> Result<(), ServiceFault> {
        let grant = &self.grant;
        if self.artifacts().is_free(&grant.run, name, &grant.maker)? {
            return Ok(());
        }
        Err(ServiceFault::Exists(format!(
            "an artifact with this name already exists on the workflow run: {name}"
        )))
    }

    /// Makes an uploaded artifact count; gives its number. Blocks.
    ///
    /// # Errors
    /// When it is not what it was said to be.
    pub fn finalize_artifact(
        &self,
        name: &str,
        size: u64,
        digest: Option<&str>,
    ) -> Result<u64, ServiceFault> {
        let wanted = |blob: &SignedBlob| {
            let purpose = blob.upload().map(|upload| &upload.purpose);
            matches!(purpose, Ok(UploadPurpose::Artifact { name: own, .. }) if own == name)
        };
        // Looked at first: what is not complete may still come.
        self.find_upload(wanted)?.upload()?.complete_file()?;
        let blob = self.take(wanted)?;
        let upload = blob.upload()?;
        let (path, bytes) = upload.complete_file()?;
        if size != 0 && size != bytes {
            let text = format!("{bytes} bytes were uploaded, and not {size}");
            return Err(ServiceFault::Wrong(text));
        }
        if let Some(expected) = digest.and_then(|digest| digest.strip_prefix("sha256:"))
            && !sha256(&path)?.eq_ignore_ascii_case(expected)
        {
            let text = "what was uploaded has another SHA-256 than it was said to have";
            return Err(ServiceFault::Wrong(text.to_owned()));
        }
        self.absent(name)?;
        let UploadPurpose::Artifact {
            raw, expires_at, ..
        } = &upload.purpose
        else {
            return Err(ServiceFault::NotFound("it is no artifact".to_owned()));
        };
        let mut pending = self.artifacts().create(&self.grant.run, name)?;
        let unpacked = match raw {
            None => tar_of_zip(File::open(&path)?, TarWriter(&mut pending)),
            Some(_) => tar_of_file(&path, name, TarWriter(&mut pending)),
        };
        unpacked.map_err(|error| ServiceFault::Wrong(error.to_string()))?;
        let (run, by) = (&self.grant.run, &self.grant.maker);
        let new = NewArtifact {
            raw: raw.clone(),
            expires_at: *expires_at,
            shown: None,
            origin: Some(self.origin()),
        };
        let stored = self.artifacts().keep(run, pending, by, new);
        Ok(stored.map_err(not_stored)?.id())
    }

    /// The run's artifacts, or those of this name or number. Blocks.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn list_artifacts(
        &self,
        name: Option<&str>,
        id: Option<u64>,
    ) -> Result<Vec<ListedArtifact>, ServiceFault> {
        let all = self.artifacts().list(&self.grant.run)?.into_iter();
        let listed = all
            .filter(|artifact| name.is_none_or(|name| name == artifact.name))
            .map(ListedArtifact::from)
            .filter(|artifact| id.is_none_or(|id| id == artifact.id));
        Ok(listed.collect())
    }

    /// Where an artifact is read: as a zip, or as the one file that was uploaded. Blocks.
    ///
    /// # Errors
    /// When there is none.
    pub fn artifact_address(&self, name: &str) -> Result<String, ServiceFault> {
        self.address_of(&self.grant.run, name)
    }

    /// The same of a run that the job may read.
    pub(super) fn address_of(&self, run: &str, name: &str) -> Result<String, ServiceFault> {
        let stored = self.artifacts().listed(run, name)?;
        let file = self.artifacts().find(run, name)?;
        let (Some(stored), Some(tar)) = (stored, file) else {
            return Err(ServiceFault::NotFound(format!(
                "the run has no artifact {name}"
            )));
        };
        let folder = self.folder();
        std::fs::create_dir_all(&folder)?;
        let path = folder.join("file");
        let (tar, to) = (File::open(tar)?, File::create_new(&path)?);
        // The folder goes with the address from here on.
        let mut download = BlobDownload {
            path,
            bytes: 0,
            content_type: stored.raw.clone().unwrap_or_else(|| ZIPS[0].to_owned()),
            name: match &stored.raw {
                Some(_) => stored.name,
                None => format!("{}.zip", stored.name),
            },
            folder: Some(folder),
            room: None,
        };
        match stored.raw {
            None => zip_of_tar(tar, std::io::BufWriter::new(to))?,
            Some(_) => file_of_tar(tar, to)?,
        }
        download.bytes = std::fs::metadata(&download.path)?.len();
        let download = download.counted(&self.grant.room)?;
        self.open(SignedBlob::new(Content::Download(download)))
    }

    /// Removes an artifact; gives its number. Blocks.
    ///
    /// # Errors
    /// When there is none.
    pub fn delete_artifact(&self, name: &str) -> Result<u64, ServiceFault> {
        let stored = self.artifacts().listed(&self.grant.run, name)?;
        let stored = stored
            .ok_or_else(|| ServiceFault::NotFound(format!("the run has no artifact {name}")))?;
        self.artifacts().remove(&self.grant.run, name)?;
        Ok(stored.id())
    }
}

/// Why an artifact is not stored: a bound of ours, or the disk.
fn not_stored(error: std::io::Error) -> ServiceFault {
    match is_bound(&error) {
        true => ServiceFault::Full(error.to_string()),
        false => ServiceFault::Disk(error),
    }
}

/// A tar on its way into the store, which looks at it and bounds it.
struct TarWriter<'a>(&'a mut PendingTar);

impl Write for TarWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn tar_of_file(path: &Path, name: &str, tar: impl Write) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(file.metadata()?.len());
    let mut tar = tar::Builder::new(tar);
    tar.append_data(&mut header, name, &mut file)?;
    tar.finish()
}
