//! Files on their way into a VM and out of it: tars, passed on as they come.

use std::io::{self, Read, Write};
use std::sync::Arc;

use actix::{Context, Handler, ResponseFuture};
use actix_rt::task::spawn_blocking;
use bytes::{Buf, Bytes};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use vm_core::guest::TarSummary;
use vm_engine::Machine;

use super::{MAX_TRANSFERS, Vm};
use crate::messages::{GetFiles, PutFiles, TarPart, VmFailure};

/// The size of the pieces a tar is handed out in.
const PIECE: usize = 64 * 1024;

impl Vm {
    /// The machine, and a permit to transfer a tar.
    fn transfer(&self) -> Result<(Arc<dyn Machine>, OwnedSemaphorePermit), VmFailure> {
        let machine = self.working_machine()?;
        let permit = Arc::clone(&self.transfers).try_acquire_owned();
        Ok((machine, permit.map_err(|_| VmFailure::Busy(MAX_TRANSFERS))?))
    }
}

impl Handler<PutFiles> for Vm {
    type Result = ResponseFuture<Result<TarSummary, VmFailure>>;

    fn handle(&mut self, PutFiles { path, tar }: PutFiles, _: &mut Context<Self>) -> Self::Result {
        let transfer = self.transfer();
        let idle = self.resources.settings.transfer_idle;
        Box::pin(async move {
            let (machine, permit) = transfer?;
            let put = spawn_blocking(move || {
                let _permit = permit;
                machine.put_tar(&path, &mut UploadReader::new(tar), idle)
            });
            let put = put
                .await
                .map_err(|panic| VmFailure::Gone(panic.to_string()))?;
            put.map_err(VmFailure::from)
        })
    }
}

impl Handler<GetFiles> for Vm {
    type Result = Result<(), VmFailure>;

    fn handle(&mut self, GetFiles { path, tar }: GetFiles, _: &mut Context<Self>) -> Self::Result {
        let (machine, permit) = self.transfer()?;
        let idle = self.resources.settings.transfer_idle;
        spawn_blocking(move || {
            let _permit = permit;
            let mut outgoing = DownloadWriter::new(tar);
            let got = machine.get_tar(&path, &mut outgoing, idle);
            outgoing.finish(got.map(drop).map_err(VmFailure::from));
        });
        Ok(())
    }
}

/// A tar as it comes from the edge. Blocks.
struct UploadReader {
    parts: mpsc::Receiver<TarPart>,
    current: Bytes,
    ended: bool,
}

impl UploadReader {
    fn new(parts: mpsc::Receiver<TarPart>) -> Self {
        Self {
            parts,
            current: Bytes::new(),
            ended: false,
        }
    }
}

impl Read for UploadReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() && !self.ended {
            match self.parts.blocking_recv() {
                Some(TarPart::Data(bytes)) => self.current = bytes,
                Some(TarPart::End) => self.ended = true,
                None => {
                    let text = "the sender left before its end";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
                }
            }
        }
        let count = self.current.len().min(into.len());
        self.current.copy_to_slice(&mut into[..count]);
        Ok(count)
    }
}

/// A tar as it goes to the edge, in pieces. Blocks.
struct DownloadWriter {
    parts: mpsc::Sender<Result<TarPart, VmFailure>>,
    piece: Vec<u8>,
}

impl DownloadWriter {
    fn new(parts: mpsc::Sender<Result<TarPart, VmFailure>>) -> Self {
        let piece = Vec::with_capacity(PIECE);
        Self { parts, piece }
    }

    fn send(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        let sent = self.parts.blocking_send(Ok(TarPart::Data(piece.into())));
        sent.map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "nobody takes the tar"))
    }

    /// Without this word, the tar broke off.
    fn finish(mut self, outcome: Result<(), VmFailure>) {
        let flushed = self.send();
        let end = match (outcome, flushed) {
            (Err(failure), _) => Err(failure),
            (Ok(()), Err(error)) => Err(VmFailure::Upload(error.to_string())),
            (Ok(()), Ok(())) => Ok(TarPart::End),
        };
        // Who left does not want to know.
        let _ = self.parts.blocking_send(end);
    }
}

impl Write for DownloadWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&bytes[..count]);
        if self.piece.len() == PIECE {
            self.send()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tar_that_breaks_off_is_no_shorter_tar() {
        let read = |parts: &[TarPart]| {
            let (send, receive) = mpsc::channel(8);
            for part in parts {
                send.blocking_send(part.clone()).unwrap();
            }
            drop(send);
            let mut all = Vec::new();
            UploadReader::new(receive)
                .read_to_end(&mut all)
                .map(|_| all)
                .map_err(|error| error.kind())
        };
        let data = |text: &'static str| TarPart::Data(Bytes::from_static(text.as_bytes()));
        let whole = [data("ab"), data(""), data("c"), TarPart::End];
        assert_eq!(read(&whole), Ok(b"abc".to_vec()));
        assert_eq!(read(&whole[..3]), Err(io::ErrorKind::UnexpectedEof));
    }

    #[test]
    fn a_tar_goes_out_in_pieces_with_a_word_at_its_end() {
        let (send, mut receive) = mpsc::channel(8);
        let mut outgoing = DownloadWriter::new(send.clone());
        outgoing.write_all(&vec![7; PIECE + 1]).unwrap();
        outgoing.finish(Ok(()));
        let mut sizes = Vec::new();
        while let Ok(Ok(part)) = receive.try_recv() {
            match part {
                TarPart::Data(bytes) => sizes.push(bytes.len()),
                TarPart::End => sizes.push(0),
            }
        }
        assert_eq!(sizes, [PIECE, 1, 0]);
        let broken = VmFailure::Gone("x".to_owned());
        DownloadWriter::new(send).finish(Err(broken.clone()));
        assert_eq!(receive.try_recv(), Ok(Err(broken)));
    }
}
