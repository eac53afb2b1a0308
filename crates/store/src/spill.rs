//! Taking large values out of a fact before it becomes a line, and putting them back.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::journal::EncodedRecord;
use crate::values::{LIMIT, ValueError, Values};

/// Takes every value over the limit out of a fact, and keeps it aside. A fact without such a value
/// is left as it is.
pub(crate) fn take_out(fact: EncodedRecord, values: &Values) -> Result<EncodedRecord, ValueError> {
    if fact.json.len() <= LIMIT {
        return Ok(fact);
    }
    // What is not an object cannot be a record, which the journal says better than we could.
    let Ok(Value::Object(mut object)) = serde_json::from_slice(&fact.json) else {
        return Ok(fact);
    };
    let mut aside = BTreeMap::new();
    for (key, value) in &mut object {
        visit(value, &format!("/{}", escaped(key)), values, &mut aside)?;
    }
    Ok(EncodedRecord { json: Value::Object(object).to_string().into_bytes(), aside })
}

/// Takes out the large strings of a value, or all of it if it is large without having any.
/// Returns how long it is afterwards, as JSON.
fn visit(
    value: &mut Value,
    place: &str,
    values: &Values,
    aside: &mut BTreeMap<String, String>,
) -> Result<usize, ValueError> {
    let len = match value {
        Value::Array(items) => {
            let mut len = 2;
            for (index, item) in items.iter_mut().enumerate() {
                len += 1 + visit(item, &format!("{place}/{index}"), values, aside)?;
            }
            len
        }
        Value::Object(object) => {
            let mut len = 2;
            for (key, item) in object.iter_mut() {
                let place = format!("{place}/{}", escaped(key));
                len += key.len() + 4 + visit(item, &place, values, aside)?;
            }
            len
        }
        // Escapes can make it longer, so a text that is close to the limit is measured.
        Value::String(text) if text.len() > LIMIT / 6 => value.to_string().len(),
        Value::String(text) => text.len() + 2,
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    };
    if len <= LIMIT {
        return Ok(len);
    }
    let digest = values.put(value.to_string().as_bytes())?;
    aside.insert(place.to_owned(), digest.as_str().to_owned());
    *value = Value::Null;
    Ok(4)
}

/// Puts the values that lie aside back into a record. The map is in order, so that a value comes
/// before those that were taken out of it.
pub(crate) fn put_back(
    record: &mut Value,
    aside: &BTreeMap<String, String>,
    values: &Values,
) -> Result<(), ValueError> {
    for (place, digest) in aside {
        let slot = record.pointer_mut(place).filter(|slot| slot.is_null());
        let slot = slot.ok_or_else(|| ValueError::NoPlace { place: place.clone() })?;
        *slot = load(digest, values)?;
    }
    Ok(())
}

fn load(digest: &str, values: &Values) -> Result<Value, ValueError> {
    let bytes = values.get(digest)?;
    let damaged = |_| ValueError::Damaged { path: values.path(digest) };
    serde_json::from_slice(&bytes).map_err(damaged)
}

/// A key as a part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
