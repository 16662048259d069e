//! Functions that no word announces: a type, a name, and brackets.

use super::kind::DefinitionKind::{
    Class, Constant, Enum, Function, Interface, Macro, Module, Struct, Type,
};
use super::words::{LineDefinition, is_name_byte, name_of, word_of};

/// Words that stand before a bracket, or at the beginning of a line, and define nothing.
const CONTROL: [&str; 29] = [
    "assert",
    "await",
    "case",
    "catch",
    "delete",
    "do",
    "else",
    "elseif",
    "for",
    "foreach",
    "goto",
    "if",
    "import",
    "in",
    "lock",
    "new",
    "not",
    "package",
    "print",
    "return",
    "sizeof",
    "switch",
    "synchronized",
    "throw",
    "throws",
    "try",
    "typeof",
    "while",
    "yield",
];

/// Lines behind a function's name in which its body may begin.
const MAX_SIGNATURE_LINES: usize = 12;

/// The name that ends where `text` ends, and what stands before it.
fn name_before(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_end();
    let length = text
        .bytes()
        .rev()
        .take_while(|&byte| is_name_byte(byte))
        .count();
    let (before, name) = text.split_at(text.len() - length);
    name_of(name).map(|(name, _)| (name, before))
}

/// Whether `text` may be a type with what may stand around it: names, brackets of generics, stars.
fn is_type(text: &str) -> bool {
    let text = text.trim();
    let is_part = |byte: u8| {
        is_name_byte(byte)
            || matches!(byte, b' ' | b'\t' | b'<' | b'>' | b'[' | b']' | b'*' | b'&')
            || matches!(byte, b',' | b'?' | b':' | b'.' | b'~' | b'@')
    };
    let first = word_of(text).0;
    !text.is_empty() && text.bytes().all(is_part) && !CONTROL.contains(&first)
}

/// Java and its like.
pub(super) fn parse_java(mut code: &str, indent: usize) -> LineDefinition<'_> {
    let (mut is_static, mut is_final) = (false, false);
    loop {
        if let Some(annotation) = code.strip_prefix("@interface ") {
            return name_of(annotation.trim_start()).map(|(name, _)| (Interface, name));
        }
        let (word, rest) = word_of(code);
        is_static |= word == "static";
        is_final |= word == "final";
        let kind = match word {
            "public" | "private" | "protected" | "internal" | "static" | "final" | "abstract"
            | "sealed" | "open" | "override" | "virtual" | "async" | "partial" | "data"
            | "inline" | "suspend" | "default" | "native" | "synchronized" | "unsafe"
            | "readonly" | "mutating" | "lateinit" | "implicit" | "lazy" | "case"
            | "annotation" | "value" | "inner" | "companion" | "expect" | "actual" | "operator"
            | "infix" | "external" | "tailrec" | "fileprivate" | "indirect" | "convenience"
            | "extern" | "nonisolated" | "opaque" | "transparent"
                if !rest.is_empty() =>
            {
                code = after_scope(rest);
                continue;
            }
            "class" | "record" | "object" | "actor" => Class,
            "interface" | "trait" | "protocol" => Interface,
            "enum" => {
                let (next, behind) = word_of(rest);
                let rest = if next == "class" { behind } else { rest };
                return name_of(rest).map(|(name, _)| (Enum, name));
            }
            "struct" => Struct,
            "namespace" => Module,
            "typealias" | "associatedtype" => Type,
            // Scala's.
            "type" => {
                let (name, behind) = name_of(rest)?;
                let is_it = behind.trim_start().starts_with(['=', '[', '<', '>']);
                return is_it.then_some((Type, name));
            }
            // `fun interface Name`
            "fun" if word_of(rest).0 == "interface" => {
                code = rest;
                continue;
            }
            // `def name[F[_]](`: brackets may hold others.
            "def" => return name_of(rest).map(|(name, _)| (Function, name)),
            "fun" | "func" => {
                // `fun <T> Type<T>.name(`, `func name<T>(`
                let head = rest.split('(').next()?;
                let name = name_before(without_generics(head)).map(|(name, _)| name);
                return name.map(|name| (Function, name));
            }
            _ => {
                let is_constant = is_static && is_final || word == "const";
                let constant = is_constant.then(|| constant_of_java(code)).flatten();
                return constant.or_else(|| if indent > 0 { method(code) } else { None });
            }
        };
        let is_it = !rest.starts_with(['=', '(', '.', ')', ';']);
        return name_of(rest)
            .filter(|_| is_it)
            .map(|(name, _)| (kind, name));
    }
}

