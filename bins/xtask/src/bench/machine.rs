//! The machine that figures were measured on.

use std::fs;

use crate::project::ProjectCheckout;
use crate::shell;

/// What a reader has to know to compare figures.
#[derive(Debug)]
pub(super) struct BenchMachine {
    processor: String,
    cores: usize,
    memory_gib: f64,
    kernel: String,
    rustc: String,
    commit: String,
}

impl BenchMachine {
    /// This machine, with the state of the checkout.
    pub(super) fn this(project: &ProjectCheckout) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let unknown = || "unknown".to_owned();
        Self {
            processor: field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_gib: memory_gib(&read("/proc/meminfo")).unwrap_or(0.0),
            kernel: shell::first_line("uname", &["-sr"]).unwrap_or_else(unknown),
            rustc: shell::first_line("rustc", &["--version"]).unwrap_or_else(unknown),
            commit: commit(project).unwrap_or_else(unknown),
        }
    }

    /// One fact a line.
    pub(super) fn lines(&self) -> Vec<String> {
        vec![
            format!("processor: {}, {} cores", self.processor, self.cores),
            format!("memory: {:.1} GiB", self.memory_gib),
            format!("kernel: {}", self.kernel),
            format!("compiler: {}", self.rustc),
            format!("commit: {}", self.commit),
        ]
    }
}

/// The load averages over 1, 5 and 15 minutes.
pub(super) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let averages: Vec<&str> = text.split(' ').take(3).collect();
    if averages.len() == 3 {
        averages.join(" ")
    } else {
        "unknown".to_owned()
    }
}

fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// `MemTotal:       24668956 kB`; the kernel's kB are KiB (proc(5)).
fn memory_gib(meminfo: &str) -> Option<f64> {
    let kib: f64 = field(meminfo, "MemTotal")?
        .split(' ')
        .next()?
        .parse()
        .ok()?;
    Some(kib / (1024.0 * 1024.0))
}

fn commit(project: &ProjectCheckout) -> Option<String> {
    let git = |arguments: &[&str]| {
        let mut command = shell::command("git", &project.root);
        let finished = shell::quiet(command.args(arguments)).ok()?;
        finished
            .status
            .success()
            .then(|| finished.out.trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() {
        commit
    } else {
        format!("{commit} with local changes")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_files_are_read() {
        assert_eq!(
            memory_gib("MemTotal:       2097152 kB\nMemFree: 1 kB\n"),
            Some(2.0)
        );
        assert_eq!(memory_gib(""), None);
        assert_eq!(
            field("model name\t: A CPU\n", "model name"),
            Some("A CPU".to_owned())
        );
        assert_eq!(load().split(' ').count(), 3);
    }
}
