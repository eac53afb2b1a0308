//! Reading JSON that may be anything: with bounded memory, and without ever insisting on a shape.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::entry::one_line;
use super::mended::mended;

/// Most values in one line. A line of 16 MiB could hold eight million of them, and as values in
/// memory these would take a hundred times as much as the line; no event of any agent has more
/// than a few hundred.
const MAX_JSON_VALUES: usize = 50_000;

/// Most fields of an object that are compared with each other to find one that is there twice.
const FEW_FIELDS: usize = 24;

/// JSON as it stands in a line: texts are borrowed from it, and nothing is hashed, because most of
/// a message is looked at once and forgotten.
#[derive(Debug)]
pub(crate) enum JsonValue<'a> {
    Null,
    Bool(bool),
    Number(Number),
    /// A value as it is written, which is only handed back.
    Exact(String),
    Text(Cow<'a, str>),
    List(Vec<Self>),
    /// No two have one name.
    Object(Vec<(Cow<'a, str>, Self)>),
}

impl JsonValue<'_> {
    pub(crate) fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    pub(crate) fn field_mut(&mut self, name: &str) -> Option<&mut Self> {
        let Self::Object(fields) = self else { return None };
        fields.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Whether it is certain that it would be written again as it was read, but for the escapes of
    /// a text.
    pub(crate) fn is_written_the_same(&self) -> bool {
        match self {
            Self::Null | Self::Bool(_) | Self::Exact(_) => true,
            Self::Number(number) => number.is_i64(),
            // It may stand for a character that was broken.
            Self::Text(text) => !text.contains(char::REPLACEMENT_CHARACTER),
            Self::List(_) | Self::Object(_) => false,
        }
    }

    fn into_owned(self) -> JsonValue<'static> {
        match self {
            Self::Null => JsonValue::Null,
            Self::Bool(bool) => JsonValue::Bool(bool),
            Self::Number(number) => JsonValue::Number(number),
            Self::Exact(json) => JsonValue::Exact(json),
            Self::Text(text) => JsonValue::Text(text.into_owned().into()),
            Self::List(items) => JsonValue::List(items.into_iter().map(Self::into_owned).collect()),
            Self::Object(fields) => {
                let field = |(name, value): (Cow<'_, str>, Self)| {
                    (name.into_owned().into(), value.into_owned())
                };
                JsonValue::Object(fields.into_iter().map(field).collect())
            }
        }
    }

    /// The same, to be kept.
    fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(bool) => Value::Bool(*bool),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Exact(json) => serde_json::from_str(json).unwrap_or_default(),
            Self::Text(text) => Value::String(text.clone().into_owned()),
            Self::List(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Self::Object(fields) => {
                let field = |(name, value): &(Cow<'_, str>, Self)| {
                    (name.clone().into_owned(), value.to_value())
                };
                Value::Object(fields.iter().map(field).collect())
            }
        }
    }
}

/// One JSON value that fills all of `bytes`; nothing for anything else. Where characters in it are
/// broken, U+FFFD stands in their place: the rest of a message is as good as before.
pub(crate) fn parse(bytes: &[u8]) -> Option<JsonValue<'_>> {
    parse_told(bytes, &mut None)
}

/// The same, and tells the name of a field that is there twice in an object of it.
pub(crate) fn parse_told<'a>(
    bytes: &'a [u8],
    repeated: &mut Option<String>,
) -> Option<JsonValue<'a>> {
    let value = strict(bytes, repeated);
    value.or_else(|| Some(strict(&mended(bytes)?, repeated)?.into_owned()))
}

fn strict<'a>(bytes: &'a [u8], repeated: &mut Option<String>) -> Option<JsonValue<'a>> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let mut left = MAX_JSON_VALUES;
    let values = CountedValue { left: &mut left, repeated };
    let value = values.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(value)
}

/// Reads a value and counts down how many more there may be.
struct CountedValue<'a> {
    left: &'a mut usize,
    /// A name that was there twice in one object.
    repeated: &'a mut Option<String>,
}

impl CountedValue<'_> {
    fn reborrow(&mut self) -> CountedValue<'_> {
        CountedValue { left: self.left, repeated: self.repeated }
    }
}

