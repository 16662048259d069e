//! What tasks that stand beside each other print: one of them has the terminal, what the others
//! print is kept until they get it.

use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

/// Where one task's threads, and the programs they start, print to.
#[derive(Debug, Clone)]
pub(crate) struct TaskOutput {
    destination: Arc<Mutex<Destination>>,
}

/// Where a text goes.
#[derive(Debug)]
enum Destination {
    /// To the terminal, as it comes.
    Terminal,
    /// Here, until the terminal is free.
    Kept(Vec<u8>),
}

impl TaskOutput {
    /// One that keeps everything for now.
    pub(crate) fn kept() -> Self {
        let destination = Arc::new(Mutex::new(Destination::Kept(Vec::new())));
        Self { destination }
    }

    /// Prints what was kept, and from now on everything as it comes.
    pub(crate) fn show(&self) {
        let mut destination = self
            .destination
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Destination::Kept(text) = std::mem::replace(&mut *destination, Destination::Terminal)
        {
            print(&text);
        }
    }

    /// Prints or keeps the text.
    pub(crate) fn write(&self, text: &[u8]) {
        let mut destination = self
            .destination
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match &mut *destination {
            Destination::Terminal => print(text),
            Destination::Kept(kept) => kept.extend_from_slice(text),
        }
    }
}

fn print(text: &[u8]) {
    let mut terminal = std::io::stdout().lock();
    // A reader that went away (`| head`) must not stop the run: its verdict still counts.
    let _ = terminal.write_all(text).and_then(|()| terminal.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i14_output_is_kept_in_its_order_until_it_is_shown() {
        let output = TaskOutput::kept();
        let same = output.clone();
        output.write(b"one\n");
        same.write(b"two\n");
        let kept = |output: &TaskOutput| match &*output.destination.lock().expect("not poisoned") {
            Destination::Kept(text) => Some(String::from_utf8(text.clone()).expect("UTF-8")),
            Destination::Terminal => None,
        };
        assert_eq!(kept(&output).as_deref(), Some("one\ntwo\n"));
        output.show();
        same.write(b"");
        assert_eq!(kept(&same), None, "both go to the terminal now");
    }
}
