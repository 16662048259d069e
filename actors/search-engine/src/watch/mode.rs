//! Where the knowledge of changes comes from.

/// Where the knowledge of changes comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchMode {
    /// The kernel reports every change.
    Events,
    /// The kernel reports changes made on this machine; others are found by rescans.
    EventsAndPolling,
    /// Only rescans.
    Polling(PollingReason),
}

/// Why events are not to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollingReason {
    /// The system's limit of watches is used up.
    SystemLimit,
    /// There are more folders than `WatchOptions::max_directories`.
    TooManyDirectories,
    /// The system gives no event queue (its limit of instances, or no support).
    Unsupported,
}

impl std::fmt::Display for WatchMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Events => "watched",
            Self::EventsAndPolling => "watched, and rescanned because others can change it unseen",
            Self::Polling(PollingReason::SystemLimit) => {
                "rescanned at intervals: the limit of watches is used up \
                 (raise fs.inotify.max_user_watches)"
            }
            Self::Polling(PollingReason::TooManyDirectories) => {
                "rescanned at intervals: too many folders to watch"
            }
            Self::Polling(PollingReason::Unsupported) => {
                "rescanned at intervals: the system offers no events \
                 (raise fs.inotify.max_user_instances)"
            }
        })
    }
}