/// What stands behind `[package]` of a modifier, as Scala has it.
fn after_scope(text: &str) -> &str {
    let inside = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    inside.map_or(text, |(_, rest)| rest.trim_start())
}

/// A head without the generic parameters that it ends with.
fn without_generics(head: &str) -> &str {
    let head = head.trim_end();
    let name = head.split('<').next().unwrap_or(head);
    let is_named = !name.trim().is_empty() && !name.contains(['.', ' ']);
    if head.ends_with('>') && is_named {
        name
    } else {
        head
    }
}

/// `Type NAME = …`.
fn constant_of_java(code: &str) -> LineDefinition<'_> {
    let (head, _) = code.split_once(['=', ';'])?;
    let is_value = !head.contains(['(', '"']);
    let name = name_before(head).filter(|_| is_value);
    name.map(|(name, _)| (Constant, name))
}

/// `Type name(…)`, and `Name(…) {` of a constructor.
fn method(code: &str) -> LineDefinition<'_> {
    let open = code.find('(')?;
    let (name, before) = name_before(&code[..open])?;
    if CONTROL.contains(&name) || name == "using" {
        return None;
    }
    let opens_body = code.trim_end().ends_with('{');
    let is_constructor = before.trim().is_empty()
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && opens_body;
    let is_method = is_type(before) && before.ends_with([' ', '>', ']', '\t']);
    (is_constructor || is_method).then_some((Function, name))
}

/// A member of a class in JavaScript: `name(…) {`.
pub(super) fn parse_member(code: &str, indent: usize, is_member: bool) -> LineDefinition<'_> {
    let (name, rest) = name_of(code)?;
    if indent == 0 || CONTROL.contains(&name) {
        return None;
    }
    if is_arrow(rest) && (is_member || indent <= MAX_MEMBER_INDENT) {
        return Some((Function, name));
    }
    let code = code.trim_end();
    let is_it = !matches!(name, "function" | "constructor" | "super" | "with")
        && rest.starts_with(['(', '<'])
        && (code.ends_with('{') || has_body_behind(rest))
        && (is_member || !rest.contains("=>") && !rest.contains("function"));
    is_it.then_some((Function, name))
}

/// Deeper lines are hardly members of a class.
const MAX_MEMBER_INDENT: usize = 4;

/// Whether a function is assigned to a member: `= (x) => …`, `= async x => …`.
fn is_arrow(behind_name: &str) -> bool {
    let Some((_, value)) = behind_name.split_once("= ") else {
        return false;
    };
    let before = &behind_name[..behind_name.len() - value.len() - 2];
    let is_assigned = before.trim().is_empty() || before.trim_start().starts_with(':');
    let value = value.trim_start();
    is_assigned
        && !before.contains(['(', '=', '{'])
        && value.contains("=>")
        && value.starts_with(|c: char| c == '(' || c == '_' || c.is_alphabetic())
}

/// Whether a method of one line ends here: `(…) { … }`, with a type perhaps.
fn has_body_behind(rest: &str) -> bool {
    if !rest.trim_end().ends_with('}') {
        return false;
    }
    let mut depth = 0_usize;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => {
                let behind = rest[at + 1..].trim_start();
                return behind.starts_with(['{', ':']);
            }
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// C and C++.
pub(super) fn parse_c<'t>(line: &'t str, above: &str, behind: &str) -> LineDefinition<'t> {
    let code = line.trim_start();
    let indent = line.len() - code.len();
    if let Some(directive) = code.strip_prefix('#') {
        let (word, rest) = word_of(directive.trim_start());
        let name = (word == "define").then(|| name_of(rest)).flatten();
        return name.map(|(name, _)| (Macro, name));
    }
    // The end of a `typedef struct { … } Name;`; of what is no type it would be a variable.
    if let Some(rest) = line.strip_prefix('}') {
        let name = rest.trim().strip_suffix(';')?;
        return (name_of(name)?.1.is_empty()).then_some((Type, name));
    }
    let first = word_of(code).0;
    if first.is_empty() && !code.starts_with('~') || CONTROL.contains(&first) {
        return None;
    }
    if let Some(found) = type_of_c(code, behind) {
        return Some(found);
    }
    if code.contains('(') {
        return function_of_c(code, indent, above, behind);
    }
    None
}

