//! The header of a qcow2 overlay, written by hand: an empty file on top of a backing file, made in
//! microseconds and without another program.
//!
//! The layout is that of QEMU's `docs/interop/qcow2.txt`, version 3.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use crate::image::DiskFormat;

const MAGIC: &[u8; 4] = b"QFI\xfb";
const CLUSTER_BITS: u32 = 16;
const CLUSTER: u64 = 1 << CLUSTER_BITS;
/// Bytes of a version 3 header.
const HEADER: u32 = 104;
/// The header extension that names the backing file's format.
const BACKING_FORMAT: u32 = 0xe279_2aca;

/// Makes `path` an empty overlay of `virtual_bytes` over `backing`, an absolute path.
///
/// # Errors
/// What the system says; [`io::ErrorKind::InvalidInput`] for a path that does not fit.
pub(crate) fn write_overlay(
    path: &Path,
    backing: &Path,
    format: DiskFormat,
    virtual_bytes: u64,
) -> io::Result<()> {
    let backing = backing.as_os_str().as_encoded_bytes();
    if backing.len() > 1023 || !backing.starts_with(b"/") {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a backing file needs an absolute path of at most 1023 bytes",
        ));
    }
    // An L2 table of one cluster maps this many bytes.
    let per_l2 = CLUSTER / 8 * CLUSTER;
    let l1_entries = virtual_bytes.div_ceil(per_l2);
    let l1_clusters = (l1_entries * 8).div_ceil(CLUSTER).max(1);
    // Clusters: header, refcount table, one refcount block, then the L1 table.
    let (table_at, block_at, l1_at) = (CLUSTER, 2 * CLUSTER, 3 * CLUSTER);
    let mut header = Vec::with_capacity(2048);
    header.extend_from_slice(MAGIC);
    let name_at = u64::from(HEADER) + 16 + 8;
    put32(&mut header, &[3]);
    put64(&mut header, &[name_at]);
    put32(&mut header, &[backing.len() as u32, CLUSTER_BITS]);
    put64(&mut header, &[virtual_bytes]);
    put32(&mut header, &[0, l1_entries as u32]);
    put64(&mut header, &[l1_at, table_at]);
    put32(&mut header, &[1, 0]);
    // No snapshots; no incompatible, compatible or automatic features; 16-bit reference counts.
    put64(&mut header, &[0, 0, 0, 0]);
    put32(&mut header, &[4, HEADER]);
    let kind: &[u8; 8] = match format {
        DiskFormat::Raw => b"raw\0\0\0\0\0",
        DiskFormat::Qcow2 => b"qcow2\0\0\0",
    };
    let length = if format == DiskFormat::Raw { 3 } else { 5 };
    put32(&mut header, &[BACKING_FORMAT, length]);
    header.extend_from_slice(kind);
    put32(&mut header, &[0, 0]);
    header.extend_from_slice(backing);

    let mut file = File::options().write(true).create_new(true).open(path)?;
    file.write_all(&header)?;
    write_at(&file, table_at, &block_at.to_be_bytes())?;
    let used = 3 + l1_clusters;
    let counts: Vec<u8> = (0..used).flat_map(|_| 1_u16.to_be_bytes()).collect();
    write_at(&file, block_at, &counts)?;
    file.set_len(l1_at + l1_clusters * CLUSTER)
}

/// The size that a guest sees of a qcow2 file; `None` when it is none.
pub(crate) fn virtual_bytes(path: &Path) -> io::Result<Option<u64>> {
    let mut head = [0; 32];
    let mut file = File::open(path)?;
    match file.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    if !head.starts_with(MAGIC) {
        return Ok(None);
    }
    let size: [u8; 8] = head[24..32]
        .try_into()
        .expect("eight bytes are eight bytes");
    Ok(Some(u64::from_be_bytes(size)))
}

/// Whether a qcow2 file needs another file: an image that does cannot be imported.
pub(crate) fn has_backing(path: &Path) -> io::Result<bool> {
    let mut head = [0; 16];
    File::open(path)?.read_exact(&mut head)?;
    Ok(head[8..16] != [0; 8])
}

fn write_at(file: &File, at: u64, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

fn put32(out: &mut Vec<u8>, values: &[u32]) {
    values
        .iter()
        .for_each(|value| out.extend_from_slice(&value.to_be_bytes()));
}

fn put64(out: &mut Vec<u8>, values: &[u64]) {
    values
        .iter()
        .for_each(|value| out.extend_from_slice(&value.to_be_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlay_tells_its_size_and_its_backing_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("o");
        write_overlay(&path, Path::new("/base.raw"), DiskFormat::Raw, 5 << 30).unwrap();
        assert_eq!(virtual_bytes(&path).unwrap(), Some(5 << 30));
        assert!(has_backing(&path).unwrap());
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(&bytes[128..137], b"/base.raw");
        assert_eq!(bytes.len() as u64, 4 * CLUSTER);
        assert!(
            write_overlay(&path, Path::new("/base.raw"), DiskFormat::Raw, 1).is_err(),
            "never over another"
        );
        assert!(
            write_overlay(
                &folder.path().join("p"),
                Path::new("base"),
                DiskFormat::Raw,
                1
            )
            .is_err()
        );
        std::fs::write(folder.path().join("q"), "no").unwrap();
        assert_eq!(virtual_bytes(&folder.path().join("q")).unwrap(), None);
    }
}
