//! What kind of end a run had. How the process ended decides first; only a plain failure is looked
//! into, by weighted error signatures over everything that is kept of its output.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::run::{ExitClass, Terminal};

/// Signatures: what is searched for (without regard to case), how much it tells, and what it means.
const SIGNATURES: [(&str, u32, ExitClass); 44] = [
    ("rate limit", 5, ExitClass::RateLimit),
    ("rate_limit", 5, ExitClass::RateLimit),
    ("too many requests", 6, ExitClass::RateLimit),
    ("quota exceeded", 6, ExitClass::RateLimit),
    ("usage limit reached", 6, ExitClass::RateLimit),
    ("error code: 429", 6, ExitClass::RateLimit),
    ("error[e0", 8, ExitClass::CompilationError),
    ("could not compile", 8, ExitClass::CompilationError),
    ("compilation failed", 6, ExitClass::CompilationError),
    ("syntaxerror:", 4, ExitClass::CompilationError),
    ("error ts", 4, ExitClass::CompilationError),
    ("undefined reference to", 5, ExitClass::CompilationError),
    ("test result: failed", 9, ExitClass::TestFailure),
    ("test run failed", 8, ExitClass::TestFailure),
    ("tests failed", 6, ExitClass::TestFailure),
    ("failures:", 3, ExitClass::TestFailure),
    (
        "assertion `left == right` failed",
        5,
        ExitClass::TestFailure,
    ),
    ("assertionerror", 4, ExitClass::TestFailure),
    ("context length exceeded", 6, ExitClass::ModelError),
    ("context_length_exceeded", 6, ExitClass::ModelError),
    ("model not found", 6, ExitClass::ModelError),
    ("model_not_found", 6, ExitClass::ModelError),
    ("overloaded_error", 6, ExitClass::ModelError),
    ("content_filter", 5, ExitClass::ModelError),
    ("connection refused", 5, ExitClass::NetworkError),
    ("connection reset", 5, ExitClass::NetworkError),
    ("could not resolve host", 6, ExitClass::NetworkError),
    (
        "temporary failure in name resolution",
        6,
        ExitClass::NetworkError,
    ),
    ("network is unreachable", 6, ExitClass::NetworkError),
    ("connection timed out", 5, ExitClass::NetworkError),
    ("tls handshake", 3, ExitClass::NetworkError),
    ("out of memory", 6, ExitClass::ResourceExhaustion),
    ("cannot allocate memory", 6, ExitClass::ResourceExhaustion),
    ("no space left on device", 7, ExitClass::ResourceExhaustion),
    ("too many open files", 6, ExitClass::ResourceExhaustion),
    (
        "resource temporarily unavailable",
        5,
        ExitClass::ResourceExhaustion,
    ),
    ("permission denied", 5, ExitClass::PermissionDenied),
    ("operation not permitted", 5, ExitClass::PermissionDenied),
    ("403 forbidden", 4, ExitClass::PermissionDenied),
    ("invalid api key", 7, ExitClass::ConfigError),
    ("invalid_api_key", 7, ExitClass::ConfigError),
    ("command not found", 5, ExitClass::ConfigError),
    ("panicked at", 4, ExitClass::Crash),
    ("segmentation fault", 6, ExitClass::Crash),
];

/// Classes in the order that decides between equal weights: what somebody can act on comes first.
const ORDER: [ExitClass; 9] = [
    ExitClass::RateLimit,
    ExitClass::CompilationError,
    ExitClass::TestFailure,
    ExitClass::ModelError,
    ExitClass::ResourceExhaustion,
    ExitClass::PermissionDenied,
    ExitClass::NetworkError,
    ExitClass::ConfigError,
    ExitClass::Crash,
];

/// A signature counts so often at most: a log that repeats one line does not outweigh everything
/// else.
const MAX_HITS: u32 = 3;

/// The class of an end, and what decided it.
pub fn classify(terminal: Terminal, output: &[u8]) -> (ExitClass, Option<String>) {
    let plain = |class: ExitClass| (class, None);
    match terminal {
        Terminal::Code(0) if output.iter().all(u8::is_ascii_whitespace) => {
            plain(ExitClass::EmptySuccess)
        }
        Terminal::Code(0) => plain(ExitClass::Success),
        Terminal::WallClock => (
            ExitClass::Timeout,
            Some("the wall-clock limit was reached".to_owned()),
        ),
        Terminal::Stalled => (
            ExitClass::Timeout,
            Some("no output for too long".to_owned()),
        ),
        Terminal::Cancelled => plain(ExitClass::Cancelled),
        Terminal::Restart => plain(ExitClass::OrchestratorRestart),
        Terminal::NotStarted => plain(ExitClass::ConfigError),
        Terminal::Exhausted => (
            ExitClass::ResourceExhaustion,
            Some("a limit of the run was reached".to_owned()),
        ),
        Terminal::Signal(signal) => of_signal(signal),
        // What a shell says when there is no such program, or it cannot be executed.
        Terminal::Code(code @ (126 | 127)) => (
            ExitClass::ConfigError,
            Some(format!("exit code {code}: no such program")),
        ),
        // What a shell or a sandbox says of a child that a signal ended.
        Terminal::Code(code @ 129..=159) => of_signal(code - 128),
        Terminal::Code(code) => {
            let (class, signature) = of_output(output).unwrap_or((ExitClass::Unknown, None));
            let signature = signature.map_or(String::new(), |signature| format!("; {signature}"));
            (class, Some(format!("exit code {code}{signature}")))
        }
    }
}

/// SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV are faults of the process; others came from
/// outside.
fn of_signal(signal: i32) -> (ExitClass, Option<String>) {
    let class = if [4, 5, 6, 7, 8, 11].contains(&signal) {
        ExitClass::Crash
    } else {
        ExitClass::KilledBySignal
    };
    (class, Some(format!("signal {signal}")))
}

/// The class that the output speaks for, and the words that decided it.
fn of_output(output: &[u8]) -> Option<(ExitClass, Option<String>)> {
    let mut hits = [0_u32; SIGNATURES.len()];
    for found in matcher().find_overlapping_iter(output) {
        let hit = &mut hits[found.pattern().as_usize()];
        *hit = (*hit + 1).min(MAX_HITS);
    }
    let weight = |class: ExitClass| -> u32 {
        let of_class = SIGNATURES
            .iter()
            .zip(hits)
            .filter(|((_, _, of), _)| *of == class);
        of_class.map(|((_, weight, _), hits)| weight * hits).sum()
    };
    // The first of equal weights wins, so the order is fixed.
    let mut best: Option<(ExitClass, u32)> = None;
    for class in ORDER {
        let weight = weight(class);
        if weight > best.map_or(0, |(_, best)| best) {
            best = Some((class, weight));
        }
    }
    let (class, _) = best?;
    let signature = SIGNATURES
        .iter()
        .zip(hits)
        .filter(|((_, _, of), hits)| *of == class && *hits > 0)
        .max_by_key(|((_, weight, _), _)| *weight);
    let detail = signature.map(|((text, _, _), _)| format!("the output says {text:?}"));
    Some((class, detail))
}

fn matcher() -> &'static AhoCorasick {
    static MATCHER: OnceLock<AhoCorasick> = OnceLock::new();
    MATCHER.get_or_init(|| {
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(SIGNATURES.map(|(text, _, _)| text))
            .expect("the signatures are a few short words")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_process_decides_first() {
        let noise: &[u8] = b"test result: FAILED, too many requests";
        for (terminal, output, class) in [
            (Terminal::Code(0), noise, ExitClass::Success),
            (
                Terminal::Code(0),
                b" \n\t".as_slice(),
                ExitClass::EmptySuccess,
            ),
            (Terminal::WallClock, noise, ExitClass::Timeout),
            (Terminal::Stalled, noise, ExitClass::Timeout),
            (Terminal::Signal(9), noise, ExitClass::KilledBySignal),
            (Terminal::Signal(11), noise, ExitClass::Crash),
            (Terminal::Code(139), noise, ExitClass::Crash),
            (Terminal::Code(137), noise, ExitClass::KilledBySignal),
            (Terminal::Code(127), noise, ExitClass::ConfigError),
            (Terminal::Cancelled, noise, ExitClass::Cancelled),
            (Terminal::Restart, noise, ExitClass::OrchestratorRestart),
            (Terminal::NotStarted, b"".as_slice(), ExitClass::ConfigError),
            (Terminal::Exhausted, noise, ExitClass::ResourceExhaustion),
        ] {
            assert_eq!(classify(terminal, output).0, class, "{terminal:?}");
        }
    }

    #[test]
    fn y12_an_exit_code_is_said_as_such() {
        let detail = |code, output: &[u8]| classify(Terminal::Code(code), output).1;
        assert_eq!(detail(3, b"no").as_deref(), Some("exit code 3"));
        assert_eq!(
            detail(101, b"test result: FAILED").as_deref(),
            Some("exit code 101; the output says \"test result: failed\"")
        );
        assert_eq!(
            detail(127, b"").as_deref(),
            Some("exit code 127: no such program")
        );
    }

    #[test]
    fn a_plain_failure_is_examined() {
        for (output, class) in [
            ("HTTP 429 Too Many Requests", ExitClass::RateLimit),
            (
                "error[E0308]: mismatched types\nerror: could not compile `x`",
                ExitClass::CompilationError,
            ),
            (
                "test result: FAILED. 3 passed; 1 failed",
                ExitClass::TestFailure,
            ),
            ("thread 'main' panicked at src/main.rs", ExitClass::Crash),
            (
                "curl: (6) Could not resolve host: x",
                ExitClass::NetworkError,
            ),
            (
                "write: No space left on device",
                ExitClass::ResourceExhaustion,
            ),
            ("mkdir: Permission denied", ExitClass::PermissionDenied),
            ("Error: invalid API key", ExitClass::ConfigError),
            ("error: context_length_exceeded", ExitClass::ModelError),
            ("it did not work", ExitClass::Unknown),
        ] {
            assert_eq!(
                classify(Terminal::Code(1), output.as_bytes()).0,
                class,
                "{output}"
            );
        }
    }

    #[test]
    fn weights_are_summed_and_repetition_is_bounded() {
        let repeated =
            "connection refused\n".repeat(1000) + "test result: FAILED\ntests failed\nfailures:\n";
        assert_eq!(
            classify(Terminal::Code(101), repeated.as_bytes()).0,
            ExitClass::TestFailure
        );
    }
}
