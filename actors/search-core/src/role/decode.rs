//! The role file, decoded.

mod extra;

use std::collections::BTreeSet;
use std::path::PathBuf;

use config_core::{
    ConfigInput, ConfigItem, DecodeResult, Diagnostics, Environment, ObjectFields, Secret,
    SecretPlace, ValueError, quoted, suggestion,
};

use super::enumerations::{RelevanceFunction, Service, THEMES, Theme};
use super::file::RoleFile;
use super::file_parameters::{filter, max_file_size};
use super::haystack::{Haystack, HiddenFiles, LocalFiles, Source};
use super::model::Role;
use super::paths::folder;
use super::reach::AllowedRoots;
use super::source_location::{community, elastic, mcp, tasks};
use super::source_parameters::{elastic_source, git_repository, mcp_source};

/// Reads a role file: one role, or `{"roles": […], "default_role": …}`.
///
/// `name` is what messages call the file. Strings may hold `${VARIABLE}`; folders may begin with
/// `~`, which is `HOME` (`USERPROFILE` on Windows) of `environment`.
///
/// # Errors
/// Every mistake of the file, each with its place.
pub fn parse(
    name: &str,
    text: &(impl AsRef<[u8]> + ?Sized),
    environment: &Environment,
) -> Result<RoleFile, Diagnostics> {
    parse_with_secrets(name, text, environment).map(|(file, _)| file)
}

/// The same, and where the text holds secrets.
pub(super) fn parse_with_secrets(
    name: &str,
    text: &(impl AsRef<[u8]> + ?Sized),
    environment: &Environment,
) -> Result<(RoleFile, Vec<SecretPlace>), Diagnostics> {
    let input = ConfigInput::json(name, text, environment);
    let decoded = input.decode(|item| Decoder { environment }.file(item))?;
    let DecodeResult {
        value: (roles, default_role, allowed),
        warnings,
        secrets,
    } = decoded;
    let file = RoleFile::checked(roles, default_role, allowed, warnings);
    Ok((file, secrets))
}

/// What decoding needs beside the file.
struct Decoder<'e> {
    environment: &'e Environment,
}

/// The keys of a role.
const ROLE: [&str; 5] = ["name", "relevance_function", "theme", "haystacks", "extra"];
/// The keys of a file that is one role.
const ONE_ROLE: [&str; 6] = [
    "name",
    "relevance_function",
    "theme",
    "haystacks",
    "extra",
    "allowed_roots",
];

