//! Several files about one adapter become one: a later file changes what it names and leaves the
//! rest.

use serde_json::{Map, Value};

/// Lays `over` over `under`, key by key. Lists and plain values are replaced, objects are merged,
/// and `null` takes a key away.
///
/// In `states` the order is the priority: a rule that `over` changes keeps its place, and a rule
/// that it adds comes first, because it is there to decide what the others do not.
///
/// The entries of `versions` say what differs from the rest of their own file: what `over` says
/// itself counts for every version, so it is taken out of the entries of `under`. The entries of
/// `over` are added behind them.
pub fn merge(under: Value, over: Value) -> Value {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            let versions = versions(&under, &over);
            let mut merged = objects(under, over, false);
            if let Some(versions) = versions {
                merged.insert("versions".to_owned(), versions);
            }
            Value::Object(merged)
        }
        (_, over) => over,
    }
}

/// The entries of `versions` of two files together, where the first has any.
fn versions(under: &Map<String, Value>, over: &Map<String, Value>) -> Option<Value> {
    let mut entries = under.get("versions")?.as_array()?.clone();
    for entry in &mut entries {
        take_out(entry, over);
    }
    match over.get("versions") {
        Some(Value::Array(more)) => entries.extend(more.iter().cloned()),
        Some(_) => return None,
        None => {}
    }
    Some(entries.into())
}

/// Takes what a later file says out of an entry of an earlier one.
fn take_out(entry: &mut Value, said: &Map<String, Value>) {
    let Value::Object(entry) = entry else { return };
    for (key, value) in said {
        match (entry.get_mut(key), value) {
            (Some(Value::Object(_)), Value::Object(said)) => {
                if let Some(inner) = entry.get_mut(key) {
                    take_out(inner, said);
                }
            }
            (Some(_), _) => {
                entry.shift_remove(key);
            }
            (None, _) => {}
        }
    }
}

fn objects(
    mut under: Map<String, Value>,
    over: Map<String, Value>,
    ranked: bool,
) -> Map<String, Value> {
    let mut added = Map::new();
    for (key, value) in over {
        if value.is_null() {
            under.shift_remove(&key);
            continue;
        }
        match under.get_mut(&key) {
            Some(old) => {
                *old = match (old.take(), value) {
                    (Value::Object(old), Value::Object(new)) => {
                        Value::Object(objects(old, new, key == "states"))
                    }
                    (_, new) => new,
                };
            }
            None => {
                added.insert(key, value);
            }
        }
    }
    if ranked {
        added.extend(under);
        added
    } else {
        under.extend(added);
        under
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_later_file_changes_what_it_names_and_leaves_the_rest() {
        let under = json!({"command": "a", "env": {"set": {"A": "1", "B": "2"}}, "model": ["-m"]});
        let over = json!({"env": {"set": {"B": "3"}}, "model": ["--model"], "command": null});
        assert_eq!(
            merge(under, over),
            json!({"env": {"set": {"A": "1", "B": "3"}}, "model": ["--model"]})
        );
    }

    #[test]
    fn what_a_later_file_says_counts_for_every_version() {
        let under = json!({
            "permissions": {"ask": ["--new"], "all": ["--all"]},
            "versions": [{"until": "2.0.0", "permissions": {"ask": ["--old"], "all": ["--yes"]}}],
        });
        let over = json!({"permissions": {"ask": ["--mine"]}});
        let merged = merge(under.clone(), over);
        assert_eq!(
            merged["versions"],
            json!([{"until": "2.0.0", "permissions": {"all": ["--yes"]}}])
        );
        let over = json!({"versions": [{"since": "3.0.0", "model": ["-m"]}]});
        let merged = merge(under.clone(), over);
        assert_eq!(merged["versions"].as_array().unwrap().len(), 2);
        assert_eq!(merged["versions"][1]["since"], "3.0.0");
        assert_eq!(merge(under, json!({"versions": null})).get("versions"), None);
    }

    #[test]
    fn a_changed_rule_keeps_its_place_and_an_added_one_comes_first() {
        let under = json!({"states": {"ask": {"pattern": "a"}, "idle": {"pattern": "b"}}});
        let over = json!({"states": {"idle": {"pattern": "c"}, "mine": {"pattern": "d"}}});
        let merged = merge(under, over);
        let names: Vec<&String> = merged["states"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["mine", "ask", "idle"]);
        assert_eq!(merged["states"]["idle"]["pattern"], "c");
    }
}
