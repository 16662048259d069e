//! Role files: any bytes end in roles that can be used or in messages.
#![no_main]

use config_core::Environment;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let environment = Environment::from_iter([("HOME", "/home/ada"), ("KEY", "s3cr3t-value")]);
    match search_core::role::parse("role.json", text, &environment) {
        Ok(file) => {
            assert!(!file.roles().is_empty());
            assert!(!file.warnings().has_errors());
            let default = file.default_role();
            assert!(
                file.role(Some(&default.name))
                    .is_ok_and(|role| role.name == default.name)
            );
            let shown = format!("{file:?}");
            assert!(!shown.contains("s3cr3t-value"), "a secret is shown");
        }
        Err(wrong) => assert!(wrong.has_errors() && !wrong.to_string().is_empty()),
    }
});
