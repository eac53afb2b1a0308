//! What holds for every recording, however its bytes are cut.

use std::io::BufReader;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::{
    EventData, MINIMAL, RecordingEvent, RecordingHeader, RecordingReader, RecordingWriter, collect,
    events, read, write,
};

fn any_header() -> impl Strategy<Value = RecordingHeader> {
    let size = (1..=u16::MAX, 1..=u16::MAX);
    let limit = option::of((0..1_000_000_u32).prop_map(|millis| f64::from(millis) / 1000.0));
    let texts = (option::of(any::<String>()), option::of(any::<String>()));
    let env = btree_map(any::<String>(), any::<String>(), 0..4);
    (size, option::of(any::<i64>()), limit, texts, env).prop_map(
        |((width, height), timestamp, idle_time_limit, (command, title), env)| RecordingHeader {
            width,
            height,
            timestamp,
            idle_time_limit,
            command,
            title,
            env,
        },
    )
}

fn any_data() -> impl Strategy<Value = EventData> {
    prop_oneof![
        any::<String>().prop_map(EventData::Output),
        any::<String>().prop_map(EventData::Input),
        any::<String>().prop_map(EventData::Marker),
        (1..=u16::MAX, 1..=u16::MAX).prop_map(|(cols, rows)| EventData::Resize { cols, rows }),
    ]
}

/// Events in the order of their times, which are whole microseconds.
fn any_events() -> impl Strategy<Value = Vec<RecordingEvent>> {
    vec((0..10_000_000_u32, any_data()), 0..12).prop_map(|mut events| {
        events.sort_by_key(|(micros, _)| *micros);
        let timed = |(micros, data)| RecordingEvent { time: f64::from(micros) / 1e6, data };
        events.into_iter().map(timed).collect()
    })
}

/// Bytes rich in UTF-8 that is complete, cut off, overlong or wrong in another way.
fn any_chunks() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let pieces: Vec<&[u8]> = vec![
        b"a",
        b"\n",
        b"\x80",
        b"\xbf",
        b"\xc0",
        b"\xc3",
        b"\xa4",
        b"\xe0",
        b"\xe2",
        b"\x82",
        b"\xac",
        b"\xed",
        b"\xa0",
        b"\xf0",
        b"\x9f",
        b"\x98",
        b"\x80",
        b"\xf4",
        b"\x90",
        b"\xf5",
        b"\xff",
        b"\xe2\x82\xac",
        b"\xf0\x9f\x98\x80",
    ];
    let piece = proptest::sample::select(pieces).prop_map(<[u8]>::to_vec);
    let chunk = prop_oneof![
        3 => vec(piece, 0..6).prop_map(|pieces| pieces.concat()),
        1 => vec(any::<u8>(), 0..6),
    ];
    vec(chunk, 0..12)
}

proptest! {
    #[test]
    fn where_the_bytes_are_cut_changes_no_text(chunks in any_chunks()) {
        // The input gets other bytes than the output, so that mixing the two up shows.
        let reverse = |chunk: &Vec<u8>| chunk.iter().rev().copied().collect::<Vec<_>>();
        let reversed: Vec<Vec<u8>> = chunks.iter().map(reverse).collect();
        let mut writer = RecordingWriter::new(Vec::new(), &RecordingHeader::new(80, 24)).unwrap();
        for (output, input) in chunks.iter().zip(&reversed) {
            writer.output(0.0, output).unwrap();
            writer.input(0.0, input).unwrap();
        }
        let (mut output, mut input) = (String::new(), String::new());
        for event in events(&writer.finish().unwrap()) {
            match event.data {
                EventData::Output(text) => output.push_str(&text),
                EventData::Input(text) => input.push_str(&text),
                other => panic!("{other:?}"),
            }
        }
        prop_assert_eq!(output, String::from_utf8_lossy(&chunks.concat()).into_owned());
        prop_assert_eq!(input, String::from_utf8_lossy(&reversed.concat()).into_owned());
    }

    #[test]
    fn what_is_written_is_read_back(header in any_header(), mut expected in any_events()) {
        let (again, events, error) = read(&write(&header, &expected)).unwrap();
        // Output and input without text write no line.
        expected.retain(|event| !matches!(
            &event.data,
            EventData::Output(text) | EventData::Input(text) if text.is_empty()
        ));
        prop_assert!(error.is_none());
        prop_assert_eq!(again, header);
        prop_assert_eq!(events, expected);
    }

    #[test]
    fn how_the_source_is_buffered_changes_nothing(
        written in any_events(),
        cut in any::<prop::sample::Index>(),
        broken in any::<Option<(prop::sample::Index, u8)>>(),
    ) {
        let header = RecordingHeader::new(80, 24);
        let begin = write(&header, &[]).len();
        let mut bytes = write(&header, &written);
        bytes.truncate(begin + cut.index(bytes.len() - begin + 1));
        if let Some((at, byte)) = broken.filter(|_| bytes.len() > begin) {
            let at = begin + at.index(bytes.len() - begin);
            bytes[at] = byte;
        }
        let whole = read(&bytes).unwrap();
        let single = RecordingReader::new(BufReader::with_capacity(1, bytes.as_slice())).unwrap();
        prop_assert_eq!(format!("{whole:?}"), format!("{:?}", collect(single)));
    }

    #[test]
    fn no_input_makes_the_reader_panic(bytes in vec(any::<u8>(), 0..200), text in any::<String>()) {
        read(&bytes).ok();
        read([MINIMAL.as_bytes(), &bytes].concat().as_slice()).ok();
        read(format!("{MINIMAL}[1, \"r\", {text:?}]\n{text}").as_bytes()).ok();
    }
}
