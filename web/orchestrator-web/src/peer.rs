//! Who is at the other end of the admin socket. The socket belongs to the user that agents run as,
//! too: an agent, which has a process table of its own, is no operator, and is refused there.

use std::any::Any;

use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{Extensions, ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::middleware::Next;
use edge_web::Problem;
use tokio::net::UnixStream;

/// What is known of a connection to the socket.
#[derive(Debug, Clone, Copy)]
struct Peer {
    is_confined: bool,
}

/// Records who is at the other end of a connection when it is accepted.
pub(crate) fn record(connection: &dyn Any, extensions: &mut Extensions) {
    if let Some(stream) = connection.downcast_ref::<UnixStream>() {
        let is_confined = is_confined_peer(stream);
        extensions.insert(Peer { is_confined });
    }
}

/// Refuses what comes from an agent's process table; connections over TCP have a token instead.
///
/// # Errors
/// 403, and what the service says.
pub(crate) async fn refuse_agents(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let is_confined = request.conn_data::<Peer>().is_some_and(|it| it.is_confined);
    if is_confined {
        let detail = "the admin socket is for operators, and who asks has a process table of its own, as agents have";
        return Err(Problem::new(StatusCode::FORBIDDEN, detail).into());
    }
    let response = next.call(request).await?;
    Ok(response.map_into_boxed_body())
}

fn is_confined_peer(stream: &UnixStream) -> bool {
    // Without a number here the peer is outside of this process's own table; agents are always
    // inside of it.
    let pid = stream.peer_cred().ok().and_then(|peer| peer.pid());
    let Some(pid) = pid.filter(|pid| *pid > 0) else {
        return false;
    };
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
    // Who has gone already waits for no answer.
    status.map_or(true, |status| has_own_process_table(&status))
}

/// `NSpid` of proc_pid_status(5) has a number for each process table that the process is in, from
/// the reader's inwards.
fn has_own_process_table(status: &str) -> bool {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.is_some_and(|numbers| numbers.split_whitespace().count() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t4_a_process_table_of_its_own_is_told_by_the_numbers() {
        assert!(!has_own_process_table(
            "Name:\tsh\nNSpid:\t4711\nNSpgid:\t4711\t2\n"
        ));
        assert!(has_own_process_table("Name:\tsh\nNSpid:\t4711\t2\n"));
        assert!(has_own_process_table("NSpid:\t4711\t12\t1\n"));
        assert!(!has_own_process_table("Name:\tNSpid: 1 2\n"));
    }
}
