//! The peers that `--check` asks: the database and the object storage. What they say is told apart
//! from a peer that does not answer, which says nothing of the configuration.

use std::fmt;
use std::process::ExitCode;

use cluster_actors::replica::{FileMigration, foreign_place};
use config_core::ObjectSettings;
use http_clients::objects::{ObjectError, ObjectStorage};
use store::{PostgresUrl, StoreOptions, StorePlace};

/// Exit code of `--check` where nothing is wrong, as far as is known, but a peer does not answer.
pub const EXIT_AWAY: u8 = 6;

/// What is wrong with a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerFault {
    /// The setting that names it.
    pub setting: &'static str,
    /// What is wrong, and what to do.
    pub reason: String,
    /// It does not answer, or cannot now: the setting may be right.
    pub is_away: bool,
}

impl fmt::Display for PeerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.setting, self.reason)
    }
}

impl PeerFault {
    /// A setting that is wrong, whatever its peer says.
    #[must_use]
    pub fn of_setting(setting: &'static str, error: &dyn fmt::Display) -> Self {
        Self {
            setting,
            reason: error.to_string(),
            is_away: false,
        }
    }
}

/// Tries the object storage of a setting, with an object that is removed again.
#[must_use]
pub fn try_objects(setting: &'static str, objects: Option<&ObjectSettings>) -> Option<PeerFault> {
    let error = ObjectStorage::try_place(objects).err()?;
    Some(of_objects(setting, &error))
}

/// Whether the object storage of a setting is that of the store in a database, whose files it would
/// get; both were tried.
#[must_use]
pub fn try_owner(
    setting: &'static str,
    files: Option<&FileMigration>,
    (url, options): (Option<&PostgresUrl>, &StoreOptions),
) -> Option<PeerFault> {
    let error = foreign_place(files?, url?, options)?;
    Some(of_objects(setting, &error))
}

/// An object storage that was tried.
#[must_use]
pub fn of_objects(setting: &'static str, error: &ObjectError) -> PeerFault {
    PeerFault {
        setting,
        reason: error.to_string(),
        is_away: matches!(
            error,
            ObjectError::Unavailable { .. } | ObjectError::NotMounted { .. }
        ),
    }
}

/// Asks the database of a setting whether the store can be opened there, or made; nothing is made.
#[must_use]
pub fn try_store(
    setting: &'static str,
    url: Option<&PostgresUrl>,
    options: &StoreOptions,
) -> Option<PeerFault> {
    let error = store::probe(url?, options).err()?;
    Some(PeerFault {
        setting,
        reason: error.to_string(),
        is_away: error.is_away(),
    })
}

/// The same of an address as it was written; where nobody is to be asked, whether it is one.
#[must_use]
pub fn try_store_address(
    setting: &'static str,
    address: Option<&str>,
    options: &StoreOptions,
    is_offline: bool,
) -> Option<PeerFault> {
    match address?.parse::<StorePlace>() {
        Err(error) => Some(PeerFault::of_setting(setting, &error)),
        Ok(StorePlace::Postgres(url)) if !is_offline => try_store(setting, Some(&url), options),
        Ok(_) => None,
    }
}

/// What `--check` ends with.
#[must_use]
pub fn exit_code(faults: &[PeerFault]) -> ExitCode {
    match faults {
        [] => ExitCode::SUCCESS,
        _ if faults.iter().all(|fault| fault.is_away) => ExitCode::from(EXIT_AWAY),
        _ => ExitCode::FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use config_core::ObjectPlace;

    use super::*;

    #[test]
    fn i18_a_place_whose_files_were_moved_is_refused_by_a_check() {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("file://{}", folder.path().display());
        let place = ObjectPlace::new(&url, None, None, false, None).expect("a place");
        let settings = ObjectSettings {
            place: place.clone(),
            local_bytes: 1,
            grace: Duration::ZERO,
            sweep_every: Duration::ZERO,
        };
        assert_eq!(try_objects("[objects]", Some(&settings)), None);
        let storage = ObjectStorage::open(&place).expect("it opens");
        storage
            .close("its files were moved")
            .expect("it is written");
        let fault = try_objects("[objects]", Some(&settings)).expect("it is closed");
        assert!(fault.reason.contains("its files were moved"), "{fault}");
        assert!(!fault.is_away, "the setting is wrong");
    }

    #[test]
    fn i18_one_setting_that_is_wrong_weighs_more_than_peers_that_are_away() {
        let fault = |is_away| PeerFault {
            setting: "[objects]",
            reason: String::new(),
            is_away,
        };
        for (faults, code) in [
            (vec![], ExitCode::SUCCESS),
            (vec![fault(true), fault(true)], ExitCode::from(6)),
            (vec![fault(true), fault(false)], ExitCode::FAILURE),
        ] {
            assert_eq!(exit_code(&faults), code, "{faults:?}");
        }
    }
}
