//! Layers on their way into the store: checked against the digests of the image, without devices,
//! and with what they hide as a list.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::path::{Component, Path};

use sha2::{Digest as _, Sha256};

/// Most bytes of all layers of an image, unpacked.
const MAX_BYTES: u64 = 32 << 30;
/// What the name of a file that hides another begins with.
const HIDES: &str = ".wh.";
/// A file that hides all that lower layers have in its folder.
const HIDES_ALL: &str = ".wh..wh..opq";

/// What was found in a layer.
pub(super) struct LayerReport {
    /// The digest of the layer as it came, unpacked.
    pub(super) diff_id: String,
    /// Paths of lower layers that it hides.
    pub(super) hidden: Vec<String>,
    /// The bytes of the layer as it came, unpacked.
    pub(super) bytes: u64,
    /// Paths that it has more than once.
    pub(super) twice: BTreeSet<String>,
}

/// Reads and counts what goes through.
struct DigestReader<R> {
    inner: R,
    hasher: Sha256,
    left: u64,
}

impl<R: Read> Read for DigestReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| io::Error::other("the image is too large"))?;
        Ok(count)
    }
}

/// Copies a layer to `out`. `lower` holds the paths of the layers below, and those of this one
/// afterwards.
pub(super) fn convert(
    layer: impl Read,
    out: impl Write,
    lower: &mut BTreeSet<String>,
) -> io::Result<LayerReport> {
    let mut reader = DigestReader {
        inner: layer,
        hasher: Sha256::new(),
        left: MAX_BYTES,
    };
    let (mut own, mut twice) = (BTreeSet::new(), BTreeSet::new());
    let (mut hidden, mut emptied) = (BTreeSet::new(), Vec::new());
    {
        let mut archive = tar::Archive::new(&mut reader);
        let mut builder = tar::Builder::new(out);
        for entry in archive.entries()? {
            let mut entry = entry?;
            let path = inner(&entry.path()?)?;
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
            if name == HIDES_ALL {
                emptied.push(folder.to_owned());
                continue;
            }
            if let Some(name) = name.strip_prefix(HIDES) {
                // What other engines keep beside their layers hides nothing.
                if !name.starts_with(HIDES) && !name.is_empty() {
                    hidden.insert(joined(folder, name));
                }
                continue;
            }
            if path.is_empty() || !copy(&mut builder, &mut entry, &path)? {
                continue;
            }
            if let Some(path) = own.replace(path) {
                twice.insert(path);
            }
        }
        builder.into_inner()?.flush()?;
    }
    // What follows the end marker belongs to the digest as well.
    io::copy(&mut reader, &mut io::sink())?;
    for folder in emptied {
        hide_below(&folder, lower, &own, &mut hidden);
    }
    // What is hidden and given anew is replaced.
    hidden.retain(|path| !own.contains(path) && lower.contains(path));
    lower.retain(|path| !hidden.iter().any(|it| is_below(path, it) || path == it));
    lower.extend(own);
    Ok(LayerReport {
        bytes: MAX_BYTES - reader.left,
        twice,
        diff_id: format!("sha256:{}", hex::encode(reader.hasher.finalize())),
        hidden: hidden.into_iter().collect(),
    })
}

/// Hides everything of lower layers in a folder that the layer itself does not have.
fn hide_below(
    folder: &str,
    lower: &BTreeSet<String>,
    own: &BTreeSet<String>,
    hidden: &mut BTreeSet<String>,
) {
    let mut last: Option<&String> = None;
    for path in lower.iter().filter(|path| is_below(path, folder)) {
        // Parents come before what is in them.
        if last.is_some_and(|last| is_below(path, last)) || own.contains(path) {
            continue;
        }
        hidden.insert(path.clone());
        last = Some(path);
    }
}

fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

/// The path without what leads nowhere; one that leads out is an error.
pub(super) fn inner(path: &Path) -> io::Result<String> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => {
                let path = path.display();
                return Err(io::Error::other(format!("{path} would leave its folder")));
            }
        }
    }
    Ok(parts.join("/"))
}

/// Copies an entry; devices are left out, which no container gets from its image.
fn copy<W: Write>(
    builder: &mut tar::Builder<W>,
    entry: &mut tar::Entry<'_, impl Read>,
    path: &str,
) -> io::Result<bool> {
    let mut header = entry.header().clone();
    let kind = header.entry_type();
    if kind.is_character_special() || kind.is_block_special() {
        return Ok(false);
    }
    let size = entry.size();
    header.set_size(size);
    if kind.is_symlink() || kind.is_hard_link() {
        let target = entry.link_name()?;
        let target = target.ok_or_else(|| io::Error::other(format!("{path} links to nothing")))?;
        let target = if kind.is_hard_link() {
            std::path::PathBuf::from(inner(&target)?)
        } else {
            target.into_owned()
        };
        builder.append_link(&mut header, path, target)?;
    } else {
        builder.append_data(&mut header, path, entry)?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tar_of(entries: &[(&str, tar::EntryType)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, kind) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_size(0);
            header.set_mode(0o755);
            builder.append_data(&mut header, path, io::empty()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn paths(tar: &[u8]) -> Vec<String> {
        let mut archive = tar::Archive::new(tar);
        let entries = archive.entries().unwrap();
        let path = |entry: io::Result<tar::Entry<'_, &[u8]>>| {
            entry.unwrap().path().unwrap().display().to_string()
        };
        entries.map(path).collect()
    }

    #[test]
    fn i17_what_a_layer_hides_is_a_list_and_devices_are_left_out() {
        use tar::EntryType::{Char, Directory, Regular};
        let mut lower = BTreeSet::new();
        let first = tar_of(&[
            ("./a", Directory),
            ("./a/one", Regular),
            ("./a/two", Regular),
            ("./a/sub", Directory),
            ("./a/sub/three", Regular),
            ("./b", Regular),
            ("./dev/null", Char),
        ]);
        let mut out = Vec::new();
        let converted = convert(first.as_slice(), &mut out, &mut lower).unwrap();
        assert_eq!(converted.hidden, [""; 0]);
        assert_eq!(
            paths(&out),
            ["a", "a/one", "a/two", "a/sub", "a/sub/three", "b"]
        );
        let digest = hex::encode(Sha256::digest(&first));
        assert_eq!(converted.diff_id, format!("sha256:{digest}"));
        // Hidden by name, by a folder that begins anew, and given anew.
        let second = tar_of(&[
            ("a", Directory),
            ("a/.wh..wh..opq", Regular),
            ("a/two", Regular),
            (".wh.b", Regular),
            (".wh.never", Regular),
            ("c", Regular),
        ]);
        let mut out = Vec::new();
        let converted = convert(second.as_slice(), &mut out, &mut lower).unwrap();
        assert_eq!(converted.hidden, ["a/one", "a/sub", "b"]);
        assert_eq!(paths(&out), ["a", "a/two", "c"]);
        let left: Vec<&str> = lower.iter().map(String::as_str).collect();
        assert_eq!(left, ["a", "a/two", "c"]);
    }

    #[test]
    fn i17_a_path_that_leads_out_is_refused() {
        assert!(inner(Path::new("../x")).is_err());
        assert!(inner(Path::new("a/../../x")).is_err());
        assert_eq!(inner(Path::new("/etc/./x")).unwrap(), "etc/x");
    }
}
