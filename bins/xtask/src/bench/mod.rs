//! `cargo xtask bench`: the benchmarks, with the machine they ran on; `--record` keeps the figures.

mod catalog;
mod collections;
mod growth;
mod machine;
mod places;
pub(crate) mod record;
#[cfg(test)]
mod tests;

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::Args;

use self::catalog::BenchmarkChoice;
use self::collections::collections;
use self::machine::BenchMachine;
use self::places::{label, without_places};
use self::record::BenchRecord;
use crate::project::ProjectCheckout;
use crate::{docs, install, prerequisites, shell, terminal};

/// Lines of the log that the application is measured with.
const LOG_LINES: &str = "1000000";

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct BenchOptions {
    #[command(subcommand)]
    which: BenchmarkChoice,
    /// Keep the output in docs/benchmarks/ and write docs/BENCHMARKS.md from it
    #[arg(long, global = true)]
    record: bool,
}

/// What a benchmark is run by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    /// `cargo bench`: a benchmark of the package.
    Bench,
    /// `cargo test --release`: a test of the package that says what it measured.
    Test,
    /// `node`: a script below web/ui/bench.
    Page,
}

/// One benchmark to run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Job {
    name: String,
    title: String,
    tool: Tool,
    package: &'static str,
    bench: &'static str,
    folder: Option<PathBuf>,
    /// Folders beside the first.
    others: Vec<PathBuf>,
    /// Options of the benchmark.
    options: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// When a folder is missing, or a benchmark cannot be built or fails.
pub(crate) fn run(project: &ProjectCheckout, options: &BenchOptions) -> Result<ExitCode> {
    let jobs = jobs(&options.which)?;
    let machine = BenchMachine::this(project);
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

fn jobs(which: &BenchmarkChoice) -> Result<Vec<Job>> {
    Ok(match which {
        BenchmarkChoice::Supervision => {
            vec![job("supervision", "Supervision", "supervision", "messages")]
        }
        BenchmarkChoice::Store => vec![job("store", "Durable appends", "store", "appends")],
        BenchmarkChoice::Edge => vec![job("edge", "The HTTP edge", "edge-web", "edge")],
        BenchmarkChoice::Vm => vec![job("vm", "Virtual machines", "vm-engine", "vm")],
        BenchmarkChoice::Intake => {
            let title = "The runner's receiver";
            vec![job("intake", title, "runner-web", "intake")]
        }
        BenchmarkChoice::Engines => engines(),
        BenchmarkChoice::Matrix => vec![job("matrix", "A large matrix", "runner-actors", "matrix")],
        BenchmarkChoice::StoredRuns => {
            let title = "Many stored runs";
            vec![job("stored-runs", title, "runner-actors", "stored_runs")]
        }
        BenchmarkChoice::Costs => vec![job("costs", "What steps cost", "workflow-runner", "costs")],
        BenchmarkChoice::Orchestrator => {
            let name = "orchestrator";
            vec![job(name, "The orchestrator", name, name)]
        }
        BenchmarkChoice::Index { folder } => {
            vec![job("index", "Indexing", "search-engine", "index").in_directory(folder)?]
        }
        BenchmarkChoice::Freshness { folder } => {
            let title = "Search over machines";
            let job = job("freshness", title, "search-server", "freshness");
            vec![
                folder
                    .iter()
                    .try_fold(job, |job, folder| job.in_directory(folder))?,
            ]
        }
        BenchmarkChoice::Searchers {
            folder,
            documents,
            texts,
            parts,
            bucket,
            endpoint,
        } => {
            let storage = storage_arguments(bucket.as_ref(), endpoint.as_deref());
            searchers((folder.as_deref(), *parts), *documents, texts)?
                .into_iter()
                .map(|job| job.with(storage.clone()))
                .collect()
        }
        BenchmarkChoice::Concepts => {
            let title = "Concepts, suggestions, learning";
            vec![job("concepts", title, "search-graph-engine", "speed")]
        }
        BenchmarkChoice::Search { folder, concepts } => {
            let title = "The whole search server";
            let job = job("search", title, "integration-tests", "search");
            vec![
                job.with(concepts.then_some("--concepts"))
                    .in_directory(folder)?,
            ]
        }
        BenchmarkChoice::Identifiers { folders, misses } => {
            vec![identifiers(folders)?.with(misses.then_some("--misses"))]
        }
        BenchmarkChoice::Code {
            folder,
            misses,
            minilm,
        } => vec![code_search(folder, *misses, *minilm)?],
        BenchmarkChoice::Questions { folders, misses } => {
            vec![questions(folders)?.with(misses.then_some("--misses"))]
        }
        BenchmarkChoice::Growth { folders, documents } => vec![growth(folders, documents)?],
        BenchmarkChoice::Faces { folders } => faces(folders)?,
        BenchmarkChoice::Relevance { folder, minilm } => relevance_of_all(folder, *minilm)?,
        BenchmarkChoice::All { files, collections } => {
            all_jobs(files.as_ref(), collections.as_ref())?
        }
    })
}

/// Ranking quality on each collection of a folder.
fn relevance_of_all(folder: &Path, minilm: bool) -> Result<Vec<Job>> {
    let all = collections(folder)?.into_iter();
    all.map(|folder| Ok(relevance(&folder)?.with(minilm.then_some("--minilm"))))
        .collect()
}

/// What the benchmark of searchers is told of the object storage.
fn storage_arguments(bucket: Option<&Option<String>>, endpoint: Option<&str>) -> Vec<String> {
    let bucket = bucket.map(|url| match url {
        Some(url) => format!("--bucket={url}"),
        None => "--bucket".to_owned(),
    });
    let endpoint = endpoint.into_iter();
    let endpoint = endpoint.flat_map(|url| ["--endpoint".to_owned(), url.to_owned()]);
    bucket.into_iter().chain(endpoint).collect()
}

/// The code benchmark over a folder.
fn code_search(folder: &Path, misses: bool, minilm: bool) -> Result<Job> {
    let job = job("code", "Code search", "search-actors", "code");
    let job = job.with(misses.then_some("--misses"));
    job.with(minilm.then_some("--minilm")).in_directory(folder)
}

/// Every benchmark that needs no folder, and those whose folders are given.
fn all_jobs(files: Option<&PathBuf>, collections: Option<&PathBuf>) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for which in [
        BenchmarkChoice::Supervision,
        BenchmarkChoice::Store,
        BenchmarkChoice::Edge,
        BenchmarkChoice::Vm,
        BenchmarkChoice::Intake,
        BenchmarkChoice::Matrix,
        BenchmarkChoice::Freshness { folder: None },
        BenchmarkChoice::Concepts,
        BenchmarkChoice::Orchestrator,
    ] {
        jobs.extend(self::jobs(&which)?);
    }
    if let Some(folder) = collections {
        jobs.extend(self::jobs(&BenchmarkChoice::Relevance {
            folder: folder.clone(),
            minilm: false,
        })?);
    }
    if let Some(folder) = files {
        jobs.extend(self::jobs(&BenchmarkChoice::Index {
            folder: folder.clone(),
        })?);
        jobs.extend(self::jobs(&BenchmarkChoice::Search {
            folder: folder.clone(),
            concepts: false,
        })?);
    }
    Ok(jobs)
}

