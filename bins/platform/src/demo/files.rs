//! A folder served over HTTP on the loopback address: enough for git to clone a bare repository
//! from.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

/// How long a client may take for each step.
const IO_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest request line that is read.
const MAX_LINE: u64 = 4096;

/// Serves `folder` on a free port until this process ends.
///
/// # Errors
/// When no port can be taken.
pub(super) fn serve(folder: &Path) -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .context("no port of 127.0.0.1 can be taken to serve the sample repository")?;
    let address = listener.local_addr()?;
    let folder = folder.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that leaves early has itself to blame.
            let _ = answer(stream, &folder);
        }
    });
    Ok(address)
}

fn answer(stream: TcpStream, folder: &Path) -> std::io::Result<()> {
    stream.set_read_timeout(Some(IO_TIMEOUT))?;
    stream.set_write_timeout(Some(IO_TIMEOUT))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.by_ref().take(MAX_LINE).read_line(&mut line)?;
    let mut header = String::from("-");
    while header.trim_end() != "" {
        header.clear();
        reader.by_ref().take(MAX_LINE).read_line(&mut header)?;
    }
    let mut stream = stream;
    let asked = line
        .strip_prefix("GET ")
        .and_then(|rest| rest.split(' ').next());
    let file = asked
        .and_then(|path| place(folder, path))
        .and_then(|path| File::open(path).ok())
        .filter(|file| file.metadata().is_ok_and(|data| data.is_file()));
    let Some(mut file) = file else {
        return stream.write_all(
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        );
    };
    let length = file.metadata()?.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    std::io::copy(&mut file, &mut stream).map(drop)
}

/// The file of a path, which does not leave the folder.
fn place(folder: &Path, path: &str) -> Option<PathBuf> {
    let path = Path::new(path.split('?').next()?.strip_prefix('/')?);
    let inside = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    inside.then(|| folder.join(path))
}

#[cfg(test)]
mod tests {
    use super::super::http;
    use super::*;

    #[test]
    fn files_of_the_folder_are_served_and_nothing_else() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = home.path().join("served");
        std::fs::create_dir_all(folder.join("a.git")).expect("it is new");
        std::fs::write(folder.join("a.git/HEAD"), "ref").expect("it is new");
        std::fs::write(home.path().join("secret"), "s").expect("it is new");
        let address = serve(&folder).expect("a free port");
        let head = http::get(address, "/a.git/HEAD?x=1").expect("an answer");
        assert_eq!((head.status, head.body.as_str()), (200, "ref"));
        for path in [
            "/a.git",
            "/../secret",
            "/a.git/../../secret",
            "/none",
            "//etc/passwd",
        ] {
            assert_eq!(
                http::get(address, path).expect("an answer").status,
                404,
                "{path}"
            );
        }
    }
}
