//! Bytes both ways, until both have ended or nothing moves any more.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use vm_core::guest::CHUNK;

use super::peer::Peer;
use super::{NetworkTraffic, Uplink};
use crate::link::{GuestStream, StreamBroken, StreamRead};

/// When something moved last, in either direction.
struct Activity {
    started: Instant,
    last_ms: AtomicU64,
    idle: Duration,
}

impl Activity {
    fn new(idle: Duration) -> Self {
        Self {
            started: Instant::now(),
            last_ms: AtomicU64::new(0),
            idle,
        }
    }

    fn moved(&self) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.fetch_max(now, Ordering::Relaxed);
    }

    /// How long to wait for more; `None` when nothing has moved for too long.
    fn time_left(&self) -> Option<Duration> {
        let last = Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
        let left = (last + self.idle).saturating_sub(self.started.elapsed());
        (!left.is_zero()).then_some(left)
    }
}

/// Sends `begin` and then what comes of the stream to the peer, `most` bytes in all if there is a
/// bound, and what comes of the peer to the stream.
///
/// # Errors
/// [`StreamBroken`] when the stream was gone before.
pub(super) fn relay(
    uplink: &Uplink,
    stream: &GuestStream,
    peer: &impl Peer,
    begin: &[u8],
    most: Option<u64>,
) -> Result<(), StreamBroken> {
    stream.tie(peer.socket())?;
    let activity = Activity::new(uplink.limits.idle);
    let _ = peer.socket().set_nodelay(true);
    let _ = peer.socket().set_write_timeout(Some(uplink.limits.idle));
    std::thread::scope(|scope| {
        let download = std::thread::Builder::new()
            .name("vm-download".to_owned())
            .stack_size(256 * 1024)
            .spawn_scoped(scope, || {
                if download(uplink, stream, peer, &activity).is_err() {
                    stream.break_off();
                }
            });
        if download.is_err() || upload(uplink, stream, peer, &activity, begin, most).is_err() {
            stream.break_off();
        }
    });
    Ok(())
}

/// From the VM to its peer.
fn upload(
    uplink: &Uplink,
    stream: &GuestStream,
    peer: &impl Peer,
    activity: &Activity,
    begin: &[u8],
    most: Option<u64>,
) -> Result<(), StreamBroken> {
    let mut left = most;
    let mut send = |bytes: &[u8]| {
        let count = left.map_or(bytes.len(), |left| {
            bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX))
        });
        // A peer that takes no more may still have something to say: its side ends this.
        if peer.send(&bytes[..count]).is_err() {
            return true;
        }
        activity.moved();
        NetworkTraffic::add(&uplink.traffic.sent, count);
        left = left.map(|left| left - count as u64);
        // What follows the end of a request is another one, which was not checked.
        left == Some(0)
    };
    if send(begin) {
        return Ok(());
    }
    loop {
        match stream.read(activity.time_left().ok_or(StreamBroken)?)? {
            StreamRead::Bytes(bytes) => {
                if send(&bytes) {
                    return Ok(());
                }
            }
            StreamRead::End => {
                peer.finish();
                return Ok(());
            }
            StreamRead::TimedOut => {}
        }
    }
}

/// From the peer to the VM.
fn download(
    uplink: &Uplink,
    stream: &GuestStream,
    peer: &impl Peer,
    activity: &Activity,
) -> Result<(), StreamBroken> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let left = activity.time_left().ok_or(StreamBroken)?;
        let socket = peer.socket();
        socket
            .set_read_timeout(Some(left))
            .map_err(|_| StreamBroken)?;
        match peer.receive(&mut buffer) {
            // Breaking the stream off ends the connection as well, which reads like this.
            Ok(0) => return stream.finish(),
            Ok(count) => {
                stream.write(&buffer[..count], uplink.limits.idle)?;
                activity.moved();
                NetworkTraffic::add(&uplink.traffic.received, count);
            }
            Err(error) => match error.kind() {
                ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut => {}
                _ => return Err(StreamBroken),
            },
        }
    }
}
