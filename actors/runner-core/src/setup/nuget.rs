//! The settings by which NuGet signs in to a source, as `actions/setup-dotnet` writes them for
//! `source-url` (<https://learn.microsoft.com/nuget/reference/nuget-config-file>).

use config_core::quoted;
use quick_xml::escape::escape;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// The variable whose value is the token.
pub const TOKEN: &str = "NUGET_AUTH_TOKEN";
/// The name of a source that the project's settings do not have.
const NEW_SOURCE: &str = "Source";
/// Writes a file that others may not read beside the checkout, where NuGet looks next. Arguments:
/// the checkout, the text.
pub const WRITE_SCRIPT: &str = r#"umask 077; printf '%s' "$2" > "$1/../nuget.config""#;
/// Prints the project's settings in lines of base64, if it has any. Arguments: the checkout, a file
/// of it, or nothing for the usual one.
pub const READ_SCRIPT: &str = r#"
cd "$1" || exit 1
if [ -n "$2" ]; then found=$2; else found=$(find . -maxdepth 1 -iname nuget.config | sort | head -n 1); fi
if [ -f "$found" ]; then printf '::set-output name=text::%s\n' "$(base64 -w 0 < "$found")"; fi
"#;

/// Settings with the credentials of a source: of those in the project's settings whose address has
/// `source` in it, else of a new one. `owner` is the name that signs in.
///
/// # Errors
/// When the project's settings are none, or a source's name cannot be the name of an element.
pub fn settings(
    project: Option<&str>,
    source: &str,
    owner: &str,
    token: &str,
) -> Result<String, String> {
    let sources = project.map(sources).transpose()?.unwrap_or_default();
    let wanted = source.to_lowercase();
    let known = sources.into_iter();
    let known = known.filter(|(_, value)| value.to_lowercase().contains(&wanted));
    let mut names: Vec<String> = known.map(|(key, _)| key).collect();
    let mut text = format!(
        "<?xml version=\"1.0\"?>\n<configuration>\n  <config>\n    <add key=\"defaultPushSource\" value=\"{0}\"/>\n  </config>\n",
        escape(source)
    );
    if names.is_empty() {
        names.push(NEW_SOURCE.to_owned());
        text += &format!(
            "  <packageSources>\n    <add key=\"{NEW_SOURCE}\" value=\"{}\"/>\n  </packageSources>\n",
            escape(source)
        );
    }
    text += "  <packageSourceCredentials>\n";
    for name in names {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if !name.chars().all(is_plain) || name.is_empty() {
            return Err(format!(
                "the source {} of the project has a name that NuGet takes no credentials for: letters, digits, `-`, `_` and `.` only",
                quoted(&name)
            ));
        }
        text += &format!(
            "    <{name}>\n      <add key=\"Username\" value=\"{}\"/>\n      <add key=\"ClearTextPassword\" value=\"{}\"/>\n    </{name}>\n",
            escape(owner),
            escape(token)
        );
    }
    Ok(text + "  </packageSourceCredentials>\n</configuration>\n")
}

/// Names and addresses of the package sources.
fn sources(project: &str) -> Result<Vec<(String, String)>, String> {
    let mut reader = Reader::from_str(project.trim_start_matches('\u{feff}'));
    let (mut open, mut found): (Vec<String>, _) = (Vec::new(), Vec::new());
    let mut has_root = false;
    loop {
        let event = reader.read_event();
        let event = event.map_err(|error| format!("the settings of NuGet are no XML: {error}"))?;
        match event {
            Event::Start(start) => {
                has_root |= open.is_empty() && name_of(&start) == "configuration";
                source(&open, &start, &mut found);
                open.push(name_of(&start));
            }
            Event::Empty(start) => source(&open, &start, &mut found),
            Event::End(_) => {
                open.pop();
            }
            Event::Eof => break,
            _ => {}
        }
    }
    match has_root {
        true => Ok(found),
        false => Err("the settings of NuGet have no element `configuration`".to_owned()),
    }
}

fn name_of(start: &BytesStart<'_>) -> String {
    start.name().as_ref().to_owned()
}

/// Adds what `<add key="…" value="…"/>` says, where it is of the package sources.
fn source(open: &[String], start: &BytesStart<'_>, found: &mut Vec<(String, String)>) {
    let is_source = open == ["configuration", "packageSources"] && name_of(start) == "add";
    let attribute = |name: &str| {
        let attribute = start.try_get_attribute(name).ok().flatten()?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).ok()?;
        Some(value.into_owned())
    };
    if is_source && let (Some(key), Some(value)) = (attribute("key"), attribute("value")) {
        found.push((key, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROJECT: &str = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>
<configuration>
  <packageSources>
    <clear />
    <add key=\"nuget.org\" value=\"https://nuget.example/v3/index.json\" />
    <add key=\"own\" value=\"https://Packages.example/a&amp;b\" ></add>
  </packageSources>
  <config><add key=\"globalPackagesFolder\" value=\"https://packages.example/a\" /></config>
</configuration>";

    #[test]
    fn i17_nuget_signs_in_to_a_source_of_the_project_or_to_a_new_one() {
        let known = settings(Some(PROJECT), "https://packages.example/a&b", "acme", "t<").unwrap();
        for part in [
            "<add key=\"defaultPushSource\" value=\"https://packages.example/a&amp;b\"/>",
            "<own>\n      <add key=\"Username\" value=\"acme\"/>",
            "<add key=\"ClearTextPassword\" value=\"t&lt;\"/>\n    </own>",
        ] {
            assert!(known.contains(part), "{part}: {known}");
        }
        assert!(!known.contains("packageSources>"), "{known}");
        for project in [None, Some(PROJECT)] {
            let new = settings(project, "https://other.example", "acme", "t").unwrap();
            let part = "<add key=\"Source\" value=\"https://other.example\"/>\n  </packageSources>";
            assert!(new.contains(part) && new.contains("<Source>"), "{new}");
        }
    }

    #[test]
    fn i17_settings_of_nuget_that_are_none_are_named() {
        let named = PROJECT.replace("key=\"own\"", "key=\"our own\"");
        for (project, part) in [
            ("<configuration", "no XML"),
            ("<other/>", "no element `configuration`"),
            (&named, "`our own`"),
        ] {
            let error = settings(Some(project), "https://packages.example/a", "a", "t");
            let error = error.unwrap_err();
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn i17_the_projects_settings_are_found_whatever_the_case() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        std::fs::create_dir_all(tree.join("sub")).unwrap();
        let tree_name = tree.to_str().unwrap();
        let run = |script: &str, arguments: [&str; 2]| {
            let mut command = std::process::Command::new("sh");
            let output = command.args(["-c", script, "sh"]).args(arguments).output();
            let output = output.unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(run(READ_SCRIPT, [tree_name, ""]), "");
        std::fs::write(tree.join("NuGet.Config"), "a\nb").unwrap();
        std::fs::write(tree.join("sub/own.config"), "own").unwrap();
        let usual = run(READ_SCRIPT, [tree_name, ""]);
        assert_eq!(usual, "::set-output name=text::YQpi\n");
        let named = run(READ_SCRIPT, [tree_name, "sub/own.config"]);
        assert_eq!(named, "::set-output name=text::b3du\n");
        run(WRITE_SCRIPT, [tree_name, "text"]);
        let written = folder.path().join("nuget.config");
        assert_eq!(std::fs::read_to_string(&written).unwrap(), "text");
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&written).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
