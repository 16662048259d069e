//! Whether the index of this machine is the one that is published: what another indexer has
//! published since is newer.

use std::path::Path;
use std::time::Duration;

use super::adopt::SourceFolders;
use super::error::SnapshotError;
use super::place::SnapshotMode;
use super::unit::{PointerRead, Unit};

/// A publication is noted in the storage a moment before it is here.
const ATTEMPTS: u32 = 4;
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(500);

/// Sees that what is indexed in `data`, the folder of indexes, of the source with this id is what
/// is published, or that nothing is. Blocks.
///
/// # Errors
/// [`SnapshotError::Elsewhere`] where another indexer has it, or another part is indexed here;
/// [`SnapshotError::NotIndexedHere`] of a searcher; the storage's.
pub fn check_published_here(
    mode: &SnapshotMode,
    source: &str,
    data: &Path,
) -> Result<(), SnapshotError> {
    let (place, part) = match mode {
        SnapshotMode::Local => return Ok(()),
        SnapshotMode::Searcher(_) => return Err(SnapshotError::NotIndexedHere),
        SnapshotMode::Indexer { place, part, .. } => (place, *part),
    };
    let unit = Unit::new(&place.storage, source, part);
    let mut attempts = 0;
    loop {
        let PointerRead::Read(pointer, _) = unit.pointer(None)? else {
            return Ok(());
        };
        let Some(published) = &pointer.manifest else {
            return Ok(());
        };
        if SourceFolders::marks(data, source, &published.object) {
            return Ok(());
        }
        attempts += 1;
        if attempts >= ATTEMPTS {
            return Err(SnapshotError::Elsewhere {
                part: unit.shown,
                owner: pointer.owner,
            });
        }
        std::thread::park_timeout(ATTEMPT_INTERVAL);
    }
}