impl<'de> DeserializeSeed<'de> for CountedValue<'_> {
    type Value = JsonValue<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        *self.left = self.left.checked_sub(1).ok_or_else(|| D::Error::custom("too many values"))?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for CountedValue<'_> {
    type Value = JsonValue<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(JsonValue::Null)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Self::Value, E> {
        Ok(JsonValue::Bool(bool))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(JsonValue::Number(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(JsonValue::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(number).map_or(JsonValue::Null, JsonValue::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(JsonValue::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(JsonValue::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(self.reborrow())? {
            values.push(value);
        }
        Ok(JsonValue::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(name) = fields.next_key_seed(FieldName)? {
            values.push((name, fields.next_value_seed(self.reborrow())?));
        }
        Ok(JsonValue::Object(last_of_each(values, self.repeated)))
    }
}

struct FieldName;

impl<'de> DeserializeSeed<'de> for FieldName {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for FieldName {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a field")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

type JsonFields<'a> = Vec<(Cow<'a, str>, JsonValue<'a>)>;

/// The fields of an object. Where a name is there twice, the value that comes last counts, as with
/// every other reader of JSON.
fn last_of_each<'a>(fields: JsonFields<'a>, repeated: &mut Option<String>) -> JsonFields<'a> {
    let is_few = fields.len() <= FEW_FIELDS;
    let is_twice = |(at, (name, _)): (usize, &(Cow<'_, str>, JsonValue<'_>))| {
        fields[..at].iter().any(|(before, _)| before == name)
    };
    if is_few && !fields.iter().enumerate().any(is_twice) {
        return fields;
    }
    let mut places = HashMap::with_capacity(fields.len());
    let mut kept = JsonFields::with_capacity(fields.len());
    for (name, value) in fields {
        if let Some(&at) = places.get(&name) {
            let field: &mut (Cow<'_, str>, JsonValue<'_>) = &mut kept[at];
            field.1 = value;
            repeated.get_or_insert_with(|| one_line(&name));
        } else {
            places.insert(name.clone(), kept.len());
            kept.push((name, value));
        }
    }
    kept
}

/// A place in JSON that may not be there, or be something else than hoped for. Every question has
/// an answer; the answer may be nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum JsonNode<'a> {
    /// There is nothing.
    Nothing,
    /// In a line that was just read.
    Read(&'a JsonValue<'a>),
    /// In what was kept of one.
    Kept(&'a Value),
}

impl<'a> JsonNode<'a> {
    /// What was read, if that was JSON.
    pub(crate) fn read(value: Option<&'a JsonValue<'a>>) -> Self {
        value.map_or(Self::Nothing, Self::Read)
    }

    /// The field of that name.
    pub(crate) fn get(self, name: &str) -> Self {
        match self {
            Self::Read(JsonValue::Object(fields)) => {
                let found = fields.iter().find(|(known, _)| known == name);
                found.map_or(Self::Nothing, |(_, value)| Self::Read(value))
            }
            Self::Kept(value) => value.get(name).map_or(Self::Nothing, Self::Kept),
            Self::Nothing | Self::Read(_) => Self::Nothing,
        }
    }

    /// Whether there is anything here, be it null.
    pub(crate) fn is_given(self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// Whether there is anything here but null.
    pub(crate) fn exists(self) -> bool {
        !matches!(self, Self::Nothing | Self::Read(JsonValue::Null) | Self::Kept(Value::Null))
    }

    pub(crate) fn is_object(self) -> bool {
        matches!(self, Self::Read(JsonValue::Object(_)) | Self::Kept(Value::Object(_)))
    }

    pub(crate) fn str(self) -> Option<&'a str> {
        match self {
            Self::Read(JsonValue::Text(text)) => Some(text),
            Self::Kept(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// The JSON of a value that is kept as it is written.
    pub(crate) fn exact(self) -> Option<&'a str> {
        match self {
            Self::Read(JsonValue::Exact(json)) => Some(json),
            _ => None,
        }
    }

    pub(crate) fn bool(self) -> Option<bool> {
        match self {
            Self::Read(JsonValue::Bool(bool)) | Self::Kept(Value::Bool(bool)) => Some(*bool),
            _ => None,
        }
    }

    fn number(self) -> Option<&'a Number> {
        match self {
            Self::Read(JsonValue::Number(number)) | Self::Kept(Value::Number(number)) => {
                Some(number)
            }
            _ => None,
        }
    }

    /// A number that counts something: whole and not negative, however it is written.
    pub(crate) fn count(self) -> Option<u64> {
        let whole = |number: &f64| (0.0..9e15).contains(number) && number.fract() == 0.0;
        let number = self.number()?;
        number.as_u64().or_else(|| number.as_f64().filter(whole).map(|number| number as u64))
    }

    pub(crate) fn float(self) -> Option<f64> {
        self.number().and_then(Number::as_f64)
    }

    /// A copy to be kept; nothing where there is nothing.
    pub(crate) fn to_value(self) -> Option<Value> {
        match self {
            Self::Nothing => None,
            Self::Read(value) => Some(value.to_value()),
            Self::Kept(value) => Some(value.clone()),
        }
    }

    /// The items of an array; none for anything else.
    pub(crate) fn items(self) -> impl Iterator<Item = Self> {
        let (read, kept): (&'a [JsonValue<'a>], &'a [Value]) = match self {
            Self::Read(JsonValue::List(items)) => (items, &[]),
            Self::Kept(Value::Array(items)) => (&[], items),
            _ => (&[], &[]),
        };
        read.iter().map(Self::Read).chain(kept.iter().map(Self::Kept))
    }

    /// The fields of an object; none for anything else.
    pub(crate) fn fields(self) -> impl Iterator<Item = (&'a str, Self)> {
        let (read, kept): (&'a [_], Option<&'a Map<String, Value>>) = match self {
            Self::Read(JsonValue::Object(fields)) => (fields, None),
            Self::Kept(Value::Object(fields)) => (&[], Some(fields)),
            _ => (&[], None),
        };
        let field = |(name, value): &'a (Cow<'a, str>, JsonValue<'a>)| (&**name, Self::Read(value));
        let read = read.iter().map(field);
        let kept = kept.into_iter().flatten();
        read.chain(kept.map(|(name, value)| (name.as_str(), Self::Kept(value))))
    }

    /// What a person would read here: a text as it is, the texts of a list of parts one after the
    /// other, anything else as JSON.
    pub(crate) fn readable_text(self) -> String {
        self.readable().into_owned()
    }

    /// The same, borrowed where it stands there as it is.
    pub(crate) fn readable(self) -> Cow<'a, str> {
        if !self.exists() {
            return Cow::Borrowed("");
        }
        if let Some(text) = self.str() {
            return Cow::Borrowed(text);
        }
        let is_list = matches!(self, Self::Read(JsonValue::List(_)) | Self::Kept(Value::Array(_)));
        if is_list && self.items().all(|part| part.get("text").str().is_some()) {
            let texts = self.items().filter_map(|part| part.get("text").str());
            return texts.collect::<Vec<_>>().join("\n").into();
        }
        self.to_value().unwrap_or_default().to_string().into()
    }
}

/// The words in an error message, which some agents hand on as the JSON they got.
pub(crate) fn message(text: &str) -> String {
    let found = parse(text.trim().as_bytes()).and_then(|value| {
        let node = JsonNode::Read(&value);
        let inner = node.get("error").get("message").str();
        inner.or(node.get("message").str()).map(str::to_owned)
    });
    found.unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(json: &[u8]) -> Option<Value> {
        JsonNode::read(parse(json).as_ref()).to_value()
    }

    #[test]
    fn of_a_field_that_is_there_twice_the_last_counts() {
        let many: String = (0..100).map(|number| format!("\"{number}\":0,")).collect();
        for before in ["", "\"b\":0,", &many] {
            let json =
                format!("{{{before}\"a\":1,\"\\u0061\":2,\"c\":{{\"x\":1,\"x\":null}},\"a\":3}}");
            let value = parse(json.as_bytes()).unwrap();
            let node = JsonNode::Read(&value);
            assert_eq!(node.get("a").count(), Some(3), "{json}");
            assert!(!node.get("c").get("x").exists() && node.get("c").get("x").is_given());
            assert_eq!(node.fields().filter(|(name, _)| *name == "a").count(), 1);
            assert_eq!(node.to_value(), serde_json::from_str(&json).ok());
        }
    }

    #[test]
    fn a_value_is_read_as_serde_reads_it() {
        let json = br#" {"a":[1,-2,3.5,null,true,"x\n"],"b":{"c":{}}} "#;
        assert_eq!(kept(json), serde_json::from_slice(json).ok());
        for none in ["", "{", "{}x", "{} {}", "[1,]", "NaN", "1e999", "{\"a\":\u{1b}}"] {
            assert_eq!(kept(none.as_bytes()), None, "{none}");
        }
    }

    #[test]
    fn too_many_values_and_too_deep_nesting_are_refused() {
        let list = |values: usize| format!("[{}0]", "0,".repeat(values - 2));
        assert!(parse(list(MAX_JSON_VALUES).as_bytes()).is_some());
        assert!(parse(list(MAX_JSON_VALUES + 1).as_bytes()).is_none());
        assert!(parse("[".repeat(100_000).as_bytes()).is_none());
    }

    #[test]
    fn only_what_can_be_counted_is_a_count() {
        let count = |json: &str| {
            let kept: Value = serde_json::from_str(json).unwrap();
            let read = JsonNode::Read(&parse(json.as_bytes()).unwrap()).count();
            assert_eq!(JsonNode::Kept(&kept).count(), read);
            read
        };
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
