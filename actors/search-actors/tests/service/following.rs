//! Single changes are followed by what has changed alone, and outlive a restart in the journal.

use std::fs;
use std::path::PathBuf;

use search_actors::LearningRests;
use serde_json::json;

use crate::harness::{Home, Running, keys};

const DOCUMENTS: usize = 230;

/// Words are not learnt again while the test looks.
const SHORT_RESTS: LearningRests = LearningRests {
    settle_after: std::time::Duration::from_secs(3_600),
    before_settling: 1_000,
    after_work: 0,
};

fn home() -> Home {
    let home = Home::new();
    for number in 0..DOCUMENTS {
        let bird = ["heron", "plover", "bittern"][number % 3];
        let text = format!("# Note {number}\n\n{bird} and {bird} stand in the water");
        home.write(&format!("n{number:03}.md"), text);
    }
    home
}

fn ready(home: &Home) -> Running {
    let server = home.start_resting(&home.role("ServiceGraph"), SHORT_RESTS);
    server.eventually("it is learnt", || {
        server.health()[0]["concepts"]["state"] == "ready"
    });
    server
}

fn suggests(server: &Running, input: &str, text: &str) -> bool {
    server
        .suggestions(input)
        .iter()
        .any(|one| one.eq_ignore_ascii_case(text))
}

fn kept(home: &Home, name: &str) -> PathBuf {
    let mut sources = fs::read_dir(home.data().join("concepts")).expect("what is learnt");
    let source = sources.next().expect("a source").expect("an entry");
    source.path().join(name)
}

#[test]
fn i16_one_change_is_journalled_and_taken_up_after_a_restart() {
    let home = home();
    let server = ready(&home);
    let names = ["graph", "space", "manifest"];
    let before = names.map(|name| fs::read(kept(&home, name)).expect("kept"));
    let empty = fs::metadata(kept(&home, "journal")).expect("begun").len();

    home.write("n007.md", "# Avocet of the marsh\n\nan avocet wades");
    fs::remove_file(home.files().join("n008.md")).expect("removed");
    home.write(
        "n900.md",
        "# Godwit\n\ngodwit and godwit fly, says [[Avocet]]",
    );
    let followed = |server: &Running| {
        suggests(server, "avocet of", "Avocet of the marsh")
            && suggests(server, "godw", "Godwit")
            && !suggests(server, "note 7", "Note 7")
            && !suggests(server, "note 8", "Note 8")
    };
    server.eventually("the changes are followed", || followed(&server));
    server.eventually("the graph has the change", || {
        server.graph("avocet of the marsh").is_some()
    });
    drop(server);
    let after = names.map(|name| fs::read(kept(&home, name)).expect("kept"));
    assert!(before == after, "a change writes no file anew");
    let journal = fs::read(kept(&home, "journal")).expect("a journal");
    assert!(journal.len() as u64 > empty, "it is in the journal");

    let server = ready(&home);
    server.eventually("they are known after a restart", || followed(&server));
    assert!(server.graph("avocet of the marsh").is_some());
    let found = keys(&server.search(&json!({"search_term": "godwit"})));
    assert_eq!(found[0], "n900.md");
    drop(server);

    // Cut in the middle of a record it is taken up as far as it goes; the rest is read again.
    for cut in [journal.len() - 1, journal.len() / 2, empty as usize + 3, 5] {
        fs::write(kept(&home, "journal"), &journal[..cut]).expect("written");
        let server = ready(&home);
        server.eventually("it is read again", || followed(&server));
        server.eventually("the graph has it again", || {
            server.graph("avocet of the marsh").is_some()
        });
        let found = keys(&server.search(&json!({"search_term": "godwit"})));
        assert_eq!(found[0], "n900.md", "cut at {cut}");
    }
}

#[test]
fn i16_a_title_that_another_document_has_stays_suggested() {
    let home = home();
    home.write("one.md", "# Shared name\n\nheron");
    home.write("two.md", "# Shared name\n\nplover");
    let server = ready(&home);
    server.eventually("it is suggested", || {
        suggests(&server, "shared", "Shared name")
    });
    home.write("one.md", "# Another name\n\nheron");
    server.eventually("the change is followed", || {
        suggests(&server, "another", "Another name")
    });
    assert!(suggests(&server, "shared", "Shared name"));
    home.write("two.md", "# Third name\n\nplover");
    server.eventually("none has it any more", || {
        !suggests(&server, "shared", "Shared name") && suggests(&server, "third", "Third name")
    });
}

#[test]
fn i16_a_restart_does_not_learn_what_waits_for_its_turn() {
    let home = home();
    let rewrite = |words: &str| {
        for number in 0..30 {
            home.write(&format!("n{number:03}.md"), format!("# Note\n\n{words}"));
        }
    };
    let model = || fs::read(kept(&home, "model")).expect("what was learnt");
    let server = ready(&home);
    let first = model();
    rewrite("the kingfisher and the heron stand beside the plover");
    server.eventually("it has learnt again", || {
        model() != first && server.health()[0]["concepts"]["state"] == "ready"
    });
    // The next time is a minute later.
    rewrite("the dunlin and the bittern stand beside the kingfisher");
    server.eventually("what has changed is found", || {
        server.search(&json!({"search_term": "dunlin", "limit": 1}))["total"] == 30
    });
    let learnt = model();
    drop(server);
    let _server = ready(&home);
    assert!(model() == learnt, "nothing was learnt before it was ready");
}
