//! CPU time of this process, as the kernel counts it.

/// Ticks of the clock of `/proc/self/stat` a second; 100 on every Linux of today.
const TICKS: f64 = 100.0;

/// User and system time of all threads, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    let [user, system] = fields([11, 12]);
    (user + system) as f64 / TICKS
}

/// Pages that were not mapped when they were touched, whether they had to be read or not.
#[allow(dead_code, reason = "not every benchmark counts them")]
pub(crate) fn page_faults() -> u64 {
    fields([7, 9]).iter().sum()
}

/// Numbers of `/proc/self/stat`, by their places behind the name.
fn fields<const N: usize>(places: [usize; N]) -> [u64; N] {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name of the program may hold blanks; it ends with the last bracket.
    let behind = stat.rsplit(')').next().unwrap();
    let fields: Vec<&str> = behind.split_whitespace().collect();
    places.map(|place| fields[place].parse().unwrap())
}
