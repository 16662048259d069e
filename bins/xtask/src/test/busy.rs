//! How busy the machine's processors were, from Linux's own count: where a run waits is seen.

/// Ticks of all processors since the machine's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticks {
    idle: u64,
    all: u64,
}

impl Ticks {
    /// As they are now; nothing where they cannot be read.
    pub(super) fn now() -> Option<Self> {
        Self::read(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// The first line of `/proc/stat`: user, nice, system, idle, waiting for disks, interrupts,
    /// soft interrupts, stolen; what guests take stands in the first two already.
    fn read(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks = line.split_whitespace().take(8);
        let ticks: Vec<u64> = ticks.map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Self {
            idle: ticks.get(3)? + ticks.get(4)?,
            all: ticks.iter().sum(),
        })
    }

    /// The per cent of the time since then that the processors were busy, with whatever.
    pub(super) fn busy_since(then: Option<Self>) -> Option<u64> {
        Self::now()?.busy_between(then?)
    }

    fn busy_between(self, then: Self) -> Option<u64> {
        let all = self.all.checked_sub(then.all)?;
        let idle = self.idle.checked_sub(then.idle)?.min(all);
        ((all - idle) * 100).checked_div(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i14_what_was_idle_or_waited_for_disks_was_not_busy() {
        let read = |line: &str| Ticks::read(&format!("{line}\ncpu0 1 2 3 4\n"));
        let then = read("cpu  100 0 50 800 50 0 0 0 0 0").expect("it is whole");
        let now = read("cpu  150 10 65 810 60 3 2 0 50 10").expect("it is whole");
        assert_eq!(now.busy_between(then), Some(80));
        assert_eq!(then.busy_between(then), None, "no time has passed");
        assert_eq!(then.busy_between(now), None, "time ran backwards");
        for broken in ["cpu0 1 2 3 4 5", "cpu  1 2 3 4", "cpu  1 2 x 4 5", ""] {
            assert_eq!(read(broken), None, "{broken}");
        }
        assert!(Ticks::now().is_some(), "Linux counts");
        assert_eq!(Ticks::busy_since(None), None);
    }
}
