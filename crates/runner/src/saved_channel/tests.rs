//! A conversation that is saved and found again, beside one that is folded as a whole.

use std::fs;
use std::path::PathBuf;

use coven_adapters::channel::ChannelDirection;
use coven_tape::{Options, TapeStream, TapeWriter};
use serde_json::{Value, json};

use super::*;
use crate::actor::ChannelReader;
use crate::channel::FoundChannel;

/// Small enough for a tape of these tests to drop its beginning.
const SMALL: Options = Options { segment_size: 4096, keep: 16 * 1024 };

/// An attempt whose agent speaks ACP, and everything that was said to it and by it, folded.
struct Conversation {
    _folder: tempfile::TempDir,
    path: PathBuf,
    tape: TapeWriter,
    folded: ChannelReader,
    time: u64,
    slot: SavedSlot,
}

impl Conversation {
    fn begin(options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(folder.path()).unwrap();
        let setup =
            json!({"kind": "acp", "options": {}, "cwd": "/", "prompt": "go", "previous": {}});
        fs::write(path.join("channel.json"), setup.to_string()).unwrap();
        let tape = TapeWriter::create(&path, options).unwrap();
        let reader = FoundChannel::find(&path).unwrap().unwrap().reader;
        let slot = SavedSlot::default();
        let mut this = Self { _folder: folder, path, tape, folded: reader, time: 0, slot };
        this.tell(&json!({"id": 1, "method": "initialize", "params": {}}));
        this.hear(&json!({"id": 1, "result": {"protocolVersion": 1}}));
        this.tell(&json!({"id": 2, "method": "session/new", "params": {"cwd": "/"}}));
        this.hear(&json!({"id": 2, "result": {"sessionId": "s"}}));
        let prompt = json!({"sessionId": "s", "prompt": [{"type": "text", "text": "go"}]});
        this.tell(&json!({"id": 3, "method": "session/prompt", "params": prompt}));
        this
    }

    fn line(message: &Value) -> Vec<u8> {
        let mut message = message.clone();
        message["jsonrpc"] = "2.0".into();
        format!("{message}\n").into_bytes()
    }

    fn record_output(&mut self, message: &Value) {
        self.time += 1;
        self.tape.output(self.time, TapeStream::Out, &Self::line(message)).unwrap();
    }

    fn record_input(&mut self, message: &Value) {
        self.time += 1;
        self.tape.input(self.time, &Self::line(message)).unwrap();
    }

    fn fold(&mut self, direction: ChannelDirection, message: &Value) {
        self.folded.replay(direction, &Self::line(message));
    }

    fn hear(&mut self, message: &Value) {
        self.record_output(message);
        self.fold(ChannelDirection::Out, message);
    }

    fn tell(&mut self, message: &Value) {
        self.record_input(message);
        self.fold(ChannelDirection::In, message);
    }

    fn asks(request: &str) -> Value {
        let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
        json!({"id": request, "method": "session/request_permission", "params": {
            "sessionId": "s",
            "toolCall": {"toolCallId": request, "title": format!("touch {request}")},
            "options": [option("yes", "allow_once"), option("no", "reject_once")],
        }})
    }

    fn says(text: &str) -> Value {
        let content = json!({"type": "text", "text": text});
        let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
        json!({"method": "session/update", "params": {"sessionId": "s", "update": update}})
    }

    /// Says more than the tape keeps.
    fn talks(&mut self, lines: usize) {
        for number in 0..lines {
            self.hear(&Self::says(&format!("{number} {}", "word ".repeat(50))));
        }
    }

    fn save(&mut self) {
        let saved = SavedChannel::of(&self.folded.progress(), self.tape.end()).unwrap();
        self.time += 1;
        self.tape.mark(self.time, saved.mark()).unwrap();
        saved.save(&self.path, self.slot).unwrap();
        self.slot = self.slot.other();
    }

    /// Saves a state that has the first half of a line.
    fn save_in_the_middle_of(&mut self, message: &Value) {
        let line = Self::line(message);
        let (begun, rest) = line.split_at(line.len() / 2);
        self.tape.output(self.time, TapeStream::Out, begun).unwrap();
        self.folded.replay(ChannelDirection::Out, begun);
        self.save();
        self.tape.output(self.time, TapeStream::Out, rest).unwrap();
        self.folded.replay(ChannelDirection::Out, rest);
    }

