//! Recorded conversations in which messages are lost, repeated, out of order, torn or spoiled.

use proptest::prelude::*;

use super::*;

/// A change to a conversation.
#[derive(Clone, Debug)]
enum Damage {
    Lose(usize),
    Repeat(usize, usize),
    Swap(usize, usize),
    Tear(usize, usize),
    Turn(usize),
    Spoil(usize, usize, u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = 0..1_000_000_usize;
    prop_oneof![
        place.clone().prop_map(Damage::Lose),
        (place.clone(), place.clone()).prop_map(|(what, to)| Damage::Repeat(what, to)),
        (place.clone(), place.clone()).prop_map(|(one, other)| Damage::Swap(one, other)),
        (place.clone(), place.clone()).prop_map(|(what, at)| Damage::Tear(what, at)),
        place.clone().prop_map(Damage::Turn),
        (place.clone(), place, any::<u8>())
            .prop_map(|(what, at, byte)| Damage::Spoil(what, at, byte)),
    ]
}

fn damaged(mut records: Vec<Record>, damages: &[Damage]) -> Vec<Record> {
    for damage in damages {
        let count = records.len();
        match *damage {
            Damage::Lose(what) => drop(records.remove(what % count)),
            Damage::Repeat(what, to) => {
                let again = records[what % count].clone();
                records.insert(to % count, again);
            }
            Damage::Swap(one, other) => records.swap(one % count, other % count),
            Damage::Tear(what, at) => {
                let bytes = &mut records[what % count].bytes;
                bytes.truncate(at % (bytes.len() + 1));
            }
            Damage::Turn(what) => {
                let record = &mut records[what % count];
                record.direction = match record.direction {
                    ChannelDirection::Out => ChannelDirection::In,
                    ChannelDirection::In => ChannelDirection::Out,
                };
            }
            Damage::Spoil(what, at, byte) => {
                let bytes = &mut records[what % count].bytes;
                if let Some(place) = at.checked_rem(bytes.len()) {
                    bytes[place] = byte;
                }
            }
        }
    }
    records
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_damaged_conversation_is_read_the_same_in_pieces_and_what_is_due_has_an_end(
        which in 0..TRANSCRIPTS.len(),
        damages in proptest::collection::vec(damage(), 1..4),
        piece in 1..200_usize,
    ) {
        let (name, kind) = TRANSCRIPTS[which];
        let records = damaged(records(name), &damages);
        let (mut whole, mut pieces) = (codec(kind), codec(kind));
        for record in &records {
            let expected = feed(&mut whole, record.direction, &record.bytes);
            let mut events = Vec::new();
            for bytes in record.bytes.chunks(piece) {
                events.extend(feed(&mut pieces, record.direction, bytes));
            }
            prop_assert_eq!(events, expected);
        }
        prop_assert_eq!(whole.state(), pieces.state());
        for request in open(&whole) {
            if let Ok(said) = whole.say(&approve(request.clone())) {
                written(&mut whole, &said.bytes);
                prop_assert!(!open(&whole).contains(&request));
            }
        }
        let plan = ChannelPlan { prompts: vec!["more".to_owned()], ..ChannelPlan::default() };
        let mut said = 0;
        while let Some(due) = whole.due(&plan) {
            written(&mut whole, &due);
            said += 1;
            prop_assert!(said < 600);
        }
    }
}
