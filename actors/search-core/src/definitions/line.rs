//! What one line defines.

use super::kind::DefinitionKind::{
    Class, Constant, Enum, Function, Heading, Interface, Macro, Module, Struct, Type,
};
use super::language::Language;
use super::other_languages;
use super::signature;
use super::words::{LineDefinition, is_name_byte, name_of, named_definition, word_of};

/// What `line` defines; `above` is the line before it, `behind` the text that follows it.
pub(super) fn definition<'t>(
    language: Language,
    line: &'t str,
    above: &str,
    behind: &str,
) -> LineDefinition<'t> {
    let code = line.trim_start();
    let indent = line.len() - code.len();
    let first = *code.as_bytes().first()?;
    match language {
        Language::Markdown => return heading(line),
        Language::C => return signature::parse_c(line, above, behind),
        Language::Shell => return shell(code),
        _ => {}
    }
    if matches!(first, b'/' | b'*' | b'"' | b'\'' | b'}' | b')' | b'<') {
        return None;
    }
    match language {
        Language::Rust => rust(code, indent),
        Language::Python => python(code, indent),
        Language::Script => script(code, indent, behind),
        Language::Go => go(code, indent),
        Language::Java => signature::parse_java(code, indent),
        Language::Ruby => ruby(code),
        Language::Php => php(code),
        Language::Lua => lua(code),
        Language::Elixir => other_languages::elixir(code),
        Language::Haskell => other_languages::haskell(code, indent, behind),
        Language::Zig => other_languages::zig(code),
        Language::C | Language::Shell | Language::Markdown => None,
    }
}

fn rust(mut code: &str, indent: usize) -> LineDefinition<'_> {
    let mut is_public = false;
    loop {
        let (word, rest) = word_of(code);
        match word {
            "pub" => {
                is_public = true;
                let inside = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
                code = inside.map_or(rest, |(_, rest)| rest.trim_start());
            }
            "async" | "unsafe" | "default" | "auto" => code = rest,
            "extern" => {
                let quoted = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
                code = quoted.map_or(rest, |(_, rest)| rest.trim_start());
            }
            "const" | "static" => {
                let (next, behind) = word_of(rest);
                if matches!(next, "fn" | "unsafe" | "async" | "extern") {
                    code = rest;
                    continue;
                }
                let rest = if next == "mut" { behind } else { rest };
                let (name, behind) = name_of(rest)?;
                let is_it = behind.trim_start().starts_with(':') && name != "_";
                return is_it.then_some((Constant, name));
            }
            "fn" => return named_definition(Function, rest),
            "struct" | "union" => return named_definition(Struct, rest),
            "enum" => return named_definition(Enum, rest),
            "trait" => return named_definition(Interface, rest),
            // Those of implementations are no names that anybody looks for.
            "type" if indent == 0 || is_public => return named_definition(Type, rest),
            "mod" => {
                let (name, behind) = name_of(rest)?;
                return behind
                    .trim_start()
                    .starts_with('{')
                    .then_some((Module, name));
            }
            "macro_rules" => return named_definition(Macro, rest.strip_prefix('!')?.trim_start()),
            "macro" => return named_definition(Macro, rest),
            _ => return None,
        }
        if code.is_empty() {
            return None;
        }
    }
}

fn python(code: &str, indent: usize) -> LineDefinition<'_> {
    let (word, rest) = word_of(code);
    match word {
        "async" => {
            let (next, rest) = word_of(rest);
            if next == "def" {
                named_definition(Function, rest)
            } else {
                None
            }
        }
        "def" | "cdef" | "cpdef" => named_definition(Function, rest),
        "class" => named_definition(Class, rest),
        _ if indent == 0 => constant(word, rest),
        _ => None,
    }
}

/// A name in capitals that something is assigned to.
fn constant<'t>(word: &'t str, rest: &str) -> LineDefinition<'t> {
    let is_upper = word.len() > 1
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && !word.bytes().any(|byte| byte.is_ascii_lowercase());
    let assigns = rest.starts_with('=') && !rest.starts_with("==") || rest.starts_with(": ");
    (is_upper && assigns).then_some((Constant, word))
}

