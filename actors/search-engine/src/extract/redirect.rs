//! Pages that nobody reads: a browser that opens them goes on to another at once.

/// Bytes of a page in which it says so.
const HEAD: usize = 2 << 10;

/// Whether a page leads to another one without waiting (`<meta http-equiv="refresh" …>`).
pub(super) fn is_redirect(page: &str) -> bool {
    let head = page[..page.floor_char_boundary(HEAD)].to_ascii_lowercase();
    let tags = head.split("<meta").skip(1);
    let mut metas = tags.map(|rest| rest.split('>').next().unwrap_or(rest));
    metas.any(|tag| {
        let bare: String = tag
            .chars()
            .filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\''))
            .collect();
        bare.contains("http-equiv=refresh")
            && ["content=0;url=", "content=0,url="]
                .iter()
                .any(|start| bare.contains(start))
    })
}

#[cfg(test)]
mod tests {
    use super::is_redirect;

    #[test]
    fn i16_pages_that_lead_on_at_once_are_told() {
        for (page, expected) in [
            (
                "<html><head><META HTTP-EQUIV='Refresh' content=\"0; URL=a.html\">",
                true,
            ),
            (
                "<meta http-equiv=\"refresh\" content=\"0;URL=../fn.spawn.html\">",
                true,
            ),
            (
                "<meta http-equiv=\"refresh\" content=\"300; url=/\"><p>news",
                false,
            ),
            ("<meta name=\"description\" content=\"0;url=\">", false),
            ("<p>the meta tag http-equiv=refresh content=0;url=", false),
        ] {
            assert_eq!(is_redirect(page), expected, "{page}");
        }
    }
}
