//! One stream: what it asks for, whether it gets it, and what it is told otherwise.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use vm_core::network::request::{self, BodyFraming, MAX_HEAD, ProxyRequest, RequestError};
use vm_core::network::{NetworkPolicy, NetworkTarget};

use super::peer::Peer;
use super::relay::relay;
use super::tls::TlsPeer;
use super::{NetworkTraffic, ProxyRefusal, Uplink};
use crate::link::{GuestStream, StreamBroken, StreamRead, StreamServer};

/// What is said before bytes are carried.
const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// What serves the streams of a VM by these rules.
pub(crate) fn server(uplink: Arc<Uplink>) -> StreamServer {
    StreamServer {
        streams: uplink.limits.streams,
        serve: Arc::new(move |stream| serve(&uplink, stream)),
    }
}

/// Serves a stream to its end. Blocks, so it has its own thread.
fn serve(uplink: &Uplink, stream: &GuestStream) {
    if !stream.has_room() {
        return refuse(uplink, stream, &ProxyRefusal::NoRoom);
    }
    let Ok((head, rest)) = read_head(uplink, stream) else {
        return;
    };
    let asked = head.and_then(|head| request::read(&head));
    let outcome = match asked.map_err(ProxyRefusal::BadRequest) {
        Ok(ProxyRequest::Connect(target)) => peer_of(uplink, &target).map(|(peer, opening)| {
            let begin = [opening.as_bytes(), &rest].concat();
            let _ = stream
                .write(ESTABLISHED, uplink.limits.idle)
                .and_then(|()| relay(uplink, stream, &peer, &begin, None));
        }),
        Ok(ProxyRequest::Services { head, body }) => match &uplink.services {
            None => Err(ProxyRefusal::BadRequest(RequestError::NotForProxies)),
            Some(services) => connect(uplink, &services.reach, &services.target)
                .map(|peer| forward(uplink, stream, &peer, (&head, body), &rest)),
        },
        Ok(ProxyRequest::ForwardByTls { target, head, body })
            if uplink.leads(&target).is_none() =>
        {
            connect(uplink, &uplink.reach, &target)
                .and_then(|peer| by_tls(uplink, stream, &target, peer))
                .map(|peer| forward(uplink, stream, &peer, (&head, body), &rest))
        }
        // The services of the VM's owner take it as it is: TLS would end at them.
        Ok(
            ProxyRequest::Forward { target, head, body }
            | ProxyRequest::ForwardByTls { target, head, body },
        ) => peer_of(uplink, &target).map(|(peer, opening)| {
            let head = format!("{opening}{head}");
            forward(uplink, stream, &peer, (&head, body), &rest);
        }),
        Err(refusal) => Err(refusal),
    };
    if let Err(refusal) = outcome {
        refuse(uplink, stream, &refusal);
    }
}

/// A connection for what is asked for, and what it begins with: to that place, or to the services
/// of the VM's owner where they stand in for it.
fn peer_of(uplink: &Uplink, target: &NetworkTarget) -> Result<(TcpStream, String), ProxyRefusal> {
    match uplink.leads(target) {
        Some(services) => {
            let peer = connect(uplink, &services.reach, &services.target)?;
            Ok((peer, uplink.opening(target)))
        }
        None => Ok((connect(uplink, &uplink.reach, target)?, String::new())),
    }
}

/// Passes one request on, of which `rest` has come already.
fn forward(
    uplink: &Uplink,
    stream: &GuestStream,
    peer: &impl Peer,
    (head, body): (&str, BodyFraming),
    rest: &[u8],
) {
    let begin = [head.as_bytes(), rest].concat();
    let most = match body {
        BodyFraming::Chunked => None,
        BodyFraming::Length(bytes) => Some(bytes.saturating_add(head.len() as u64)),
    };
    let _ = relay(uplink, stream, peer, &begin, most);
}

/// A head, or what is wrong with it, and what came behind it.
type Head = (Result<Vec<u8>, RequestError>, Vec<u8>);

fn read_head(uplink: &Uplink, stream: &GuestStream) -> Result<Head, StreamBroken> {
    let until = Instant::now() + uplink.limits.idle;
    let mut bytes = Vec::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match stream.read(left)? {
            StreamRead::Bytes(more) => {
                // The mark may lie across two pieces.
                let from = bytes.len().saturating_sub(3);
                bytes.extend_from_slice(&more);
                if let Some(end) = request::head_end(&bytes[from..]) {
                    let rest = bytes.split_off(from + end);
                    return Ok((Ok(bytes), rest));
                }
                if bytes.len() > MAX_HEAD {
                    return Ok((Err(RequestError::TooLong), Vec::new()));
                }
            }
            // Connected in advance, and not needed.
            StreamRead::End | StreamRead::TimedOut if bytes.is_empty() => return Err(StreamBroken),
            StreamRead::End | StreamRead::TimedOut => {
                return Ok((Err(RequestError::Malformed), Vec::new()));
            }
        }
    }
}

/// Connects to the first address that takes it, of those that were checked.
fn connect(
    uplink: &Uplink,
    reach: &NetworkPolicy,
    target: &NetworkTarget,
) -> Result<TcpStream, ProxyRefusal> {
    let addresses = uplink.addresses(reach, target)?;
    let try_one = |address: IpAddr| {
        let address = SocketAddr::new(address, target.port);
        TcpStream::connect_timeout(&address, uplink.limits.connect).ok()
    };
    // A name with many dead addresses must not hold a stream for minutes.
    let found = addresses.into_iter().take(4).find_map(try_one);
    let peer = found.ok_or_else(|| ProxyRefusal::Unreachable(target.to_string()))?;
    NetworkTraffic::add(&uplink.traffic.connections, 1);
    Ok(peer)
}

/// The same connection through TLS; it ends with the stream already.
fn by_tls(
    uplink: &Uplink,
    stream: &GuestStream,
    target: &NetworkTarget,
    peer: TcpStream,
) -> Result<TlsPeer, ProxyRefusal> {
    let refused = |reason| ProxyRefusal::Tls(target.to_string(), reason);
    stream
        .tie(&peer)
        .map_err(|_| refused("the request was given up".to_owned()))?;
    TlsPeer::open(&uplink.trust, target, peer, uplink.limits.connect).map_err(refused)
}

/// Says why: in the status line as well, which is all that many programs show.
fn refuse(uplink: &Uplink, stream: &GuestStream, refusal: &ProxyRefusal) {
    NetworkTraffic::add(&uplink.traffic.refused[refusal.index()], 1);
    let text = refusal.to_string();
    (uplink.on_refused)(&text, refusal);
    let answer = format!(
        "HTTP/1.1 {} {text}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}\n",
        refusal.status(),
        text.len() + 1,
    );
    // A program that is gone need not know.
    let _ = stream
        .write(answer.as_bytes(), uplink.limits.idle)
        .and_then(|()| stream.finish());
}