impl Decoder<'_> {
    fn file(&self, item: &ConfigItem<'_>) -> Option<(Vec<Role>, String, AllowedRoots)> {
        if item.is_array() {
            let error = ValueError::new("expected an object, found an array");
            item.error(error.help("write `{ \"roles\": [ … ] }` around it"));
            return None;
        }
        if !item.has_key("roles") && !item.has_key("default_role") {
            return item.fields("a role", &ONE_ROLE, |fields| {
                let allowed = self.allowed_roots(fields);
                let role = self.role(fields)?;
                let name = role.name.clone();
                Some((vec![role], name, allowed))
            });
        }
        const KEYS: [&str; 3] = ["roles", "default_role", "allowed_roots"];
        item.fields("the role file", &KEYS, |fields| {
            let allowed = self.allowed_roots(fields);
            let mut names = Names::new("role", "a role file");
            let roles = fields.required("roles", |item| self.roles(item, &mut names));
            let default = fields.optional("default_role", |item| {
                let name = item.string()?;
                check_default(item, &name, &names.seen);
                Some(name)
            });
            let roles = roles?;
            let first = roles.first()?.name.clone();
            Some((roles, default.unwrap_or(first), allowed))
        })
    }

    fn allowed_roots(&self, fields: &ObjectFields<'_>) -> AllowedRoots {
        let roots = fields.optional("allowed_roots", |item| {
            AllowedRoots::decode(item, |item| self.folder(item))
        });
        roots.unwrap_or_default()
    }

    fn roles(&self, item: &ConfigItem<'_>, names: &mut Names) -> Option<Vec<Role>> {
        item.non_empty_list("a role file needs at least one role", |item| {
            let role = item.fields("a role", &ROLE, |fields| self.role(fields));
            names.check(item);
            role
        })
    }

    fn role(&self, fields: &ObjectFields<'_>) -> Option<Role> {
        let name = fields.required("name", name);
        let relevance_function = fields.optional("relevance_function", |item| {
            item.choice("relevance function", RelevanceFunction::CHOICES)
        });
        let theme = fields.optional("theme", theme);
        let haystacks = fields.required("haystacks", |item| self.haystacks(item));
        let extra = fields.optional("extra", |item| self.extra(item));
        Some(Role {
            name: name?,
            relevance_function: relevance_function.unwrap_or_default(),
            theme: theme.unwrap_or_default(),
            haystacks: haystacks?,
            extra: extra.unwrap_or_default(),
        })
    }

    fn haystacks(&self, item: &ConfigItem<'_>) -> Option<Vec<Haystack>> {
        let mut names = Names::new("haystack", "a role");
        item.non_empty_list("a role needs at least one haystack", |item| {
            let haystack = self.haystack(item);
            names.check(item);
            haystack
        })
    }

    fn haystack(&self, item: &ConfigItem<'_>) -> Option<Haystack> {
        const KEYS: [&str; 4] = ["name", "service", "location", "extra_parameters"];
        item.fields("a haystack", &KEYS, |fields| {
            let name = fields.required("name", name);
            let service =
                fields.required("service", |item| item.choice("service", Service::CHOICES));
            let location = fields.required("location", ConfigItem::string);
            // What stands in the other keys depends on the service.
            let source = self.source(fields, service?);
            Some(Haystack {
                name: name?,
                location: location?,
                source: source?,
            })
        })
    }

    fn source(&self, fields: &ObjectFields<'_>, service: Service) -> Option<Source> {
        match service {
            Service::LocalFiles => self.local_files(fields).map(Source::LocalFiles),
            Service::GitRepository => {
                let folder = fields.optional("location", |item| self.folder(item));
                git_repository(fields, folder).map(Source::GitRepository)
            }
            Service::AtomicData => {
                let server = fields.optional("location", ConfigItem::http_url);
                let agent_secret = secret_parameter(fields, "AtomicData", "agent_secret");
                Some(Source::AtomicData {
                    server: server?,
                    agent_secret,
                })
            }
            Service::CommunityDocs => {
                let place = fields.optional("location", |item| {
                    item.parsed(|text| community(text, self.environment))
                });
                no_parameters(fields, "CommunityDocs");
                place.map(Source::CommunityDocs)
            }
            Service::TaskTracker => {
                let tasks = fields.optional("location", |item| {
                    item.parsed(|text| tasks(text, self.environment))
                });
                let api_token = secret_parameter(fields, "TaskTracker", "api_token");
                Some(Source::TaskTracker {
                    tasks: tasks?,
                    api_token,
                })
            }
            Service::NotesGraph => {
                let folder = fields.optional("location", |item| self.folder(item));
                no_parameters(fields, "NotesGraph");
                Some(Source::NotesGraph { folder: folder? })
            }
            Service::Mcp => {
                let server = fields.optional("location", |item| item.parsed(mcp));
                mcp_source(fields, server)
            }
            Service::Elastic => {
                let index = fields.optional("location", |item| item.parsed(elastic));
                elastic_source(fields, index)
            }
        }
    }

    fn folder(&self, item: &ConfigItem<'_>) -> Option<PathBuf> {
        item.parsed(|text| folder(text, self.environment))
    }

    fn local_files(&self, fields: &ObjectFields<'_>) -> Option<LocalFiles> {
        const KEYS: [&str; 4] = ["glob", "max_file_size", "respect_gitignore", "hidden"];
        let folder = fields.optional("location", |item| self.folder(item));
        let parameters = fields.optional("extra_parameters", |item| {
            item.fields("the parameters of LocalFiles", &KEYS, |fields| {
                let defaults = LocalFiles::new("");
                let respect_gitignore = fields.optional("respect_gitignore", ConfigItem::boolean);
                Some(LocalFiles {
                    filter: fields.optional("glob", filter).unwrap_or(defaults.filter),
                    max_file_size: fields
                        .optional("max_file_size", max_file_size)
                        .unwrap_or(defaults.max_file_size),
                    respect_gitignore: respect_gitignore.unwrap_or(defaults.respect_gitignore),
                    hidden: HiddenFiles::from_parameter(
                        fields.optional("hidden", ConfigItem::boolean),
                    ),
                    folder: defaults.folder,
                })
            })
        });
        let folder = folder?;
        Some(match parameters {
            Some(parameters) => LocalFiles {
                folder,
                ..parameters
            },
            None => LocalFiles::new(folder),
        })
    }
}

