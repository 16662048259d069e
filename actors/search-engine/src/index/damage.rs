//! Damaged files of an index: found by the checksum that ends each of them, and done without.
//!
//! tantivy ends every file of a segment with a checksum of its content and looks at it only when
//! asked. A segment with a damaged file is taken out of the list of segments; its documents are
//! then not indexed, and the next comparison with the source indexes them again. The other segments
//! stay searchable meanwhile.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::Deserialize;
use tantivy::index::SegmentId;

use super::error::IndexError;
use super::snapshot::IndexSnapshot;
use crate::shortage::is_of_machine;

/// The list of segments.
const META: &str = "meta.json";

/// Kinds of the files that every segment has.
const KINDS: [&str; 6] = ["term", "idx", "pos", "store", "fast", "fieldnorm"];

/// Behind the checksum: its length and a number that says what it is.
const TAIL_BYTES: u64 = 8;

/// What that number is.
const TAIL_NUMBER: u32 = 1337;

/// No checksum is longer.
const MAX_CHECKSUM_BYTES: u64 = 50_000;

/// Bytes read at once.
const CHUNK_BYTES: usize = 256 << 10;

/// A segment with a file that does not hold what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentDamage {
    /// The segment's name.
    segment: String,
    /// The damaged file.
    pub file: String,
    /// What is wrong with it, for people.
    pub reason: String,
    /// Documents of the segment that count.
    pub documents: u64,
}

impl std::fmt::Display for SegmentDamage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "file {} {}", self.file, self.reason)
    }
}

/// A segment whose files are looked at.
pub(super) struct CheckedSegment {
    pub(super) name: String,
    pub(super) deletion: Option<u64>,
    pub(super) documents: u64,
}

impl CheckedSegment {
    fn files(&self) -> impl Iterator<Item = String> {
        let kinds = KINDS.iter().map(|kind| format!("{}.{kind}", self.name));
        let deleted = self.deletion;
        kinds.chain(deleted.map(|stamp| format!("{}.{stamp}.del", self.name)))
    }

    /// The first damaged file. Files that are gone are damage only where they have to be there.
    fn damage(&self, folder: &Path, may_be_gone: bool) -> io::Result<Option<SegmentDamage>> {
        for file in self.files() {
            let reason = match fault_of(&folder.join(&file)) {
                Ok(None) => continue,
                Ok(Some(reason)) => reason,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if may_be_gone {
                        continue;
                    }
                    "is missing".to_owned()
                }
                Err(error) if is_of_machine(&error) => return Err(error),
                Err(error) => format!("cannot be read ({error})"),
            };
            return Ok(Some(SegmentDamage {
                segment: self.name.clone(),
                file,
                reason,
                documents: self.documents,
            }));
        }
        Ok(None)
    }
}

/// The checksum that ends a file.
#[derive(Deserialize)]
struct Checksum {
    crc: u32,
}