fn job(name: &str, title: &str, package: &'static str, bench: &'static str) -> Job {
    Job {
        name: name.to_owned(),
        title: title.to_owned(),
        tool: Tool::Bench,
        package,
        bench,
        folder: None,
        others: Vec::new(),
        options: Vec::new(),
    }
}

/// The same work over each engine of the store, then several processes on PostgreSQL.
fn engines() -> Vec<Job> {
    let over = |name, title, package, bench| job(name, title, package, bench).with(["--engines"]);
    let (webhooks, dispatches) = ("Webhooks over both engines", "Dispatches over both engines");
    let standby = "What a standby costs, and how soon it leads";
    vec![
        over("engines-intake", webhooks, "runner-web", "intake"),
        over(
            "engines-dispatch",
            dispatches,
            "orchestrator",
            "orchestrator",
        ),
        job("engines-standby", standby, "workflow-runner", "standby"),
    ]
}

fn relevance(folder: &Path) -> Result<Job> {
    let label = label(folder);
    let job = job(
        &format!("relevance-{label}"),
        &format!("Relevance: {label}"),
        "search-graph-engine",
        "relevance",
    );
    job.in_directory(folder)
}

fn identifiers(folders: &[PathBuf]) -> Result<Job> {
    let title = "Identifiers and names";
    let mut job = job("identifiers", title, "search-actors", "identifiers");
    for folder in folders {
        job = job.in_directory(folder)?;
    }
    Ok(job)
}

fn growth(folders: &[PathBuf], documents: &str) -> Result<Job> {
    growth::check_documents(documents)?;
    let title = "Growth with the number of documents";
    let mut job = job("growth", title, "search-actors", "growth");
    for folder in &growth::folders(folders)? {
        job = job.in_directory(folder)?;
    }
    Ok(job.with(["--documents", documents]))
}

/// Searchers beside one machine: one job a collection, and one over many documents.
fn searchers(
    (folder, parts): (Option<&Path>, NonZeroU32),
    documents: Option<NonZeroUsize>,
    texts: &[PathBuf],
) -> Result<Vec<Job>> {
    let named = |name: &str, title: &str| job(name, title, "search-server", "searchers");
    let mut jobs = Vec::new();
    for folder in folder.map(collections).transpose()?.unwrap_or_default() {
        let label = label(&folder);
        let title = format!("Searchers beside one machine: {label}");
        let job = named(&format!("searchers-{label}"), &title).in_directory(&folder)?;
        jobs.push(job.with(["--parts".to_owned(), parts.to_string()]));
    }
    if let Some(documents) = documents {
        let mut many = named("searchers-documents", "Searchers over many documents");
        for folder in growth::folders(texts)? {
            many = many.in_directory(&folder)?;
        }
        jobs.push(many.with(["--documents".to_owned(), documents.to_string()]));
    }
    if jobs.is_empty() {
        bail!("name a folder of judged collections, or --documents 90000");
    }
    Ok(jobs)
}

