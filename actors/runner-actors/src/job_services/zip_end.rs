//! The end of a zip, looked at before the archive is opened: whoever opens one reads all of its
//! directory into memory, however large that says it is.
//!
//! ```text
//! files … | directory ▒▒▒▒ | [zip64 record, its locator] | end record, comment |
//! ```
//! What is accepted lies so, without anything between or behind: then nobody finds another
//! directory in the file than the one that was looked at. Clients write no others.

use std::fs::File;
use std::io::{Error, Read as _, Result, Seek as _, SeekFrom};

/// Entries of one archive.
const MAX_ENTRIES: u64 = 1_000_000;
/// Bytes of its directory.
const MAX_DIRECTORY: u64 = 64 << 20;
/// The least bytes of an entry in the directory.
const MIN_ENTRY: u64 = 46;

const END: [u8; 4] = *b"PK\x05\x06";
const END_BYTES: usize = 22;
const LOCATOR: [u8; 4] = *b"PK\x06\x07";
const LOCATOR_BYTES: usize = 20;
const RECORD: [u8; 4] = *b"PK\x06\x06";
const RECORD_BYTES: usize = 56;
/// What such a record says of its own size, which does not count its first fields.
const RECORD_SIZE: u64 = 44;
/// The longest comment.
const MAX_COMMENT: usize = 0xffff;

/// What the end of a zip says of the directory before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Directory {
    entries: u64,
    bytes: u64,
    starts_at: u64,
    /// Where the directory has to end.
    ends_at: u64,
    /// Which parts of an archive on several disks it names.
    disks: [u64; 3],
}

/// Whether a zip may be opened: its directory is where it has to be, and no larger than it may be.
/// The file is at its start afterwards.
pub(super) fn check_directory(zip: &mut File) -> Result<()> {
    let length = zip.seek(SeekFrom::End(0))?;
    let most = (END_BYTES + MAX_COMMENT) as u64;
    let tail_at = length.saturating_sub(most);
    let mut tail = Vec::new();
    zip.seek(SeekFrom::Start(tail_at))?;
    zip.read_to_end(&mut tail)?;
    let end = last_end(&tail).ok_or_else(|| Error::other("invalid Zip archive: it has no end"))?;
    let end_at = tail_at + end as u64;
    let mut directory = end_record(&tail[end..], end_at);
    if directory.is_saturated()
        && let Some(large) = large_record(zip, end_at)?
    {
        directory = large;
    }
    zip.rewind()?;
    directory.check().map_err(Error::other)
}

/// The last end record whose comment ends the file.
fn last_end(tail: &[u8]) -> Option<usize> {
    let last = tail.len().checked_sub(END_BYTES)?;
    (0..=last).rev().find(|&at| {
        let ends_at = || at + END_BYTES + usize::from(u16::from_le_bytes(part(&tail[at..], 20)));
        // One whose comment leads past the end is none to anybody.
        tail[at..].starts_with(&END) && ends_at() <= tail.len()
    })
}

fn end_record(record: &[u8], end_at: u64) -> Directory {
    let short = |at| u64::from(u16::from_le_bytes(part(record, at)));
    let long = |at| u64::from(u32::from_le_bytes(part(record, at)));
    Directory {
        entries: short(10),
        bytes: long(12),
        starts_at: long(16),
        ends_at: end_at,
        disks: [short(4), short(6), short(10) - short(8).min(short(10))],
    }
}

/// The record of a larger archive, where one is named before its end.
fn large_record(zip: &mut File, end_at: u64) -> Result<Option<Directory>> {
    let Some(locator_at) = end_at.checked_sub(LOCATOR_BYTES as u64) else {
        return Ok(None);
    };
    let mut locator = [0; LOCATOR_BYTES];
    zip.seek(SeekFrom::Start(locator_at))?;
    zip.read_exact(&mut locator)?;
    if !locator.starts_with(&LOCATOR) {
        return Ok(None);
    }
    let record_at = u64::from_le_bytes(part(&locator, 8));
    if record_at.checked_add(RECORD_BYTES as u64) != Some(locator_at) {
        return Err(elsewhere());
    }
    let mut record = [0; RECORD_BYTES];
    zip.seek(SeekFrom::Start(record_at))?;
    zip.read_exact(&mut record)?;
    let of = |at| u64::from_le_bytes(part(&record, at));
    if !record.starts_with(&RECORD) || of(4) != RECORD_SIZE {
        return Err(elsewhere());
    }
    let disk = |bytes: &[u8], at| u64::from(u32::from_le_bytes(part(bytes, at)));
    let parts = disk(&locator, 16).saturating_sub(1) + disk(&locator, 4) + disk(&record, 20);
    Ok(Some(Directory {
        entries: of(32),
        bytes: of(40),
        starts_at: of(48),
        ends_at: record_at,
        disks: [disk(&record, 16), parts, of(32).abs_diff(of(24))],
    }))
}

