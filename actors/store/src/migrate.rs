//! The schema's version and the steps between versions.

use crate::engine::{Engine, alone};
use crate::error::OpenError;
use crate::options::Migration;
use crate::rows::raw::RawRead;
use crate::write::{META, SCHEMA};

/// Brings an opened store to the newest version.
pub(crate) fn migrate(engine: &mut dyn Engine, steps: &[Migration]) -> Result<(), OpenError> {
    check_order(steps)?;
    let stored = stored_version(engine)?;
    let known = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    if stored > known {
        return Err(OpenError::SchemaTooNew {
            place: engine.place(),
            stored,
            known,
        });
    }
    let pending = steps.iter().filter(|step| step.version > stored);
    for step in pending {
        tracing::info!(
            event = "store.migrated",
            version = step.version,
            name = step.name
        );
        run(engine, step)?;
    }
    Ok(())
}

fn check_order(steps: &[Migration]) -> Result<(), OpenError> {
    for (step, expected) in steps.iter().zip(1..) {
        if step.version != expected {
            return Err(OpenError::MigrationOrder {
                name: step.name,
                found: step.version,
                expected,
            });
        }
    }
    Ok(())
}

fn stored_version(engine: &mut dyn Engine) -> Result<u32, OpenError> {
    let row = alone(engine, |txn| txn.raw_get(META, SCHEMA))?;
    let Some(row) = row else { return Ok(0) };
    let bytes = row.try_into().map_err(|_| OpenError::Damaged {
        place: engine.place(),
        reason: "the schema's version is not a number".to_owned(),
    })?;
    Ok(u32::from_be_bytes(bytes))
}

fn run(engine: &mut dyn Engine, step: &Migration) -> Result<(), OpenError> {
    let done = alone(engine, |txn| {
        (step.run)(txn)?;
        txn.raw_put(META, SCHEMA.to_vec(), &step.version.to_be_bytes())
    });
    done.map_err(|source| OpenError::Migration {
        place: engine.place(),
        version: step.version,
        name: step.name,
        source,
    })
}