/// Questions over the folders named, or over the project and the toolchain's documentation.
fn questions(folders: &[PathBuf]) -> Result<Job> {
    let mut folders = folders.to_vec();
    if folders.is_empty() {
        folders = vec![PathBuf::from("."), growth::documentation()?];
    }
    let title = "Questions of a user's day";
    let mut job = job("questions", title, "search-actors", "questions");
    for folder in &folders {
        job = job.in_directory(folder)?;
    }
    Ok(job)
}

/// The application over a search server, and its page of a run with a long log.
fn faces(folders: &[PathBuf]) -> Result<Vec<Job>> {
    let mut page = job("faces", "The web application", "ui", "faces");
    page.tool = Tool::Page;
    for folder in folders {
        page = page.in_directory(folder)?;
    }
    let title = "The log of a run in the web application";
    let mut log = job("faces-log", title, "runner-web", "runner");
    log.tool = Tool::Test;
    Ok(vec![page, log])
}

impl Job {
    /// The benchmark on a folder, or on one more.
    fn in_directory(mut self, folder: &Path) -> Result<Self> {
        let folder = folder
            .canonicalize()
            .with_context(|| format!("{} cannot be opened", folder.display()))?;
        match self.folder {
            None => self.folder = Some(folder),
            Some(_) => self.others.push(folder),
        }
        Ok(self)
    }

    fn with(mut self, options: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.options.extend(options.into_iter().map(Into::into));
        self
    }

    /// The arguments of cargo, with the folders as `name` writes them.
    fn arguments(&self, name: impl Fn(&Path) -> String) -> Vec<String> {
        let script = format!("web/ui/bench/{}.mjs", self.bench);
        let (package, bench) = (self.package, self.bench);
        let arguments = match self.tool {
            Tool::Bench => vec!["bench", "-p", package, "--bench", bench],
            Tool::Test => {
                let mut test = vec!["test", "--release", "-p", package, "--test", bench];
                test.extend(["application::", "--", "--nocapture"]);
                test
            }
            Tool::Page => vec![script.as_str()],
        };
        let mut arguments: Vec<String> = arguments.into_iter().map(str::to_owned).collect();
        let mut own: Vec<String> = self.folders().map(name).collect();
        own.extend_from_slice(&self.options);
        if !own.is_empty() {
            arguments.extend((self.tool == Tool::Bench).then(|| "--".to_owned()));
            arguments.extend(own);
        }
        arguments
    }

    const fn program(&self) -> &'static str {
        match self.tool {
            Tool::Bench | Tool::Test => "cargo",
            Tool::Page => "node",
        }
    }

    /// The program beside its own that it starts.
    fn real_program(&self) -> Option<&'static str> {
        match self.bench {
            "costs" => Some("vm-manager"),
            bench => (bench == "search" || self.tool == Tool::Page).then_some("search-server"),
        }
    }

    fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folder.iter().chain(&self.others).map(PathBuf::as_path)
    }
}

fn measure(project: &ProjectCheckout, job: &Job, machine: &BenchMachine) -> Result<BenchRecord> {
    if let Some(program) = job.real_program() {
        let build = ["build", "--release", "-p", program];
        shell::run(&mut shell::cargo(&project.root, &build))?;
    }
    let arguments = job.arguments(|folder| folder.to_string_lossy().into_owned());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let load_before = machine::load();
    let mut command = match job.tool {
        Tool::Page => {
            let node = install::program(&["node"], "nodejs")?;
            let mut command = shell::command(&node.to_string_lossy(), &project.root);
            command.args(&arguments);
            command
        }
        Tool::Bench | Tool::Test => shell::cargo(&project.root, &arguments),
    };
    command.env_remove("CARGO_TERM_COLOR");
    if job.tool != Tool::Bench {
        browser(project, &mut command)?;
    }
    if matches!(job.bench, "vm" | "costs") {
        prerequisites::prepare_machines()?;
        command.env("ORRERY_CACHE", &project.cache);
        command.env("ORRERY_VM_GUEST", prerequisites::vm_guest(project)?);
    }
    if job.options.iter().any(|option| option == "--minilm") {
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
    Ok(BenchRecord {
        name: job.name.clone(),
        title: job.title.clone(),
        command: format!("{} {}", job.program(), job.arguments(label).join(" ")),
        date: shell::first_line("date", &["-u", "+%Y-%m-%d"]).unwrap_or_default(),
        machine: machine.lines(),
        load_before,
        load_after,
        output: without_places(&finished.out, project, job.folders()),
    })
}

/// What tests and measurements in a browser want to know.
fn browser(project: &ProjectCheckout, command: &mut Command) -> Result<()> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    command.env("CHROMIUM", install::program(&names, "chromium")?);
    let (package, version) = prerequisites::PLAYWRIGHT;
    command.env(
        "NODE_PATH",
        install::node_package(project, package, version)?,
    );
    let server = project.target()?.join("release/search-server");
    command.env("SEARCH_SERVER", server);
    command.env("ORRERY_LOG_LINES", LOG_LINES);
    Ok(())
}
