//! The settings of Maven that `actions/setup-java` writes: servers to publish to, and toolchains
//! (<https://maven.apache.org/settings.html>,
//! <https://maven.apache.org/guides/mini/guide-using-toolchains.html>).

use config_core::quoted;

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

/// A server's credentials; the values are names of variables but for the id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MavenServer {
    /// `server-id`
    pub id: String,
    /// `server-username-env-var`
    pub username: String,
    /// `server-password-env-var`
    pub password: String,
}

impl MavenServer {
    /// One of three inputs; what is not given is as the action has it.
    #[must_use]
    pub fn new(id: &str, username: &str, password: &str) -> Self {
        let or = |given: &str, usual: &str| match given {
            "" => usual.to_owned(),
            given => given.to_owned(),
        };
        Self {
            id: or(id, "github"),
            username: or(username, "GITHUB_ACTOR"),
            password: or(password, "GITHUB_TOKEN"),
        }
    }

    /// Those of `mvn-server-credentials`: `id:USERNAME_VARIABLE:PASSWORD_VARIABLE` in each line.
    ///
    /// # Errors
    /// Which line is wrong.
    pub fn read(lines: &[String]) -> Result<Vec<Self>, String> {
        let mut servers: Vec<Self> = Vec::new();
        for line in lines {
            let parts: Vec<&str> = line.split(':').map(str::trim).collect();
            let [id, username, password] = parts[..] else {
                return Err(wrong_line("mvn-server-credentials", line, SERVER_FORM));
            };
            if parts.contains(&"") {
                return Err(wrong_line("mvn-server-credentials", line, SERVER_FORM));
            }
            if servers.iter().any(|known| known.id == id) {
                let id = quoted(id);
                return Err(format!("`mvn-server-credentials` has {id} twice"));
            }
            servers.push(Self::new(id, username, password));
        }
        Ok(servers)
    }
}

const SERVER_FORM: &str = "id:USERNAME_VARIABLE:PASSWORD_VARIABLE";
const REPOSITORY_FORM: &str = "id:address:true, or :false without snapshots";
/// The name of Maven's own repository.
const CENTRAL: &str = "central";
/// Its address.
const CENTRAL_URL: &str = "https://repo.maven.apache.org/maven2";

fn wrong_line(input: &str, line: &str, form: &str) -> String {
    format!("`{input}` has {}: it is written {form}", quoted(line))
}

/// Where packages come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MavenRepository {
    id: String,
    url: String,
    snapshots: bool,
    releases: bool,
}

impl MavenRepository {
    /// Those of `mvn-repositories`, `id:address:snapshots` in each line, and Maven's own: among
    /// them where `has_central`, the first where `central_first`.
    ///
    /// # Errors
    /// Which line is wrong.
    pub fn read(
        lines: &[String],
        has_central: bool,
        central_first: bool,
    ) -> Result<Vec<Self>, String> {
        let mut all: Vec<Self> = Vec::new();
        for line in lines {
            let wrong = || wrong_line("mvn-repositories", line, REPOSITORY_FORM);
            let (id, rest) = line.split_once(':').ok_or_else(wrong)?;
            let (url, snapshots) = rest.rsplit_once(':').ok_or_else(wrong)?;
            let (id, url) = (id.trim(), url.trim());
            let snapshots = match snapshots.trim().to_lowercase().as_str() {
                "true" => true,
                "false" => false,
                _ => return Err(wrong()),
            };
            if id.is_empty() || url.is_empty() {
                return Err(wrong());
            }
            let is_taken = has_central && id == CENTRAL;
            if is_taken || all.iter().any(|known| known.id == id) {
                return Err(format!("`mvn-repositories` has {} twice", quoted(id)));
            }
            all.push(Self {
                id: id.to_owned(),
                url: url.to_owned(),
                snapshots,
                releases: true,
            });
        }
        // Maven asks its own one unless something of that name says otherwise.
        if all.iter().all(|known| known.id != CENTRAL) && !all.is_empty() {
            let central = Self {
                id: CENTRAL.to_owned(),
                url: CENTRAL_URL.to_owned(),
                snapshots: false,
                releases: has_central,
            };
            let at = if has_central && central_first {
                0
            } else {
                all.len()
            };
            all.insert(at, central);
        }
        Ok(all)
    }

    fn xml(&self) -> String {
        let releases = match self.releases {
            true => "",
            false => "          <releases><enabled>false</enabled></releases>\n",
        };
        format!(
            "        <repository>\n          <id>{}</id>\n          <url>{}</url>\n{releases}          <snapshots><enabled>{}</enabled></snapshots>\n        </repository>\n",
            xml_text(&self.id),
            xml_text(&self.url),
            self.snapshots
        )
    }
}

/// How a signature's passphrase reaches the plugin that signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpgPassphrase<'a> {
    /// There is no key.
    None,
    /// As a server's, from this variable: releases of the action up to 5.
    Server(&'a str),
    /// By the property that names this variable: later ones.
    Property(&'a str),
}

/// What the settings say.
#[derive(Debug, Clone, Copy)]
pub struct MavenSettings<'a> {
    /// At least one.
    pub servers: &'a [MavenServer],
    /// None: Maven's own.
    pub repositories: &'a [MavenRepository],
    /// `gpg-passphrase-env-var`
    pub passphrase: GpgPassphrase<'a>,
}

