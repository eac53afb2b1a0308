//! Bytes of an agent on their way to clean text.

use std::sync::Arc;

use coven_runtime::domain::PaneStream;
use coven_terminal::sanitise::SequenceStripper;

use crate::event::RunnerEvent;
use crate::redact::Redactor;

/// Both streams of an agent.
#[derive(Debug)]
pub(crate) struct OutputStreams {
    offset: u64,
    streams: [(SequenceStripper, Redactor); 2],
}

impl OutputStreams {
    /// From this offset on.
    pub(crate) fn new(offset: u64, redactor: &Redactor) -> Self {
        let stream = || (SequenceStripper::new(), redactor.clone());
        Self { offset, streams: [stream(), stream()] }
    }

    /// Takes out this secret as well from now on.
    pub(crate) fn hide(&mut self, secret: &str) {
        for (_, redactor) in &mut self.streams {
            redactor.add(secret.to_owned());
        }
    }

    /// The end of everything that came.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The event for the next bytes of a stream.
    pub(crate) fn feed(&mut self, stream: PaneStream, bytes: &[u8]) -> RunnerEvent {
        let (stripper, redactor) = &mut self.streams[index(stream)];
        let mut clean = String::new();
        stripper.feed(bytes, |text| clean.push_str(text));
        let offset = self.offset;
        self.offset += bytes.len() as u64;
        RunnerEvent::Output {
            stream,
            offset,
            raw: bytes.into(),
            clean: redactor.feed(&clean).into(),
        }
    }

    /// What was held back, once nothing comes any more.
    pub(crate) fn finish(&mut self) -> Vec<RunnerEvent> {
        let offset = self.offset;
        let rest = [PaneStream::Output, PaneStream::Error].into_iter().filter_map(|stream| {
            let (stripper, redactor) = &mut self.streams[index(stream)];
            let mut clean = String::new();
            stripper.finish(|text| clean.push_str(text));
            let mut clean = redactor.feed(&clean);
            clean.push_str(&redactor.finish());
            (!clean.is_empty()).then(|| RunnerEvent::Output {
                stream,
                offset,
                raw: Arc::from([]),
                clean: clean.into(),
            })
        });
        rest.collect()
    }
}

fn index(stream: PaneStream) -> usize {
    match stream {
        PaneStream::Output => 0,
        PaneStream::Error => 1,
    }
}
