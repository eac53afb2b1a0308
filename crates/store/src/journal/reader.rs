//! Reading a journal from any fact on, while it grows.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_folder::{FileError, OpenFolder, OpenObstacle, disk_wait};
use coven_model::SessionId;
use rustix::fs::OFlags;
use serde::de::DeserializeOwned;

use super::error::{JournalDamage, OpenError, ReadError};
use super::scan::{
    CheckedLine, JournalLines, RecordMark, RecordMarks, ScannedLine, check, damaged, is_torn,
    read_header,
};
use super::shared::DurableJournal;
use super::{FILE, JournalRecord, VERSION};
use crate::checkpoint::Checkpoint;
use crate::seal::{SealChain, SealKey};
use crate::spill;
use crate::values::Values;

/// A reader of a journal. It never waits and never writes.
///
/// One made by the writer sees exactly what is durable. One opened beside another process sees
/// every whole line, the last of which its writer may still take back.
#[derive(Clone, Debug)]
pub struct JournalReader {
    path: PathBuf,
    source: ReaderSource,
    values: Option<Values>,
    /// Every line must be sealed with this key.
    key: Option<Arc<SealKey>>,
    /// It must reach this.
    checkpoint: Option<Checkpoint>,
}

#[derive(Clone, Debug)]
enum ReaderSource {
    /// The writer is in this process.
    Shared(DurableJournal),
    /// The writer is in another process, or there is none.
    Apart(ForeignFile),
}

/// A file that another process may be writing to.
#[derive(Clone, Debug)]
struct ForeignFile {
    file: Arc<File>,
    version: u32,
    /// The public half of the key that sealed it, as its first line says.
    named_key: Option<String>,
    /// Where the first record begins.
    start: RecordMark,
    marks: RecordMarks,
    /// How far it was read, and that far it must stay.
    seen: u64,
}

impl JournalReader {
    pub(super) fn shared(path: PathBuf, shared: DurableJournal) -> Self {
        let key = Some(shared.key());
        Self { path, source: ReaderSource::Shared(shared), values: None, key, checkpoint: None }
    }

    /// Opens the journal of a session without writing to it or locking it. Whether it is sealed is
    /// not looked at, unless a key [is given](Self::sealed_by).
    pub fn open(folder: &OpenFolder, session: &SessionId) -> Result<Self, OpenError> {
        let path = folder.path().join(FILE);
        let file = folder.file(FILE, OFlags::RDONLY).map_err(|error| match error.obstacle {
            OpenObstacle::Missing => OpenError::Missing { path: path.clone() },
            _ => OpenError::File(error),
        })?;
        let len = length(&file, &path)?;
        let mut lines = JournalLines::new(&file, 0, len);
        let header = read_header(&mut lines, &path)?;
        if header.header.session != session.as_str() {
            let (expected, found) = (session.to_string(), header.header.session);
            return Err(OpenError::WrongSession { path, expected, found });
        }
        let (offset, chain) = (lines.offset(), header.chain(session.as_str()));
        let apart = ForeignFile {
            file: Arc::new(file),
            version: header.header.v,
            named_key: header.header.key,
            start: RecordMark { seq: 1, offset, chain },
            marks: RecordMarks::default(),
            seen: offset,
        };
        let source = ReaderSource::Apart(apart);
        Ok(Self { path, source, values: None, key: None, checkpoint: None })
    }

    /// From now on every line must be sealed with this key. How a newer version seals is not known,
    /// so what it wrote is read without this; it is never gone on with.
    #[must_use]
    pub fn sealed_by(self, key: &Arc<SealKey>) -> Self {
        let key = (self.version() <= VERSION).then(|| Arc::clone(key));
        Self { key, ..self }
    }

    /// From now on it must reach this, unless a newer version wrote it.
    #[must_use]
    pub(crate) fn reaching(self, checkpoint: Option<Checkpoint>) -> Self {
        let checkpoint = checkpoint.filter(|_| self.version() <= VERSION);
        Self { checkpoint, ..self }
    }

    /// Whether the journal says that this key sealed it. Reading with the key shows whether that is
    /// true.
    pub fn names_key(&self, key: &SealKey) -> bool {
        match &self.source {
            ReaderSource::Shared(_) => true,
            ReaderSource::Apart(apart) => {
                apart.named_key.as_ref() == Some(&key.public().to_string())
            }
        }
    }

    /// Puts values that lie aside back into their facts. Without this they are `null`.
    #[must_use]
    pub(crate) fn with_values(self, values: Values) -> Self {
        Self { values: Some(values), ..self }
    }

    /// The version it was begun with. If it is newer than [`VERSION`], it may hold facts that
    /// this build cannot read.
    pub fn version(&self) -> u32 {
        match &self.source {
            ReaderSource::Shared(_) => VERSION,
            ReaderSource::Apart(apart) => apart.version,
        }
    }

