//! The log of a program: for people on a terminal, JSON lines elsewhere. Always on standard error,
//! so that data on standard output stays data. Rules: docs/LOGGING.md.

use std::io::IsTerminal;
use std::sync::Mutex;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

/// How the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogOutput {
    /// Text on a terminal, JSON elsewhere.
    #[default]
    Auto,
    /// Text.
    Human,
    /// One JSON object a line.
    Json,
}

/// Starts logging at `level` (`debug`, `info`, `warn`, `error`); `filter` (the value of `RUST_LOG`)
/// wins where it is set. Called once, by programs; a second call changes nothing.
pub fn init(level: &str, filter: Option<&str>) {
    init_as(level, filter, LogOutput::Auto);
}

/// The same in this output.
pub fn init_as(level: &str, filter: Option<&str>, output: LogOutput) {
    let filter = filter.filter(|text| !text.trim().is_empty());
    let filter = filter.map_or_else(|| EnvFilter::new(quiet(level)), EnvFilter::new);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let terminal = std::io::stderr().is_terminal();
    let human = match output {
        LogOutput::Auto => terminal,
        LogOutput::Human => true,
        LogOutput::Json => false,
    };
    let started = if human {
        builder.with_target(false).with_ansi(terminal).try_init()
    } else {
        builder
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .try_init()
    };
    // A second start, in tests: the first one stays.
    drop(started);
}

/// The same into a file, as JSON lines; warnings and errors on standard error as well, as text: for
/// a person who looks at a terminal.
pub fn init_file<W: std::io::Write + Send + 'static>(level: &str, filter: Option<&str>, file: W) {
    let filter = filter.filter(|text| !text.trim().is_empty());
    let filter = filter.map_or_else(|| EnvFilter::new(quiet(level)), EnvFilter::new);
    let all = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_writer(Mutex::new(file));
    let shown = tracing_subscriber::fmt::layer()
        .with_target(false)
        .without_time()
        .with_writer(std::io::stderr)
        .with_filter(LevelFilter::WARN);
    let started = tracing_subscriber::registry()
        .with(filter)
        .with(all)
        .with(shown)
        .try_init();
    // A second start, in tests: the first one stays.
    drop(started);
}

/// Libraries whose `info` is about their own inside; the HTTP parser, which reports every malformed
/// request as an error: whoever can reach the port could fill the log; and the list of segments
/// that the index library warns with when a merge is given up because another one was there first.
fn quiet(level: &str) -> String {
    const SEGMENTS: &str = "tantivy::indexer::segment_manager=error";
    match level {
        "debug" => "debug".to_owned(),
        "info" => format!("info,tantivy=warn,{SEGMENTS},actix_server=warn,actix_http=off"),
        level => format!("{level},{SEGMENTS},actix_http=off"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_is_a_filter() {
        for level in ["debug", "info", "warn", "error"] {
            assert!(EnvFilter::try_new(quiet(level)).is_ok(), "{level}");
        }
    }

    /// Issue 15: lines without an event stood in the log, now and then.
    #[test]
    fn i15_what_libraries_say_of_their_inside_is_in_no_log() {
        for level in ["info", "warn"] {
            let (said, writer) = buffer();
            let subscriber = tracing_subscriber::fmt()
                .with_env_filter(EnvFilter::new(quiet(level)))
                .with_writer(writer)
                .finish();
            tracing::subscriber::with_default(subscriber, || {
                tracing::warn!(target: "tantivy::indexer::segment_manager", "segment_ids");
                tracing::error!(target: "actix_http::h1", "stream error");
                tracing::warn!(target: "tantivy::directory", "lock");
                tracing::warn!(event = "index.damaged", "ours");
            });
            let said = String::from_utf8(said.lock().clone()).expect("text");
            assert!(said.contains("lock") && said.contains("ours"), "{said}");
            let inside = said.contains("segment_ids") || said.contains("stream error");
            assert!(!inside, "{level}: {said}");
        }
    }

    type Written = std::sync::Arc<parking_lot::Mutex<Vec<u8>>>;

    fn buffer() -> (Written, impl Fn() -> Lines + Send + Sync + 'static) {
        let said = Written::default();
        let lines = std::sync::Arc::clone(&said);
        (said, move || Lines(std::sync::Arc::clone(&lines)))
    }

    struct Lines(Written);

    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
}
