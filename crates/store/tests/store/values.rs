//! Values that are too large for a line.

use std::fs;

use coven_store::session::ReadOnlySession;
use coven_store::values::{LIMIT, ValueError};
use coven_store::{Session, Values};
use serde_json::{Value, json};

use super::{Base, FACT_TIME, Fact, Place, facts, id, said};

#[test]
fn a_value_is_kept_once_under_its_digest_and_checked_when_it_is_read() {
    let place = Place::new();
    let values = Values::new(&place.folder());
    let digest = values.put(b"hello").unwrap();
    assert_eq!(digest, values.put(b"hello").unwrap());
    assert_eq!(digest.as_str(), "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
    assert_eq!(values.get(digest.as_str()).unwrap(), b"hello");
    let file = place.0.path().join("values").join(digest.as_str());
    fs::write(&file, "jello").unwrap();
    assert!(matches!(values.get(digest.as_str()), Err(ValueError::Damaged { .. })));
    values.put(b"hello").unwrap();
    assert_eq!(values.get(digest.as_str()).unwrap(), b"hello", "keeping it again mends it");
    fs::remove_file(&file).unwrap();
    assert!(matches!(values.get(digest.as_str()), Err(ValueError::Missing { .. })));
}

#[test]
fn what_is_no_digest_never_becomes_a_path() {
    let place = Place::new();
    fs::create_dir(place.0.path().join("values")).unwrap();
    let values = Values::new(&place.folder());
    let upper = "2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824";
    for bad in ["", "..", "../journal.jsonl", "/etc/passwd", upper, &"a".repeat(63)] {
        assert!(matches!(values.get(bad), Err(ValueError::NotADigest { .. })), "{bad}");
    }
}

/// Spec: C1.11.2
#[test]
fn a_large_value_lies_aside_and_comes_back_with_its_fact() {
    let base = Base::new();
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let large = said(&"line\n".repeat(1_000_000));
    session.append(FACT_TIME, &[said("small"), large.clone(), said("small again")]).unwrap();
    let journal = fs::metadata(session.path().join("journal.jsonl")).unwrap().len();
    assert!(journal < 1000, "{journal}");
    assert_eq!(fs::read_dir(session.path().join("values")).unwrap().count(), 1);
    assert!(facts(&mut session.reader()) == [said("small"), large.clone(), said("small again")]);
    drop(session);
    let mut reader =
        ReadOnlySession::open(&base.dir(), &base.authority(), &id(1)).unwrap().reader().unwrap();
    assert_eq!(reader.read_all::<Fact>(2).unwrap()[0].fact, large);
}

/// Naive: the length of a fact is looked at before its large values are put aside. 16 MiB of output,
/// which is what is kept, are 96 MiB of escapes if they are control characters.
#[test]
fn a_text_whose_escapes_are_longer_than_any_line_lies_aside() {
    let base = Base::new();
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let large = said(&"\0".repeat(16 << 20));
    session.append(FACT_TIME, &[large.clone(), said("after")]).unwrap();
    assert!(facts(&mut session.reader()) == [large, said("after")]);
}

#[test]
fn values_of_every_shape_come_back_as_they_were() {
    let base = Base::new();
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let text = |len: usize| "\u{1}é\"".repeat(len / 9);
    let all = [
        json!({"type": "a", "data": {"a/b": {"~": [1, text(LIMIT * 2), null]}, "c": 1.5}}),
        json!({"type": "a", "data": [text(LIMIT + 100), text(LIMIT + 100), text(9)]}),
        // Many small ones that are large together, and a large one among them.
        json!({"type": "a", "data": (0..20_000).collect::<Vec<u32>>()}),
        json!({"type": "a", "data": {
            "many": (0..9000).map(|n| json!({"n": n})).collect::<Vec<_>>(),
            "more": {"x": text(LIMIT * 3), "y": (0..20_000).collect::<Vec<u32>>()}}}),
        json!({"type": "a", "data": text(LIMIT - 100), "aside?": {"/data": "not ours"}}),
        json!({"a": text(LIMIT / 2), "b": text(LIMIT / 2), "c": text(LIMIT / 2)}),
    ];
    session.append(FACT_TIME, &all).unwrap();
    let read = session.reader().read_all::<Value>(1).unwrap();
    for (record, expected) in read.into_iter().zip(all) {
        let mut fact = record.fact;
        for key in ["v", "seq", "time", "aside"] {
            fact.as_object_mut().unwrap().remove(key);
        }
        assert!(fact == expected, "fact {}", record.seq);
    }
}

#[test]
fn a_fact_whose_value_is_gone_says_which() {
    let base = Base::new();
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    session.append(FACT_TIME, &[said(&"x".repeat(LIMIT + 1)), said("after")]).unwrap();
    fs::remove_dir_all(session.path().join("values")).unwrap();
    let mut reader = session.reader();
    let error = reader.read_all::<Fact>(1).unwrap_err();
    assert!(error.to_string().starts_with("a value of fact 1 cannot be read: "), "{error}");
    assert_eq!(reader.read_all::<Fact>(2).unwrap()[0].fact, said("after"));
}

#[test]
fn a_fact_cannot_pretend_to_have_values_aside() {
    let base = Base::new();
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let fact = json!({"type": "said", "data": null, "aside": {"/data": "../../../etc/passwd"}});
    assert!(session.append(FACT_TIME, &[fact]).is_err());
}
