//! Several files about one adapter become one: a later file changes what it names and leaves the
//! rest.

use serde_json::{Map, Value};

/// Lays `over` over `under`, key by key. Lists and plain values are replaced, objects are merged,
/// and `null` takes a key away.
///
/// In `states` the order is the priority: a rule that `over` changes keeps its place, and a rule
/// that it adds comes first, because it is there to decide what the others do not.
pub fn merge(under: Value, over: Value) -> Value {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => Value::Object(objects(under, over, false)),
        (_, over) => over,
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
    fn a_changed_rule_keeps_its_place_and_an_added_one_comes_first() {
        let under = json!({"states": {"ask": {"pattern": "a"}, "idle": {"pattern": "b"}}});
        let over = json!({"states": {"idle": {"pattern": "c"}, "mine": {"pattern": "d"}}});
        let merged = merge(under, over);
        let names: Vec<&String> = merged["states"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["mine", "ask", "idle"]);
        assert_eq!(merged["states"]["idle"]["pattern"], "c");
    }
}
