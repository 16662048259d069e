//! Values that are written as strings.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Value, json};
use url::Url;

use super::info::ValueShape;
use super::kinds::{DescribeShape, ValueContext, ValueKind};
use crate::bytes::ByteSize;
use crate::decode::ConfigItem;
use crate::duration::{format_duration, parse_duration};
use crate::link::parse_http_url;
use crate::value_error::ValueError;

/// A string that a function understands.
pub struct TextKind<T> {
    format: &'static str,
    parse: fn(&str) -> Result<T, ValueError>,
    write: fn(&T) -> String,
}

impl<T> TextKind<T> {
    /// A string of `format` (a word for the schema: "duration").
    pub const fn new(
        format: &'static str,
        parse: fn(&str) -> Result<T, ValueError>,
        write: fn(&T) -> String,
    ) -> Self {
        Self {
            format,
            parse,
            write,
        }
    }
}

impl<T: FromStr<Err: Display> + Display> TextKind<T> {
    /// A string of a type that reads and writes itself.
    pub const fn with_format(format: &'static str) -> Self {
        Self::new(format, from_str, T::to_string)
    }
}

impl TextKind<String> {
    /// Any string that is not blank.
    pub const STRING: Self = Self::new("", |text| Ok(text.to_owned()), String::clone);
    /// A host and a port that others connect to, `<host>:<port>`.
    pub const HOST_PORT: Self = Self::new("address", host_port, String::clone);
}

fn host_port(text: &str) -> Result<String, ValueError> {
    let wrong = |reason: &str| {
        let error = ValueError::new(format!(
            "`{text}` is no address that others reach: {reason}"
        ));
        error.help("write `<host>:<port>`, for example `ci-1.example:3000` or `10.0.0.5:3000`")
    };
    let (host, port) = text
        .rsplit_once(':')
        .ok_or_else(|| wrong("it has no port"))?;
    if port.parse::<u16>().is_ok_and(|port| port == 0) || port.parse::<u16>().is_err() {
        return Err(wrong("the port is a number from 1 to 65535"));
    }
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    if let Ok(address) = bare.unwrap_or(host).parse::<std::net::IpAddr>() {
        return match address.is_unspecified() {
            true => Err(wrong(
                "it stands for every address of a machine, and so for none",
            )),
            false => Ok(text.to_owned()),
        };
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    match !host.is_empty() && host.chars().all(is_name) {
        true => Ok(text.to_owned()),
        false => Err(wrong("the host is no name and no IP address")),
    }
}

impl TextKind<Url> {
    /// An `http` or `https` address.
    pub const HTTP_URL: Self = Self::new("uri", parse_http_url, Url::to_string);
}

impl TextKind<Duration> {
    /// A duration such as `300s`.
    pub const DURATION: Self = Self::new("duration", parse_duration, |time| format_duration(*time));
}

impl TextKind<ByteSize> {
    /// A size such as `64MB`.
    pub const SIZE: Self = Self::new("size", ByteSize::parse, ByteSize::to_string);
}

/// Reads a value that reads itself.
///
/// # Errors
/// What the type says.
pub fn from_str<T: FromStr<Err: Display>>(text: &str) -> Result<T, ValueError> {
    text.parse()
        .map_err(|error: T::Err| ValueError::new(error.to_string()))
}

impl<T> DescribeShape for TextKind<T> {
    fn shape(&self) -> ValueShape {
        ValueShape::Value(match self.format {
            "" => json!({"type": "string", "minLength": 1}),
            format => json!({"type": "string", "format": format}),
        })
    }
}

impl<T> ValueKind<T> for TextKind<T> {
    fn read(&self, item: &ConfigItem<'_>) -> Option<T> {
        item.parsed(self.parse)
    }

    fn parse(&self, text: &str, _: ValueContext<'_>) -> Result<T, ValueError> {
        (self.parse)(text)
    }

    fn write(&self, value: &T) -> Option<Value> {
        let text = (self.write)(value);
        (!text.is_empty()).then(|| json!(text))
    }
}
