//! What one run measured, and the table of it.

use crate::load::Load;
use crate::process::Usage;

/// Everything one run measured; `--json` writes it as it is.
#[derive(Default, serde::Serialize)]
pub(crate) struct Figures {
    pub(crate) load_average_before: String,
    pub(crate) load_average_after: String,
    pub(crate) cores: usize,
    pub(crate) indexing: Vec<Indexing>,
    pub(crate) serving: Vec<Serving>,
    pub(crate) ripgrep_ms_p50: Option<f64>,
    pub(crate) changed_file_ms: Vec<f64>,
    pub(crate) restart_ready_ms: f64,
    pub(crate) memory_after_load: Usage,
    pub(crate) learning: Option<Learning>,
}

#[derive(serde::Serialize)]
pub(crate) struct Indexing {
    pub(crate) who: &'static str,
    pub(crate) text_mb: f64,
    pub(crate) documents: u64,
    pub(crate) wall_s: f64,
    pub(crate) usage: Usage,
    pub(crate) index_mb: f64,
}

#[derive(serde::Serialize)]
pub(crate) struct Serving {
    pub(crate) who: &'static str,
    pub(crate) connections: usize,
    pub(crate) rounds: Vec<Load>,
}

/// What learning the concepts of the folder took.
#[derive(serde::Serialize)]
pub(crate) struct Learning {
    pub(crate) documents: u64,
    pub(crate) wall_s: f64,
    pub(crate) usage: Usage,
    pub(crate) memory_after_load: Usage,
}

/// The value at a share of the sorted values.
pub(crate) fn quantile(values: &mut [f64], at: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values
        .get(((values.len() as f64 - 1.0) * at).round() as usize)
        .copied()
        .unwrap_or(0.0)
}

/// Prints everything.
pub(crate) fn print(figures: &Figures) {
    println!(
        "\nmachine: {} cores; load average before {} after {}",
        figures.cores, figures.load_average_before, figures.load_average_after
    );
    println!(
        "\n{:<36} {:>8} {:>9} {:>8} {:>8} {:>11} {:>9} {:>9}",
        "indexing", "text MB", "documents", "wall s", "CPU s", "MB/CPU s", "peak MB", "index %"
    );
    for row in &figures.indexing {
        println!(
            "{:<36} {:>8.0} {:>9} {:>8.1} {:>8.1} {:>11.1} {:>9.0} {:>9.1}",
            row.who,
            row.text_mb,
            row.documents,
            row.wall_s,
            row.usage.cpu_s,
            row.text_mb / row.usage.cpu_s.max(0.01),
            row.usage.peak_mb,
            100.0 * row.index_mb / row.text_mb.max(0.01)
        );
    }
    println!(
        "\n{:<42} {:>11} {:>11} {:>9} {:>9} {:>7}",
        "searching over HTTP (medians)", "connections", "requests/s", "p50 ms", "p99 ms", "failed"
    );
    for row in &figures.serving {
        let median = |pick: fn(&Load) -> f64| {
            quantile(&mut row.rounds.iter().map(pick).collect::<Vec<_>>(), 0.5)
        };
        println!(
            "{:<42} {:>11} {:>11.0} {:>9.3} {:>9.3} {:>7}",
            row.who,
            row.connections,
            median(|l| l.requests_per_s),
            median(|l| l.p50_ms),
            median(|l| l.p99_ms),
            row.rounds.iter().map(|l| l.failed).sum::<usize>()
        );
    }
    if let Some(ms) = figures.ripgrep_ms_p50 {
        println!("\nripgrep -il, one word: p50 {ms:.0} ms");
    }
    let mut changed = figures.changed_file_ms.clone();
    println!(
        "changed file found after: p50 {:.1} ms, p99 {:.1} ms ({} changes)",
        quantile(&mut changed, 0.5),
        quantile(&mut changed, 0.99),
        changed.len()
    );
    println!("restart until /readyz: {:.0} ms", figures.restart_ready_ms);
    let memory = figures.memory_after_load;
    println!(
        "memory after load: {:.0} MB of its own, {:.0} MB of mapped files, peak {:.0} MB",
        memory.anon_mb, memory.file_mb, memory.peak_mb
    );
    if let Some(learning) = &figures.learning {
        println!(
            "\nconcepts of {} documents: {:.0} CPU s in {:.0} s, peak {:.0} MB; after load {:.0} MB of its own, {:.0} MB mapped",
            learning.documents,
            learning.usage.cpu_s,
            learning.wall_s,
            learning.usage.peak_mb,
            learning.memory_after_load.anon_mb,
            learning.memory_after_load.file_mb,
        );
    }
}
