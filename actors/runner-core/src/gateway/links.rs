//! Addresses in answers: those of the forge's API lead back to the gateway.

/// Where the forge's API is, and where a job finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiAddress {
    /// The forge's, without a slash at the end.
    pub forge: String,
    /// The gateway's, without a slash at the end.
    pub gateway: String,
}

impl ApiAddress {
    /// An address of the API as a job reaches it; others stay as they are. GitHub writes some with
    /// the number of the repository, which is the one that was asked for.
    #[must_use]
    pub fn for_job(&self, address: &str, repository: &str) -> String {
        let Some(rest) = address.strip_prefix(&self.forge) else {
            return address.to_owned();
        };
        if !rest.is_empty() && !rest.starts_with(['/', '?']) {
            return address.to_owned();
        }
        let by_number = rest.strip_prefix("/repositories/");
        let named = by_number.and_then(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit())?;
            Some(format!("/repos/{repository}{}", &rest[end..]))
        });
        let rest = named.as_deref().unwrap_or(rest);
        format!("{}{rest}", self.gateway)
    }
}

/// A `Link` header (RFC 8288) with its addresses as a job reaches them.
#[must_use]
pub fn rewritten_link(link: &str, api: &ApiAddress, repository: &str) -> String {
    let mut out = String::with_capacity(link.len());
    let mut rest = link;
    while let Some((before, behind)) = rest.split_once('<') {
        let Some((address, after)) = behind.split_once('>') else {
            break;
        };
        out.push_str(before);
        out.push('<');
        out.push_str(&api.for_job(address, repository));
        out.push('>');
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_pages_of_a_listing_are_asked_for_through_the_gateway() {
        let api = ApiAddress {
            forge: "https://api.github.com".to_owned(),
            gateway: "http://127.0.0.1:3128/api/v3".to_owned(),
        };
        let link = "<https://api.github.com/repositories/42/issues?page=2>; rel=\"next\", <https://api.github.com/repos/a/b/issues?page=9>; rel=\"last\"";
        let expected = "<http://127.0.0.1:3128/api/v3/repos/a/b/issues?page=2>; rel=\"next\", <http://127.0.0.1:3128/api/v3/repos/a/b/issues?page=9>; rel=\"last\"";
        assert_eq!(rewritten_link(link, &api, "a/b"), expected);
        for elsewhere in [
            "https://api.github.com.evil/x",
            "https://codeload.github.com/x",
            "x<y",
        ] {
            assert_eq!(api.for_job(elsewhere, "a/b"), elsewhere);
        }
        assert_eq!(rewritten_link("x<y", &api, "a/b"), "x<y");
    }
}
