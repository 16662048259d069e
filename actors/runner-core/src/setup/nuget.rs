//! The settings of NuGet that `actions/setup-dotnet` writes for `source-url`: a source of packages
//! and the variable that its token is in
//! (<https://learn.microsoft.com/nuget/reference/nuget-config-file>).

use config_core::quoted;

use super::xml_text;

/// The file, above the workspace as the action has it.
pub const FILE: &str = "/nuget.config";

/// `nuget.config` for a source; `owner` is whose token it is.
///
/// # Errors
/// When the address is none.
pub fn settings(url: &str, owner: &str) -> Result<String, String> {
    if !(url.starts_with("https://") || url.starts_with("http://")) {
        return Err(format!(
            "`source-url` is {}: it takes the address of a source, `https://…/index.json`",
            quoted(url)
        ));
    }
    let (url, owner) = (xml_text(url), xml_text(owner));
    Ok(format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<configuration>\n  <packageSources>\n    <add key=\"Source\" value=\"{url}\" protocolVersion=\"3\" />\n  </packageSources>\n  <packageSourceCredentials>\n    <Source>\n      <add key=\"Username\" value=\"{owner}\" />\n      <add key=\"ClearTextPassword\" value=\"%NUGET_AUTH_TOKEN%\" />\n    </Source>\n  </packageSourceCredentials>\n</configuration>\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_nuget_is_told_of_a_source_and_its_token() {
        let text = settings("https://n.example/v3?a&b", "acme").unwrap();
        for part in [
            "value=\"https://n.example/v3?a&amp;b\" protocolVersion=\"3\"",
            "value=\"acme\"",
            "%NUGET_AUTH_TOKEN%",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let error = settings("nuget.org", "acme").unwrap_err();
        assert!(error.contains("`source-url` is `nuget.org`"), "{error}");
    }
}