fn script<'t>(mut code: &'t str, indent: usize, behind: &str) -> LineDefinition<'t> {
    let mut is_exported = indent == 0;
    let mut is_member = false;
    loop {
        let (word, rest) = word_of(code);
        let rest = rest.strip_prefix('*').map_or(rest, str::trim_start);
        match word {
            "export" => is_exported = true,
            "default" | "async" | "declare" | "abstract" => {}
            "public" | "private" | "protected" | "static" | "readonly" | "override" | "get"
            | "set"
                if name_of(rest).is_some() =>
            {
                is_member = true;
            }
            "function" => return named_definition(Function, rest),
            "class" => return named_definition(Class, rest),
            "interface" => return named_definition(Interface, rest),
            "enum" => return named_definition(Enum, rest),
            "type" => {
                let (name, behind) = name_of(rest)?;
                let is_it = behind.trim_start().starts_with(['=', '<']);
                return is_it.then_some((Type, name));
            }
            "namespace" | "module" => {
                let (name, behind) = name_of(rest)?;
                return behind
                    .trim_start()
                    .starts_with('{')
                    .then_some((Module, name));
            }
            "const" if word_of(rest).0 == "enum" => {}
            "const" | "let" | "var" => return variable(rest, is_exported, behind),
            _ => return signature::parse_member(code, indent, is_member),
        }
        if rest.is_empty() {
            return None;
        }
        code = rest;
    }
}

/// `const name = …`: a function where one is assigned, else a constant that others can see.
fn variable<'t>(rest: &'t str, is_exported: bool, behind: &str) -> LineDefinition<'t> {
    let (name, after) = name_of(rest)?;
    let value = value_of(after)?;
    let begins_arrow = |c: char| c == '(' || c == '_' || c == '<' || c.is_alphabetic();
    let is_function = value.starts_with("function")
        || value.starts_with("async ")
        || value.contains("=>") && value.starts_with(begins_arrow)
        || is_arrow_of_lines(value, behind);
    match (is_function, is_exported) {
        (true, _) => Some((Function, name)),
        (false, true) => Some((Constant, name)),
        _ => None,
    }
}

/// What is assigned, behind a type perhaps, in which arrows may stand: `: (x: A) => B = (`.
fn value_of(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let is_assignment = |at: &usize| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        !matches!(before, Some(b'=' | b'!' | b'<' | b'>')) && bytes.get(at + 1) != Some(&b'>')
    };
    let mut signs = memchr::memchr_iter(b'=', bytes);
    let at = signs.find(is_assignment)?;
    Some(text[at + 1..].trim_start())
}

/// Whether the parameters of an arrow function begin here and go on in the lines behind.
fn is_arrow_of_lines(value: &str, behind: &str) -> bool {
    let begins = value.starts_with(['(', '<']);
    if !begins || !value.trim_end().ends_with(['(', ',', '{', '<']) {
        return false;
    }
    let mut depth = 0_isize;
    let mut is_closed = false;
    let lines = behind.split('\n').take(MAX_PARAMETER_LINES);
    for line in std::iter::once(value).chain(lines) {
        for (at, byte) in line.bytes().enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' => {
                    depth -= 1;
                    is_closed |= depth == 0;
                }
                b'=' if is_closed && depth == 0 => return line[at..].starts_with("=>"),
                b';' if depth == 0 => return false,
                _ => {}
            }
        }
    }
    false
}

/// Lines over which the parameters of a function may go.
const MAX_PARAMETER_LINES: usize = 12;

fn go(code: &str, indent: usize) -> LineDefinition<'_> {
    let (word, rest) = word_of(code);
    match word {
        "func" => {
            let receiver = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
            named_definition(
                Function,
                receiver.map_or(rest, |(_, rest)| rest.trim_start()),
            )
        }
        "type" => go_type(rest),
        "const" => named_definition(Constant, rest),
        // Those of functions are no names that anybody looks for.
        "var" if indent == 0 => named_definition(Constant, rest),
        _ => None,
    }
}

