//! `options` of a container: those of `docker create`, each with what is done with it here.

use super::ports::{self, PortRequest};
use super::words;

/// What is done with an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptionHandling {
    /// Given to the engine.
    Pass,
    /// A name by which other containers reach it.
    Alias,
    /// A port.
    Publish,
    /// These are given to the engine in its place, and what is missing is noted.
    Replace(&'static [&'static str], &'static str),
    /// Nothing: the reason is noted.
    Note(&'static str),
    /// The job is refused.
    Refuse(&'static str),
}

use OptionHandling::{Alias, Note, Pass, Publish, Refuse, Replace};

const LIMIT: &str = "limits of containers are not applied: the machine's own hold for all of them";
const NETWORK: &str =
    "containers of a job share one network, as on GitHub; `--network-alias` names one in it";
const ENGINE: &str = "it is the runner's to say";

/// Options with a value: name, short name, treatment.
const WITH_VALUE: &[(&str, &str, OptionHandling)] = &[
    ("add-host", "", Pass),
    ("annotation", "", Pass),
    ("blkio-weight", "", Note(LIMIT)),
    ("cap-add", "", Pass),
    ("cap-drop", "", Pass),
    ("cgroup-parent", "", Refuse(ENGINE)),
    ("cgroupns", "", Note(LIMIT)),
    ("cidfile", "", Refuse(ENGINE)),
    ("cpu-period", "", Note(LIMIT)),
    ("cpu-quota", "", Note(LIMIT)),
    ("cpu-shares", "c", Note(LIMIT)),
    ("cpus", "", Note(LIMIT)),
    ("cpuset-cpus", "", Note(LIMIT)),
    ("cpuset-mems", "", Note(LIMIT)),
    ("device", "", Pass),
    (
        "dns",
        "",
        Note("names are looked up by the proxy of the machine"),
    ),
    (
        "dns-option",
        "",
        Note("names are looked up by the proxy of the machine"),
    ),
    (
        "dns-search",
        "",
        Note("names are looked up by the proxy of the machine"),
    ),
    ("entrypoint", "", Pass),
    ("env", "e", Pass),
    ("env-file", "", Pass),
    (
        "expose",
        "",
        Note("every port is reached in the job's network"),
    ),
    ("gpus", "", Refuse("machines have no graphics cards")),
    ("group-add", "", Pass),
    ("health-cmd", "", Pass),
    ("health-interval", "", Pass),
    ("health-retries", "", Pass),
    ("health-start-period", "", Pass),
    ("health-timeout", "", Pass),
    ("hostname", "h", Pass),
    (
        "ip",
        "",
        Refuse("addresses are the runner's to say: use the service's name"),
    ),
    (
        "ip6",
        "",
        Refuse("addresses are the runner's to say: use the service's name"),
    ),
    ("ipc", "", Pass),
    ("label", "l", Pass),
    ("link", "", Refuse("services are reached by their names")),
    (
        "log-driver",
        "",
        Note("output is kept for the log of the run"),
    ),
    ("log-opt", "", Note("output is kept for the log of the run")),
    ("mac-address", "", Refuse(NETWORK)),
    ("memory", "m", Note(LIMIT)),
    ("memory-reservation", "", Note(LIMIT)),
    ("memory-swap", "", Note(LIMIT)),
    ("memory-swappiness", "", Note(LIMIT)),
    ("mount", "", Pass),
    ("name", "", Alias),
    ("network", "", Refuse(NETWORK)),
    ("net", "", Refuse(NETWORK)),
    ("network-alias", "", Alias),
    ("net-alias", "", Alias),
    ("oom-score-adj", "", Note(LIMIT)),
    ("pid", "", Refuse("a container sees its own processes only")),
    ("pids-limit", "", Note(LIMIT)),
    ("platform", "", Pass),
    ("publish", "p", Publish),
    ("pull", "", Note("images come from the runner's store")),
    (
        "restart",
        "",
        Note("a service that ends during a job is not started again"),
    ),
    ("runtime", "", Refuse(ENGINE)),
    (
        "security-opt",
        "",
        Note("what keeps a job apart is its machine"),
    ),
    ("shm-size", "", Pass),
    ("stop-signal", "", Pass),
    ("stop-timeout", "", Pass),
    ("storage-opt", "", Note(LIMIT)),
    ("sysctl", "", Pass),
    ("tmpfs", "", Pass),
    ("ulimit", "", Pass),
    ("user", "u", Pass),
    ("userns", "", Refuse(ENGINE)),
    ("uts", "", Refuse(ENGINE)),
    ("volume", "v", Pass),
    (
        "volumes-from",
        "",
        Refuse("containers of a job share volumes by name"),
    ),
    ("workdir", "w", Pass),
];

/// Options without a value, or with `=true` and `=false`.
const SWITCHES: &[(&str, &str, OptionHandling)] = &[
    ("init", "", Pass),
    ("interactive", "i", Pass),
    ("no-healthcheck", "", Pass),
    ("oom-kill-disable", "", Note(LIMIT)),
    (
        "privileged",
        "",
        Replace(
            &["--cap-add=ALL", "--security-opt=seccomp=unconfined"],
            "gives all rights of the job's user namespace: no devices, and `/sys` cannot be written",
        ),
    ),
    ("publish-all", "P", Note("name the ports in `ports`")),
    ("read-only", "", Pass),
    ("rm", "", Note("everything is removed with the machine")),
    ("tty", "t", Pass),
];

/// `options`, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContainerOptions {
    /// Given to the engine as they stand, each with its value in the same word.
    pub engine: Vec<String>,
    /// Names in the job's network.
    pub aliases: Vec<String>,
    /// Ports.
    pub ports: Vec<PortRequest>,
    /// What is not done, and no reason to refuse the job.
    pub notes: Vec<String>,
}

