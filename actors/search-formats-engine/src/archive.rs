//! Parts of a ZIP archive, counted while they are unpacked.

use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::text::{DocumentLimits, DocumentRefusal};

/// An archive that may not unpack to more than its limits.
pub(crate) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    limits: &'a DocumentLimits,
    /// Bytes that may still be unpacked.
    left: u64,
}

/// Unpacked bytes below which the ratio does not matter.
const SMALL: u64 = 1 << 20;

impl<'a> Archive<'a> {
    pub(crate) fn open(
        bytes: &'a [u8],
        limits: &'a DocumentLimits,
    ) -> Result<Self, DocumentRefusal> {
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(refused)?;
        if zip.len() > limits.parts {
            return Err(DocumentRefusal::Bomb(format!("it has {} parts", zip.len())));
        }
        Ok(Self {
            zip,
            limits,
            left: limits.unpacked,
        })
    }

    /// A part by name; `None` when there is none.
    pub(crate) fn part(&mut self, name: &str) -> Result<Option<Vec<u8>>, DocumentRefusal> {
        let file = match self.zip.by_name(name) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(refused(error)),
        };
        // What the archive says of sizes is a claim; what comes out is counted.
        let by_ratio = file.compressed_size().saturating_mul(self.limits.ratio);
        let most = by_ratio.max(SMALL).min(self.left);
        let mut bytes = Vec::new();
        let mut bounded = file.take(most + 1);
        bounded
            .read_to_end(&mut bytes)
            .map_err(|error| DocumentRefusal::Malformed(format!("part {name}: {error}")))?;
        let read = bytes.len() as u64;
        if read > most {
            return Err(DocumentRefusal::Bomb(format!(
                "part {name} is more than {most} bytes"
            )));
        }
        self.left -= read;
        Ok(Some(bytes))
    }

    /// A part that the format demands.
    pub(crate) fn demand(&mut self, name: &str) -> Result<Vec<u8>, DocumentRefusal> {
        let part = self.part(name)?;
        part.ok_or_else(|| DocumentRefusal::Malformed(format!("part {name} is missing")))
    }
}

fn refused(error: ZipError) -> DocumentRefusal {
    match error {
        ZipError::UnsupportedArchive(reason) if reason == ZipError::PASSWORD_REQUIRED => {
            DocumentRefusal::Encrypted
        }
        error => DocumentRefusal::Malformed(error.to_string()),
    }
}