    fn file(&self, slot: SavedSlot) -> PathBuf {
        self.path.join(FILES[slot.0])
    }

    fn start_of_tape(&self) -> u64 {
        TapeReader::open(&self.path).unwrap().range().start
    }

    fn found(&self) -> Value {
        let found = FoundChannel::find(&self.path).unwrap().unwrap();
        assert_eq!(found.offset, self.tape.end());
        serde_json::to_value(found.reader.progress()).unwrap()
    }

    fn expected(&self) -> Value {
        serde_json::to_value(self.folded.progress()).unwrap()
    }
}

#[test]
fn what_is_open_is_known_though_the_tape_has_dropped_the_question() {
    let mut conversation = Conversation::begin(SMALL);
    conversation.hear(&Conversation::asks("first"));
    for _ in 0..8 {
        conversation.talks(9);
        conversation.save();
        conversation.talks(3);
        assert_eq!(conversation.found(), conversation.expected());
    }
    conversation.hear(&Conversation::asks("second"));
    assert!(conversation.start_of_tape() > 0);
    let found = conversation.found();
    assert_eq!(found, conversation.expected());
    let text = found.to_string();
    assert!(text.contains("touch first") && text.contains("touch second"));
    for slot in [SavedSlot(0), SavedSlot(1)] {
        fs::remove_file(conversation.file(slot)).unwrap();
    }
    assert!(!conversation.found().to_string().contains("touch first"), "it is not on the tape");
}

#[test]
fn an_answer_that_was_saved_is_not_read_twice_and_one_that_came_later_is_read() {
    let mut conversation = Conversation::begin(SMALL);
    let answer = |request: &str| {
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": "yes"}});
        json!({"id": request, "result": outcome})
    };
    conversation.hear(&Conversation::asks("first"));
    conversation.hear(&Conversation::asks("second"));
    conversation.tell(&answer("first"));
    conversation.save();
    assert_eq!(conversation.found(), conversation.expected());
    conversation.tell(&answer("second"));
    conversation.hear(&Conversation::says("on"));
    assert_eq!(conversation.found(), conversation.expected());
    assert_eq!(conversation.found()["codec"]["fold"]["open"], json!([]));
}

#[test]
fn input_that_overtook_output_on_its_way_is_known_once() {
    let mut conversation = Conversation::begin(SMALL);
    conversation.hear(&Conversation::asks("first"));
    // The process that follows the agent has not read the next line when it writes.
    let read = conversation.tape.end();
    let (said, interrupt) = (
        Conversation::says("on"),
        json!({"method": "session/cancel", "params": {"sessionId": "s"}}),
    );
    conversation.record_output(&said);
    conversation.tell(&interrupt);
    let saved = SavedChannel::of(&conversation.folded.progress(), read).unwrap();
    conversation.tape.mark(conversation.time, saved.mark()).unwrap();
    saved.save(&conversation.path, conversation.slot).unwrap();
    conversation.fold(ChannelDirection::Out, &said);
    assert_eq!(conversation.found(), conversation.expected());
}

