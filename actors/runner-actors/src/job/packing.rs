//! Files of a VM as one tar: packed there by a constant script, taken out of the manager's own tar
//! here.

/// Packs paths and glob patterns; exit code 3: nothing found, 4: something that is not taken.
/// Arguments: tar, `absolute` or `relative`, `hidden` or `visible`, patterns (`!` takes away, `~`
/// is the home directory). Of `relative` names are relative to what all patterns have in common and
/// links are the files that they lead to, as `actions/upload-artifact` has them. It gives how many
/// files there are, and the first's name.
pub(super) const PACK: &str = r##"
import glob, os, stat, sys, tarfile
out, mode, hidden = sys.argv[1], sys.argv[2], sys.argv[3] == "hidden"
patterns = [p for p in sys.argv[4:] if not p.startswith("#")]
follow = mode == "relative"
found, gone = set(), set()
def begin(pattern):
    plain = []
    for part in os.path.abspath(os.path.expanduser(pattern)).split("/"):
        if any(c in part for c in "*?["):
            break
        plain.append(part)
    return "/".join(plain) or "/"
def walk(path):
    entered = {os.path.realpath(path)}
    for folder, names, files in os.walk(path, followlinks=follow):
        yield from (os.path.join(folder, f) for f in files)
        if not follow:
            # A cache has its folders, and links to folders as links.
            yield folder
            yield from (p for p in (os.path.join(folder, n) for n in names) if os.path.islink(p))
            continue
        for name in list(names):
            below = os.path.join(folder, name)
            if os.path.islink(below):
                real = os.path.realpath(below)
                # A link to a folder above would never end.
                if real in entered or (folder + "/").startswith(real + "/"):
                    names.remove(name)
                entered.add(real)
def expand(pattern):
    pattern = os.path.expanduser(pattern)
    return glob.glob(pattern, recursive=True, include_hidden=True) if sys.version_info >= (3, 11) else glob.glob(pattern, recursive=True)
for pattern in patterns:
    if pattern.startswith("!"):
        gone.update(os.path.abspath(p) for p in expand(pattern[1:]))
for pattern in patterns:
    if pattern.startswith("!"):
        continue
    # Hidden is what is called so from where the search begins; above that it is named.
    above = len(os.path.dirname(begin(pattern)).rstrip("/")) + 1
    for path in expand(pattern):
        path = os.path.abspath(path)
        is_folder = os.path.isdir(path) and (follow or not os.path.islink(path))
        for item in walk(path) if is_folder else [path]:
            if hidden or not any(part.startswith(".") for part in item[above:].split("/")):
                found.add(item)
there = os.path.exists if follow else os.path.lexists
files = sorted(f for f in found if there(f) and not any(f == g or f.startswith(g + "/") for g in gone))
files = [f for f in files if not f.startswith("/tmp/.runner")]
taken = []
for f in files:
    kind = (os.stat if follow else os.lstat)(f).st_mode
    if stat.S_ISREG(kind) or not follow and (stat.S_ISLNK(kind) or stat.S_ISDIR(kind)):
        taken.append(f)
    elif follow:
        print(f + " is neither a file nor a link: devices, pipes and sockets are not taken", file=sys.stderr)
        sys.exit(4)
    else:
        print(f + " is left out: a device, a pipe or a socket", file=sys.stderr)
files = taken
if not files:
    sys.exit(3)
base = "/"
if follow:
    base = os.path.commonpath({begin(p) for p in patterns if not p.startswith("!")})
    if base in files:
        base = os.path.dirname(base)
def plain(info):
    # Whoever unpacks it gives nobody another's rights.
    info.mode &= 0o1777
    return info
with tarfile.open(out, "w", dereference=follow) as tar:
    for f in files:
        tar.add(f, arcname=os.path.relpath(f, base), recursive=False, filter=plain)
print("::set-output name=files::%d" % len(files))
print("::set-output name=first::" + os.path.basename(files[0]).replace("%", "%25"))
"##;

/// A tar in the machine.
pub(super) struct PackedFiles {
    pub(super) tar: String,
    /// How many files are in it.
    pub(super) count: usize,
    /// The name of the first, without its folders.
    pub(super) first: String,
}

/// Takes the bytes of the one regular file out of a tar stream (ustar blocks of 512 bytes).
#[derive(Default)]
pub(super) struct OneFile {
    header: Vec<u8>,
    left: Option<u64>,
}

impl OneFile {
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        mut write: impl FnMut(&[u8]) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        while !bytes.is_empty() {
            match &mut self.left {
                None => {
                    let wanted = 512 - self.header.len();
                    let (head, rest) = bytes.split_at(wanted.min(bytes.len()));
                    self.header.extend_from_slice(head);
                    bytes = rest;
                    if self.header.len() == 512 {
                        let header = tar::Header::from_byte_slice(&self.header);
                        if header.entry_type() == tar::EntryType::Regular {
                            self.left = Some(header.size()?);
                        } else if self.header.iter().all(|byte| *byte == 0) {
                            return Ok(());
                        }
                        self.header.clear();
                    }
                }
                // Behind the file: padding and the end.
                Some(0) => return Ok(()),
                Some(left) => {
                    let most = usize::try_from(*left)
                        .unwrap_or(usize::MAX)
                        .min(bytes.len());
                    let (now, rest) = bytes.split_at(most);
                    write(now)?;
                    *left -= most as u64;
                    bytes = rest;
                }
            }
        }
        Ok(())
    }

    pub(super) fn is_whole(&self) -> bool {
        self.left == Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cluster_actors::vm_hosts::tarball;

    #[test]
    fn one_file_is_taken_out_of_a_stream_cut_anywhere() {
        let tar = tarball::of_files(&[("a", &[7; 1300], 0o644)]).unwrap();
        for size in [1, 100, 511, 512, 513, 5000] {
            let (mut file, mut out) = (OneFile::default(), Vec::new());
            for chunk in tar.chunks(size) {
                file.push(chunk, |bytes| {
                    out.extend_from_slice(bytes);
                    Ok(())
                })
                .unwrap();
            }
            assert!(file.is_whole() && out == [7; 1300], "chunks of {size}");
        }
    }
}
