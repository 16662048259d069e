//! Looking for damage in an index that is open, and going on without the damaged segments.

use super::damage;
use super::error::IndexError;
use super::files;
use super::options::OpenOutcome;
use super::source_index::SourceIndex;

impl SourceIndex {
    /// Reads every file of the index and gives the segments whose files are not what was written.
    /// Ends early, with what was found so far, when `goes_on` says no.
    ///
    /// # Errors
    /// The machine does not let the files be read, which says nothing about them.
    pub fn damage(
        &self,
        goes_on: impl Fn() -> bool,
    ) -> Result<Vec<damage::SegmentDamage>, IndexError> {
        let metas = self.index.searchable_segment_metas()?;
        let suspects = metas.iter().map(|meta| damage::CheckedSegment {
            name: meta.id().uuid_string(),
            deletion: meta.delete_opstamp(),
            documents: u64::from(meta.num_docs()),
        });
        let suspects = suspects.take_while(|_| goes_on());
        damage::damage_of(&self.path, suspects, false)
    }

    /// The index without the damaged segments. Their documents are not indexed any more.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn without(
        self,
        damage: &[damage::SegmentDamage],
    ) -> Result<(Self, OpenOutcome), IndexError> {
        let (path, options) = (self.path.clone(), self.options);
        // Its writer holds the lock.
        drop(self);
        let lock = files::writer_lock(&path)?;
        let folder = |source| IndexError::Folder {
            path: path.clone(),
            source,
        };
        damage::unlist(&path, damage).map_err(folder)?;
        drop(lock);
        Self::open(&path, options)
    }
}
