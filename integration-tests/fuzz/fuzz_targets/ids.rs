//! Ids: no panic, and every accepted text survives display and JSON unchanged.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use forge_core::{
    AgentName, BranchName, CommitSha, DeliveryId, EventName, ForgeIdError, GitRef, Login,
    ObjectFormats, ProjectId, RefName, RepoName, RunId, StatusContext, TagName,
};
use libfuzzer_sys::fuzz_target;

fn round_trip<T>(text: &str)
where
    T: FromStr<Err = ForgeIdError> + Display + Debug + PartialEq,
    T: serde::Serialize + serde::de::DeserializeOwned,
{
    match text.parse::<T>() {
        Ok(id) => {
            assert_eq!(id.to_string(), text);
            let json = serde_json::to_string(&id).expect("an id is a string");
            assert_eq!(serde_json::from_str::<T>(&json).expect("and back"), id);
        }
        Err(error) => assert!(error.to_string().len() < 600, "an error repeats its input"),
    }
}

fuzz_target!(|text: &str| {
    round_trip::<AgentName>(text);
    round_trip::<ProjectId>(text);
    round_trip::<RunId>(text);
    round_trip::<DeliveryId>(text);
    round_trip::<EventName>(text);
    round_trip::<StatusContext>(text);
    round_trip::<Login>(text);
    round_trip::<CommitSha>(text);
    round_trip::<BranchName>(text);
    round_trip::<TagName>(text);
    round_trip::<RefName>(text);
    round_trip::<RepoName>(text);
    if let Ok(name) = text.parse::<RepoName>() {
        assert_eq!(format!("{}/{}", name.owner(), name.repo()), text);
        assert!(![name.owner(), name.repo()].contains(&".."));
    }
    if let Ok(reference) = text.parse::<GitRef>() {
        assert_eq!(reference.to_string(), text);
    }
    if let Ok(sha) = CommitSha::parse(text, ObjectFormats::Sha1AndSha256) {
        assert!(matches!(sha.as_str().len(), 40 | 64));
        assert!(text.starts_with(sha.short()));
    }
});