/// The variable that the plugin reads of itself.
const USUAL_PASSPHRASE: &str = "MAVEN_GPG_PASSPHRASE";

/// `settings.xml`
#[must_use]
pub fn settings(settings: MavenSettings<'_>) -> String {
    let variable = |name: &str| format!("${{env.{}}}", xml_text(name));
    let mut servers = String::new();
    for server in settings.servers {
        servers += &format!(
            "    <server>\n      <id>{}</id>\n      <username>{}</username>\n      <password>{}</password>\n    </server>\n",
            xml_text(&server.id),
            variable(&server.username),
            variable(&server.password)
        );
    }
    let mut profiles = Vec::new();
    if !settings.repositories.is_empty() {
        let all = settings.repositories.iter().map(MavenRepository::xml);
        let all: String = all.collect();
        let profile = format!("      <repositories>\n{all}      </repositories>\n");
        profiles.push(("setup-java-repositories", profile));
    }
    match settings.passphrase {
        GpgPassphrase::Server(name) => {
            servers += &format!(
                "    <server>\n      <id>gpg.passphrase</id>\n      <passphrase>{}</passphrase>\n    </server>\n",
                variable(name)
            );
        }
        GpgPassphrase::Property(name) if name != USUAL_PASSPHRASE => {
            let name = xml_text(name);
            let profile = format!(
                "      <properties>\n        <gpg.passphraseEnvName>{name}</gpg.passphraseEnvName>\n      </properties>\n"
            );
            profiles.push(("setup-java-gpg", profile));
        }
        _ => {}
    }
    format!(
        "<settings xmlns=\"http://maven.apache.org/SETTINGS/1.0.0\">\n  <interactiveMode>false</interactiveMode>\n  <servers>\n{servers}  </servers>\n{}</settings>\n",
        active(&profiles)
    )
}

/// Profiles that are in effect; nothing of none.
fn active(profiles: &[(&str, String)]) -> String {
    if profiles.is_empty() {
        return String::new();
    }
    let (mut text, mut names) = (String::new(), String::new());
    for (name, profile) in profiles {
        text += &format!("    <profile>\n      <id>{name}</id>\n{profile}    </profile>\n");
        names += &format!("    <activeProfile>{name}</activeProfile>\n");
    }
    format!("  <profiles>\n{text}  </profiles>\n  <activeProfiles>\n{names}  </activeProfiles>\n")
}