/// What is wrong with the content of a file, if anything. It is read through a small buffer: what
/// is only checked does not stay in memory, and a sector that cannot be read is an error, not the
/// end of the process.
fn fault_of(path: &Path) -> io::Result<Option<String>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let fault = |text: &str| Ok(Some(text.to_owned()));
    let Some(tail_at) = length.checked_sub(TAIL_BYTES) else {
        return fault("ends early");
    };
    let mut tail = [0; TAIL_BYTES as usize];
    file.seek(SeekFrom::Start(tail_at))?;
    file.read_exact(&mut tail)?;
    let [a, b, c, d, rest @ ..] = tail;
    let checksum_length = u64::from(u32::from_le_bytes([a, b, c, d]));
    let body = tail_at.checked_sub(checksum_length);
    let Some(body) = body.filter(|_| {
        u32::from_le_bytes(rest) == TAIL_NUMBER && checksum_length <= MAX_CHECKSUM_BYTES
    }) else {
        return fault("has no checksum at its end");
    };
    let mut checksum = vec![0; (tail_at - body) as usize];
    file.seek(SeekFrom::Start(body))?;
    file.read_exact(&mut checksum)?;
    let Ok(Checksum { crc }) = serde_json::from_slice(&checksum) else {
        return fault("has no checksum at its end");
    };
    file.seek(SeekFrom::Start(0))?;
    let mut content = file.take(body);
    let mut found = flate2::Crc::new();
    let mut piece = vec![0; CHUNK_BYTES];
    loop {
        match content.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => found.update(&piece[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    match found.sum() == crc {
        true => Ok(None),
        false => fault("differs from its checksum"),
    }
}

impl IndexSnapshot {
    /// The segments of this state whose files are damaged; files that were merged away meanwhile
    /// are passed over.
    ///
    /// # Errors
    /// As [`SourceIndex::damage`](super::SourceIndex::damage).
    pub fn damage(&self) -> Result<Vec<SegmentDamage>, IndexError> {
        let suspects = self.segments().iter().map(|view| CheckedSegment {
            name: view.reader.segment_id().uuid_string(),
            deletion: view.reader.delete_opstamp(),
            documents: u64::from(view.reader.num_docs()),
        });
        damage_of(self.folder(), suspects, true)
    }
}

pub(super) fn damage_of(
    folder: &Path,
    suspects: impl Iterator<Item = CheckedSegment>,
    may_be_gone: bool,
) -> Result<Vec<SegmentDamage>, IndexError> {
    let mut found = Vec::new();
    for suspect in suspects {
        let damage = suspect.damage(folder, may_be_gone);
        found.extend(damage.map_err(|source| IndexError::Folder {
            path: folder.to_owned(),
            source,
        })?);
    }
    Ok(found)
}

/// Takes the damaged segments of an index that cannot be opened out of its list. Gives what was
/// wrong; nothing where no file is damaged, or nothing would be left. The writer's lock is held.
pub(super) fn unlist_damaged(folder: &Path) -> io::Result<Vec<SegmentDamage>> {
    let Some(list) = read_list(folder)? else {
        return Ok(Vec::new());
    };
    let mut damaged = Vec::new();
    let segments = list["segments"].as_array().map_or(&[][..], Vec::as_slice);
    for segment in segments {
        let Some(name) = name_of(segment) else {
            return Ok(Vec::new());
        };
        let deletes = &segment["deletes"];
        let deleted = deletes["num_deleted_docs"].as_u64().unwrap_or(0);
        let suspect = CheckedSegment {
            name,
            deletion: deletes["opstamp"].as_u64(),
            documents: segment["max_doc"]
                .as_u64()
                .unwrap_or(0)
                .saturating_sub(deleted),
        };
        damaged.extend(suspect.damage(folder, false)?);
    }
    if damaged.is_empty() || damaged.len() == segments.len() {
        return Ok(Vec::new());
    }
    unlist(folder, &damaged)?;
    Ok(damaged)
}

/// The list of segments; `None` where it is no such list.
fn read_list(folder: &Path) -> io::Result<Option<serde_json::Value>> {
    match fs::read(folder.join(META)) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if is_of_machine(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// The name of a segment in the list, as its files have it.
fn name_of(segment: &serde_json::Value) -> Option<String> {
    let id = segment["segment_id"].as_str()?;
    let id = SegmentId::from_uuid_string(&id.replace('-', ""));
    id.ok().map(|id| id.uuid_string())
}

/// Takes segments out of the list. Their files are removed with the next commit.
pub(super) fn unlist(folder: &Path, damage: &[SegmentDamage]) -> io::Result<()> {
    let gone: BTreeSet<&str> = damage.iter().map(|one| one.segment.as_str()).collect();
    let Some(mut list) = read_list(folder)? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    if let Some(segments) = list["segments"].as_array_mut() {
        segments.retain(|segment| !name_of(segment).is_some_and(|id| gone.contains(id.as_str())));
    }
    let beside = folder.join(".new-list");
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(&serde_json::to_vec_pretty(&list)?)?;
        file.sync_all()
    });
    if let Err(error) = written.and_then(|()| fs::rename(&beside, folder.join(META))) {
        let _ = fs::remove_file(&beside);
        return Err(error);
    }
    File::open(folder)?.sync_all()
}