    /// The facts from this number on, up to what is there now. To follow a journal that grows,
    /// call it again with the next number.
    ///
    /// Finding the place takes no longer in a long journal than in a short one, as long as the
    /// reader, or its writer, has been there before.
    pub fn read_from<T: DeserializeOwned>(
        &mut self,
        seq: u64,
    ) -> Result<JournalRecords<'_, T>, ReadError> {
        let seq = seq.max(1);
        disk_wait::check("reading a journal");
        let (file, end, mark) = match &self.source {
            ReaderSource::Shared(shared) => shared.before(seq),
            ReaderSource::Apart(apart) => {
                let len = length(&apart.file, &self.path)?;
                if len < apart.seen {
                    return Err(ReadError::Shrunk { path: self.path.clone() });
                }
                (Arc::clone(&apart.file), len, apart.marks.before(seq).unwrap_or(apart.start))
            }
        };
        let RecordMark { seq: next, offset, chain } = mark;
        let lines = JournalLines::new(file, offset, end);
        Ok(JournalRecords {
            reader: self,
            lines,
            end,
            next,
            wanted: seq,
            chain,
            ended: false,
            kind: PhantomData,
        })
    }

    /// All facts from this number on, for those who want them at once.
    pub fn read_all<T: DeserializeOwned>(
        &mut self,
        seq: u64,
    ) -> Result<Vec<JournalRecord<T>>, ReadError> {
        self.read_from(seq)?.collect()
    }

    /// How many bytes lie behind the last line that was read whole. A writer that is at work, or was
    /// cut off, leaves such.
    pub fn trailing(&self) -> Result<u64, ReadError> {
        match &self.source {
            ReaderSource::Shared(_) => Ok(0),
            ReaderSource::Apart(apart) => {
                Ok(length(&apart.file, &self.path)?.saturating_sub(apart.seen))
            }
        }
    }

    /// The file that is read, as it stands on the disk.
    pub fn metadata(&self) -> io::Result<Option<Metadata>> {
        match &self.source {
            ReaderSource::Shared(_) => Ok(None),
            ReaderSource::Apart(apart) => apart.file.metadata().map(Some),
        }
    }

    fn decode<T: DeserializeOwned>(
        &self,
        seq: u64,
        json: &[u8],
        aside: &BTreeMap<String, String>,
    ) -> Result<T, ReadError> {
        let unknown = |source| ReadError::Unknown { path: self.path.clone(), seq, source };
        let (false, Some(values)) = (aside.is_empty(), &self.values) else {
            return serde_json::from_slice(json).map_err(unknown);
        };
        let mut value = serde_json::from_slice(json).map_err(unknown)?;
        spill::put_back(&mut value, aside, values)
            .map_err(|source| ReadError::Value { seq, source })?;
        serde_json::from_value(value).map_err(unknown)
    }

    fn passed(&mut self, mark: RecordMark, end: u64) {
        if let ReaderSource::Apart(apart) = &mut self.source
            && end > apart.seen
        {
            apart.marks.add(mark);
            apart.seen = end;
        }
    }
}

/// The facts of a journal, in order. Ends at the first error.
#[derive(Debug)]
pub struct JournalRecords<'r, T> {
    reader: &'r mut JournalReader,
    lines: JournalLines<Arc<File>>,
    /// Where the file ended when this was made.
    end: u64,
    /// The fact in the next line, and the first that is wanted.
    next: u64,
    wanted: u64,
    /// The chain up to the line before.
    chain: SealChain,
    ended: bool,
    kind: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> JournalRecords<'_, T> {
    /// The end of the file, which must not come too early.
    fn end(&self, offset: u64) -> Result<Option<JournalRecord<T>>, ReadError> {
        match self.reader.checkpoint {
            Some(checkpoint) => {
                checkpoint.check_reached(&self.reader.path, self.next - 1, offset)?;
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// The next fact that is wanted.
    fn advance(&mut self) -> Result<Option<JournalRecord<T>>, ReadError> {
        loop {
            let (offset, seq) = (self.lines.offset(), self.next);
            let damage =
                |damage: JournalDamage| damaged(&self.reader.path, seq, offset, damage).into();
            let read = self.lines.next();
            let line = match read {
                Ok(ScannedLine::Whole(line)) => line,
                // Its writer is not done with it, or was cut off.
                Ok(ScannedLine::Partial | ScannedLine::End) => return self.end(offset),
                Ok(ScannedLine::TooLong) => return Err(damage(JournalDamage::TooLong)),
                Err(source) => return Err(FileError::new("read", &self.reader.path, source).into()),
            };
            let end = offset + line.len() as u64;
            let chain = self.chain;
            let CheckedLine { json, envelope, trailer } = match check(line, seq) {
                Ok(checked) => checked,
                Err(_) if is_torn(line, offset, self.end) => return self.end(offset),
                Err(wrong) => return Err(damage(wrong)),
            };
            self.chain = chain.with(json);
            if let Some(key) = &self.reader.key {
                trailer.check(&self.chain, key).map_err(damage)?;
                if self.reader.checkpoint.is_some_and(|at| at.differs(seq, &self.chain, key)) {
                    return Err(damage(JournalDamage::Seal));
                }
            }
            let wanted = seq >= self.wanted;
            let fact =
                wanted.then(|| self.reader.decode(seq, json, &envelope.aside)).transpose()?;
            self.reader.passed(RecordMark { seq, offset, chain }, end);
            self.next += 1;
            if let Some(fact) = fact {
                return Ok(Some(JournalRecord { seq, time: envelope.time, fact }));
            }
        }
    }
}

impl<T: DeserializeOwned> Iterator for JournalRecords<'_, T> {
    type Item = Result<JournalRecord<T>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.advance().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

fn length(file: &File, path: &Path) -> Result<u64, FileError> {
    let metadata = file.metadata().map_err(|source| FileError::new("read", path, source))?;
    Ok(metadata.len())
}
