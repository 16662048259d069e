//! What grows with the corpus: queries, one change, ten thousand, a restart, memory.
//!
//! `cargo bench -p search-actors --bench growth -- FOLDER… [--documents 10000,100000]
//! [--keep HOME]`
//!
//! For each number of documents the texts of the folders are cut into so many sections, each a file
//! of its own; a process indexes and learns them, is asked, and follows changes; another one starts
//! on what that has left. CPU, written bytes and memory are the kernel's counts of the process.
//! With `--keep` documents and index stay there, in a folder for each number; `--stage grow HOME/N
//! N` measures such a folder again.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

mod corpus;
#[path = "../support/cpu.rs"]
mod cpu;
mod queries;
mod random;
#[path = "../support/role.rs"]
mod role;
mod stages;
mod usage;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// That of the programs: after indexing and learning the system's own fills what a change needs for
/// a moment in memory that is scattered and cold.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Has freed memory go back at once, as the programs do.
const PURGE_AT_ONCE: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "0");

/// Numbers of documents where none are given.
const DOCUMENTS: [usize; 2] = [10_000, 100_000];

/// A line of the table: its name, and its value for each number of documents.
type Rows = Vec<(String, Vec<String>)>;

fn main() {
    let (mut folders, mut documents) = (Vec::<PathBuf>::new(), DOCUMENTS.to_vec());
    let mut keep: Option<PathBuf> = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--documents" => {
                let list = arguments.next().unwrap_or_default();
                let numbers = list.split(',').map(|one| one.trim().parse());
                documents = numbers.collect::<Result<_, _>>().unwrap_or_default();
            }
            "--keep" => keep = arguments.next().map(PathBuf::from),
            "--stage" => {
                let [stage, home, count] = [(); 3].map(|()| arguments.next().unwrap());
                stages::run(&stage, Path::new(&home), count.parse().unwrap());
                return;
            }
            _ => folders.push(argument.into()),
        }
    }
    if folders.is_empty() || documents.is_empty() {
        println!("usage: growth FOLDER… [--documents 10000,100000] [--keep HOME]");
        return;
    }
    let mut rows = Rows::new();
    for wanted in documents {
        match &keep {
            Some(keep) => {
                let home = keep.join(wanted.to_string());
                std::fs::create_dir_all(&home).unwrap();
                measure(&folders, wanted, &home, &mut rows);
            }
            None => {
                let home = tempfile::tempdir().unwrap();
                measure(&folders, wanted, home.path(), &mut rows);
            }
        }
    }
    println!();
    for (name, values) in rows {
        let values: String = values.iter().map(|value| format!("{value:>12}")).collect();
        println!("{name:44}{values}");
    }
}

/// Makes the documents in a folder, and has them measured by processes of their own.
fn measure(folders: &[PathBuf], wanted: usize, home: &Path, rows: &mut Rows) {
    let files = home.join("files");
    std::fs::create_dir(&files).unwrap();
    let (count, sample) = corpus::write(folders, wanted, &files);
    if count < wanted {
        println!("the folders hold text for {count} documents, not for {wanted}");
    }
    sample.save(&home.join("sample"));
    for stage in stages::STAGES {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--stage", stage]).arg(home);
        command.env(PURGE_AT_ONCE.0, PURGE_AT_ONCE.1);
        let output = command.arg(count.to_string()).stderr(Stdio::inherit());
        let output = output.output().unwrap();
        assert!(output.status.success(), "{stage}: {}", output.status);
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            println!("  {count} documents: {line}");
            if let Some((name, value)) = line.split_once('\t') {
                add(rows, name, value);
            }
        }
    }
}

fn add(rows: &mut Rows, name: &str, value: &str) {
    match rows.iter_mut().find(|(known, _)| known == name) {
        Some((_, values)) => values.push(value.to_owned()),
        None => rows.push((name.to_owned(), vec![value.to_owned()])),
    }
}
