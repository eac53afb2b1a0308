//! Reading JSON that may be anything: with bounded memory, and without ever insisting on a shape.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Most values in one line. A line of 16 MiB could hold eight million of them, and as values in
/// memory these would take a hundred times as much as the line; no event of any agent has more
/// than a few hundred.
const MAX_JSON_VALUES: usize = 50_000;

/// One JSON value that fills all of `bytes`; nothing for anything else.
pub(crate) fn parse(bytes: &[u8]) -> Option<Value> {
    let mut left = MAX_JSON_VALUES;
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = CountedValue(&mut left).deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(value)
}

/// Reads a value and counts down how many more there may be.
struct CountedValue<'a>(&'a mut usize);

impl CountedValue<'_> {
    fn reborrow(&mut self) -> CountedValue<'_> {
        CountedValue(self.0)
    }
}

impl<'de> DeserializeSeed<'de> for CountedValue<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        *self.0 = self.0.checked_sub(1).ok_or_else(|| D::Error::custom("too many values"))?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for CountedValue<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Value, E> {
        Ok(bool.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(self.reborrow())? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let value = fields.next_value_seed(self.reborrow())?;
            values.insert(key, value);
        }
        Ok(values.into())
    }
}

/// A place in JSON that may not be there, or be something else than hoped for. Every question has
/// an answer; the answer may be nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonNode<'a>(pub(crate) Option<&'a Value>);

impl<'a> JsonNode<'a> {
    /// The field of that name.
    pub(crate) fn get(self, name: &str) -> Self {
        Self(self.0.and_then(|value| value.get(name)))
    }

    /// Whether there is anything here but null.
    pub(crate) fn exists(self) -> bool {
        self.0.is_some_and(|value| !value.is_null())
    }

    pub(crate) fn str(self) -> Option<&'a str> {
        self.0.and_then(Value::as_str)
    }

    pub(crate) fn bool(self) -> Option<bool> {
        self.0.and_then(Value::as_bool)
    }

    /// A number that counts something: whole and not negative, however it is written.
    pub(crate) fn count(self) -> Option<u64> {
        let whole = |number: &f64| (0.0..9e15).contains(number) && number.fract() == 0.0;
        let value = self.0?;
        value.as_u64().or_else(|| value.as_f64().filter(whole).map(|number| number as u64))
    }

    pub(crate) fn float(self) -> Option<f64> {
        self.0.and_then(Value::as_f64)
    }

    /// The items of an array; none for anything else.
    pub(crate) fn items(self) -> impl Iterator<Item = Self> {
        self.0.and_then(Value::as_array).into_iter().flatten().map(|item| Self(Some(item)))
    }

    /// The fields of an object; none for anything else.
    pub(crate) fn fields(self) -> impl Iterator<Item = (&'a str, Self)> {
        let fields = self.0.and_then(Value::as_object).into_iter().flatten();
        fields.map(|(name, value)| (name.as_str(), Self(Some(value))))
    }

    /// What a person would read here: a text as it is, the texts of a list of parts one after the
    /// other, anything else as JSON.
    pub(crate) fn readable_text(self) -> String {
        self.readable().into_owned()
    }

    /// The same, borrowed where it stands there as it is.
    pub(crate) fn readable(self) -> Cow<'a, str> {
        match self.0 {
            None | Some(Value::Null) => Cow::Borrowed(""),
            Some(Value::String(text)) => Cow::Borrowed(text),
            Some(Value::Array(parts)) if parts.iter().all(|part| part["text"].is_string()) => {
                let texts = parts.iter().filter_map(|part| part["text"].as_str());
                texts.collect::<Vec<_>>().join("\n").into()
            }
            Some(value) => value.to_string().into(),
        }
    }
}

/// The words in an error message, which some agents hand on as the JSON they got.
pub(crate) fn message(text: &str) -> String {
    let found = parse(text.trim().as_bytes()).and_then(|value| {
        let node = JsonNode(Some(&value));
        let inner = node.get("error").get("message").str();
        inner.or(node.get("message").str()).map(str::to_owned)
    });
    found.unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_as_serde_reads_it() {
        let json = br#" {"a":[1,-2,3.5,null,true,"x\n"],"b":{"c":{}}} "#;
        assert_eq!(parse(json), serde_json::from_slice(json).ok());
        for none in ["", "{", "{}x", "{} {}", "[1,]", "NaN", "1e999", "{\"a\":\u{1b}}"] {
            assert_eq!(parse(none.as_bytes()), None, "{none}");
        }
    }

    #[test]
    fn too_many_values_and_too_deep_nesting_are_refused() {
        let list = |values: usize| format!("[{}0]", "0,".repeat(values - 2));
        assert!(parse(list(MAX_JSON_VALUES).as_bytes()).is_some());
        assert_eq!(parse(list(MAX_JSON_VALUES + 1).as_bytes()), None);
        assert_eq!(parse("[".repeat(100_000).as_bytes()), None);
    }

    #[test]
    fn only_what_can_be_counted_is_a_count() {
        let count = |json: &str| JsonNode(Some(&serde_json::from_str(json).unwrap())).count();
        assert_eq!(count("12"), Some(12));
        assert_eq!(count("12.0"), Some(12));
        for none in ["-1", "1.5", "1e300", "\"12\"", "null", "[12]", "-0.5", "true"] {
            assert_eq!(count(none), None, "{none}");
        }
    }

    #[test]
    fn an_error_that_is_json_is_told_by_its_message() {
        assert_eq!(message(r#"{"error": {"message": "bad", "code": 1}}"#), "bad");
        assert_eq!(message(r#"{"message": "worse"}"#), "worse");
        assert_eq!(message("plain"), "plain");
    }
}
