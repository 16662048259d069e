//! The parameters that say which files of a source are meant.

use config_core::{ByteSize, ConfigItem, ValueError};

use super::filter::FileFilter;

/// `glob`; an empty one is none.
pub(super) fn filter(item: &ConfigItem<'_>) -> Option<FileFilter> {
    if item.peek() == Some("") {
        return None;
    }
    let text = item.string()?;
    match FileFilter::parse(&text) {
        Ok(filter) => Some(filter),
        Err(error) => {
            let help = error.help;
            item.error_within(
                error.range,
                ValueError {
                    message: error.message,
                    help,
                },
            );
            None
        }
    }
}

/// `max_file_size`.
pub(super) fn max_file_size(item: &ConfigItem<'_>) -> Option<ByteSize> {
    const MAX: u64 = 1_000_000_000;
    item.parsed(|text| {
        let size = ByteSize::parse(text)?;
        if size.bytes() == 0 || size.bytes() > MAX {
            return Err(ValueError::new("the size must be from 1B to 1GB"));
        }
        Ok(size)
    })
}
