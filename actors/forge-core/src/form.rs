//! Bodies in the form that GitHub sends unless told otherwise: `payload=` and the JSON,
//! percent-encoded.

use std::borrow::Cow;

use percent_encoding::percent_decode;

/// The JSON of a body: what it is, or what stands in its field `payload`. The content type decides
/// nothing, since senders are often wrong about it; a body that is neither stays as it is, and is
/// refused where it is parsed.
pub(crate) fn json_of(body: &[u8]) -> Cow<'_, [u8]> {
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_none_or(|byte| matches!(byte, b'{' | b'[' | b'"')) {
        return Cow::Borrowed(body);
    }
    let mut fields = body.trim_ascii().split(|byte| *byte == b'&');
    let payload = fields.find_map(|field| field.strip_prefix(b"payload="));
    payload.map_or(Cow::Borrowed(body), |text| Cow::Owned(decoded(text)))
}

/// Percent-encoded text as bytes; what is no escape stays.
fn decoded(text: &[u8]) -> Vec<u8> {
    let spaced = |byte: &u8| if *byte == b'+' { b' ' } else { *byte };
    let text: Vec<u8> = text.iter().map(spaced).collect();
    percent_decode(&text).collect()
}

#[cfg(test)]
mod tests {
    use super::json_of;

    #[test]
    fn v11_the_json_of_a_form_is_its_payload_and_json_is_json() {
        for (body, json) in [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            ("\n {\"payload=\":1}", "\n {\"payload=\":1}"),
            (
                "payload=%7B%22a%22%3A+%22%2B+%C3%B6%26%22%7D",
                r#"{"a": "+ ö&"}"#,
            ),
            ("payload=%7b%7d\n", "{}"),
            ("x=1&payload=%7B%7D&payload=%5B%5D", "{}"),
            ("payload=%7B%2", "{%2"),
            ("payload=%zz%", "%zz%"),
            ("payload=", ""),
            ("other=%7B%7D", "other=%7B%7D"),
            ("", ""),
        ] {
            let found = json_of(body.as_bytes());
            assert_eq!(String::from_utf8_lossy(&found), json, "{body}");
        }
    }
}
