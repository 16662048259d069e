//! F11: output without end costs no memory, and its beginning and end are kept.

use std::time::Duration;

use orchestrator_engine::output::{LogSizes, Redactor};
use orchestrator_engine::process::{EndCause, ProcessEnd, ProcessLimits};

use crate::support::{ProcessTestBed, limits, text};

/// Resident memory of this process, in bytes: now, or the most there ever was.
fn memory(which: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(which)).unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        * 1024
}

#[test]
fn f11_a_gigabyte_of_output_is_kept_head_and_tail_within_16_mib_of_memory() {
    let test_bed = ProcessTestBed::best();
    let secret = config_core::Secret::new("sk-flood-1234567890".to_owned());
    let sizes = LogSizes {
        head: 1 << 20,
        tail: 1 << 20,
    };
    let script = "echo the beginning; head -c 1073741824 /dev/zero; echo; echo key sk-flood-1234567890; echo the end";
    // A machine with other work takes minutes for this.
    let limits = ProcessLimits {
        wall: Duration::from_secs(900),
        ..limits()
    };
    let prepared = test_bed.shell_with(script, limits, Redactor::new([&secret]), sizes);
    let log = prepared.log_folder.clone();
    let agent = test_bed.start(prepared);
    let before = memory("VmHWM");
    let ended = agent.run();
    let grown = memory("VmHWM").saturating_sub(before);
    println!(
        "1 GiB in {:?}, {} KiB more memory",
        ended.took,
        grown / 1024
    );
    assert_eq!(
        (ended.cause, ended.end),
        (EndCause::Exited, ProcessEnd::Code(0))
    );
    assert!(grown <= 16 << 20, "{grown} bytes more");
    assert_eq!(
        ended.output.bytes,
        (1 << 30) + 14 + 1 + 8 + 8,
        "{:?}",
        ended.output
    );
    assert_eq!(ended.output.masked, 1);
    let kept: u64 = std::fs::read_dir(&log)
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(
        kept <= sizes.head + 2 * sizes.tail + 4096,
        "{kept} bytes on disk"
    );
    let text = text(&log);
    assert!(text.starts_with("the beginning\n") && text.ends_with("\nkey ***\nthe end\n"));
    assert!(text.contains("left out]"));
}
