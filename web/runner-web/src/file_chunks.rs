//! Files read piece by piece, each on a thread that may block.

use std::io::{Read, Seek, SeekFrom};

use bytes::Bytes;
use futures_util::Stream;

/// Reads a file piece by piece, each on a thread that may block.
pub(crate) struct FileChunks {
    pub(crate) path: std::path::PathBuf,
    pub(crate) at: u64,
}

const CHUNK_BYTES: u64 = 256 << 10;

impl FileChunks {
    /// The next piece; empty at the end of what there is.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) async fn next(&mut self) -> std::io::Result<Bytes> {
        let (path, at) = (self.path.clone(), self.at);
        let read = tokio::task::spawn_blocking(move || {
            let mut file = match std::fs::File::open(path) {
                Ok(file) => file,
                // Nothing was written yet.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(error),
            };
            file.seek(SeekFrom::Start(at))?;
            let mut bytes = Vec::new();
            file.take(CHUNK_BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        let bytes = read.await.map_err(std::io::Error::other)??;
        self.at += bytes.len() as u64;
        Ok(Bytes::from(bytes))
    }
}

/// All of a file.
pub(crate) fn stream_file(chunks: FileChunks) -> impl Stream<Item = std::io::Result<Bytes>> {
    futures_util::stream::unfold(chunks, |mut chunks| async move {
        match chunks.next().await {
            Ok(bytes) if bytes.is_empty() => None,
            read => Some((read, chunks)),
        }
    })
}
