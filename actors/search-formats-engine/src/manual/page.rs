//! One page: its requests, line by line.

use super::escapes::plain;
use super::mdoc;
use crate::text::{DocumentLimits, DocumentRefusal, ExtractedText, TextCollector, one_line};

/// Requests that end a paragraph.
const BREAKS: [&str; 30] = [
    "PP", "LP", "P", "TP", "TQ", "HP", "RS", "RE", "br", "sp", "Sp", "ti", "in", "ce", "bp", "SY",
    "YS", "Pp", "Bl", "El", "Lp", "UN", "nf", "fi", "EX", "EE", "Vb", "Ve", "Bd", "Ed",
];

/// Those of them behind which lines are lines, and those that end it.
const VERBATIM: [&str; 4] = ["nf", "EX", "Vb", "Bd"];
const FLOWING: [&str; 4] = ["fi", "EE", "Ve", "Ed"];

/// Requests whose arguments are text, joined by blanks.
const SPACED: [&str; 7] = ["B", "I", "SM", "SB", "R", "CW", "Li"];

/// The same with arguments in changing fonts, that stand together.
const JOINED: [&str; 6] = ["BR", "RB", "BI", "IB", "IR", "RI"];

pub(super) fn read(text: &str, limits: &DocumentLimits) -> Result<ExtractedText, DocumentRefusal> {
    let mut page = Page {
        into: TextCollector::new(limits),
        line: String::new(),
        section: String::new(),
        called: String::new(),
        name: String::new(),
        is_verbatim: false,
        wants_heading: false,
        skips: Skip::Nothing,
        took_if: false,
        table: Table::None,
        is_mdoc: false,
    };
    for line in text.lines() {
        page.read_line(line);
        if page.into.is_full() {
            break;
        }
    }
    page.end_paragraph();
    if !page.into.has_title() {
        let called = page.called.to_lowercase();
        page.into.title(&called);
    }
    page.into.finish()
}

/// What is passed over.
#[derive(PartialEq)]
enum Skip {
    Nothing,
    /// A definition, up to a line `..`.
    Definition,
    /// A branch that is not taken: braces that are open.
    Braces(usize),
}

enum Table {
    None,
    /// Its options and formats; the sign between cells.
    Head(char),
    Rows(char),
}

struct Page {
    into: TextCollector,
    /// The open paragraph.
    line: String,
    /// The heading of the section, in capitals.
    section: String,
    /// What `.TH` calls it.
    called: String,
    /// The name of mdoc's `.Nm`.
    name: String,
    is_verbatim: bool,
    /// The heading stands on the next line.
    wants_heading: bool,
    skips: Skip,
    /// Whether the branch of the last condition was taken.
    took_if: bool,
    table: Table,
    is_mdoc: bool,
}

impl Page {
    fn read_line(&mut self, line: &str) {
        match &mut self.skips {
            Skip::Definition => {
                if line.starts_with("..") {
                    self.skips = Skip::Nothing;
                }
                return;
            }
            Skip::Braces(open) => {
                *open = (*open + line.matches(r"\{").count())
                    .saturating_sub(line.matches(r"\}").count());
                if *open == 0 {
                    self.skips = Skip::Nothing;
                }
                return;
            }
            Skip::Nothing => {}
        }
        match line.strip_prefix(['.', '\'']) {
            Some(request) => self.request(request.trim_start()),
            None => self.text_line(line),
        }
    }

    fn text_line(&mut self, line: &str) {
        match self.table {
            Table::None => {}
            Table::Head(_) => {
                if let Some(sign) = separator(line) {
                    self.table = Table::Head(sign);
                } else if line.trim_end().ends_with('.')
                    && let Table::Head(sign) = self.table
                {
                    self.table = Table::Rows(sign);
                }
                return;
            }
            Table::Rows(sign) => {
                let row = line.trim().trim_start_matches("T}").trim_end_matches("T{");
                if row.chars().all(|c| matches!(c, '_' | '=')) {
                    return;
                }
                self.add(&plain(&row.replace(sign, " ")));
                if !line.trim_end().ends_with("T{") {
                    self.end_paragraph();
                }
                return;
            }
        }
        if line.trim().is_empty() && !self.is_verbatim {
            self.end_paragraph();
            return;
        }
        self.add(&plain(line));
    }

