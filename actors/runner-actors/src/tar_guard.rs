//! Looks at a tar as it comes from a machine: plain files, folders and links only, below where it
//! is unpacked.
//!
//! Whoever owns the machine owns the program that packs, so the tar is judged here: a device node,
//! a pipe or a setuid file in an artifact would be made by whoever unpacks it as root.

/// Bytes of a header, and what everything is padded to.
const BLOCK: usize = 512;
/// Bytes of a long name or of extended attributes.
const MAX_EXTENDED: u64 = 64 << 10;
/// Attributes of an entry that say nothing of what it is.
const HARMLESS: [&str; 9] = [
    "path", "linkpath", "mtime", "atime", "ctime", "uid", "gid", "uname", "gname",
];

/// A tar that goes by.
#[derive(Debug, Default)]
pub(crate) struct TarGuard {
    header: Vec<u8>,
    /// Bytes of the entry, with its padding, that are still to come.
    left: u64,
    /// What a header before the entry's own says; collected while it comes.
    extended: Option<ExtendedHeader>,
    name: Option<String>,
    link: Option<String>,
    ended: bool,
}

#[derive(Debug)]
struct ExtendedHeader {
    kind: u8,
    size: usize,
    bytes: Vec<u8>,
}

impl TarGuard {
    /// Looks at the next bytes.
    ///
    /// # Errors
    /// Says what is not taken.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            if self.ended {
                return if bytes.iter().all(|byte| *byte == 0) {
                    Ok(())
                } else {
                    Err("the tar goes on behind its end".to_owned())
                };
            }
            if self.left > 0 {
                let most = usize::try_from(self.left).unwrap_or(usize::MAX);
                let (now, rest) = bytes.split_at(most.min(bytes.len()));
                if let Some(extended) = &mut self.extended {
                    let room = extended.size - extended.bytes.len();
                    extended
                        .bytes
                        .extend_from_slice(&now[..room.min(now.len())]);
                }
                self.left -= now.len() as u64;
                bytes = rest;
                if self.left == 0 {
                    self.take_extended()?;
                }
                continue;
            }
            let wanted = BLOCK - self.header.len();
            let (head, rest) = bytes.split_at(wanted.min(bytes.len()));
            self.header.extend_from_slice(head);
            bytes = rest;
            if self.header.len() == BLOCK {
                let header = std::mem::take(&mut self.header);
                self.entry(&header)?;
            }
        }
        Ok(())
    }

    /// Nothing follows.
    ///
    /// # Errors
    /// When it is cut.
    pub(crate) fn finish(&self) -> Result<(), String> {
        if self.ended && self.header.is_empty() {
            Ok(())
        } else {
            Err("the tar is not whole".to_owned())
        }
    }

    fn entry(&mut self, block: &[u8]) -> Result<(), String> {
        if block.iter().all(|byte| *byte == 0) {
            self.ended = true;
            return Ok(());
        }
        let header = tar::Header::from_byte_slice(block);
        let unreadable = |error: std::io::Error| format!("an entry cannot be read: {error}");
        let size = header.entry_size().map_err(unreadable)?;
        let kind = block[156];
        if matches!(kind, b'x' | b'L' | b'K') {
            if size > MAX_EXTENDED {
                return Err(format!("an entry's name or attributes have {size} bytes"));
            }
            self.extended = Some(ExtendedHeader {
                kind,
                size: usize::try_from(size).unwrap_or_default(),
                bytes: Vec::new(),
            });
            self.expect(size);
            return if size == 0 {
                self.take_extended()
            } else {
                Ok(())
            };
        }
        let name = match self.name.take() {
            Some(name) => name,
            None => String::from_utf8_lossy(&header.path_bytes()).into_owned(),
        };
        let link = self.link.take().or_else(|| {
            let link = header.link_name_bytes()?;
            Some(String::from_utf8_lossy(&link).into_owned())
        });
        let shown = config_core::quoted(&name);
        let what = match kind {
            b'0' | 0 | b'7' | b'1' => "file",
            b'5' => "folder",
            b'2' => "link",
            b'3' | b'4' => return Err(format!("{shown} is a device")),
            b'6' => return Err(format!("{shown} is a pipe")),
            _ => return Err(format!("{shown} is neither a file, a folder nor a link")),
        };
        let mode = header.mode().map_err(unreadable)?;
        if what == "file" && mode & 0o6000 != 0 {
            return Err(format!("{shown} is setuid or setgid"));
        }
        leads_out(&name)?;
        if kind == b'1' {
            // Another name of a file of the same tar.
            leads_out(link.as_deref().unwrap_or_default())?;
        }
        if what != "file" && size != 0 {
            return Err(format!("{shown} is a {what} with {size} bytes"));
        }
        self.expect(size);
        Ok(())
    }

    fn expect(&mut self, size: u64) {
        self.left = size.div_ceil(BLOCK as u64).saturating_mul(BLOCK as u64);
    }

    fn take_extended(&mut self) -> Result<(), String> {
        let Some(extended) = self.extended.take() else {
            return Ok(());
        };
        let text = |bytes: &[u8]| {
            let end = bytes.iter().position(|byte| *byte == 0);
            String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
        };
        match extended.kind {
            b'L' => self.name = Some(text(&extended.bytes)),
            b'K' => self.link = Some(text(&extended.bytes)),
            _ => {
                for record in tar::PaxExtensions::new(&extended.bytes) {
                    let record =
                        record.map_err(|error| format!("an entry's attributes: {error}"))?;
                    let (key, value) = (record.key().unwrap_or_default(), record.value_bytes());
                    match key {
                        "path" => self.name = Some(text(value)),
                        "linkpath" => self.link = Some(text(value)),
                        key if HARMLESS.contains(&key) => {}
                        // Sizes that differ from the header's, capabilities, sparse files.
                        key => {
                            let key = config_core::quoted(key);
                            return Err(format!("an entry has the attribute {key}"));
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn leads_out(name: &str) -> Result<(), String> {
    if name.starts_with('/') || name.split('/').any(|part| part == "..") {
        return Err(format!(
            "{} leads out of its folder",
            config_core::quoted(name)
        ));
    }
    Ok(())
}

/// A tar of one file.
#[cfg(test)]
pub(crate) fn tar_of(name: &str, bytes: usize) -> Vec<u8> {
    cluster_actors::vm_hosts::tarball::of_files(&[(name, &vec![b'x'; bytes], 0o644)])
        .unwrap()
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tar: &[u8], chunk: usize) -> Result<(), String> {
        let mut guard = TarGuard::default();
        for bytes in tar.chunks(chunk) {
            guard.push(bytes)?;
        }
        guard.finish()
    }

    fn tar(kind: tar::EntryType, name: &str, mode: u32, link: &str) -> Vec<u8> {
        let mut header = tar::Header::new_ustar();
        header.set_size(0);
        header.set_mode(mode);
        header.set_entry_type(kind);
        // By hand: the library refuses what a stranger would write.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_cksum();
        let mut tar = header.as_bytes().to_vec();
        tar.extend([0; 2 * BLOCK]);
        tar
    }

    #[test]
    fn t11_only_plain_files_folders_and_links_are_taken() {
        use tar::EntryType;
        for (kind, name, mode, link, said) in [
            (EntryType::Char, "null", 0o644, "", "device"),
            (EntryType::Block, "sda", 0o644, "", "device"),
            (EntryType::Fifo, "pipe", 0o644, "", "pipe"),
            (EntryType::new(b's'), "socket", 0o644, "", "neither"),
            (EntryType::GNUSparse, "holes", 0o644, "", "neither"),
            (EntryType::XGlobalHeader, "all", 0o644, "", "neither"),
            (EntryType::Regular, "su", 0o4755, "", "setuid"),
            (EntryType::Regular, "wall", 0o2755, "", "setgid"),
            (EntryType::Link, "su", 0o4755, "a", "setuid"),
            (EntryType::Regular, "/etc/passwd", 0o644, "", "leads out"),
            (EntryType::Regular, "a/../../b", 0o644, "", "leads out"),
            (EntryType::Link, "a", 0o644, "/etc/shadow", "leads out"),
        ] {
            let tar = tar(kind, name, mode, link);
            for chunk in [1, 100, 512, 4096] {
                let refused = check(&tar, chunk).unwrap_err();
                assert!(refused.contains(said), "{name}: {refused}");
            }
        }
        for (kind, name, mode, link) in [
            (EntryType::Regular, "a/b..c", 0o755, ""),
            (EntryType::Directory, "a", 0o2755, ""),
            (EntryType::Symlink, "l", 0o777, "/usr/bin/python3"),
            (EntryType::Link, "a", 0o644, "b"),
        ] {
            check(&tar(kind, name, mode, link), 700).unwrap();
        }
    }

    #[test]
    fn t11_names_and_sizes_in_attributes_hide_nothing() {
        // Each record begins with its own length.
        let record = |text: &str| {
            let mut length = text.len() + 2;
            while format!("{length} {text}\n").len() != length {
                length += 1;
            }
            format!("{length} {text}\n")
        };
        let pax = |text: &str| {
            let records = record(text);
            let mut header = tar::Header::new_ustar();
            header.set_size(records.len() as u64);
            header.set_mode(0o644);
            header.set_entry_type(tar::EntryType::XHeader);
            header.set_path("x").unwrap();
            header.set_cksum();
            let mut all = header.as_bytes().to_vec();
            all.extend_from_slice(records.as_bytes());
            all.resize(all.len().div_ceil(BLOCK) * BLOCK, 0);
            all.extend(tar_of("plain", 1000));
            all
        };
        check(&pax("mtime=1.5"), 333).unwrap();
        for (records, said) in [
            ("path=../../etc/x", "leads out"),
            ("size=512", "size"),
            ("SCHILY.xattr.security.capability=x", "SCHILY"),
        ] {
            let refused = check(&pax(records), 512).expect_err(records);
            assert!(refused.contains(said), "{records}: {refused}");
        }
        let whole = tar_of("plain", 1000);
        assert!(
            check(&whole[..whole.len() - 1024], 512).is_err(),
            "it is cut"
        );
        let mut behind = whole;
        behind.extend(tar(tar::EntryType::Char, "null", 0o644, ""));
        assert!(
            check(&behind, 512).is_err(),
            "something stands behind the end"
        );
    }
}
