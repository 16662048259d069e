//! Configuration in JSON: any bytes end in a value or in messages.
#![no_main]

mod support;

use config_core::ConfigFormat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| support::read_configuration(text, ConfigFormat::Json));
