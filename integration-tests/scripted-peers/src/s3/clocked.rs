//! A storage whose clock is not that of this machine: what s3s-fs, a program of this machine,
//! cannot be. It keeps objects in memory, one part each, and looks at no signature.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

type Objects = Arc<Mutex<BTreeMap<String, (Vec<u8>, SystemTime)>>>;

/// How a storage differs from a good one.
#[derive(Debug, Clone, Copy)]
struct Habits {
    /// How far its clock is behind this machine's.
    behind: Duration,
    /// It takes every write, whatever `If-Match` and `If-None-Match` say.
    ignores_conditions: bool,
}

/// The storage, which serves until the test program ends.
#[derive(Debug)]
pub struct ClockedStorage {
    port: u16,
    objects: Objects,
}

impl ClockedStorage {
    /// A storage whose clock is so far behind this machine's.
    #[must_use]
    pub fn behind(by: Duration) -> Self {
        Self::with(Habits {
            behind: by,
            ignores_conditions: false,
        })
    }

    /// A storage that takes every write, as servers do that do not know conditions.
    #[must_use]
    pub fn without_conditions() -> Self {
        Self::with(Habits {
            behind: Duration::ZERO,
            ignores_conditions: true,
        })
    }

    fn with(habits: Habits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let objects = Objects::default();
        let of_thread = Arc::clone(&objects);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let objects = Arc::clone(&of_thread);
                std::thread::spawn(move || while serve(&client, &objects, habits).is_some() {});
            }
        });
        Self { port, objects }
    }

    /// Its address.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All that it has was stored so much earlier.
    pub fn grow_older(&self, by: Duration) {
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, stored) in objects.values_mut() {
            *stored -= by;
        }
    }

    /// How many objects it has.
    #[must_use]
    pub fn count(&self) -> usize {
        let objects = self.objects.lock();
        objects.unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Answers one request; `None` at the end of the connection.
fn serve(client: &TcpStream, objects: &Objects, habits: Habits) -> Option<()> {
    let mut reader = BufReader::new(client);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_ascii_lowercase()),
        }
        if head.len() == 1 {
            head[0] = line.trim_end().to_owned();
        }
    }
    let header = |name: &str| head.iter().find_map(|line| line.strip_prefix(name));
    let length = header("content-length: ").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let is_unmet = |found: bool| {
        let creates = header("if-none-match: ").is_some();
        let replaces = header("if-match: ").map(|tag| found && tag == "\"1\"");
        !habits.ignores_conditions && ((creates && found) || replaces == Some(false))
    };
    let mut words = head.first()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    // Behind the bucket.
    let key = path.trim_start_matches('/').split_once('/');
    let key = key.map_or("", |(_, key)| key).to_owned();
    let mut objects = objects.lock().unwrap_or_else(PoisonError::into_inner);
    let found = objects.get(&key).cloned();
    let (status, headers, answer) = match (method, found) {
        ("GET", _) if query.contains("list-type=2") => {
            let prefix = query
                .split('&')
                .find_map(|part| part.strip_prefix("prefix="));
            let prefix = prefix.unwrap_or_default().replace("%2F", "/");
            ("200 OK", String::new(), listed(&objects, &prefix))
        }
        ("PUT", found) if is_unmet(found.is_some()) => {
            ("412 Precondition Failed", String::new(), Vec::new())
        }
        ("PUT", _) => {
            objects.insert(key, (body, SystemTime::now() - habits.behind));
            ("200 OK", "etag: \"1\"\r\n".to_owned(), Vec::new())
        }
        ("DELETE", _) => {
            objects.remove(&key);
            ("204 No Content", String::new(), Vec::new())
        }
        // Several at once.
        ("POST", _) => {
            let body = String::from_utf8_lossy(&body).into_owned();
            let mut answer = "<DeleteResult>".to_owned();
            for part in body.split("<Key>").skip(1) {
                let key = part.split('<').next().unwrap_or_default();
                objects.remove(key);
                // Writing to a string cannot fail.
                let _ = write!(answer, "<Deleted><Key>{key}</Key></Deleted>");
            }
            answer += "</DeleteResult>";
            ("200 OK", String::new(), answer.into_bytes())
        }
        (_, Some((bytes, stored))) => {
            let modified = http_date(stored);
            let headers = format!("etag: \"1\"\r\nlast-modified: {modified}\r\n");
            ("200 OK", headers, bytes)
        }
        _ => ("404 Not Found", String::new(), Vec::new()),
    };
    drop(objects);
    let length = answer.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n");
    let mut client = client;
    client.write_all(head.as_bytes()).ok()?;
    if method != "HEAD" {
        client.write_all(&answer).ok()?;
    }
    Some(())
}

fn listed(objects: &BTreeMap<String, (Vec<u8>, SystemTime)>, prefix: &str) -> Vec<u8> {
    let mut text = "<ListBucketResult><IsTruncated>false</IsTruncated>".to_owned();
    let wanted = objects.iter().filter(|(key, _)| key.starts_with(prefix));
    for (key, (bytes, stored)) in wanted {
        let (date, time) = date_and_time(*stored);
        let [year, month, day] = date;
        let _ = write!(
            text,
            "<Contents><Key>{key}</Key><LastModified>{year:04}-{month:02}-{day:02}T{time}.000Z\
             </LastModified><ETag>\"1\"</ETag><Size>{}</Size></Contents>",
            bytes.len()
        );
    }
    (text + "</ListBucketResult>").into_bytes()
}

/// As HTTP has it; the day of the week is looked at by nobody.
fn http_date(at: SystemTime) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let ([year, month, day], time) = date_and_time(at);
    let days = seconds(at) / 86_400;
    let weekday = DAYS[usize::try_from(days % 7).unwrap_or(0)];
    let month = MONTHS[usize::try_from(month - 1).unwrap_or(0)];
    format!("{weekday}, {day:02} {month} {year:04} {time} GMT")
}

fn seconds(at: SystemTime) -> u64 {
    let since = at.duration_since(SystemTime::UNIX_EPOCH);
    since.expect("no test is before 1970").as_secs()
}

/// Year, month and day, and the time of the day.
fn date_and_time(at: SystemTime) -> ([u64; 3], String) {
    let seconds = seconds(at);
    let (mut days, mut year) = (seconds / 86_400, 1970);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    ([year, month, days + 1], time)
}