/// A name people type and addresses hold: no blanks around it, not endless.
fn name(item: &ConfigItem<'_>) -> Option<String> {
    const MAX: usize = 100;
    item.parsed(|name| {
        if name.trim() != name {
            return Err(ValueError::new("a name must not begin or end with a blank"));
        }
        if name.chars().count() > MAX {
            return Err(ValueError::new(format!(
                "a name has at most {MAX} characters"
            )));
        }
        Ok(name.to_owned())
    })
}

fn theme(item: &ConfigItem<'_>) -> Option<Theme> {
    item.parsed(|name| {
        let error = || ValueError::new(format!("unknown theme {}", quoted(name)));
        Theme::from_name(name).ok_or_else(|| match suggestion(name, THEMES) {
            Some(near) => error().help(format!("did you mean `{near}`?")),
            None => error().help(format!("one of: {}", THEMES.join(", "))),
        })
    })
}

fn check_default(item: &ConfigItem<'_>, name: &str, roles: &BTreeSet<String>) {
    if roles.is_empty() || roles.contains(name) {
        return;
    }
    let known: Vec<&str> = roles.iter().map(String::as_str).collect();
    let error = ValueError::new(format!("no role is called {}", quoted(name)));
    item.error(match suggestion(name, known.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(format!("the roles are: {}", known.join(", "))),
    });
}

/// Finds names used twice, also in elements that are wrong otherwise.
struct Names {
    what: &'static str,
    place: &'static str,
    seen: BTreeSet<String>,
}

impl Names {
    fn new(what: &'static str, place: &'static str) -> Self {
        Self {
            what,
            place,
            seen: BTreeSet::new(),
        }
    }

    fn check(&mut self, item: &ConfigItem<'_>) {
        let Some(item) = item.get("name") else { return };
        let Some(name) = item.peek().filter(|name| !name.trim().is_empty()) else {
            return;
        };
        if !self.seen.insert(name.to_owned()) {
            let message = format!("a {} called {} exists already", self.what, quoted(name));
            let help = format!("each {} of {} has a name of its own", self.what, self.place);
            item.error(ValueError::new(message).help(help));
        }
    }
}

/// The one secret some services take.
fn secret_parameter(fields: &ObjectFields<'_>, service: &str, key: &str) -> Option<Secret<String>> {
    let what = format!("the parameters of {service}");
    fields.optional("extra_parameters", |item| {
        item.fields(&what, &[key], |fields| {
            fields.optional(key, ConfigItem::secret)
        })
    })
}

fn no_parameters(fields: &ObjectFields<'_>, service: &str) {
    let what = format!("the parameters of {service}");
    fields.optional("extra_parameters", |item| {
        item.fields(&what, &[], |_| Some(()))
    });
}