/// `struct name {`, `class name : base`, `typedef … name;`, `using name =`, `namespace name {`.
fn type_of_c<'t>(code: &'t str, behind: &str) -> LineDefinition<'t> {
    let mut rest = code;
    let mut is_constant = false;
    loop {
        let (word, after) = word_of(rest);
        is_constant |= word == "constexpr";
        let kind = match word {
            "static" | "extern" | "inline" | "constexpr" | "export" => {
                rest = after;
                continue;
            }
            "typedef" => {
                let (head, _) = after.rsplit_once(';')?;
                let name = name_before(
                    head.trim_end_matches(']')
                        .trim_end_matches(char::is_numeric),
                );
                return name.map(|(name, _)| (Type, name));
            }
            "using" => {
                let (name, after) = name_of(after)?;
                return after.trim_start().starts_with('=').then_some((Type, name));
            }
            "struct" | "union" => Struct,
            "class" => Class,
            "namespace" => Module,
            "enum" => {
                let (next, rest) = word_of(after);
                let after = if matches!(next, "class" | "struct") {
                    rest
                } else {
                    after
                };
                return body_of(after, behind).map(|name| (Enum, name));
            }
            "const" => {
                let (head, _) = after.split_once('=')?;
                return name_before(head.split('[').next()?).map(|(name, _)| (Constant, name));
            }
            "interface" => Interface,
            _ if is_constant => {
                let (head, _) = after.split_once(['=', '{'])?;
                let head = head.split('[').next()?;
                let name = name_before(head).filter(|_| !head.contains('('));
                return name.map(|(name, _)| (Constant, name));
            }
            _ => return None,
        };
        return body_of(after, behind).map(|name| (kind, name));
    }
}

/// The name of a type whose body begins behind it, on its line or the next one.
fn body_of<'t>(text: &'t str, behind: &str) -> Option<&'t str> {
    let (mut name, mut rest) = name_of(text)?;
    // `class EXPORT Name`, `struct a::b`.
    while let Some((next, after)) = name_of(rest.trim_start_matches([' ', ':'])) {
        if rest.starts_with(':') && !rest.starts_with("::") || rest.trim_start().starts_with(": ") {
            break;
        }
        (name, rest) = (next, after);
    }
    let rest = rest.trim();
    let has_body = match rest.chars().next() {
        None => behind.trim_start().starts_with('{'),
        Some('{' | ':' | '<') => true,
        Some('/') => behind.trim_start().starts_with('{'),
        Some(_) => false,
    };
    (has_body && name != "final").then_some(name)
}

/// A function whose body begins before the next semicolon.
fn function_of_c<'t>(
    code: &'t str,
    indent: usize,
    above: &str,
    behind: &str,
) -> LineDefinition<'t> {
    if let Some((name, after)) = operator(code) {
        return starts_body(after, behind).then_some((Function, name));
    }
    let (head, after) = code.split_once('(')?;
    let (name, before) = name_before(head)?;
    if CONTROL.contains(&name) || head.contains('=') {
        return None;
    }
    let before = before.trim_end();
    let is_qualified = before.ends_with("::") || before.ends_with('~');
    // The type may stand on a line of its own.
    let has_type_above = indent == 0
        && before.is_empty()
        && !above.starts_with([' ', '\t', '#'])
        && !above.trim_end().ends_with([',', ':'])
        && is_type(above);
    // What is called is not defined; a macro that is used like a function has no type before it.
    if !is_type(before) && !has_type_above
        || indent > 0 && !is_qualified && !before.contains(|c: char| c.is_alphabetic())
    {
        return None;
    }
    starts_body(after, behind).then_some((Function, name))
}

/// Whether a body begins before anything ends, in the rest of a line or the lines behind it.
fn starts_body(after: &str, behind: &str) -> bool {
    let lines = behind.split('\n').take(MAX_SIGNATURE_LINES);
    for line in std::iter::once(after).chain(lines) {
        let line = line.split("//").next().unwrap_or(line);
        if let Some(at) = line.find(['{', ';', '}', '#']) {
            return line[at..].starts_with('{');
        }
    }
    false
}

/// The operator that a line of C++ defines (`bool operator==(…)`), and what follows its name.
fn operator(code: &str) -> Option<(&str, &str)> {
    const WORD: &str = "operator";
    let at = code.find(WORD)?;
    let is_word = |byte: Option<&u8>| byte.is_some_and(|&byte| is_name_byte(byte));
    let bytes = code.as_bytes();
    let is_inside = is_word(at.checked_sub(1).and_then(|before| bytes.get(before)));
    if is_inside || is_word(bytes.get(at + WORD.len())) || !is_type(&code[..at]) {
        return None;
    }
    let signs = &code[at + WORD.len()..];
    let length = match signs.strip_prefix("()") {
        Some(_) => 2,
        None => signs.find('(')?,
    };
    let is_sign = signs[..length]
        .bytes()
        .all(|byte| byte.is_ascii_punctuation());
    let end = at + WORD.len() + length;
    (is_sign && length > 0).then(|| (&code[at..end], &code[end..]))
}