/// Reads `options`.
///
/// # Errors
/// What is wrong or not to be had, for people.
pub fn parse(line: &str) -> Result<ContainerOptions, String> {
    let words = words::split(line).map_err(|error| format!("options: {error}"))?;
    let mut words = words.into_iter();
    let mut options = ContainerOptions::default();
    while let Some(word) = words.next() {
        let quoted = config_core::quoted(&word);
        let unknown = || format!("options: {quoted} is no option of `docker create`");
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let short = name.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let (name, value) = match (name.strip_prefix("--"), short) {
            (Some(long), _) => (long.to_owned(), value),
            // `-p80:80`, `-it`
            (None, Some(short)) => match split_short(short) {
                Some(ShortOption::One(name, rest)) => {
                    let rest = rest.map(|rest| match &value {
                        Some(value) => format!("{rest}={value}"),
                        None => rest,
                    });
                    (name, rest.or(value))
                }
                Some(ShortOption::Switches(names)) => {
                    for name in names {
                        apply(&mut options, &name, Pass, None)?;
                    }
                    continue;
                }
                None => return Err(unknown()),
            },
            (None, None) => return Err(unknown()),
        };
        if let Some((_, _, treatment)) = SWITCHES.iter().find(|(known, ..)| *known == name) {
            apply(&mut options, &name, *treatment, value)?;
            continue;
        }
        let entry = WITH_VALUE.iter().find(|(known, ..)| *known == name);
        let Some((_, _, treatment)) = entry else {
            return Err(unknown());
        };
        let Some(value) = value.or_else(|| words.next()) else {
            return Err(format!("options: `--{name}` has no value"));
        };
        apply(&mut options, &name, *treatment, Some(value))?;
    }
    Ok(options)
}

enum ShortOption {
    One(String, Option<String>),
    Switches(Vec<String>),
}

/// One short option with what follows it, or several switches.
fn split_short(text: &str) -> Option<ShortOption> {
    let first = text.get(..1)?;
    let rest = text.get(1..).filter(|rest| !rest.is_empty());
    if let Some((name, ..)) = WITH_VALUE.iter().find(|(_, short, _)| *short == first) {
        return Some(ShortOption::One(
            (*name).to_owned(),
            rest.map(str::to_owned),
        ));
    }
    let switch = |letter: char| {
        let mut switches = SWITCHES.iter();
        let found = switches.find(|(_, short, _)| short.chars().eq([letter]));
        found.map(|(name, ..)| (*name).to_owned())
    };
    text.chars()
        .map(switch)
        .collect::<Option<_>>()
        .map(ShortOption::Switches)
}

fn apply(
    options: &mut ContainerOptions,
    name: &str,
    treatment: OptionHandling,
    value: Option<String>,
) -> Result<(), String> {
    match (treatment, value) {
        (Pass, Some(value)) => options.engine.push(format!("--{name}={value}")),
        (Pass, None) => options.engine.push(format!("--{name}")),
        (Replace(..), Some(value)) if value == "false" => {}
        (Replace(words, lacking), _) => {
            options.engine.extend(words.iter().map(ToString::to_string));
            options.notes.push(format!("`--{name}` {lacking}"));
        }
        (Alias, value) => options.aliases.extend(value),
        (Publish, value) => {
            let ports = ports::parse(&value.unwrap_or_default())?;
            options.ports.extend(ports);
        }
        (Note(reason), _) => options
            .notes
            .push(format!("`--{name}` has no effect: {reason}")),
        (Refuse(reason), _) => return Err(format!("options: `--{name}`: {reason}")),
    }
    Ok(())
}
