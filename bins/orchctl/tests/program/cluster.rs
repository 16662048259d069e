//! Two orchestrators on one PostgreSQL and one object storage, asked at the one that stands by.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use scripted_peers::postgres::PostgresServer;
use scripted_peers::s3::{ACCESS_KEY, BUCKET, S3Server, SECRET_KEY};

use crate::daemon::Site;

const DEADLINE: Duration = Duration::from_secs(90);
const KEYS: [(&str, &str); 2] = [
    ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
    ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
];

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

fn until_role(site: &Site, wanted: &str) {
    let wanted = format!("\"role\":\"{wanted}\"");
    until(&wanted, || health(site).contains(&wanted));
}

/// What the process of this site says of itself, by its admin socket.
fn health(site: &Site) -> String {
    let Ok(mut stream) = UnixStream::connect(site.path("admin.sock")) else {
        return String::new();
    };
    let request = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut said = Vec::new();
    let asked = stream.write_all(request.as_bytes());
    let _ = asked.and_then(|()| stream.read_to_end(&mut said));
    String::from_utf8_lossy(&said).into_owned()
}

/// The lines that a process prints, as they come.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let (tell, lines) = channel();
    let output = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            let _ = tell.send(line);
        }
    });
    lines
}

/// Its leader is paused while a log is followed at the standby: what was stored of it is not shown
/// twice, and the command ends as the run does.
#[test]
fn i18_a_log_that_is_followed_at_a_standby_ends_with_the_run_when_the_leader_is_paused() {
    let (database, storage) = (PostgresServer::start(), S3Server::start());
    let top = format!(
        "[store]\nurl = \"{}\"\n[objects]\nurl = \"s3://{BUCKET}/agents\"\nendpoint = \"{}\"\n",
        database.url(),
        storage.endpoint()
    );
    let (first_site, second_site) = (Site::new(), Site::new());
    first_site.configure(&top);
    second_site.configure(&top);
    let first = first_site.start_with(&KEYS);
    until_role(&first_site, "leader");
    let second = second_site.start_with(&KEYS);
    until_role(&second_site, "standby");
    let run = first_site.trigger(&first, "slow");
    let mut following = second_site.orchctl(&second, &["logs", "-f", &run]);
    let following = following.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut following = following.spawn().unwrap();
    let lines = lines_of(&mut following);
    assert_eq!(lines.recv_timeout(DEADLINE).as_deref(), Ok("begun"));
    let stored = "SELECT count(*) FROM orchestrator.rows WHERE tbl = 'log_files'";
    until("what it has printed is stored", || {
        database.sql(stored) == "1"
    });
    first.signal(Signal::STOP);
    until_role(&second_site, "leader");
    until("its end", || following.try_wait().unwrap().is_some());
    let ended = following.wait_with_output().unwrap();
    let said = crate::err(&ended);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(
        said.contains("the log broke off; it is asked for again"),
        "{said}"
    );
    let rest: Vec<String> = lines.iter().collect();
    assert!(rest.is_empty(), "nothing is shown twice: {rest:?}");
    let shown = second_site.json(&second, &["show", &run], 0);
    assert_eq!(shown["exit"]["class"], "orchestrator_restart", "{shown}");
    first.signal(Signal::CONT);
}
