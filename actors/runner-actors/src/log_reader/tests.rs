//! Logs that are read by line, and how long that takes.

use super::*;

fn written(lines: &[(&str, u32, LineKind, &str)]) -> (tempfile::TempDir, LogReader) {
    let folder = tempfile::tempdir().unwrap();
    let logs = Logs::open(folder.path()).unwrap();
    let reader = LogReader::new(logs);
    add(&reader, lines);
    (folder, reader)
}

fn add(reader: &LogReader, lines: &[(&str, u32, LineKind, &str)]) {
    use std::io::Write;
    let path = reader.logs.path("r");
    let mut file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    for (number, (job, step, kind, text)) in lines.iter().enumerate() {
        let line = LogLine {
            at: number as u64,
            job: (*job).to_owned(),
            step: *step,
            kind: *kind,
            text: (*text).to_owned(),
        };
        serde_json::to_writer(&mut file, &line).unwrap();
        file.write_all(b"\n").unwrap();
    }
}

fn texts(range: &LogRange) -> Vec<(usize, &str)> {
    let lines = range.lines.iter();
    lines
        .map(|line| (line.n, line.line.text.as_str()))
        .collect()
}

const A: SectionName<'_> = SectionName { job: "a", step: 1 };

#[test]
fn lines_of_a_step_are_read_by_number_also_while_it_writes() {
    use LineKind::{Error, Group, Out};
    let (_folder, reader) = written(&[
        ("a", 1, Group, "Build"),
        ("a", 1, Out, "one"),
        ("b", 1, Out, "other"),
        ("a", 1, Out, "two"),
        ("a", 1, Error, "broken"),
    ]);
    let range = reader.range("r", Some(A), (2, 10)).unwrap();
    assert_eq!(
        (range.total, texts(&range)),
        (3, vec![(2, "two"), (3, "broken")])
    );
    let whole = reader.range("r", None, (1, 2)).unwrap();
    assert_eq!(
        (whole.total, texts(&whole)),
        (5, vec![(1, "Build"), (2, "one")])
    );
    let overview = reader.overview("r").unwrap();
    assert_eq!((overview.lines, overview.sections.len()), (5, 2));
    assert_eq!(
        (overview.notes[0].line, overview.notes[0].text.as_str()),
        (3, "broken")
    );
    add(&reader, &[("a", 1, Out, "three")]);
    let range = reader.range("r", Some(A), (4, 10)).unwrap();
    assert_eq!((range.total, texts(&range)), (4, vec![(4, "three")]));
    let found = reader.find("r", Some(A), "T", 10).unwrap().unwrap();
    let lines: Vec<usize> = found.matches.iter().map(|found| found.line).collect();
    assert_eq!((lines, found.more), (vec![2, 4], false));
    let found = reader.find("r", None, "OTHER", 10).unwrap().unwrap();
    assert_eq!(
        (found.matches[0].job.as_str(), found.matches[0].line),
        ("b", 1)
    );
}

#[test]
fn a_log_that_is_not_there_has_no_lines() {
    let (_folder, reader) = written(&[]);
    let nothing = SectionName { job: "x", step: 9 };
    assert_eq!(reader.range("none", None, (1, 10)).unwrap().total, 0);
    assert_eq!(reader.range("r", Some(nothing), (1, 10)).unwrap().total, 0);
    assert_eq!(reader.overview("none").unwrap().lines, 0);
    let found = reader.find("r", Some(nothing), "x", 10).unwrap().unwrap();
    assert_eq!(found.matches, []);
    assert_eq!(reader.find("r", None, "", 10).unwrap(), Err(WrongQuery));
}

#[test]
fn very_long_lines_fill_an_answer_alone() {
    let long = "x".repeat(3 << 20);
    let line = ("a", 1, LineKind::Out, long.as_str());
    let (_folder, reader) = written(&[line, line, line]);
    let range = reader.range("r", Some(A), (1, 3)).unwrap();
    assert_eq!((range.total, range.lines.len()), (3, 1));
    assert_eq!(reader.range("r", Some(A), (3, 3)).unwrap().lines.len(), 1);
}

#[test]
fn few_logs_are_remembered() {
    let (_folder, reader) = written(&[("a", 1, LineKind::Out, "x")]);
    for number in 0..10_000 {
        reader.overview(&format!("none-{number}")).unwrap();
    }
    assert!(reader.remembered.lock().len() <= MAX_REMEMBERED / 1024);
}

#[test]
fn places_and_lines_of_a_long_log_are_found() {
    const LINES: usize = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let reader = LogReader::new(Logs::open(folder.path()).unwrap());
    let mut file = io::BufWriter::new(File::create(reader.logs.path("r")).unwrap());
    for number in 0..LINES {
        let line = LogLine {
            at: 1_795_276_800_000 + number as u64,
            job: "build (stable)".to_owned(),
            step: 3,
            kind: LineKind::Out,
            text: format!("   Compiling crate-{number} v1.0.{number} (/workspace/crates/x)"),
        };
        serde_json::to_writer(&mut file, &line).unwrap();
        io::Write::write_all(&mut file, b"\n").unwrap();
    }
    io::Write::flush(&mut file).unwrap();
    let section = SectionName {
        job: "build (stable)",
        step: 3,
    };
    for first in [14_000, 6_000, 19_900] {
        let range = reader.range("r", Some(section), (first, 200)).unwrap();
        assert_eq!(range.total, LINES);
        let numbers: Vec<usize> = range.lines.iter().map(|line| line.n).collect();
        let last = LINES.min(first + 199);
        assert_eq!(numbers, (first..=last).collect::<Vec<_>>());
        for found in range.lines {
            let name = format!("crate-{} ", found.n - 1);
            assert!(found.line.text.contains(&name), "{name}");
        }
    }
    for (text, count) in [
        ("crate-19999 ", 1),
        ("nothing like this", 0),
        ("CRATE-7777", 1),
        ("crates/y", 0),
        ("compiling", 1000),
    ] {
        let found = reader.find("r", Some(section), text, 1000).unwrap();
        assert_eq!(found.unwrap().matches.len(), count, "{text}");
    }
}
