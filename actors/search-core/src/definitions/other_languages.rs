//! What one line defines in Elixir, Haskell and Zig.

use super::kind::DefinitionKind::{
    Class, Constant, Enum, Function, Interface, Macro, Module, Struct, Type,
};
use super::words::{LineDefinition, name_of, named_definition, word_of};

pub(super) fn elixir(code: &str) -> LineDefinition<'_> {
    let (word, rest) = word_of(code);
    match word {
        "def" | "defp" | "defdelegate" => named_definition(Function, rest),
        "defmacro" | "defmacrop" | "defguard" => named_definition(Macro, rest),
        "defmodule" => named_definition(Module, last_part(rest)),
        "defprotocol" => named_definition(Interface, last_part(rest)),
        _ => None,
    }
}

/// `C` of `A.B.C do`.
fn last_part(path: &str) -> &str {
    let path = path.split([' ', ',']).next().unwrap_or_default();
    path.rsplit('.').next().unwrap_or_default()
}

/// Signatures and declarations at the margin. Functions without a signature are mostly those of
/// tests, and their names lead away from what is asked for.
pub(super) fn haskell<'t>(code: &'t str, indent: usize, behind: &str) -> LineDefinition<'t> {
    if indent > 0 {
        return None;
    }
    let (word, rest) = word_of(code);
    match word {
        "data" => return named_definition(Struct, rest),
        "newtype" | "type" => return named_definition(Type, after_word(rest, "family")),
        "class" => {
            let head = rest.split(" where").next().unwrap_or(rest);
            let head = head.rsplit("=>").next().unwrap_or(head);
            return named_definition(Class, head.trim_start());
        }
        "module" => return named_definition(Module, last_part(rest)),
        "instance" | "import" | "where" | "deriving" => return None,
        _ => {}
    }
    let (name, rest) = name_of(code)?;
    let rest = rest.trim_start_matches('\'').trim_start();
    let is_signature = rest.starts_with("::")
        || rest.is_empty() && behind.starts_with(' ') && behind.trim_start().starts_with("::");
    is_signature.then_some((Function, name))
}

fn after_word<'t>(text: &'t str, wanted: &str) -> &'t str {
    match word_of(text) {
        (word, rest) if word == wanted => rest,
        _ => text,
    }
}

pub(super) fn zig(mut code: &str) -> LineDefinition<'_> {
    loop {
        let (word, rest) = word_of(code);
        match word {
            "pub" | "export" | "inline" | "noinline" => code = rest,
            "extern" => {
                let quoted = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
                code = quoted.map_or(rest, |(_, rest)| rest.trim_start());
            }
            "fn" => return named_definition(Function, rest),
            "const" => {
                let (name, behind) = name_of(rest)?;
                let value = behind.split_once('=')?.1.trim_start();
                let value = after_word(after_word(value, "packed"), "extern");
                let kind = match word_of(value).0 {
                    "struct" | "union" | "opaque" => Struct,
                    "enum" => Enum,
                    "error" => Type,
                    _ => Constant,
                };
                return Some((kind, name));
            }
            _ => return None,
        }
        if code.is_empty() {
            return None;
        }
    }
}
