//! A transaction that a test holds open, with the locks that it has.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

/// What is printed once the statements were carried out.
const READY: &str = "ready";

/// A transaction in a session of `psql`. Dropped, it is undone.
#[derive(Debug)]
pub struct OpenTransaction {
    psql: Child,
}

impl OpenTransaction {
    /// Carries out statements; the session stays within their transaction.
    pub(super) fn start(mut psql: Command, database: &str, statements: &str) -> Self {
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]);
        psql.args(["-d", database]);
        psql.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut psql = psql.spawn().expect("psql is installed with the server");
        let stdout = psql.stdout.take().expect("it is piped");
        let mut opened = Self { psql };
        opened.send(&format!("BEGIN;\n{statements};\n\\echo {READY}\n"));
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let is_ready = lines.any(|line| line == READY);
        assert!(is_ready, "psql refuses: {statements}");
        opened
    }

    /// Commits it.
    pub fn commit(mut self) {
        self.send("COMMIT;\n");
        drop(self.psql.stdin.take());
        let ended = self.psql.wait().expect("it is our child");
        assert!(ended.success(), "the transaction is not committed");
    }

    fn send(&mut self, text: &str) {
        let stdin = self.psql.stdin.as_mut().expect("it is piped");
        stdin.write_all(text.as_bytes()).expect("psql listens");
    }
}

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        // The server undoes what a session leaves that has gone.
        let _ = self.psql.kill();
        let _ = self.psql.wait();
    }
}
