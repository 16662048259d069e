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

/// What the inputs say of toolchains.
#[derive(Debug, Clone, Copy, Default)]
pub struct MavenToolchains<'a> {
    /// `mvn-toolchain-id`: one for each version; vendor and version where there is none.
    pub ids: &'a [String],
    /// `mvn-toolchain-vendor`: one for each version, or for all; the distribution where there is
    /// none.
    pub vendors: &'a [String],
    /// `distribution`
    pub distribution: &'a str,
}

/// `toolchains.xml` with the chosen releases, each with the version that was asked for; nothing of
/// one release where the step says nothing of toolchains.
#[must_use]
pub fn toolchains(
    chosen: &[(&InstalledTool, &str)],
    inputs: MavenToolchains<'_>,
) -> Option<String> {
    let MavenToolchains {
        ids,
        vendors,
        distribution,
    } = inputs;
    if ids.is_empty() && vendors.is_empty() && chosen.len() < 2 {
        return None;
    }
    let mut text = "<toolchains>\n".to_owned();
    for (index, (tool, version)) in chosen.iter().enumerate() {
        let vendor = vendors.get(index).or(vendors.first());
        let vendor = vendor.map_or(distribution, String::as_str);
        let usual = format!("{vendor}_{version}");
        let id = ids.get(index).unwrap_or(&usual);
        text += &format!(
            "  <toolchain>\n    <type>jdk</type>\n    <provides>\n      <version>{}</version>\n      <vendor>{}</vendor>\n      <id>{}</id>\n    </provides>\n    <configuration>\n      <jdkHome>{}</jdkHome>\n    </configuration>\n  </toolchain>\n",
            xml_text(version),
            xml_text(vendor),
            xml_text(id),
            xml_text(tool.prefix())
        );
    }
    Some(text + "</toolchains>\n")
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
        let vendors = ["acme".to_owned()];
        let given = MavenToolchains {
            vendors: &vendors,
            distribution: "temurin",
            ..MavenToolchains::default()
        };
        let text = toolchains(&[(&java, "17")], given).unwrap();
        for part in [
            "<version>17</version>",
            "<vendor>acme</vendor>",
            "<id>acme_17</id>",
            "<jdkHome>/usr/lib/jvm/j17</jdkHome>",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let none = MavenToolchains::default();
        assert_eq!(toolchains(&[(&java, "17")], none), None);
        let both = toolchains(&[(&java, "17"), (&java, "21")], none).unwrap();
        assert!(both.contains("<id>_21</id>"), "{both}");
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
