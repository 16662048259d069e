//! A configuration of every kind of value, read from any text.

use config_core::{Colours, ConfigFormat, ConfigInput, ConfigItem, Environment, UnknownKeys};

/// Reads `text` in `format` with every reader there is: it must end in a value or in messages.
pub fn read_configuration(text: &[u8], format: ConfigFormat) {
    let environment = Environment::from_iter([("HOME", "/home/ada"), ("TOKEN", "s3cr3t-value")]);
    for unknown in [UnknownKeys::Refuse, UnknownKeys::Warn] {
        let input = ConfigInput::new("fuzzed", text, format, &environment).unknown_keys(unknown);
        match input.decode(|item| item.fields("the file", &KEYS, |_| everything(item))) {
            Ok(decoded) => assert!(!decoded.warnings.has_errors()),
            Err(wrong) => {
                assert!(wrong.has_errors(), "refused without a reason");
                assert!(wrong.render(Colours::On).len() >= wrong.to_string().len());
            }
        }
    }
}

const KEYS: [&str; 10] = [
    "text", "flag", "count", "share", "secret", "url", "size", "time", "list", "table",
];

/// Every reader at its own key, and a table that may hold all of them again.
fn everything(item: &ConfigItem<'_>) -> Option<()> {
    item.fields("a table", &KEYS, |fields| {
        fields.optional("text", ConfigItem::string);
        fields.optional("flag", ConfigItem::boolean);
        fields.optional("count", |item| item.integer(-5..=1_000));
        fields.optional("share", |item| item.number(0.0..=1.0));
        fields.optional("secret", ConfigItem::secret);
        fields.optional("url", ConfigItem::http_url);
        fields.optional("size", ConfigItem::byte_size);
        fields.optional("time", ConfigItem::duration);
        fields.optional("list", |item| item.list(ConfigItem::string));
        fields.optional("table", |item| item.entries(|_, value| everything(value)));
        Some(())
    })
}
