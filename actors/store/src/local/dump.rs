//! A whole local state as one stream of bytes, the same for all backends: for backups, and to move
//! from one backend to another.
//!
//! ```text
//! "orstate1" { 1 namespace | 2 key value }… 0 count crc32
//! ```
//! Numbers are little-endian. The stream is of a moment only while nobody else writes: its caller
//! holds the state's folder.

use std::io::{self, Read, Write};

use super::{
    LocalChange, LocalError, LocalState, MAX_KEY_BYTES, MAX_NAMESPACE_BYTES, MAX_VALUE_BYTES,
};

const MAGIC: &[u8; 8] = b"orstate1";
const END: u8 = 0;
const NAMESPACE: u8 = 1;
const PAIR: u8 = 2;
/// Pairs that are read at once.
const PAGE: usize = 256;
/// Bytes and changes that are written in one batch.
const BATCH_BYTES: usize = 4 << 20;
const BATCH_CHANGES: usize = 1_000;

/// Why a state could not be written or read as a stream.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The stream.
    #[error("the stream of the local state failed: {0}")]
    Io(#[from] io::Error),
    /// The state.
    #[error(transparent)]
    State(#[from] LocalError),
    /// The stream is none of ours, or is damaged.
    #[error("this is no stream of a local state: {0}")]
    Damaged(&'static str),
}

/// Writes all of `state`; gives the number of its keys.
///
/// # Errors
/// See [`DumpError`].
pub fn write_dump(state: &dyn LocalState, output: &mut dyn Write) -> Result<u64, DumpError> {
    let mut output = ChecksumStream::new(output);
    output.write_all(MAGIC)?;
    let mut count = 0_u64;
    for namespace in state.namespaces()? {
        output.write_all(&[NAMESPACE])?;
        put(&mut output, namespace.as_bytes())?;
        let mut after: Option<Vec<u8>> = None;
        loop {
            let page = state.scan(&namespace, b"", after.as_deref(), PAGE)?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (key, value) in &page {
                output.write_all(&[PAIR])?;
                put(&mut output, key)?;
                put(&mut output, value)?;
                count += 1;
            }
        }
    }
    output.write_all(&[END])?;
    output.write_all(&count.to_le_bytes())?;
    let sum = output.sum.clone().finalize();
    output.inner.write_all(&sum.to_le_bytes())?;
    Ok(count)
}

/// Puts all of a stream into `state`; gives the number of its keys. What `state` holds already
/// stays.
///
/// # Errors
/// See [`DumpError`]; a part may have been put then, so give it a state that is thrown away.
pub fn read_dump(input: &mut dyn Read, state: &dyn LocalState) -> Result<u64, DumpError> {
    let mut input = ChecksumStream::new(input);
    let mut magic = [0; 8];
    input.read_exact(&mut magic)?;
    if &magic != MAGIC {
        return Err(DumpError::Damaged("it begins with other bytes"));
    }
    let (mut namespace, mut count) = (None::<String>, 0_u64);
    let (mut batch, mut bytes) = (Vec::new(), 0);
    loop {
        match input.byte()? {
            END => break,
            NAMESPACE => {
                let name = take(&mut input, MAX_NAMESPACE_BYTES)?;
                let name = String::from_utf8(name);
                namespace = Some(name.map_err(|_| DumpError::Damaged("a name is no text"))?);
            }
            PAIR => {
                let namespace = namespace.as_deref();
                let namespace = namespace.ok_or(DumpError::Damaged("a key has no namespace"))?;
                let key = take(&mut input, MAX_KEY_BYTES)?;
                let value = take(&mut input, MAX_VALUE_BYTES)?;
                (count, bytes) = (count + 1, bytes + key.len() + value.len());
                batch.push(LocalChange::put(namespace, &key, &value));
                if bytes >= BATCH_BYTES || batch.len() >= BATCH_CHANGES {
                    state.batch(&std::mem::take(&mut batch))?;
                    bytes = 0;
                }
            }
            _ => return Err(DumpError::Damaged("a record of an unknown kind")),
        }
    }
    let mut promised = [0; 8];
    input.read_exact(&mut promised)?;
    let sum = input.sum.clone().finalize();
    let mut written = [0; 4];
    input.inner.read_exact(&mut written)?;
    if u64::from_le_bytes(promised) != count {
        return Err(DumpError::Damaged("keys are missing"));
    }
    if u32::from_le_bytes(written) != sum {
        return Err(DumpError::Damaged("its checksum is another one"));
    }
    state.batch(&batch)?;
    state.flush()?;
    Ok(count)
}

/// Sums what goes through.
struct ChecksumStream<'a, T: ?Sized> {
    inner: &'a mut T,
    sum: crc32fast::Hasher,
}

impl<'a, T: ?Sized> ChecksumStream<'a, T> {
    fn new(inner: &'a mut T) -> Self {
        let sum = crc32fast::Hasher::new();
        Self { inner, sum }
    }
}

impl ChecksumStream<'_, dyn Write + '_> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.inner.write_all(bytes)
    }
}

impl ChecksumStream<'_, dyn Read + '_> {
    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.inner.read_exact(bytes)?;
        self.sum.update(bytes);
        Ok(())
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.read_exact(&mut byte)?;
        Ok(byte[0])
    }
}

fn put(output: &mut ChecksumStream<'_, dyn Write + '_>, bytes: &[u8]) -> Result<(), DumpError> {
    // The limits of keys and values are far below.
    let length =
        u32::try_from(bytes.len()).map_err(|_| DumpError::Damaged("a value is too long"))?;
    output.write_all(&length.to_le_bytes())?;
    output.write_all(bytes)?;
    Ok(())
}

fn take(input: &mut ChecksumStream<'_, dyn Read + '_>, most: usize) -> Result<Vec<u8>, DumpError> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > most {
        return Err(DumpError::Damaged(
            "a key or value is longer than any may be",
        ));
    }
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::{ConcurrentMap, LocalMemory, LocalStateKind};
    use super::*;

    fn filled(state: &dyn LocalState) {
        let long = vec![7; 100_000];
        for number in 0..600_u32 {
            state.put("many", &number.to_be_bytes(), b"v").unwrap();
        }
        state.put("chats", b"", b"").unwrap();
        state.put("chats", b"\x00\xff", &long).unwrap();
    }

    #[test]
    fn what_one_backend_held_another_holds() {
        let memory = LocalMemory::default();
        filled(&memory);
        let mut bytes = Vec::new();
        assert_eq!(write_dump(&memory, &mut bytes).unwrap(), 602);
        for kind in LocalStateKind::ALL {
            let folder = tempfile::tempdir().unwrap();
            let state = kind.open(folder.path(), "test").unwrap();
            assert_eq!(read_dump(&mut &*bytes, &*state).unwrap(), 602, "{kind}");
            let mut again = Vec::new();
            write_dump(&*state, &mut again).unwrap();
            assert_eq!(again, bytes, "{kind}");
        }
    }

    #[test]
    fn damage_is_noticed() {
        let memory = LocalMemory::default();
        memory.put("a", b"key", b"value").unwrap();
        let mut bytes = Vec::new();
        write_dump(&memory, &mut bytes).unwrap();
        for at in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[at] ^= 1;
            let read = read_dump(&mut &*altered, &ConcurrentMap::default());
            assert!(read.is_err(), "byte {at}");
            let read = read_dump(&mut &bytes[..at], &ConcurrentMap::default());
            assert!(read.is_err(), "cut at {at}");
        }
    }
}
