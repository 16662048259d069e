//! When a log is stored: the decisions, without a file.

use std::time::Duration;

use orchestrator_engine::output::LogExtent;

use super::StoredLog;

/// A log that grows slowly is stored so often.
const SLOW_INTERVAL: Duration = Duration::from_secs(600);

/// Whether the log of a run that goes on is stored: when it has grown by a quarter, and now and
/// then. So a run costs a bounded number of objects, whatever it prints.
pub(super) fn is_due(bytes: u64, stored: u64, since: Option<Duration>) -> bool {
    let grown = bytes.saturating_sub(stored);
    grown > stored / 4 || (grown > 0 && since.is_none_or(|since| since >= SLOW_INTERVAL))
}

/// Whether the log that is here, of a run that has ended, is to be stored beside or in place of
/// what was `stored` of it.
pub(super) fn is_unstored(here: LogExtent, stored: Option<&StoredLog>, writer: &str) -> bool {
    let Some(stored) = stored else {
        return true;
    };
    let is_whole_now = here.complete && !stored.complete;
    is_whole_now || (stored.writer == writer && here.bytes > stored.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_logs_of_runs_that_go_on_are_stored_when_they_have_grown() {
        let minutes = |count: u64| Some(Duration::from_secs(count * 60));
        for (bytes, stored, since, due) in [
            (0, 0, None, false),
            (1, 0, None, true),
            (125, 100, minutes(1), false),
            (126, 100, minutes(1), true),
            (101, 100, minutes(9), false),
            (101, 100, minutes(10), true),
            (100, 100, minutes(60), false),
            // It was given up and begins anew.
            (10, 100, minutes(60), false),
        ] {
            assert_eq!(
                is_due(bytes, stored, since),
                due,
                "{bytes} {stored} {since:?}"
            );
        }
    }

    #[test]
    fn i18_the_longer_log_of_its_own_writer_and_the_whole_one_win() {
        let log = |bytes, complete| LogExtent { bytes, complete };
        let row = |writer: &str, bytes, complete| StoredLog {
            writer: writer.to_owned(),
            bytes,
            complete,
        };
        for (here, stored, unstored) in [
            (log(5, false), None, true),
            (log(5, false), Some(row("own", 4, false)), true),
            (log(5, false), Some(row("own", 5, false)), false),
            (log(5, false), Some(row("other", 4, false)), false),
            (log(5, true), Some(row("other", 4, false)), true),
            (log(5, true), Some(row("own", 5, false)), true),
            (log(5, true), Some(row("own", 5, true)), false),
        ] {
            let found = is_unstored(here, stored.as_ref(), "own");
            assert_eq!(found, unstored, "{here:?} {stored:?}");
        }
    }
}