fn elsewhere() -> Error {
    Error::other("the directory of the zip is not where its end says it is")
}

/// So many bytes of a record that is as long as it has to be.
fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().unwrap_or([0; N])
}

impl Directory {
    /// Whether a number does not fit into the end record: a larger one may say it.
    fn is_saturated(&self) -> bool {
        self.entries == 0xffff || self.bytes == 0xffff_ffff || self.starts_at == 0xffff_ffff
    }

    fn check(&self) -> std::result::Result<(), String> {
        if self.disks != [0; 3] {
            return Err("the zip is part of one on several disks".to_owned());
        }
        if self.entries > MAX_ENTRIES {
            return Err(format!("the zip has more than {MAX_ENTRIES} entries"));
        }
        if self.bytes > MAX_DIRECTORY {
            let most = MAX_DIRECTORY >> 20;
            return Err(format!("the directory of the zip has more than {most} MiB"));
        }
        let fits = self.entries.saturating_mul(MIN_ENTRY) <= self.bytes;
        if !fits || self.starts_at.checked_add(self.bytes) != Some(self.ends_at) {
            return Err(elsewhere().to_string());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn file(parts: &[&[u8]]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        for part in parts {
            file.write_all(part).unwrap();
        }
        file
    }

    fn answer(mut file: File) -> String {
        check_directory(&mut file).map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    fn zip(entries: usize, comment: &str) -> File {
        let mut file = tempfile::tempfile().unwrap();
        let mut zip = ZipWriter::new(&mut file);
        for number in 0..entries {
            let options = SimpleFileOptions::default();
            zip.start_file(number.to_string(), options).unwrap();
        }
        zip.set_comment(comment).unwrap();
        zip.finish().unwrap();
        file
    }

    fn end(entries: u16, bytes: u32, starts_at: u32) -> Vec<u8> {
        let mut end = END.to_vec();
        end.extend([0; 4]);
        end.extend([entries.to_le_bytes(), entries.to_le_bytes()].concat());
        end.extend([bytes.to_le_bytes(), starts_at.to_le_bytes()].concat());
        end.extend([0; 2]);
        end
    }

    fn large_end(entries: u64, bytes: u64, starts_at: u64, record_at: u64) -> Vec<u8> {
        let mut end = RECORD.to_vec();
        end.extend(RECORD_SIZE.to_le_bytes());
        end.extend([0; 12]);
        for number in [entries, entries, bytes, starts_at] {
            end.extend(number.to_le_bytes());
        }
        end.extend(LOCATOR);
        end.extend([0; 4]);
        end.extend(record_at.to_le_bytes());
        end.extend(1_u32.to_le_bytes());
        end.extend(self::end(0xffff, 0xffff_ffff, 0xffff_ffff));
        end
    }

    #[test]
    fn i17_the_directory_of_a_zip_is_bounded_before_it_is_read() {
        for entries in [0, 1, 200] {
            assert_eq!(answer(zip(entries, "")), "fine", "{entries}");
        }
        assert_eq!(answer(zip(3, "a comment")), "fine");
        assert_eq!(answer(file(&[])), "invalid Zip archive: it has no end");
        assert_eq!(
            answer(file(&[b"PK\x05\x06"])),
            "invalid Zip archive: it has no end"
        );
        let elsewhere = elsewhere().to_string();
        // Headers that nobody wrote: forty million of them are two gigabytes.
        for (entries, bytes, expected) in [
            (
                40_000_000,
                40_000_000 * 46,
                "the zip has more than 1000000 entries",
            ),
            (
                1_000_000,
                65 << 20,
                "the directory of the zip has more than 64 MiB",
            ),
            (10, 400, elsewhere.as_str()),
            (10, 460, "fine"),
        ] {
            let holes = file(&[]);
            holes.set_len(bytes).unwrap();
            let mut whole = holes;
            whole.seek(SeekFrom::End(0)).unwrap();
            whole
                .write_all(&large_end(entries, bytes, 0, bytes))
                .unwrap();
            assert_eq!(answer(whole), expected, "{entries}");
        }
        // Another record, or another directory, than the one that the end names.
        let elsewhere = elsewhere.as_str();
        for (before, end, expected) in [
            (46, end(1, 46, 0), "fine"),
            (46, end(1, 46, 1), elsewhere),
            (46, end(1, 40, 6), elsewhere),
            (50, large_end(1, 46, 0, 46), elsewhere),
            (50, large_end(1, 46, 0, 50), elsewhere),
            (46, large_end(1, 46, 0, u64::MAX), elsewhere),
        ] {
            assert_eq!(answer(file(&[&vec![0; before], &end])), expected);
        }
    }
}
