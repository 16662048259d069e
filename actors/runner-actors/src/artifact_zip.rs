//! What clients download of an artifact: a zip of what its tar holds, or its one file.
//!
//! The bytes of a zip follow from what is in it alone: nothing is compressed, no time is told, and
//! its order is the tar's. So the digest that is kept with an artifact stays true of whatever a
//! later version of the runner packs.
//!
//! `APPNOTE.TXT` of PKWARE, sections 4.3 (headers) and 4.5.3 (Zip64).

use std::fs::File;
use std::io::{BufReader, Error, Read, Seek, Write};
use std::path::Path;

use crc_fast::{CrcAlgorithm, Digest as Checksum};
use sha2::{Digest, Sha256};

/// What headers of 32 bits say where only Zip64 can.
const BEYOND: u32 = u32::MAX;
/// The same of 16 bits.
const BEYOND_COUNT: u16 = u16::MAX;
/// Names are UTF-8.
const UTF8: u16 = 1 << 11;
/// The first day that there is, at midnight.
const NO_DATE: [u8; 4] = [0, 0, 0x21, 0];
/// Made where there are modes of Unix, by version 4.5.
const MADE_BY: u16 = 3 << 8 | ZIP64_VERSION;
const ZIP64_VERSION: u16 = 45;
const VERSION: u16 = 20;

/// The digest of what clients download of an artifact, as they are told of it; `is_raw`: that is
/// the one file in it.
pub(crate) fn digest_of_download(tar: &Path, is_raw: bool) -> std::io::Result<String> {
    let (tar, mut hash) = (File::open(tar)?, Sha256::new());
    match is_raw {
        true => file_of_tar(tar, &mut hash)?,
        false => zip_of_tar(tar, &mut hash)?,
    }
    Ok(format!("sha256:{}", hex::encode(hash.finalize())))
}

/// Writes the one file that a tar holds.
pub(crate) fn file_of_tar(tar: File, mut to: impl Write) -> std::io::Result<()> {
    let mut archive = tar::Archive::new(BufReader::new(tar));
    let first = archive.entries()?.next();
    let mut entry = first.ok_or_else(|| Error::other("the artifact is empty"))??;
    std::io::copy(&mut entry, &mut to)?;
    to.flush()
}

/// Writes what a tar holds as a zip. The tar is read twice: headers have checksums of what follows
/// them.
pub(crate) fn zip_of_tar(tar: impl Read + Seek, zip: impl Write) -> std::io::Result<()> {
    let mut tar = BufReader::with_capacity(1 << 16, tar);
    let mut checksums = Vec::new();
    for entry in tar::Archive::new(&mut tar).entries()? {
        let mut sum = Checksum::new(CrcAlgorithm::Crc32IsoHdlc);
        copy_content(&mut entry?, &mut sum)?;
        // Of this algorithm it has 32 bits.
        checksums.push(sum.finalize() as u32);
    }
    tar.rewind()?;
    let mut zip = StoredZip {
        to: zip,
        written: 0,
        entries: Vec::new(),
    };
    let mut archive = tar::Archive::new(tar);
    for (entry, checksum) in archive.entries()?.zip(checksums) {
        zip.add(&mut entry?, checksum)?;
    }
    zip.finish()
}

/// What an entry of a zip has as its content: of a link its target, of a folder nothing.
fn copy_content(entry: &mut tar::Entry<'_, impl Read>, mut to: impl Write) -> std::io::Result<()> {
    match entry.header().entry_type() {
        tar::EntryType::Directory => Ok(()),
        tar::EntryType::Symlink => to.write_all(target(entry)?.as_bytes()),
        _ => std::io::copy(entry, &mut to).map(drop),
    }
}

fn target(entry: &tar::Entry<'_, impl Read>) -> std::io::Result<String> {
    let target = entry.link_name()?.unwrap_or_default();
    Ok(target.to_string_lossy().into_owned())
}

/// A zip that is being written.
struct StoredZip<W> {
    to: W,
    written: u64,
    entries: Vec<ZipEntry>,
}

struct ZipEntry {
    name: String,
    attributes: u32,
    size: u64,
    checksum: u32,
    /// Where its header is.
    offset: u64,
}

impl ZipEntry {
    fn from_entry(
        entry: &tar::Entry<'_, impl Read>,
        checksum: u32,
        offset: u64,
    ) -> std::io::Result<Self> {
        let mut name = entry.path()?.to_string_lossy().into_owned();
        let mode = entry.header().mode()? & 0o777;
        let (kind, size) = match entry.header().entry_type() {
            tar::EntryType::Directory => (0o040_000, 0),
            tar::EntryType::Symlink => (0o120_000, target(entry)?.len() as u64),
            _ => (0o100_000, entry.size()),
        };
        let is_folder = kind == 0o040_000;
        if is_folder && !name.ends_with('/') {
            name.push('/');
        }
        if name.len() > usize::from(u16::MAX) {
            return Err(Error::other("a name is longer than a zip can have it"));
        }
        Ok(Self {
            name,
            attributes: (kind | mode) << 16 | u32::from(is_folder) << 4,
            size,
            checksum,
            offset,
        })
    }

