//! The archive that the kernel unpacks as its first root: `newc`, written by hand so that device
//! nodes need no privileges.

/// An archive in memory.
#[derive(Debug, Default)]
pub(super) struct Cpio {
    bytes: Vec<u8>,
    inode: u32,
}

const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

impl Cpio {
    /// Adds a folder; its parents must have been added.
    pub(super) fn folder(&mut self, name: &str) {
        self.entry(name, FOLDER | 0o755, (0, 0), &[]);
    }

    /// Adds a file.
    pub(super) fn file(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.entry(name, FILE | mode, (0, 0), content);
    }

    /// Adds a character device.
    pub(super) fn device(&mut self, name: &str, major: u32, minor: u32) {
        self.entry(name, CHARACTER_DEVICE | 0o600, (major, minor), &[]);
    }

    /// The whole archive.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.inode += 1;
        let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let name_length = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
        // inode, mode, uid, gid, links, time, size, device of the file, device it is, name,
        // checksum
        let fields = [
            self.inode,
            mode,
            0,
            0,
            1,
            0,
            length,
            0,
            0,
            device.0,
            device.1,
            name_length,
            0,
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes
                .extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_aligned_and_the_trailer_is_last() {
        let mut cpio = Cpio::default();
        cpio.folder("dev");
        cpio.device("dev/null", 1, 3);
        cpio.file("init", 0o755, b"12345");
        let bytes = cpio.finish();
        assert_eq!(bytes.len() % 4, 0);
        assert!(
            bytes.starts_with(
                b"070701000000010000 41ed"
                    .split(|byte| *byte == b' ')
                    .next()
                    .unwrap()
            )
        );
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.matches("070701").count(), 4);
        assert!(text.contains("12345") && text.trim_end_matches('\0').ends_with("TRAILER!!!"));
    }
}
