//! Where the agent's program is: it goes into every initramfs.

use std::path::{Path, PathBuf};

/// The file's name.
pub const FILE_NAME: &str = "vm-guest";

/// The agent, beside the running program or where packages put it (`../lib/orrery`, seen from
/// there); a path that is configured is taken as it is. `None` when there is none.
///
/// In a checkout it is made by
/// `CARGO_ENCODED_RUSTFLAGS=-Ctarget-feature=+crt-static cargo build -p vm-guest --profile guest --target x86_64-unknown-linux-gnu`,
/// which leaves it in `<target>/x86_64-unknown-linux-gnu/guest/`; that place is looked at as well.
pub fn find(configured: Option<&Path>, program: &Path) -> Option<PathBuf> {
    if let Some(path) = configured {
        return Some(path.to_path_buf());
    }
    let folder = program.parent()?;
    let places = [
        folder.join(FILE_NAME),
        folder.join("../lib/orrery").join(FILE_NAME),
        folder
            .join("../x86_64-unknown-linux-gnu/guest")
            .join(FILE_NAME),
    ];
    // The one beside a debug build of the manager is dynamic: no use in a VM.
    places.into_iter().find(|path| is_static(path))
}

/// Whether a file is a program that needs no loader, as an agent must be that runs in a VM.
pub fn is_static(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| super::kernel::is_static(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_program_is_found_and_others_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        let lib = folder.path().join("lib/orrery");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir_all(&lib).unwrap();
        let manager = bin.join("vm-manager");
        assert_eq!(find(None, &manager), None);
        std::fs::write(bin.join(FILE_NAME), "#!/bin/sh").unwrap();
        std::fs::write(
            lib.join(FILE_NAME),
            [b"\x7fELF".as_slice(), &[0; 60]].concat(),
        )
        .unwrap();
        assert_eq!(
            find(None, &manager),
            Some(bin.join("../lib/orrery").join(FILE_NAME))
        );
        assert_eq!(find(Some(Path::new("/x")), &manager), Some("/x".into()));
    }
}
