//! What every Prometheus client says of its process, under the standard names.

use std::collections::HashMap;
use std::fs;

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;

use crate::figures::{counters, gauges};

/// The figures of this process, read when somebody asks for them. Nothing is shown where the system
/// does not tell.
#[derive(Debug)]
pub(crate) struct ProcessFigures(Desc);

impl ProcessFigures {
    pub(crate) fn new() -> Self {
        // Families are made when they are collected. A registry takes one collector without a
        // description, and that is the product's own.
        let desc = Desc::new(
            CPU.to_owned(),
            CPU_HELP.to_owned(),
            Vec::new(),
            HashMap::new(),
        );
        Self(desc.expect("the name is valid"))
    }
}

const CPU: &str = "process_cpu_seconds_total";
const CPU_HELP: &str = "Time of all cores that was used, in the program and for it in the kernel.";

impl Collector for ProcessFigures {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.0]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let units = Units {
            ticks: rustix::param::clock_ticks_per_second() as f64,
            page: rustix::param::page_size() as f64,
            booted: booted(&text("/proc/stat")),
        };
        let mut families = of_stat(&text("/proc/self/stat"), &units);
        // The folder that is being read is open as well.
        let open = fs::read_dir("/proc/self/fd").map(|files| files.count().saturating_sub(1));
        let open = open.ok().map(|open| open as f64);
        families.extend(gauge(
            "process_open_fds",
            "Open files and connections.",
            open,
        ));
        let most = Some(crate::serve::open_files() as f64);
        families.extend(gauge("process_max_fds", "The most that may be open.", most));
        families
    }
}

/// What the numbers of the kernel are counted in.
struct Units {
    ticks: f64,
    page: f64,
    /// When the machine was started, in seconds since 1970.
    booted: Option<f64>,
}

/// The line `btime` of `/proc/stat`.
fn booted(stat: &str) -> Option<f64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

/// From `/proc/self/stat` (proc_pid_stat(5)). The name in parentheses may hold anything,
/// parentheses too.
fn of_stat(stat: &str, units: &Units) -> Vec<MetricFamily> {
    let Some((_, rest)) = stat.rsplit_once(") ") else {
        return Vec::new();
    };
    // The first of these is the third field of the page.
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    let cpu = number(14).zip(number(15));
    let cpu = cpu.map(|(user, system)| (user + system) / units.ticks);
    let started = number(22).zip(units.booted);
    let started = started.map(|(ticks, booted)| booted + ticks / units.ticks);
    let cpu = cpu.map(|seconds| counters(CPU, CPU_HELP, "", [("", seconds)]));
    cpu.into_iter()
        .chain(gauge("process_threads", "Threads.", number(20)))
        .chain(gauge(
            "process_start_time_seconds",
            "When the process was started, in seconds since 1970.",
            started,
        ))
        .chain(gauge(
            "process_virtual_memory_bytes",
            "Addresses that are in use.",
            number(23),
        ))
        .chain(gauge(
            "process_resident_memory_bytes",
            "Memory that is in use.",
            number(24).map(|pages| pages * units.page),
        ))
        .collect()
}

fn gauge(name: &str, help: &str, value: Option<f64>) -> Option<MetricFamily> {
    value.map(|value| gauges(name, help, "", [("", value)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(families: &[MetricFamily], name: &str) -> Option<f64> {
        let family = families.iter().find(|family| family.name() == name)?;
        let metric = family.get_metric().first()?;
        let counter = metric.get_counter().get_value();
        Some(if counter == 0.0 {
            metric.get_gauge().get_value()
        } else {
            counter
        })
    }

    #[test]
    fn y9_the_kernel_s_numbers_are_read_whatever_the_program_is_called() {
        let mut fields = vec!["0"; 50];
        for (field, text) in [
            (14, "250"),
            (15, "50"),
            (20, "7"),
            (22, "1000"),
            (23, "8192"),
            (24, "3"),
        ] {
            fields[field - 3] = text;
        }
        let units = Units {
            ticks: 100.0,
            page: 4096.0,
            booted: Some(1_000_000.0),
        };
        for name in ["x", "a) R 1 (b", "tokio worker"] {
            let families = of_stat(&format!("42 ({name}) {}", fields.join(" ")), &units);
            for (figure, expected) in [
                ("process_cpu_seconds_total", 3.0),
                ("process_threads", 7.0),
                ("process_start_time_seconds", 1_000_010.0),
                ("process_virtual_memory_bytes", 8_192.0),
                ("process_resident_memory_bytes", 12_288.0),
            ] {
                assert_eq!(value(&families, figure), Some(expected), "{figure}");
            }
        }
        assert!(of_stat("", &units).is_empty());
        assert_eq!(booted("cpu 1 2\nbtime 1700000000\n"), Some(1_700_000_000.0));
    }

    #[test]
    fn y9_this_process_tells_its_figures() {
        let families = ProcessFigures::new().collect();
        for figure in [
            "process_threads",
            "process_resident_memory_bytes",
            "process_virtual_memory_bytes",
            "process_start_time_seconds",
            "process_open_fds",
            "process_max_fds",
        ] {
            let value = value(&families, figure).unwrap_or_default();
            assert!(value >= 1.0, "{figure}: {value}");
        }
        let cpu = |family: &MetricFamily| family.name() == "process_cpu_seconds_total";
        assert!(families.iter().any(cpu));
    }
}
