//! A form with a file that goes by: it is not kept, but the names of its fields are looked at,
//! since one of them would put an address in place of the file.

use super::body::is_address_key;

/// Most bytes of what stands before a field.
const MAX_HEAD: usize = 8 << 10;

/// Looks at the fields of a form.
#[derive(Debug)]
pub struct FormGuard {
    /// What stands before each field and behind the last, wherever it is.
    mark: Vec<u8>,
    /// The end of what went by, as far as a mark may begin there; or the head of a field.
    kept: Vec<u8>,
    is_head: bool,
}

impl FormGuard {
    /// The guard of a body of this type; `None`: it is no form.
    ///
    /// # Errors
    /// What it is can be read in two ways.
    pub fn for_content_type(content_type: &str) -> Result<Option<Self>, &'static str> {
        let mut parts = content_type.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        if !kind.contains("multipart") {
            return Ok(None);
        }
        let mut boundary = None;
        for part in parts.filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match key.to_ascii_lowercase().as_str() {
                "boundary" if boundary.is_none() => boundary = Some(value),
                "charset" => {}
                _ => return Err("the type of the form has more than its boundary"),
            }
        }
        let text = boundary.unwrap_or_default();
        let inner = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        let text = inner.unwrap_or(text);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_-./:=?".contains(&byte);
        if kind != "multipart/form-data"
            || !(1..=70).contains(&text.len())
            || !text.bytes().all(is_plain)
        {
            return Err("the boundary of the form is not plain");
        }
        Ok(Some(Self {
            mark: format!("--{text}").into_bytes(),
            kept: Vec::new(),
            is_head: false,
        }))
    }

    /// Looks at the next bytes, before they are passed on.
    ///
    /// # Errors
    /// Why they are not.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        let mut all = std::mem::take(&mut self.kept);
        all.extend_from_slice(bytes);
        let mut rest = all.as_slice();
        loop {
            if self.is_head {
                match head_of(rest) {
                    Some((head, behind)) => {
                        check_head(head)?;
                        (rest, self.is_head) = (behind, false);
                    }
                    None if rest.len() > MAX_HEAD => return Err("a field of the form is too long"),
                    None => break,
                }
            } else if let Some(at) = memchr::memmem::find(rest, &self.mark) {
                rest = &rest[at + self.mark.len()..];
                self.is_head = true;
            } else {
                rest = &rest[rest.len().saturating_sub(self.mark.len() - 1)..];
                break;
            }
        }
        self.kept = rest.to_vec();
        Ok(())
    }
}

/// The lines up to an empty one, and what follows; nothing while there is none. The end of a form
/// has no lines.
fn head_of(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    if bytes.starts_with(b"--") {
        return Some((&[], &bytes[2..]));
    }
    let ends = ["\n\r\n", "\n\n"].map(|end| (memchr::memmem::find(bytes, end.as_bytes()), end));
    let found = ends
        .iter()
        .filter_map(|(at, end)| Some(((*at)?, end.len())));
    let (at, length) = found.min()?;
    Some((&bytes[..at], &bytes[at + length..]))
}

fn check_head(head: &[u8]) -> Result<(), &'static str> {
    if head.is_empty() {
        return Ok(());
    }
    let odd = Err("a field of the form can be read in two ways");
    let Ok(head) = str::from_utf8(head) else {
        return odd;
    };
    let mut names = 0;
    for line in head.split('\n').map(|line| line.trim_end_matches('\r')) {
        if line.starts_with([' ', '\t']) || line.contains('\r') {
            return odd;
        }
        let (key, value) = line.split_once(':').unwrap_or((line, ""));
        if !key.trim().eq_ignore_ascii_case("content-disposition") {
            continue;
        }
        for parameter in parameters(value) {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let key = key.trim().to_ascii_lowercase();
            if !key.starts_with("name") {
                continue;
            }
            let name = value.trim().trim_matches('"');
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            if key != "name" || !name.bytes().all(is_plain) {
                return odd;
            }
            if is_address_key(name) {
                return Err("an address in place of a file is not set with the token of a job");
            }
            names += 1;
        }
    }
    match names {
        1 => Ok(()),
        _ => odd,
    }
}

/// What stands between semicolons, but for those in quotes.
fn parameters(value: &str) -> Vec<&str> {
    let (mut found, mut begin, mut is_quoted, mut is_escaped) = (Vec::new(), 0, false, false);
    for (at, byte) in value.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b';' if !is_quoted => {
                found.push(&value[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.push(&value[begin..]);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=xyz";

    fn check_in_pieces(body: &str, piece: usize) -> Result<(), &'static str> {
        let mut guard = FormGuard::for_content_type(TYPE).unwrap().unwrap();
        body.as_bytes()
            .chunks(piece)
            .try_for_each(|piece| guard.push(piece))
    }

    #[test]
    fn i17_a_form_has_a_file_and_no_address() {
        let field = |disposition: &str| {
            format!(
                "--xyz\r\nContent-Disposition: form-data; {disposition}\r\n\r\nexternal_url\r\n"
            )
        };
        let file = field(r#"name="attachment"; filename="name=external_url; \"x\".zip""#);
        for body in [
            format!("{file}--xyz--\r\n"),
            format!("{file}{}--xyz--\r\n", field("name=name")),
            format!(
                "{file}{}--xyz--",
                field("filename*=utf-8''%41; name=\"attachment\"")
            ),
        ] {
            for piece in [1, 7, 4096] {
                assert_eq!(check_in_pieces(&body, piece), Ok(()), "{body}");
            }
        }
        for disposition in [
            r#"name="external_url""#,
            "name=external_url",
            "NAME = \"External_URL\"",
            "name=browser_download_url",
            "name*=utf-8''external%5furl",
            "name*0=external_; name*1=url",
            r#"name="external\_url""#,
            r#"name="attachment"; name="external_url""#,
            r#"filename="x\"; name="external_url""#,
            "filename=x",
            "name=\"attachment\"\r\nContent-Disposition: form-data; name=\"external_url\"",
            "x=y;\r\n name=\"external_url\"",
        ] {
            let body = format!("{file}{}--xyz--\r\n", field(disposition));
            for piece in [1, 7, 4096] {
                assert!(check_in_pieces(&body, piece).is_err(), "{body}");
            }
        }
        assert!(check_in_pieces(&format!("--xyz\r\n{}", "x".repeat(10_000)), 999).is_err());
    }

    #[test]
    fn i17_what_is_no_form_is_not_looked_at() {
        assert!(
            FormGuard::for_content_type("application/octet-stream")
                .unwrap()
                .is_none()
        );
        assert!(FormGuard::for_content_type("").unwrap().is_none());
        for plain in [TYPE, "Multipart/Form-Data; boundary=\"a-b\"; charset=utf-8"] {
            assert!(
                FormGuard::for_content_type(plain).unwrap().is_some(),
                "{plain}"
            );
        }
        for odd in [
            "multipart/form-data",
            "multipart/mixed; boundary=x",
            "multipart/form-data; boundary=\"a;b\"",
            "multipart/form-data; boundary=a; boundary=b",
            "multipart/form-data; boundary*=a",
            "x; multipart/form-data; boundary=a",
        ] {
            let found = FormGuard::for_content_type(odd);
            assert!(found.is_err() || odd.starts_with("x;"), "{odd}");
        }
    }
}
