//! How long a take-over may take, on a machine that has other work as well: time in which somebody
//! waited for a processor is the machine's, as the kernel counts it.

use std::time::Duration;

/// A leader that is lost has to be followed within this.
pub(crate) const TAKEOVER: Duration = Duration::from_secs(10);
/// Whatever the machine does.
const LONGEST: Duration = Duration::from_secs(20);

/// How long somebody has waited for a processor since the start of the machine; nothing where the
/// kernel does not count it.
pub(crate) fn starved() -> Duration {
    let text = std::fs::read_to_string("/proc/pressure/cpu").unwrap_or_default();
    Duration::from_micros(total(&text).unwrap_or_default())
}

fn total(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    let total = line.split(' ').find_map(|word| word.strip_prefix("total="));
    total?.parse().ok()
}

/// Whether a take-over that took so long is a fault, where somebody waited for a processor for
/// `starved` meanwhile.
pub(crate) fn is_late(took: Duration, starved: Duration) -> bool {
    took > LONGEST || took.saturating_sub(starved) > TAKEOVER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_a_late_take_over_is_a_fault_unless_the_machine_was_starved() {
        let seconds = Duration::from_secs;
        for (took, starved, expected) in [
            (10, 0, false),
            (11, 0, true),
            (11, 2, false),
            (18, 7, true),
            (18, 18, false),
            (21, 21, true),
        ] {
            assert_eq!(is_late(seconds(took), seconds(starved)), expected, "{took}");
        }
    }

    #[test]
    fn i18_the_kernels_count_is_read() {
        let text = "some avg10=4.21 avg60=1.00 avg300=0.00 total=182134594\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(total(text), Some(182_134_594));
        assert_eq!(total(""), None);
    }
}
