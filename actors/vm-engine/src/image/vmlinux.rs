//! The uncompressed kernel inside a distribution's `bzImage`: it boots in half the time.

use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// Largest kernel that is looked at, unpacked.
const MAX_BYTES: usize = 256 << 20;

/// Why no kernel was found.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// Neither an ELF file nor a `bzImage`.
    #[error("it is neither an ELF file nor a bzImage")]
    NotAKernel,
    /// Packed in a way that is not known here.
    #[error("its payload is packed in an unknown way (it begins with {0:02x?})")]
    Packing(Vec<u8>),
    /// It cannot be unpacked.
    #[error("its payload cannot be unpacked: {0}")]
    Unpack(String),
}

/// The ELF image in `file`, the bytes of a `bzImage` or of an ELF file.
///
/// # Errors
/// [`ExtractError`].
pub fn extract(file: &[u8]) -> Result<Vec<u8>, ExtractError> {
    if file.starts_with(b"\x7fELF") {
        return Ok(file.to_vec());
    }
    let payload = payload(file).ok_or(ExtractError::NotAKernel)?;
    let unpacked = match payload {
        [0x1f, 0x8b, ..] => gunzip(payload)?,
        [0x02, 0x21, 0x4c, 0x18, ..] => unlz4(&payload[4..])?,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => by_program("zstd", payload)?,
        [0xfd, b'7', b'z', b'X', b'Z', ..] => by_program("xz", payload)?,
        other => {
            return Err(ExtractError::Packing(
                other.iter().take(6).copied().collect(),
            ));
        }
    };
    if unpacked.starts_with(b"\x7fELF") {
        Ok(unpacked)
    } else {
        Err(ExtractError::NotAKernel)
    }
}

/// Where the boot protocol's header says the packed kernel is.
fn payload(file: &[u8]) -> Option<&[u8]> {
    if file.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    let sectors = match *file.get(0x1f1)? {
        0 => 4,
        count => usize::from(count),
    };
    let number = |at: usize| {
        let bytes: [u8; 4] = file.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let start = (sectors + 1) * 512 + number(0x248)?;
    file.get(start..start.checked_add(number(0x24c)?)?)
}

fn gunzip(payload: &[u8]) -> Result<Vec<u8>, ExtractError> {
    let mut out = Vec::new();
    let limited = flate2::read::GzDecoder::new(payload).take(MAX_BYTES as u64);
    let mut limited = limited;
    limited
        .read_to_end(&mut out)
        .map_err(|error| ExtractError::Unpack(error.to_string()))?;
    Ok(out)
}

/// The "legacy" stream of LZ4: blocks of at most 8 MiB, each behind its length.
fn unlz4(mut rest: &[u8]) -> Result<Vec<u8>, ExtractError> {
    const BLOCK: usize = 8 << 20;
    let mut out = Vec::new();
    // The kernel's build appends the unpacked size: four bytes that are no block.
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some(block) = after.get(..length).filter(|block| !block.is_empty()) else {
            break;
        };
        if out.len() + BLOCK > MAX_BYTES {
            return Err(ExtractError::Unpack("it is too large".to_owned()));
        }
        let start = out.len();
        out.resize(start + BLOCK, 0);
        let written = lz4_flex::block::decompress_into(block, &mut out[start..])
            .map_err(|error| ExtractError::Unpack(error.to_string()))?;
        out.truncate(start + written);
        rest = &after[length..];
    }
    Ok(out)
}

/// Newer distributions pack with methods that are not worth a library here.
fn by_program(program: &'static str, payload: &[u8]) -> Result<Vec<u8>, ExtractError> {
    let failed = |error: io::Error| {
        ExtractError::Unpack(format!(
            "{program}: {error}; install Debian's {program}-utils or {program}"
        ))
    };
    let mut child = Command::new(program)
        .args(["-d", "-c", "-q"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let mut input = child.stdin.take().expect("it was piped");
    let payload = payload.to_vec();
    // The size behind the payload makes the program complain at the end: what it wrote counts.
    let writer = std::thread::spawn(move || drop(io::Write::write_all(&mut input, &payload)));
    let mut out = Vec::new();
    let output = child.stdout.take().expect("it was piped");
    output
        .take(MAX_BYTES as u64)
        .read_to_end(&mut out)
        .map_err(failed)?;
    let _ = (writer.join(), child.wait());
    Ok(out)
}

/// Reads and extracts.
///
/// # Errors
/// What the system says, or [`ExtractError`] as [`io::ErrorKind::InvalidData`].
pub(super) fn extract_file(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = std::fs::read(path)?;
    extract(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// A boot image with this payload, as the boot protocol lays it out.
    fn boot_image(payload: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 3 * 512 + 100];
        file[0x1f1] = 2;
        file[0x202..0x206].copy_from_slice(b"HdrS");
        file[0x248..0x24c].copy_from_slice(&100_u32.to_le_bytes());
        file[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        file.extend_from_slice(payload);
        file
    }

    #[test]
    fn a_kernel_is_found_however_it_is_packed() {
        let kernel = [b"\x7fELF".as_slice(), &[7; 5000]].concat();
        assert_eq!(extract(&kernel).unwrap(), kernel);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&kernel).unwrap();
        assert_eq!(
            extract(&boot_image(&gzip.finish().unwrap())).unwrap(),
            kernel
        );
        let block = lz4_flex::block::compress(&kernel);
        let mut lz4 = vec![0x02, 0x21, 0x4c, 0x18];
        lz4.extend_from_slice(&(block.len() as u32).to_le_bytes());
        lz4.extend_from_slice(&block);
        lz4.extend_from_slice(&(kernel.len() as u32).to_le_bytes());
        assert_eq!(extract(&boot_image(&lz4)).unwrap(), kernel);
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        assert!(matches!(extract(b""), Err(ExtractError::NotAKernel)));
        assert!(matches!(extract(&[0; 4000]), Err(ExtractError::NotAKernel)));
        assert!(matches!(
            extract(&boot_image(b"??????")),
            Err(ExtractError::Packing(_))
        ));
        assert!(matches!(
            extract(&boot_image(&[0x1f, 0x8b, 1])),
            Err(ExtractError::Unpack(_))
        ));
        let mut cut = boot_image(b"x");
        cut[0x24c..0x250].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(extract(&cut), Err(ExtractError::NotAKernel)));
    }
}
