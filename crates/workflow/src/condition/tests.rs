//! Conditions.

use serde_json::{Value, json};

use super::*;

fn scope() -> VariableScope {
    match json!({
        "n": 3, "f": 2.5, "t": "main", "yes": true, "no": false, "none": null, "tasks": ["a", "b"],
        "o": {"a-b": 1, "c": {"d": "x"}}, "steps": {"run-tests": {"status": "failed"}},
    }) {
        Value::Object(map) => VariableScope::new(map),
        _ => VariableScope::default(),
    }
}

fn holds(text: &str) -> bool {
    let condition = Condition::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    condition.evaluate(&scope()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn wrong(text: &str) -> String {
    let place = |error: &ConditionError| {
        let end = (error.offset + error.length).min(text.len());
        format!("{} => {error}", &text[error.offset.min(end)..end])
    };
    match Condition::parse(text) {
        Err(error) => place(&error),
        Ok(condition) => place(&condition.evaluate(&scope()).unwrap_err()),
    }
}

#[test]
fn conditions_say_what_they_mean() {
    for text in [
        "yes",
        "!no",
        "not no",
        "yes and not no",
        "yes && !no",
        "no or yes",
        "no || yes",
        "n == 3",
        "n != 4",
        "n > 2 and n >= 3 and n < 4 and n <= 3",
        "f == 2.5",
        "n == 3.0",
        "t == 'main'",
        "t == \"main\"",
        "${t} == 'main'",
        "t != 'it\\'s'",
        "'a' < 'b'",
        "tasks | length == 2",
        "tasks | first == 'a'",
        "tasks | last == 'b'",
        "tasks[1] == 'b'",
        "'a' in tasks",
        "'c' not in tasks",
        "'ai' in t",
        "'c' in o",
        "t in ['main', 'master']",
        "o.a-b == 1",
        "o[\"a-b\"] == 1",
        "o.c.d == 'x'",
        "steps.run-tests.status == 'failed'",
        "none == null",
        "none is null",
        "t is not null",
        "t != null",
        "missing is not defined",
        "o.zebra is not defined",
        "n is defined",
        "n + 1 == 4",
        "n - 1 == 2",
        "n * 2 == 6",
        "n / 2 == 1.5",
        "n % 2 == 1",
        "-n == -3",
        "n - -1 == 4",
        "(no or yes) and yes",
        "1 + 2 * 3 == 7",
        "' Main ' | trim | lower == t",
        "t | upper == 'MAIN'",
        "t | length == 4",
        "[] == []",
        "[1, 2] == [1, 2]",
        "yes or missing",
        "not (no and missing)",
        "tasks == ['a', 'b']",
    ] {
        assert!(holds(text), "{text}");
    }
    for text in ["no", "yes and no", "n == 4", "t == 'x'", "not yes", "none != null", "'z' in t"] {
        assert!(!holds(text), "{text}");
    }
}

#[test]
fn nothing_is_true_by_accident() {
    let all = [
        "n",
        "t",
        "none",
        "tasks",
        "o",
        "'yes'",
        "1",
        "not n",
        "yes and t",
        "missing",
        "o.missing == 1",
        "t == 3",
        "n == '3'",
        "yes == 'true'",
        "tasks == 'a'",
        "t > 3",
        "yes > no",
        "none < 1",
        "1 in t",
        "t in n",
        "t + 1 == 2",
        "n / 0 == 1",
        "n | length == 1",
        "t | first == 'm'",
        "tasks.a == 1",
    ];
    insta::assert_snapshot!(all.map(wrong).join("\n"), @"
    n => this is a number, and a condition must be true or false; compare it, as in `count > 0`
    t => this is text, and a condition must be true or false; compare it, as in `name == 'main'`
    none => this is null, and a condition must be true or false; `is null` tells whether there is a value
    tasks => this is an array, and a condition must be true or false; ask for its size, as in `tasks | length > 0`
    o => this is an object, and a condition must be true or false; ask for its size, as in `tasks | length > 0`
    'yes' => this is text, and a condition must be true or false; compare it, as in `name == 'main'`
    1 => this is a number, and a condition must be true or false; compare it, as in `count > 0`
    n => this is a number, and a condition must be true or false; compare it, as in `count > 0`
    t => this is text, and a condition must be true or false; compare it, as in `name == 'main'`
    missing => `${missing}` is not defined: there is no variable of that name
    o.missing => `${o.missing}` is not defined: `o` has no `missing`
    t == 3 => text is never equal to a number; compare values of one kind
    n == '3' => a number is never equal to text; compare values of one kind
    yes == 'true' => a boolean is never equal to text; compare values of one kind
    tasks == 'a' => an array is never equal to text; compare values of one kind
    t > 3 => text is neither more nor less than a number; compare two numbers or two texts
    yes > no => a boolean is neither more nor less than a boolean; compare two numbers or two texts
    none < 1 => null is neither more nor less than a number; compare two numbers or two texts
    1 in t => a number cannot be looked for in text; look for text in text, for a value in an array, or for a key in an object
    t in n => text cannot be looked for in a number; look for text in text, for a value in an array, or for a key in an object
    t + 1 => text is no number to calculate with
    n / 0 => this has no finite result
    n | length => this filter is for text, an array or an object, and the value is a number
    t | first => this filter is for an array, and the value is text
    tasks.a => `${tasks.a}` is not defined: `tasks` is an array; choose an element with `tasks[0]`
    ");
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    let all = [
        "",
        "  ",
        "n ==",
        "n == 3 n",
        "(n == 3",
        "[1, 2",
        "'open",
        "n = 3",
        "n === 3",
        "n & yes",
        "n; 3",
        "1 < n < 4",
        "yes is true",
        "3 is defined",
        "t | shout",
        "t |",
        "len(t)",
        "'${t}' == 'main'",
        "${t",
        "$t",
        "{{ t }}",
        "and yes",
        "yes not no",
        "3x == 3",
        "a..b",
        "n == 3)",
        "not",
    ];
    insta::assert_snapshot!(all.map(wrong).join("\n"), @"
     => the condition is empty
       => the condition is empty
     => something is missing at the end of the condition
    n => `n` was not expected here
    ( => this has no closing `)`
    [ => this has no closing `]`
    'open => the text has no closing '
    = => `=` gives no answer; `==` compares
    = => `=` gives no answer; `==` compares
    & => `&` does not belong in a condition; write `and` or `&&`
    ; => `;` does not belong in a condition
    < => one comparison at a time; join two with `and`
    true => after `is` comes `defined`, `null`, `not defined` or `not null`
    3 => only a variable can be defined or not
    shout => after `|` comes one of length, lower, upper, trim, first, last
     => something is missing at the end of the condition
    len => there are no functions; filters are written `value | length`
    ${ => a variable in quotes is only text; write it without the quotes
    ${ => `${` has no `}`; write `$${` if it is meant as text
    $ => a variable is written `${name}` or just `name`
    { => conditions need no braces; write the name alone
    and => `and` was not expected here
    not => `not` stands before what it denies
    3x => `3x` is no number; text needs quotes
    . => `.` does not belong in a condition
    ) => `)` was not expected here
     => something is missing at the end of the condition
    ");
}

/// They would change nothing: a condition compares values, not texts.
#[test]
fn a_function_of_texts_is_refused_in_a_condition_wherever_it_stands() {
    let told = [
        "${t | json} == 'abc'",
        "yes and ${tasks | join ', '} == 'a | b'",
        "${t | default 'x' | quote} == 'abc'",
        "${tasks | length} == 2",
        "${t | indent} == 'x'",
    ]
    .map(wrong);
    insta::assert_snapshot!(told.join("\n"), @"
    json => `json` does not work in a condition; after `|` comes one of length, lower, upper, trim, first, last, outside of `${}`
    join ', ' => `join` does not work in a condition; after `|` comes one of length, lower, upper, trim, first, last, outside of `${}`
    default 'x' => `default` does not work in a condition; after `|` comes one of length, lower, upper, trim, first, last, outside of `${}`
    length => write `${tasks} | length`: in a condition a filter stands outside of `${}`
    indent => `indent` does not work in a condition; after `|` comes one of length, lower, upper, trim, first, last, outside of `${}`
    ");
    assert!(holds("${tasks} | length == 2"));
}

/// A plan in a journal may have one: it was accepted once, and changed nothing.
#[test]
fn a_condition_with_a_function_in_a_journal_is_read_as_it_was() {
    let stored: Condition = serde_json::from_str("\"${t | json} == 'main'\"").unwrap();
    assert_eq!(stored.evaluate(&scope()), Ok(true));
}

#[test]
fn names_come_once_and_references_with_their_places() {
    let condition = Condition::parse("a.b == 1 and ${inputs.c} and a.d or 'x' in [e]").unwrap();
    assert_eq!(condition.names(), ["a", "input", "e"]);
    let places: Vec<_> =
        condition.references().iter().map(|one| (one.offset, one.length)).collect();
    assert_eq!(places, [(0, 3), (13, 11), (29, 3), (44, 1)]);
}

#[test]
fn what_is_known_of_the_values_is_checked_before() {
    let type_of = |reference: &VariableReference| match reference.name.as_str() {
        "free" => ValueType::FreeText,
        "text" => ValueType::Text,
        "number" => ValueType::Number,
        "flag" => ValueType::Boolean,
        "list" => ValueType::array(ValueType::FreeText),
        _ => ValueType::Any,
    };
    let check = |text: &str| {
        let problems = Condition::parse(text).unwrap().check(&type_of);
        problems.into_iter().map(|problem| problem.what).collect::<Vec<_>>()
    };
    for fine in [
        "flag",
        "any",
        "any == 'x'",
        "text == 'x'",
        "number > 1",
        "free == text",
        "free == null",
        "free | length > 3",
        "list | length > 1",
        "'x' in list",
        "any > 1 and flag",
        "text in ['a', 'b']",
    ] {
        assert_eq!(check(fine), [], "{fine}");
    }
    for (text, name) in [
        ("free == 'x'", "free"),
        ("'x' != (free | trim)", "free"),
        ("list[0] == 'x'", "list[0]"),
        ("free in ['x']", "free"),
        ("list | first == 'x'", "list"),
    ] {
        let expected = TypeMistake::FreeText { name: name.to_owned(), only_search: false };
        let type_of = |reference: &VariableReference| match reference.name.as_str() {
            "list" if !reference.path.is_empty() => ValueType::FreeText,
            _ => type_of(reference),
        };
        let problems = Condition::parse(text).unwrap().check(&type_of);
        assert_eq!(
            problems.into_iter().map(|one| one.what).collect::<Vec<_>>(),
            [expected],
            "{text}"
        );
    }
    assert!(matches!(check("'x' in free")[..], [TypeMistake::FreeText { only_search: true, .. }]));
    assert!(matches!(check("number")[..], [TypeMistake::NotBoolean(ValueType::Number)]));
    assert!(matches!(check("flag and text")[..], [TypeMistake::NotBoolean(ValueType::Text)]));
    assert_eq!(check("number == 'x' or text > 1 or number in text").len(), 3);
    assert_eq!(check("text + 1 > 2 or (number | upper) == 'A'").len(), 2);
}

#[test]
fn a_condition_is_its_source_on_disk() {
    let condition = Condition::parse("a  ==  1").unwrap();
    let stored = serde_json::to_string(&condition).unwrap();
    assert_eq!(stored, "\"a  ==  1\"");
    assert_eq!(serde_json::from_str::<Condition>(&stored).unwrap(), condition);
    assert!(serde_json::from_str::<Condition>("\"a ==\"").is_err());
}