    /// Adds text to the open paragraph, or a line of its own where lines are lines.
    fn add(&mut self, text: &str) {
        if std::mem::take(&mut self.wants_heading) {
            self.heading(text);
            return;
        }
        if self.is_verbatim {
            self.line.push_str(text.trim_end());
            self.line.push('\n');
            return;
        }
        let text = text.trim();
        if !self.line.is_empty() && !text.is_empty() {
            self.line.push(' ');
        }
        self.line.push_str(text);
    }

    fn end_paragraph(&mut self) {
        let line = std::mem::take(&mut self.line);
        if self.section == "NAME" && !line.trim().is_empty() {
            // `ls - list directory contents` is what the page is called.
            self.into.title(&one_line(&line));
        }
        self.into.paragraph(&line);
    }

    fn heading(&mut self, heading: &str) {
        self.end_paragraph();
        self.is_verbatim = false;
        self.into.heading(heading);
        self.section = heading.trim().to_uppercase();
    }

    fn request(&mut self, request: &str) {
        let end = request
            .find(|c: char| c.is_whitespace() || c == '\\')
            .unwrap_or(request.len());
        let (name, rest) = request.split_at(end);
        if name.is_empty() {
            return;
        }
        match name {
            "de" | "de1" | "am" | "ig" => self.skips = Skip::Definition,
            "if" | "ie" => {
                let (condition, branch) = split_word(rest);
                // Text is made for a terminal here.
                self.took_if = condition == "n";
                self.branch(self.took_if, branch);
            }
            "el" => self.branch(!self.took_if, rest.trim_start()),
            "TH" | "Dt" => self.called = arguments(rest).into_iter().next().unwrap_or_default(),
            "SH" | "SS" | "Sh" | "Ss" => {
                let heading = arguments(rest).join(" ");
                if heading.trim().is_empty() {
                    self.end_paragraph();
                    self.wants_heading = true;
                } else {
                    self.heading(&heading);
                }
            }
            "TS" => {
                self.end_paragraph();
                self.table = Table::Head('\t');
            }
            "TE" => self.table = Table::None,
            "so" => self.add(rest.trim()),
            "IP" => {
                self.end_paragraph();
                let tag = arguments(rest).into_iter().next();
                self.add(&tag.unwrap_or_default());
            }
            "OP" => self.add(&format!("[{}]", arguments(rest).join(" "))),
            "UR" | "MT" => self.add(&plain(rest)),
            "ME" | "UE" => self.line.push_str(&plain(rest.trim())),
            "It" => {
                self.end_paragraph();
                self.add_mdoc(rest);
            }
            "Dd" | "Os" => self.is_mdoc = true,
            _ if BREAKS.contains(&name) => {
                self.end_paragraph();
                self.is_verbatim =
                    (self.is_verbatim || VERBATIM.contains(&name)) && !FLOWING.contains(&name);
                if name == "Bd" && !rest.contains("-literal") && !rest.contains("-unfilled") {
                    self.is_verbatim = false;
                } else if name == "SY" {
                    self.add(&arguments(rest).join(" "));
                }
            }
            _ if SPACED.contains(&name) && !self.is_mdoc => self.add(&arguments(rest).join(" ")),
            _ if JOINED.contains(&name) => self.add(&arguments(rest).concat()),
            _ if self.is_mdoc && mdoc::is_macro(name) => self.add_mdoc(request),
            // Settings, registers, fonts.
            _ => {}
        }
    }

    fn add_mdoc(&mut self, line: &str) {
        let text = mdoc::text(&words_of(line), &mut self.name);
        self.add(&text);
    }

    /// What follows a condition: read, or passed over with its braces.
    fn branch(&mut self, is_taken: bool, branch: &str) {
        let open = branch.matches(r"\{").count();
        let closed = branch.matches(r"\}").count();
        if !is_taken {
            if open > closed {
                self.skips = Skip::Braces(open - closed);
            }
            return;
        }
        let inside = branch.trim_start_matches(r"\{").trim_end_matches('\\');
        if !inside.trim().is_empty() {
            self.read_line(inside.trim_start());
        }
    }
}