/// A type of Go, without the word before it.
pub(super) fn go_type(text: &str) -> LineDefinition<'_> {
    let (name, behind) = name_of(text)?;
    let generic = behind
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'));
    let behind = generic.map_or(behind, |(_, rest)| rest);
    let kind = match word_of(behind.trim_start()).0 {
        "struct" => Struct,
        "interface" => Interface,
        _ => Type,
    };
    Some((kind, name))
}

fn ruby(code: &str) -> LineDefinition<'_> {
    let (word, rest) = word_of(code);
    match word {
        "def" => {
            let (_, behind) = name_of(rest)?;
            let name = behind.strip_prefix('.').unwrap_or(rest);
            Some((Function, signed_name(name)?))
        }
        "class" | "module" => {
            let kind = if word == "class" { Class } else { Module };
            let path = rest.split([' ', '<', ';']).next()?;
            named_definition(kind, path.rsplit("::").next()?)
        }
        _ => constant(word, rest),
    }
}

/// A name of Ruby with the sign behind it that is part of it: `route!`, `valid?`, `name=`.
fn signed_name(text: &str) -> Option<&str> {
    let (name, behind) = name_of(text)?;
    let has_sign = behind.starts_with(['!', '?'])
        || behind.starts_with('=') && behind[1..].starts_with(['(', ' ']) && !behind.contains("= ");
    Some(&text[..name.len() + usize::from(has_sign)])
}

fn php(mut code: &str) -> LineDefinition<'_> {
    loop {
        let (word, rest) = word_of(code);
        match word {
            "abstract" | "final" | "public" | "private" | "protected" | "static" | "readonly" => {
                code = rest;
            }
            "function" => return named_definition(Function, rest.trim_start_matches(['&', ' '])),
            "class" => return named_definition(Class, rest),
            "interface" | "trait" => return named_definition(Interface, rest),
            "enum" => return named_definition(Enum, rest),
            "const" => {
                let before = rest.split('=').next()?.trim_end();
                return named_definition(Constant, before.rsplit(' ').next()?);
            }
            _ => return None,
        }
    }
}

fn shell(code: &str) -> LineDefinition<'_> {
    let (word, rest) = word_of(code);
    if word == "function" {
        return named_definition(Function, rest);
    }
    let length = code
        .bytes()
        .take_while(|&byte| is_name_byte(byte) || matches!(byte, b'-' | b':' | b'.'))
        .count();
    let behind = code[length..].trim_start();
    let is_it = length > 0 && behind.starts_with('(') && behind[1..].trim_start().starts_with(')');
    is_it.then_some((Function, &code[..length]))
}

fn lua(code: &str) -> LineDefinition<'_> {
    let (word, rest) = word_of(code);
    let rest = match (word, word_of(rest)) {
        ("function", _) => rest,
        ("local", ("function", rest)) => rest,
        // `M.name = function(`, `local name = function(`, `name = function(` of a table.
        ("local", _) => head_of_assigned(rest)?,
        _ => head_of_assigned(code)?,
    };
    let path = rest.split('(').next()?;
    named_definition(Function, path.rsplit(['.', ':']).next()?)
}

/// What a function is assigned to.
fn head_of_assigned(code: &str) -> Option<&str> {
    let (head, value) = code.split_once('=')?;
    let behind = value.trim_start().strip_prefix("function")?;
    let is_path = |byte: u8| is_name_byte(byte) || matches!(byte, b'.' | b':');
    let head = head.trim_end();
    (head.bytes().all(is_path) && behind.trim_start().starts_with('(')).then_some(head)
}

fn heading(line: &str) -> LineDefinition<'_> {
    let signs = line.bytes().take_while(|&byte| byte == b'#').count();
    let rest = line[signs..].strip_prefix(' ')?;
    let name = rest.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&signs) && !name.is_empty()).then_some((Heading, name))
}
