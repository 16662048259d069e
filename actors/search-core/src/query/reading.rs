//! What a query is as a whole: a question, plain text.

use super::grammar::Clause;

/// The text of a query that is no phrase, field or expression.
pub(super) fn plain_text(clauses: &Clause<'_>) -> String {
    let Clause::List(clauses) = clauses else {
        return String::new();
    };
    let texts = clauses.iter().filter_map(|clause| match clause {
        Clause::Text(text) => Some(*text),
        _ => None,
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// What people tell a machine to do that they want to do themselves.
const TASKS: [&str; 66] = [
    "add",
    "allow",
    "avoid",
    "back",
    "build",
    "call",
    "change",
    "check",
    "choose",
    "compile",
    "configure",
    "connect",
    "convert",
    "copy",
    "create",
    "debug",
    "define",
    "delete",
    "deploy",
    "disable",
    "download",
    "enable",
    "export",
    "find",
    "fix",
    "generate",
    "handle",
    "implement",
    "import",
    "install",
    "keep",
    "limit",
    "load",
    "log",
    "make",
    "measure",
    "migrate",
    "move",
    "open",
    "print",
    "publish",
    "read",
    "remove",
    "rename",
    "replace",
    "reset",
    "restore",
    "rotate",
    "run",
    "save",
    "search",
    "send",
    "set",
    "share",
    "sort",
    "start",
    "stop",
    "test",
    "treat",
    "turn",
    "update",
    "upgrade",
    "upload",
    "use",
    "wait",
    "write",
];

/// Those of them that are done to programs, hardly by them.
const OPERATIONS: [&str; 15] = [
    "back",
    "configure",
    "deploy",
    "disable",
    "download",
    "enable",
    "install",
    "migrate",
    "publish",
    "rotate",
    "share",
    "treat",
    "turn",
    "upgrade",
    "use",
];

/// What stands behind such a verb, and not behind a noun that is written alike (`search service`).
const BEHIND_TASKS: [&str; 14] = [
    "a", "all", "an", "any", "from", "it", "one", "that", "the", "these", "this", "to", "up",
    "with",
];

/// Whether a query is what somebody asks who wants to do something, which manuals answer: it
/// begins so (`how do I`, `how to`, `where can we`, `rotate the`), speaks of who asks (`my`,
/// `our`), or asks what may or should be (`which … may`). How something works (`how is`, `how
/// does`) is another question.
pub(super) fn is_how_to(line: &[String]) -> bool {
    is_task(line) || is_question_of_asker(line)
}

/// Whether a query is like an order that says what code does: `convert a glob to a regular
/// expression`. What people do to programs (`rotate the keys`, `run it as a service`) is not.
pub(super) fn is_order(line: &[String]) -> bool {
    let is_of_people = |line: &[String]| {
        let [verb, behind, ..] = line else {
            return false;
        };
        OPERATIONS.contains(&verb.as_str())
            || matches!(behind.as_str(), "it" | "that" | "these" | "this" | "up")
    };
    is_task(line) && !is_question_of_asker(line) && !is_of_people(line)
}

fn is_task(line: &[String]) -> bool {
    let is_one_of = |list: &[&str], word: &String| list.contains(&word.as_str());
    matches!(line, [verb, behind, _, ..] if is_one_of(&TASKS, verb) && is_one_of(&BEHIND_TASKS, behind))
}

fn is_question_of_asker(line: &[String]) -> bool {
    let begin: Vec<&str> = line.iter().take(3).map(String::as_str).collect();
    match begin.as_slice() {
        ["how", "to", ..] | ["can" | "may", "i" | "we", ..] => true,
        [
            "how" | "where" | "when",
            "do" | "can" | "should" | "must" | "may",
            who,
        ] if matches!(*who, "i" | "we" | "you" | "one") => true,
        ["which" | "what" | "who" | "where" | "when", ..] => {
            let is_modal = |word: &String| matches!(word.as_str(), "may" | "should" | "must");
            mentions_asker(line) || line.iter().any(is_modal)
        }
        _ => mentions_asker(line),
    }
}

/// Whether a query asks how something works (`how is a page cut`), not how to do something.
pub(super) fn is_how_it_works(line: &[String]) -> bool {
    line.len() > 2 && line[0] == "how" && !is_how_to(line)
}

/// Whether the words speak of who asks. Of fewer than three any may be a name, and `i` is one in
/// code.
fn mentions_asker(line: &[String]) -> bool {
    let is_asker = |word: &String| matches!(word.as_str(), "my" | "we" | "our");
    line.len() > 2 && line.iter().any(is_asker)
}

#[cfg(test)]
mod tests {
    use super::{is_how_it_works, is_how_to, is_order};

    #[test]
    fn i16_how_something_works_is_another_question() {
        for (line, expected) in [
            ("how does the parser recover", true),
            ("how pages are cut", true),
            ("how to cut pages", false),
            ("how do i cut pages", false),
            ("how it", false),
            ("parser recovery", false),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(is_how_it_works(&words), expected, "{line}");
        }
    }

    #[test]
    fn i16_an_order_of_code_is_told_from_what_people_do() {
        for (line, expected) in [
            ("convert a glob to a regular expression", true),
            ("run a shell command", true),
            ("run it as a service", false),
            ("rotate the keys", false),
            ("convert the keys of our server", false),
            ("how do i rotate the keys", false),
            ("search service of it", false),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(is_order(&words), expected, "{line}");
        }
    }

    #[test]
    fn i16_what_a_user_asks_is_told_from_how_code_works() {
        for (line, expected) in [
            ("how do i start it", true),
            ("how to start it", true),
            ("where can we see it", true),
            ("read the mails of my server", true),
            ("which users may write", true),
            ("what happens when our disk is full", true),
            ("rotate the keys of it", true),
            ("run it as a service", true),
            ("write a parser of pages", true),
            ("call the other side", true),
            ("treat all warnings as errors", true),
            ("write access of users", false),
            ("search service of it", false),
            ("sort keys", false),
            ("set the", false),
            ("how does the parser recover", false),
            ("where is the parser", false),
            ("what is a parser", false),
            ("for i in", false),
            ("my_parser", false),
            ("my parser", false),
            ("the parser may fail", false),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(is_how_to(&words), expected, "{line}");
        }
    }
}