    /// What both headers of an entry begin with, from the version on that its reader needs.
    fn common(&self, zip64: &[u64]) -> Vec<u8> {
        let version = if zip64.is_empty() {
            VERSION
        } else {
            ZIP64_VERSION
        };
        let flags = if self.name.is_ascii() { 0 } else { UTF8 };
        let size = narrow(self.size).to_le_bytes();
        let extra = if zip64.is_empty() {
            0
        } else {
            4 + 8 * zip64.len() as u16
        };
        let mut bytes = Vec::with_capacity(26);
        for number in [version, flags, 0] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(NO_DATE);
        bytes.extend(self.checksum.to_le_bytes());
        bytes.extend(size);
        bytes.extend(size);
        bytes.extend((self.name.len() as u16).to_le_bytes());
        bytes.extend(extra.to_le_bytes());
        bytes
    }

    fn local_header(&self) -> Vec<u8> {
        let zip64 = match self.size >= u64::from(BEYOND) {
            true => vec![self.size, self.size],
            false => Vec::new(),
        };
        let mut bytes = b"PK\x03\x04".to_vec();
        bytes.extend(self.common(&zip64));
        bytes.extend(self.name.as_bytes());
        bytes.extend(zip64_field(&zip64));
        bytes
    }

    fn central_header(&self) -> Vec<u8> {
        let large = |number: u64| number >= u64::from(BEYOND);
        let mut zip64 = Vec::new();
        if large(self.size) {
            zip64.extend([self.size, self.size]);
        }
        if large(self.offset) {
            zip64.push(self.offset);
        }
        let mut bytes = b"PK\x01\x02".to_vec();
        bytes.extend(MADE_BY.to_le_bytes());
        bytes.extend(self.common(&zip64));
        // No comment, on the first disk, and nothing of one file system alone.
        bytes.extend([0; 6]);
        bytes.extend(self.attributes.to_le_bytes());
        bytes.extend(narrow(self.offset).to_le_bytes());
        bytes.extend(self.name.as_bytes());
        bytes.extend(zip64_field(&zip64));
        bytes
    }
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(BEYOND)
}

fn zip64_field(numbers: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    if !numbers.is_empty() {
        bytes.extend(1u16.to_le_bytes());
        bytes.extend((8 * numbers.len() as u16).to_le_bytes());
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }
    bytes
}

impl<W: Write> StoredZip<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.written += bytes.len() as u64;
        self.to.write_all(bytes)
    }

    fn add(&mut self, entry: &mut tar::Entry<'_, impl Read>, checksum: u32) -> std::io::Result<()> {
        let described = ZipEntry::from_entry(entry, checksum, self.written)?;
        self.write(&described.local_header())?;
        copy_content(entry, &mut self.to)?;
        self.written += described.size;
        self.entries.push(described);
        Ok(())
    }

    fn finish(mut self) -> std::io::Result<()> {
        let (offset, entries) = (self.written, std::mem::take(&mut self.entries));
        for entry in &entries {
            self.write(&entry.central_header())?;
        }
        let size = self.written - offset;
        let end = end_of_zip(entries.len() as u64, (offset, size));
        self.write(&end)?;
        // A buffer that is dropped says nothing of a disk that is full.
        self.to.flush()
    }
}

/// What stands behind the central headers, which are so many, from `offset` on.
fn end_of_zip(count: u64, (offset, size): (u64, u64)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let short = u16::try_from(count).unwrap_or(BEYOND_COUNT);
    if short == BEYOND_COUNT || narrow(offset) == BEYOND || narrow(size) == BEYOND {
        bytes.extend(b"PK\x06\x06");
        bytes.extend(44u64.to_le_bytes());
        bytes.extend(MADE_BY.to_le_bytes());
        bytes.extend(ZIP64_VERSION.to_le_bytes());
        bytes.extend([0; 8]);
        for number in [count, count, size, offset] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(b"PK\x06\x07");
        bytes.extend(0u32.to_le_bytes());
        bytes.extend((offset + size).to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
    }
    bytes.extend(b"PK\x05\x06");
    bytes.extend([0; 4]);
    bytes.extend(short.to_le_bytes());
    bytes.extend(short.to_le_bytes());
    bytes.extend(narrow(size).to_le_bytes());
    bytes.extend(narrow(offset).to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

#[cfg(test)]
mod tests;
