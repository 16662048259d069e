//! A command's output as it comes: NDJSON.
//!
//! ```text
//! {"stream":"stdout","data":"text"}              or "b64" where a piece is not UTF-8
//! {"dropped":4096}                               so many bytes are no longer kept
//! {}                                             a keep-alive
//! {"state":"exited","exit_code":0,"signal":null,"dropped_bytes":0}     the last line, always
//! ```

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use serde::Serialize;
use vm_actors::ExecRecord;
use vm_actors::log::{Follower, LogChunk};
use vmm_api_core::{Chunk, DroppedOutput};

/// How often a line comes at least.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);

struct FollowState {
    record: Arc<ExecRecord>,
    follower: Follower,
    ended: bool,
}

/// The lines, to the end of the command. Dropping it stops following, not the command.
pub(crate) fn lines(
    record: Arc<ExecRecord>,
) -> impl Stream<Item = Result<Bytes, std::io::Error>> + 'static {
    let following = FollowState {
        follower: record.log.follow(),
        record,
        ended: false,
    };
    stream::unfold(following, |mut following| async move {
        if following.ended {
            return None;
        }
        let line = following.next_line().await;
        Some((Ok(line), following))
    })
}

impl FollowState {
    async fn next_line(&mut self) -> Bytes {
        let piece = tokio::time::timeout(KEEP_ALIVE_INTERVAL, self.follower.next()).await;
        match piece {
            Err(_) => Bytes::from_static(b"{}\n"),
            Ok(LogChunk::Output(stream, bytes)) => line(&Chunk::new(stream, &bytes)),
            Ok(LogChunk::Lost(dropped)) => line(&DroppedOutput { dropped }),
            Ok(LogChunk::End(_)) => {
                self.ended = true;
                line(&self.record.view())
            }
        }
    }
}

fn line(value: &impl Serialize) -> Bytes {
    let mut line = serde_json::to_vec(value).expect("texts and numbers are always JSON");
    line.push(b'\n');
    line.into()
}
