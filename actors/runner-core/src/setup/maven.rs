//! The settings of Maven that `actions/setup-java` writes: servers to publish to, and toolchains
//! (<https://maven.apache.org/settings.html>,
//! <https://maven.apache.org/guides/mini/guide-using-toolchains.html>).

use super::installed::InstalledTool;
use super::xml_text;

/// Writes a file that others may not read. Arguments: folder, name, text, `keep` where one that is
/// there stays.
pub const WRITE_SCRIPT: &str = r#"
umask 077
case $1 in "~"*) folder=$HOME${1#"~"} ;; *) folder=$1 ;; esac
mkdir -p "$folder" && cd "$folder" || exit 1
if [ "$4" = keep ] && [ -e "$2" ]; then exit 0; fi
printf '%s' "$3" > "$2"
"#;

/// What the inputs say of a server; the values are names of variables but for the id.
#[derive(Debug, Clone, Copy, Default)]
pub struct MavenServer<'a> {
    /// `server-id`
    pub id: &'a str,
    /// `server-username`
    pub username: &'a str,
    /// `server-password`
    pub password: &'a str,
    /// `gpg-passphrase`; empty without a key.
    pub passphrase: &'a str,
}

/// `settings.xml`; what is not given is as the action has it.
#[must_use]
pub fn settings(server: MavenServer<'_>) -> String {
    let or = |given: &str, usual: &str| xml_text(if given.is_empty() { usual } else { given });
    let (id, username) = (or(server.id, "github"), or(server.username, "GITHUB_ACTOR"));
    let password = or(server.password, "GITHUB_TOKEN");
    let mut servers = format!(
        "    <server>\n      <id>{id}</id>\n      <username>${{env.{username}}}</username>\n      <password>${{env.{password}}}</password>\n    </server>\n"
    );
    if !server.passphrase.is_empty() {
        let variable = xml_text(server.passphrase);
        servers += &format!(
            "    <server>\n      <id>gpg.passphrase</id>\n      <passphrase>${{env.{variable}}}</passphrase>\n    </server>\n"
        );
    }
    format!(
        "<settings xmlns=\"http://maven.apache.org/SETTINGS/1.0.0\">\n  <interactiveMode>false</interactiveMode>\n  <servers>\n{servers}  </servers>\n</settings>\n"
    )
}

/// `toolchains.xml` with the chosen releases: each with its id and vendor.
#[must_use]
pub fn toolchains(tools: &[(&InstalledTool, String, String)]) -> String {
    let mut text = "<toolchains>\n".to_owned();
    for (tool, id, vendor) in tools {
        text += &format!(
            "  <toolchain>\n    <type>jdk</type>\n    <provides>\n      <version>{}</version>\n      <vendor>{}</vendor>\n      <id>{}</id>\n    </provides>\n    <configuration>\n      <jdkHome>{}</jdkHome>\n    </configuration>\n  </toolchain>\n",
            xml_text(&tool.version()),
            xml_text(vendor),
            xml_text(id),
            xml_text(tool.prefix())
        );
    }
    text + "</toolchains>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_maven_is_told_of_servers_by_variables() {
        let usual = settings(MavenServer::default());
        for part in [
            "<id>github</id>",
            "<username>${env.GITHUB_ACTOR}</username>",
            "<password>${env.GITHUB_TOKEN}</password>",
        ] {
            assert!(usual.contains(part), "{usual}");
        }
        assert!(!usual.contains("gpg"));
        let own = settings(MavenServer {
            id: "a<b",
            username: "U",
            password: "P",
            passphrase: "G",
        });
        for part in [
            "<id>a&lt;b</id>",
            "${env.U}",
            "${env.P}",
            "<passphrase>${env.G}</passphrase>",
        ] {
            assert!(own.contains(part), "{own}");
        }
        let java = InstalledTool {
            path: "/usr/bin/java".to_owned(),
            real_path: "/usr/lib/jvm/j17/bin/java".to_owned(),
            says: "openjdk version \"17.0.9\"".to_owned(),
        };
        let text = toolchains(&[(&java, "temurin_17".to_owned(), "temurin".to_owned())]);
        assert!(text.contains("<version>17.0.9</version>"), "{text}");
        assert!(
            text.contains("<jdkHome>/usr/lib/jvm/j17</jdkHome>"),
            "{text}"
        );
    }

    #[test]
    fn i17_a_file_of_settings_is_written_or_kept() {
        let folder = tempfile::tempdir().unwrap();
        let write = |text: &str, keep: &str| {
            let mut command = std::process::Command::new("sh");
            command.env("HOME", folder.path());
            command.args([
                "-c",
                WRITE_SCRIPT,
                "sh",
                "~/.m2",
                "settings.xml",
                text,
                keep,
            ]);
            assert!(command.status().unwrap().success());
            std::fs::read_to_string(folder.path().join(".m2/settings.xml")).unwrap()
        };
        assert_eq!(write("one", "keep"), "one");
        assert_eq!(write("two", "keep"), "one");
        assert_eq!(write("two", ""), "two");
    }
}
