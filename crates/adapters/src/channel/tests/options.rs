//! Options of an agent over ACP that say two things: what they say that they do counts, and one that
//! is doubtful is never the answer.

use super::*;

/// What approving and denying say, where the adapter knows these ids.
fn said(options: &Value) -> (String, String) {
    let mut codec = working(ChannelKind::Acp);
    let known = |id: &str| Some(id.to_owned());
    codec.options = ChannelOptions { approve: known("yes"), deny: known("no") };
    let mut request = permission(ChannelKind::Acp, 1, "ls");
    request["params"]["options"] = options.clone();
    printed(&mut codec, &request);
    let said = |order: &ChannelOrder| match codec.say(order) {
        Ok(said) => {
            let said: Value = serde_json::from_slice(&said.bytes).unwrap();
            let outcome = &said["result"]["outcome"];
            let answer = if outcome["optionId"].is_null() { "outcome" } else { "optionId" };
            outcome[answer].as_str().unwrap().to_owned()
        }
        Err(refused) => refused.to_string(),
    };
    (said(&approve(RequestId::Number(1))), said(&deny(RequestId::Number(1), "x")))
}

fn option(id: &str, kind: &str) -> Value {
    json!({"optionId": id, "kind": kind, "name": format!("{id} it")})
}

#[test]
fn an_option_that_does_the_opposite_of_what_it_is_known_for_is_never_chosen() {
    let swapped = json!([option("no", "allow_once"), option("yes", "reject_once")]);
    let (approved, denied) = said(&swapped);
    assert!(approved.starts_with("the option `yes it` is not chosen: "), "{approved}");
    assert_eq!(denied, "cancelled");
    let others = json!([
        option("no", "allow_once"),
        option("yes", "reject_once"),
        option("go", "allow_once"),
        option("stop", "reject_once"),
    ]);
    assert_eq!(said(&others), ("go".to_owned(), "stop".to_owned()));
    let lasting = json!([option("yes", "allow_once"), option("no", "reject_always")]);
    assert_eq!(said(&lasting), ("yes".to_owned(), "cancelled".to_owned()));
}

#[test]
fn two_options_of_one_id_are_not_chosen_and_leave_nothing_to_approve() {
    for id in ["yes", "no", "same"] {
        let options = json!([option(id, "allow_once"), option(id, "reject_once")]);
        let (approved, denied) = said(&options);
        assert!(approved.contains("two of this id"), "{id}: {approved}");
        assert_eq!(denied, "cancelled", "{id}");
    }
    let mut codec = working(ChannelKind::Acp);
    let mut request = permission(ChannelKind::Acp, 1, "ls");
    request["params"]["options"] = json!([option("a", "allow_once"), option("a", "reject_once")]);
    printed(&mut codec, &request);
    assert!(!codec.open().next().unwrap().can_be_approved());
}

#[test]
fn an_option_that_does_not_say_what_it_does_is_chosen_by_its_known_id_alone() {
    let plain = |id: &str| json!({"optionId": id, "name": id});
    let known = json!([plain("other"), plain("yes"), plain("no")]);
    assert_eq!(said(&known), ("yes".to_owned(), "no".to_owned()));
    let (approved, denied) = said(&json!([plain("a"), plain("b")]));
    assert!(approved.contains("does not offer an approval"), "{approved}");
    assert_eq!(denied, "cancelled");
}