/// The sign between cells that the options of a table name: `tab(@)`.
fn separator(line: &str) -> Option<char> {
    let (_, behind) = line.split_once("tab")?;
    let inside = behind.trim_start().strip_prefix('(')?;
    inside
        .chars()
        .next()
        .filter(|_| line.trim_end().ends_with(';'))
}

fn split_word(rest: &str) -> (&str, &str) {
    let rest = rest.trim_start();
    match rest.find(char::is_whitespace) {
        Some(end) => (&rest[..end], rest[end..].trim_start()),
        None => (rest, ""),
    }
}

/// The arguments of a request, escapes undone: blanks part them, quotes hold them together.
fn arguments(rest: &str) -> Vec<String> {
    words_of(rest).iter().map(|word| plain(word)).collect()
}

fn words_of(rest: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut signs = rest.chars().peekable();
    loop {
        while signs.next_if(|c| c.is_whitespace()).is_some() {}
        let Some(&first) = signs.peek() else {
            return words;
        };
        let is_quoted = first == '"';
        if is_quoted {
            signs.next();
        }
        let mut word = String::new();
        while let Some(sign) = signs.next() {
            match sign {
                '\\' => {
                    word.push(sign);
                    // A blank behind a backslash is part of the word; a comment ends the line.
                    match signs.next() {
                        Some('"') => {
                            word.pop();
                            words.push(word);
                            return words;
                        }
                        Some(next) => word.push(next),
                        None => {}
                    }
                }
                '"' if is_quoted && signs.next_if_eq(&'"').is_some() => word.push('"'),
                '"' if is_quoted => break,
                c if c.is_whitespace() && !is_quoted => break,
                c => word.push(c),
            }
        }
        words.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_page(text: &str) -> ExtractedText {
        read(text, &DocumentLimits::default()).expect("it is read")
    }

    #[test]
    fn i16_a_page_of_man_has_its_name_headings_and_options() {
        let text = read_page(
            ".\\\" comment\n.TH TAR \"1\" x\n.ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n.de Sp\nno\n..\n\
             .SH NAME\ntar \\- an archiving utility\n.SH SYNOPSIS\n.B tar\n.RI [ file ]...\n\
             .SH \"RETURN VALUE\"\n.TP\n\\fB\\-\\-exclude\\fR=\\fIPATTERN\\fR\nExclude files.\n\
             .if t \\{\\\nhidden\n.\\}\n.if n \\{\\\n.RS 4\n.\\}\n.nf\n  a\n  b\n.fi\n\
             .TS\ntab(@);\nl l.\none@two\n.TE\nthe end\n",
        );
        assert_eq!(text.title, "tar - an archiving utility");
        assert_eq!(text.headings, ["NAME", "SYNOPSIS", "RETURN VALUE"]);
        assert_eq!(
            text.body,
            "NAME\ntar - an archiving utility\nSYNOPSIS\ntar [file]...\nRETURN VALUE\n\
             --exclude=PATTERN Exclude files.\na\n  b\none two\nthe end\n"
        );
    }

    #[test]
    fn i16_a_page_of_mdoc_has_its_name_and_options() {
        let text = read_page(
            ".Dd June 1, 2020\n.Dt CRYPT 5\n.Os\n.Sh NAME\n.Nm crypt\n.Nd storage format\n\
             .Sh SYNOPSIS\n.Nm\n.Op Fl v Ar file\n.Sh OPTIONS\n.Bl -tag\n.It Fl -long Ns = Ns Ar x\n\
             See\n.Xr crypt 3 ,\nor not.\n.El\n",
        );
        assert_eq!(text.title, "crypt - storage format");
        assert_eq!(
            text.body,
            "NAME\ncrypt - storage format\nSYNOPSIS\ncrypt [-v file]\nOPTIONS\n\
             --long=x See crypt(3), or not.\n"
        );
    }

    #[test]
    fn what_is_cut_off_anywhere_is_read() {
        let page = ".TH A 1\n.SH\nNAME\na \\- b\n.IP \"x \\\"\n.ie n \\{\\\n.B \\fBx\n.\\}\n.TS\nl.\nT{\nx\nT}\n.UR\n.so man1/b.1";
        for end in 0..page.len() {
            let _ = read(&page[..end], &DocumentLimits::default());
        }
        assert_eq!(read_page(page).title, "a - b");
    }
}
