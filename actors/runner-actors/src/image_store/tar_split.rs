//! How a layer is put together again byte by byte from the files it was unpacked into, so that its
//! digest stays the one that the image names: what `docker save` and `docker push` in a machine
//! need. The format is tar-split's (github.com/vbatts/tar-split), as containers/storage keeps it
//! beside a layer: gzip of one JSON object a line, each either bytes of the tar or the name, size
//! and CRC-64 (ISO) of a file whose content follows.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::{self, Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use super::layers::inner;

/// Most bytes of a tar in one line.
const SEGMENT: usize = 1 << 20;
/// What the format calls the content of a file.
const FILE: u8 = 1;
/// What the format calls bytes of the tar.
const BYTES: u8 = 2;

/// A line.
#[derive(Serialize)]
struct Line<'l> {
    #[serde(rename = "type")]
    kind: u8,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'l str,
    #[serde(skip_serializing_if = "is_zero")]
    size: u64,
    payload: String,
    position: u64,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(size: &u64) -> bool {
    *size == 0
}

/// Remembers what is read, but for the contents of files.
struct Recorder<R> {
    inner: RefCell<R>,
    bytes: RefCell<Vec<u8>>,
    in_content: Cell<bool>,
}

impl<R: Read> Read for &Recorder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.borrow_mut().read(buffer)?;
        if !self.in_content.get() {
            self.bytes.borrow_mut().extend_from_slice(&buffer[..count]);
        }
        Ok(count)
    }
}

struct Lines<W: Write> {
    out: GzEncoder<W>,
    position: u64,
}

impl<W: Write> Lines<W> {
    fn add(&mut self, kind: u8, name: &str, size: u64, payload: &[u8]) -> io::Result<()> {
        let line = Line {
            kind,
            name,
            size,
            payload: STANDARD.encode(payload),
            position: self.position,
        };
        serde_json::to_writer(&mut self.out, &line)?;
        self.position += 1;
        self.out.write_all(b"\n")
    }

    /// Writes what was recorded.
    fn segment<R>(&mut self, recorder: &Recorder<R>) -> io::Result<()> {
        let bytes = recorder.bytes.take();
        let mut chunks = bytes.chunks(SEGMENT);
        chunks.try_for_each(|chunk| self.add(BYTES, "", 0, chunk))
    }

    /// Records what is left of a reader.
    fn rest<R>(&mut self, recorder: &Recorder<R>, mut reader: impl Read) -> io::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        while reader.read(&mut buffer)? > 0 {
            if recorder.bytes.borrow().len() >= SEGMENT {
                self.segment(recorder)?;
            }
        }
        Ok(())
    }
}

/// Writes how `layer` is put together again. The contents of files are taken from where they were
/// unpacked, but for those that the layer has more than once (`twice`), of which one is left there.
pub(super) fn write<W: Write>(layer: impl Read, twice: &BTreeSet<String>, out: W) -> io::Result<W> {
    let recorder = Recorder {
        inner: RefCell::new(layer),
        bytes: RefCell::default(),
        in_content: Cell::new(false),
    };
    let mut lines = Lines {
        out: GzEncoder::new(out, Compression::default()),
        position: 0,
    };
    let mut buffer = vec![0; 64 << 10];
    for entry in tar::Archive::new(&recorder).entries()? {
        let mut entry = entry?;
        let path = inner(&entry.path()?)?;
        let size = entry.size();
        // A name that is no text, or is read as another one, leads to no file by this path.
        let plain = entry.path_bytes().as_ref() == entry.path()?.to_string_lossy().as_bytes();
        if !entry.header().entry_type().is_file() || twice.contains(&path) || hides(&path) || !plain
        {
            lines.rest(&recorder, &mut entry)?;
            continue;
        }
        if size == 0 {
            continue;
        }
        lines.segment(&recorder)?;
        recorder.in_content.set(true);
        let mut sum = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc64GoIso);
        loop {
            match entry.read(&mut buffer)? {
                0 => break,
                count => sum.update(&buffer[..count]),
            }
        }
        recorder.in_content.set(false);
        lines.add(FILE, &path, size, &sum.finalize().to_be_bytes())?;
    }
    lines.rest(&recorder, &recorder)?;
    lines.segment(&recorder)?;
    lines.out.finish()
}

/// Whether a file only stands for what is hidden, and is not unpacked.
fn hides(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.starts_with(".wh.")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Cursor;

    use serde_json::Value;

    use super::*;

    /// Puts a layer together as the engine does, from the files by their names.
    fn assembled(split: &[u8], files: &BTreeMap<&str, &[u8]>) -> Vec<u8> {
        let mut text = String::new();
        let mut decoder = flate2::read::GzDecoder::new(split);
        decoder.read_to_string(&mut text).unwrap();
        let mut tar = Vec::new();
        for (position, line) in text.lines().enumerate() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["position"], position);
            let payload = STANDARD.decode(line["payload"].as_str().unwrap()).unwrap();
            if line["type"] == 2 {
                tar.extend(payload);
                continue;
            }
            let content = files[line["name"].as_str().unwrap()];
            assert_eq!(line["size"], content.len());
            let mut sum = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc64GoIso);
            sum.update(content);
            assert_eq!(payload, sum.finalize().to_be_bytes());
            tar.extend(content);
        }
        tar
    }

    fn entry(builder: &mut tar::Builder<Vec<u8>>, path: &str, content: &[u8]) {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, content).unwrap();
    }

    #[test]
    fn i17_a_layer_is_put_together_again_byte_by_byte() {
        let long = format!("{}/file", "folder".repeat(40));
        let mut builder = tar::Builder::new(Vec::new());
        entry(&mut builder, "one", b"1");
        entry(&mut builder, &long, &[7; 700]);
        entry(&mut builder, "empty", b"");
        entry(&mut builder, "twice", b"first");
        entry(&mut builder, "twice", b"second");
        entry(&mut builder, "a/.wh.gone", b"of another engine");
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        builder.append_link(&mut header, "link", "one").unwrap();
        let mut layer = builder.into_inner().unwrap();
        // What follows the end mark belongs to the digest as well.
        layer.extend([0; 3 * 512]);
        layer.extend(b"behind the end");
        let twice = BTreeSet::from(["twice".to_owned()]);
        let split = write(Cursor::new(&layer), &twice, Vec::new()).unwrap();
        let files = BTreeMap::from([("one", b"1".as_slice()), (&long, &[7; 700])]);
        assert_eq!(assembled(&split, &files), layer);
    }

    /// The check value of CRC-64/GO-ISO, which Go's `hash/crc64` computes with its table `ISO`.
    #[test]
    fn i17_sums_are_those_that_the_engine_computes() {
        let mut sum = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc64GoIso);
        sum.update(b"123456789");
        assert_eq!(sum.finalize(), 0xb909_56c7_75a4_1001);
    }
}
