//! The samples of config-samples: wrong ones give exactly the message beside them, right ones load.
//!
//! `UPDATE_EXPECT=1` writes the messages anew; read the difference before committing it.

use std::fs;
use std::path::{Path, PathBuf};

use config_core::{Colours, Diagnostics, Environment, SettingOrigin};
use vm_web::config::{ManagerConfig, ManagerFlags};

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = std::path::absolute("../../config-samples")
        .expect("a folder to work in")
        .join(folder);
    let entries = fs::read_dir(folder).expect("the folder of samples exists");
    let paths = entries.map(|entry| entry.expect("an entry can be read").path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|found| found == "toml"))
        .collect();
    paths.sort();
    paths
}

fn parse(
    name: &str,
    text: &[u8],
    flags: &ManagerFlags,
    environment: &Environment,
) -> Result<ManagerConfig, Diagnostics> {
    ManagerConfig::parse(name, text, Path::new("/base"), flags, environment)
}

fn home() -> Environment {
    Environment::from_iter([("HOME", "/home/me")])
}

#[test]
fn each_wrong_file_gives_its_message() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let paths = files("invalid/vm-manager");
    assert!(paths.len() >= 12, "{} samples", paths.len());
    for path in paths {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read(&path).unwrap();
        let wrong = parse(name, &text, &ManagerFlags::default(), &home()).expect_err(name);
        let (found, beside) = (wrong.render(Colours::Off), path.with_extension("txt"));
        if update {
            fs::write(&beside, &found).unwrap();
        }
        assert_eq!(
            fs::read_to_string(&beside).unwrap_or_default(),
            found,
            "{name}"
        );
    }
}

#[test]
fn each_right_file_loads() {
    for path in files("vm-manager") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read(&path).unwrap();
        if let Err(wrong) = parse(name, &text, &ManagerFlags::default(), &home()) {
            panic!("{wrong}");
        }
    }
}

#[test]
fn a_flag_wins_over_a_variable_over_the_file_over_the_default() {
    let text = b"listen = \"127.0.0.1:3\"\ndata_dir = \"state\"\n";
    let flags = ManagerFlags {
        listen: Some("127.0.0.1:1".to_owned()),
        ..ManagerFlags::default()
    };
    let variable =
        Environment::from_iter([("VM_MANAGER_LISTEN", "127.0.0.1:2"), ("HOME", "/home/me")]);
    let listen = |text: &[u8], flags: &ManagerFlags, environment: &Environment| {
        let listen = parse("x", text, flags, environment).unwrap().listen;
        (listen.value.port(), listen.origin)
    };
    let none = ManagerFlags::default();
    assert_eq!(
        listen(text, &flags, &variable),
        (1, SettingOrigin::Flag("--listen"))
    );
    assert_eq!(
        listen(text, &none, &variable),
        (2, SettingOrigin::Variable("VM_MANAGER_LISTEN"))
    );
    assert_eq!(listen(text, &none, &home()), (3, SettingOrigin::File));
    assert_eq!(
        listen(b"# no file\n", &none, &home()),
        (3100, SettingOrigin::Default)
    );
    let data = |text: &[u8]| parse("x", text, &none, &home()).unwrap().data.value;
    assert_eq!(data(text), Path::new("/base/state"));
    assert_eq!(
        data(b"# no file\n"),
        Path::new("/home/me/.local/share/orrery/vm-manager")
    );
    let wrong = parse(
        "x",
        b"# no file\n",
        &ManagerFlags {
            listen: Some("here".to_owned()),
            log_level: Some("loud".to_owned()),
            ..none.clone()
        },
        &home(),
    );
    let message = wrong.unwrap_err().to_string();
    assert!(
        message.contains("--listen") && message.contains("--log-level"),
        "{message}"
    );
}

#[test]
fn every_default_of_the_sample_is_that_of_its_row() {
    let schema = vm_web::config::keys().schema("vm-manager.toml");
    let path = &files("vm-manager")
        .into_iter()
        .find(|path| path.ends_with("vm-manager.toml"));
    let text = fs::read(path.as_ref().expect("it exists")).expect("it can be read");
    let keys = vm_web::config::keys();
    let environment = home();
    let input = config_core::ConfigInput::toml("x", &text, &environment);
    let settings = input.effective(&keys, &[]).expect("it is right");
    let mut compared = 0;
    for setting in settings {
        let pointer = format!("/properties/{}", setting.key.replace('.', "/properties/"));
        let default = schema
            .pointer(&pointer)
            .map(|row| row["default"].to_string());
        if let (Some(default), false) = (default, setting.key.contains('[')) {
            let same = default == "null" || setting.value.as_ref() == Some(&default);
            assert!(
                same,
                "{}: {:?} is not {default}",
                setting.key, setting.value
            );
            compared += 1;
        }
    }
    assert!(compared >= 25, "{compared} keys");
}
