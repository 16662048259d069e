//! Which kernel modules the guest needs, in the order to load them in.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What the guest cannot boot without, and what jobs use. Those that are built in are skipped. The
/// last four are for containers, and for programs of other processors in them.
const WANTED: [&str; 10] = [
    "virtio_pci",
    "virtio_console",
    "virtio_blk",
    "crc32c_generic",
    "ext4",
    "virtio_rng",
    "overlay",
    "veth",
    "bridge",
    "binfmt_misc",
];
/// Wanted, but missing in some kernels without harm.
const OPTIONAL: [&str; 6] = [
    "crc32c_generic",
    "virtio_rng",
    "overlay",
    "veth",
    "bridge",
    "binfmt_misc",
];

/// The files of all modules needed, each after what it depends on. `root` is
/// `…/lib/modules/<release>`.
///
/// # Errors
/// What the system says, or [`io::ErrorKind::NotFound`] naming the module.
pub(super) fn needed(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = HashMap::new();
    collect(&root.join("kernel"), &mut files)?;
    let built_in = fs::read_to_string(root.join("modules.builtin")).unwrap_or_default();
    let built_in: Vec<String> = built_in
        .lines()
        .filter_map(|line| name_of(Path::new(line)))
        .collect();
    let mut order = Vec::new();
    for name in WANTED {
        match visit(name, &files, &built_in, &mut order) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && OPTIONAL.contains(&name) => {}
            other => other?,
        }
    }
    Ok(order)
}

fn visit(
    name: &str,
    files: &HashMap<String, PathBuf>,
    built_in: &[String],
    order: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let name = name.replace('-', "_");
    if built_in.contains(&name) {
        return Ok(());
    }
    let Some(path) = files.get(&name) else {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("the kernel has no module {name}"),
        ));
    };
    if order.contains(path) {
        return Ok(());
    }
    for dependency in depends(&fs::read(path)?) {
        visit(&dependency, files, built_in, order)?;
    }
    order.push(path.clone());
    Ok(())
}

/// What a module says it depends on: `depends=a,b` in its `.modinfo`.
fn depends(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|window| window == KEY) else {
        return Vec::new();
    };
    let value = module[at + KEY.len()..]
        .split(|byte| *byte == 0)
        .next()
        .unwrap_or_default();
    let text = String::from_utf8_lossy(value);
    text.split(',')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

fn collect(folder: &Path, files: &mut HashMap<String, PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if let Some(name) = name_of(&path) {
            files.insert(name, path);
        }
    }
    Ok(())
}

/// The module in a file, `None` for other files. Packed modules are not taken: the agent has no
/// unpacker.
fn name_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".ko")?;
    Some(name.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_comes_after_what_it_depends_on() {
        let root = tempfile::tempdir().unwrap();
        let kernel = root.path().join("kernel/drivers");
        fs::create_dir_all(&kernel).unwrap();
        let module = |name: &str, depends: &str| {
            fs::write(
                kernel.join(format!("{name}.ko")),
                format!("ELF\0license=GPL\0depends={depends}\0x"),
            )
            .unwrap();
        };
        module("virtio_pci", "virtio_ring,virtio");
        module("virtio", "virtio_ring");
        module("virtio_ring", "");
        module("virtio-console", "virtio");
        module("virtio_blk", "virtio");
        fs::write(
            root.path().join("modules.builtin"),
            "kernel/fs/ext4/ext4.ko\n",
        )
        .unwrap();
        let order: Vec<_> = needed(root.path())
            .unwrap()
            .iter()
            .filter_map(|path| name_of(path))
            .collect();
        assert_eq!(
            order,
            [
                "virtio_ring",
                "virtio",
                "virtio_pci",
                "virtio_console",
                "virtio_blk"
            ]
        );
        fs::remove_file(kernel.join("virtio.ko")).unwrap();
        assert!(
            needed(root.path())
                .unwrap_err()
                .to_string()
                .contains("no module virtio")
        );
    }
}