#[test]
fn a_state_that_is_torn_newer_or_of_another_tape_is_ignored() {
    let mut conversation = Conversation::begin(Options::default());
    conversation.hear(&Conversation::asks("first"));
    conversation.save();
    conversation.hear(&Conversation::asks("second"));
    let (file, expected) = (conversation.file(SavedSlot(0)), conversation.expected());
    let whole = fs::read(&file).unwrap();
    let header_end = whole.iter().position(|byte| *byte == b'\n').unwrap();
    let header: Value = serde_json::from_slice(&whole[..header_end]).unwrap();
    let with = |name: &str, value: Value| {
        let mut header = header.clone();
        header[name] = value;
        let mut file = header.to_string().into_bytes();
        file.extend_from_slice(&whole[header_end..]);
        file
    };
    let mut changed = whole.clone();
    let at = changed.len() - 20;
    changed[at] ^= 1;
    let cuts = [0, 1, header_end, header_end + 1, whole.len() / 2, whole.len() - 1];
    let mut unfit: Vec<Vec<u8>> = cuts.map(|cut| whole[..cut].to_vec()).into();
    unfit.extend([
        changed,
        b"not ours".to_vec(),
        with("version", (VERSION + 1).into()),
        with("offset", u64::MAX.into()),
        with("mark", "coven:channel-saved 0000".into()),
    ]);
    for (number, file_of) in unfit.iter().enumerate() {
        assert!(SavedChannel::read(file_of).is_none_or(|saved| {
            let tape = TapeReader::open(&conversation.path).unwrap();
            saved.fits(&tape).unwrap().is_none()
        }));
        fs::write(&file, file_of).unwrap();
        assert_eq!(conversation.found(), expected, "{number}");
    }
    fs::write(&file, &whole).unwrap();
    assert_eq!(conversation.found(), expected);
}

#[test]
fn a_state_with_input_that_never_reached_the_tape_gives_way_to_the_one_before() {
    let mut conversation = Conversation::begin(SMALL);
    conversation.hear(&Conversation::asks("first"));
    conversation.talks(9);
    conversation.save();
    conversation.talks(80);
    conversation.save();
    let expected = conversation.expected();
    // The process that follows the agent is killed before its answer and its mark are sent.
    let outcome = json!({"outcome": {"outcome": "selected", "optionId": "yes"}});
    conversation.fold(ChannelDirection::In, &json!({"id": "first", "result": outcome}));
    let saved = SavedChannel::of(&conversation.folded.progress(), conversation.tape.end()).unwrap();
    saved.save(&conversation.path, conversation.slot).unwrap();
    assert!(conversation.start_of_tape() > 0);
    assert_eq!(conversation.found(), expected);
    assert!(expected.to_string().contains("touch first"));
}

/// The agent went on for long while nothing followed it.
#[test]
fn what_the_tape_dropped_before_it_was_read_is_told_and_what_was_open_stays() {
    let mut conversation = Conversation::begin(SMALL);
    conversation.hear(&Conversation::asks("first"));
    // The last line of the state is torn: the rest of it is lost with what follows.
    conversation.save_in_the_middle_of(&Conversation::says("and"));
    conversation.talks(80);
    conversation.hear(&Conversation::asks("second"));
    assert!(conversation.start_of_tape() > 0);
    let found = FoundChannel::find(&conversation.path).unwrap().unwrap();
    assert!(found.reader.missed() > 0 && found.reader.failed().is_none());
    let state = serde_json::to_value(found.reader.progress()).unwrap();
    let open = state["codec"]["fold"]["open"].to_string();
    assert!(open.contains("touch first") && open.contains("touch second"), "{open}");

    fs::remove_file(conversation.file(SavedSlot(0))).unwrap();
    let found = FoundChannel::find(&conversation.path).unwrap().unwrap();
    let reason = found.reader.failed().unwrap().reason;
    assert!(reason.contains("was not saved and is no longer on its tape"), "{reason}");
}

#[test]
fn a_state_is_neither_read_nor_written_through_a_link() {
    for is_symbolic in [true, false] {
        let mut conversation = Conversation::begin(SMALL);
        let elsewhere = tempfile::tempdir().unwrap();
        let victim = elsewhere.path().join("victim");
        fs::write(&victim, "not yours").unwrap();
        for name in [FILES[0].to_owned(), format!("{}.new", FILES[0])] {
            let planted = conversation.path.join(name);
            if is_symbolic {
                std::os::unix::fs::symlink(&victim, planted).unwrap();
            } else {
                fs::hard_link(&victim, planted).unwrap();
            }
        }
        conversation.save();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "not yours");
        assert!(SavedChannel::load(&conversation.path, SavedSlot(0)).is_some());
        let real = conversation.file(SavedSlot(0));
        fs::rename(&real, &victim).unwrap();
        std::os::unix::fs::symlink(&victim, &real).unwrap();
        assert!(SavedChannel::load(&conversation.path, SavedSlot(0)).is_none());
    }
}
