//! How long the concept threads rest, so that learning never takes a computer for itself.

use std::time::Duration;

/// How long the concept threads rest; the default unless a test is in a hurry, which cannot wait
/// for what depends on the speed of its machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LearningRests {
    /// A source that was quiet for so long has its vectors learnt from nothing, where they depend
    /// on the way it came to be.
    pub settle_after: Duration,
    /// A source is quiet for at least so many times as long as learning took before it settles.
    pub before_settling: u32,
    /// After work a thread rests so many times as long as that took; at most a minute.
    pub after_work: u32,
}

impl Default for LearningRests {
    fn default() -> Self {
        Self {
            settle_after: Duration::from_secs(600),
            before_settling: 20,
            after_work: 10,
        }
    }
}