/// `MAVEN_ARGS` that leaves out what Maven says of every download; nothing where it does already.
#[must_use]
pub fn quiet_arguments(known: &str) -> Option<String> {
    let is_quiet = |word: &str| matches!(word, "-ntp" | "--no-transfer-progress");
    (!known.split_whitespace().any(is_quiet)).then(|| format!("{known} -ntp").trim().to_owned())
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

/// `toolchains.xml` with the chosen releases, each with the version that was asked for, before what
/// the file has already; one of the same `id` is replaced.
///
/// # Errors
/// When there are as many ids as there are no versions.
pub fn toolchains(
    chosen: &[(&InstalledTool, &str)],
    inputs: MavenToolchains<'_>,
    known: &str,
) -> Result<String, String> {
    let MavenToolchains {
        ids,
        vendors,
        distribution,
    } = inputs;
    if !ids.is_empty() && ids.len() != chosen.len() {
        return Err(format!(
            "`mvn-toolchain-id` has {} ids for {} versions of Java",
            ids.len(),
            chosen.len()
        ));
    }
    let (mut text, mut new) = (String::new(), Vec::new());
    for (index, (tool, version)) in chosen.iter().enumerate() {
        let vendor = vendors.get(index).or(vendors.first());
        let vendor = vendor.map_or(distribution, String::as_str);
        let usual = format!("{vendor}_{version}");
        let id = format!("<id>{}</id>", xml_text(ids.get(index).unwrap_or(&usual)));
        text += &format!(
            "  <toolchain>\n    <type>jdk</type>\n    <provides>\n      <version>{}</version>\n      <vendor>{}</vendor>\n      {id}\n    </provides>\n    <configuration>\n      <jdkHome>{}</jdkHome>\n    </configuration>\n  </toolchain>\n",
            xml_text(version),
            xml_text(vendor),
            xml_text(tool.prefix())
        );
        new.push(id);
    }
    let is_replaced = |block: &&str| new.iter().any(|id| block.contains(id.as_str()));
    for block in toolchain_blocks(known).filter(|block| !is_replaced(block)) {
        text += &format!("  {block}\n");
    }
    Ok(format!(
        "<?xml version=\"1.0\"?>\n<toolchains xmlns=\"http://maven.apache.org/TOOLCHAINS/1.1.0\">\n{text}</toolchains>\n"
    ))
}

/// The elements `toolchain` of a file, as they are written.
fn toolchain_blocks(text: &str) -> impl Iterator<Item = &str> {
    const END: &str = "</toolchain>";
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find("<toolchain>")?;
        let end = start + rest[start..].find(END)? + END.len();
        let block = &rest[start..end];
        rest = &rest[end..];
        Some(block)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_maven_is_told_of_servers_by_variables() {
        let of = |server: MavenServer, passphrase| {
            settings(MavenSettings {
                servers: &[server],
                repositories: &[],
                passphrase,
            })
        };
        let usual = of(MavenServer::new("", "", ""), GpgPassphrase::None);
        for part in [
            "<id>github</id>",
            "<username>${env.GITHUB_ACTOR}</username>",
            "<password>${env.GITHUB_TOKEN}</password>",
        ] {
            assert!(usual.contains(part), "{usual}");
        }
        assert!(!usual.contains("gpg") && !usual.contains("profile"));
        let own = || MavenServer::new("a<b", "U", "P");
        let old = of(own(), GpgPassphrase::Server("G"));
        for part in [
            "<id>a&lt;b</id>",
            "${env.U}",
            "${env.P}",
            "<passphrase>${env.G}</passphrase>",
        ] {
            assert!(old.contains(part), "{old}");
        }
        let new = of(own(), GpgPassphrase::Property("G"));
        for part in [
            "<gpg.passphraseEnvName>G</gpg.passphraseEnvName>",
            "<activeProfile>setup-java-gpg</activeProfile>",
        ] {
            assert!(new.contains(part), "{new}");
        }
        let usual = of(own(), GpgPassphrase::Property("MAVEN_GPG_PASSPHRASE"));
        assert!(!usual.contains("gpg"), "{usual}");
    }

    #[test]
    fn i17_maven_is_told_of_several_servers_and_repositories() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let servers = MavenServer::read(&lines("a:U1:P1\n b : U2 : P2")).unwrap();
        assert_eq!(servers[1], MavenServer::new("b", "U2", "P2"));
        let text = "own:https://r.example:8/m2:true";
        for (has_central, first, expected) in [
            (true, true, "central own"),
            (true, false, "own central"),
            (false, true, "own central-off"),
        ] {
            let found = MavenRepository::read(&lines(text), has_central, first).unwrap();
            let names = found.iter().map(|one| match one.releases {
                true => one.id.clone(),
                false => format!("{}-off", one.id),
            });
            assert_eq!(names.collect::<Vec<_>>().join(" "), expected);
            let text = settings(MavenSettings {
                servers: &servers,
                repositories: &found,
                passphrase: GpgPassphrase::None,
            });
            for part in [
                "<url>https://r.example:8/m2</url>\n          <snapshots><enabled>true</enabled>",
                "<activeProfile>setup-java-repositories</activeProfile>",
                "<username>${env.U2}</username>",
            ] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
        let own = MavenRepository::read(&lines("central:https://r.example:false"), false, true);
        assert_eq!(own.unwrap().len(), 1);
        for wrong in ["a:b", "a::c", "a:b:c:d"] {
            let error = MavenServer::read(&lines(wrong)).unwrap_err();
            assert!(error.contains("it is written id:"), "{error}");
        }
        for (wrong, part) in [
            ("a", "it is written id:address"),
            ("a:https://x", "it is written id:address"),
            ("a:https://x:maybe", "it is written id:address"),
            ("a:https://x:true\na:https://y:true", "`a` twice"),
            ("central:https://x:true", "`central` twice"),
        ] {
            let error = MavenRepository::read(&lines(wrong), true, true).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert!(
            MavenServer::read(&lines("a:b:c\na:d:e"))
                .unwrap_err()
                .contains("twice")
        );
        for (known, expected) in [
            ("", Some("-ntp")),
            ("-B", Some("-B -ntp")),
            ("-B --no-transfer-progress", None),
            ("-ntp", None),
        ] {
            assert_eq!(quiet_arguments(known).as_deref(), expected);
        }
    }

    #[test]
    fn i17_maven_is_told_of_toolchains() {
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
        let text = toolchains(&[(&java, "17")], given, "").unwrap();
        for part in [
            "<version>17</version>",
            "<vendor>acme</vendor>",
            "<id>acme_17</id>",
            "<jdkHome>/usr/lib/jvm/j17</jdkHome>",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let none = MavenToolchains::default();
        let both = toolchains(&[(&java, "17"), (&java, "21")], none, &text).unwrap();
        assert_eq!(toolchain_blocks(&both).count(), 3, "{both}");
        assert!(both.contains("<id>_21</id>"), "{both}");
        let again = toolchains(&[(&java, "17")], given, &both).unwrap();
        assert_eq!(toolchain_blocks(&again).count(), 3, "{again}");
        let ids = ["a".to_owned(), "b".to_owned()];
        let wrong = MavenToolchains { ids: &ids, ..none };
        let error = toolchains(&[(&java, "17")], wrong, "").unwrap_err();
        assert!(error.contains("2 ids for 1 versions"), "{error}");
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
