//! Documents of every format, sound and hostile, read in a real child process.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod hostile;
mod make;
mod sound;

use std::ffi::OsString;
use std::time::Duration;

use search_formats_engine::{DocumentLimits, ReaderPool, ReaderProgram};

/// The child of the tests is this test program itself, asked for one test that is the child's main
/// function.
const CHILD: &str = "child_of_the_tests";

/// Not a test of its own: serves when it was started as a child (standard input is a socket), else
/// it does nothing.
#[test]
fn child_of_the_tests() {
    let _ = search_formats_engine::serve();
}

fn readers(limits: DocumentLimits) -> ReaderPool {
    let program = ReaderProgram {
        path: std::env::current_exe().unwrap(),
        arguments: [CHILD, "--exact", "--nocapture"]
            .map(OsString::from)
            .to_vec(),
    };
    ReaderPool::new(program, limits)
}

fn limits() -> DocumentLimits {
    DocumentLimits {
        time: Duration::from_secs(60),
        ..DocumentLimits::default()
    }
}
