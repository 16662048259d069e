//! What a run found, by kind.

use crate::ledger::Ledger;

/// Everything that must be empty.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Accepted, and gone.
    pub(crate) lost: Vec<String>,
    /// Asked for once, done twice.
    pub(crate) doubled: Vec<String>,
    /// Begun, and without an end.
    pub(crate) hanging: Vec<String>,
    /// Processes and files that nobody owns any more.
    pub(crate) leaked: Vec<String>,
    /// A program that did not come up again, or a leader that nobody followed in time.
    pub(crate) failed_starts: Vec<String>,
}

/// Details of one kind that are printed.
const SHOWN: usize = 10;

impl Findings {
    /// The kinds with their names.
    fn kinds(&self) -> [(&'static str, &[String]); 5] {
        [
            ("lost", &self.lost),
            ("doubled", &self.doubled),
            ("hanging", &self.hanging),
            ("leaked", &self.leaked),
            ("failed starts", &self.failed_starts),
        ]
    }

    /// Whether nothing was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.kinds().iter().all(|(_, found)| found.is_empty())
    }

    /// Prints counts, then the first details of each kind.
    pub(crate) fn print(&self, ledger: &Ledger) {
        println!(
            "soak: load: {} pushes, {} mentions, {} pull requests, {} file changes",
            ledger.pushes.len(),
            ledger.mentions.len(),
            ledger.pulls.len(),
            ledger.file_changes
        );
        self.print_kinds();
    }

    /// Prints the counts and first details only.
    pub(crate) fn print_kinds(&self) {
        for (kind, found) in self.kinds() {
            println!("soak: {kind:14} {}", found.len());
        }
        for (kind, found) in self.kinds() {
            for line in found.iter().take(SHOWN) {
                println!("  {kind}: {line}");
            }
            if found.len() > SHOWN {
                println!("  {kind}: and {} more", found.len() - SHOWN);
            }
        }
    }
}
