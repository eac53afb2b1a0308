//! `session.json`: the state of a session for people and other programs. It is made from the
//! journal and never read in its place.

use coven_folder::{Durability, FileError, OpenFolder};
use coven_model::Timestamp;
use serde::{Deserialize, Serialize};

/// The name of the file in the folder of a session.
pub const FILE: &str = "session.json";

/// The version that is written. The shape is in docs/reference/session-json.md.
pub const VERSION: u32 = 1;

/// A view cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// Something cannot be reached.
    #[error(transparent)]
    File(#[from] FileError),
    /// The view of the caller cannot be a file.
    #[error("the view cannot be written: {why}")]
    Shape { why: String },
}

/// What every view says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewHead {
    /// The version of its shape.
    pub version: u32,
    /// The last fact it knows.
    pub up_to: u64,
    /// When that was recorded.
    #[serde(default)]
    pub updated_at: Timestamp,
}

impl ViewHead {
    /// What the view in the folder of a session says; none if there is none, or none that can be
    /// read.
    pub fn read(session: &OpenFolder) -> Result<Option<Self>, FileError> {
        let bytes = session.read(FILE)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Whether a view with this head shows the journal whose last fact has this number. One that
    /// is ahead of its journal is wrong too: the tail it knew was cut off.
    pub fn shows(self, last: u64) -> bool {
        self.version == VERSION && self.up_to == last
    }
}

/// The file with the view of one session.
#[derive(Debug)]
pub struct View {
    session: OpenFolder,
    /// What the file said when this was made, and since then what was written.
    on_disk: Option<ViewHead>,
}

impl View {
    /// The view in the folder of a session.
    pub fn new(session: &OpenFolder) -> Result<Self, FileError> {
        let on_disk = ViewHead::read(session)?;
        Ok(Self { session: session.clone(), on_disk })
    }

    /// Whether the file is missing, cannot be read, or does not show this fact as the last. Then
    /// the caller makes a view from the journal and writes it.
    pub(crate) fn needs_rebuild(&self, last: u64) -> bool {
        !self.on_disk.is_some_and(|head| head.shows(last))
    }

    /// What the file says about itself.
    pub fn head(&self) -> Option<ViewHead> {
        self.on_disk
    }

    /// Writes a view, which shows everything up to a fact that was recorded at this time. It must
    /// serialise as an object; `version`, `upTo` and `updatedAt` are put in front of it.
    pub fn write(
        &mut self,
        view: &impl Serialize,
        up_to: u64,
        updated_at: Timestamp,
    ) -> Result<(), ViewError> {
        let head = ViewHead { version: VERSION, up_to, updated_at };
        self.session.replace(FILE, &render(view, head)?, Durability::Cache)?;
        self.on_disk = Some(head);
        Ok(())
    }

    /// Goes on in the new folder of the session, where there is no view yet.
    pub(crate) fn move_to(&mut self, session: &OpenFolder) {
        self.session = session.clone();
        self.on_disk = None;
    }
}

/// What a view may say about itself already.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnFields {
    version: Option<u32>,
    up_to: Option<u64>,
    updated_at: Option<u64>,
}

/// The file: what it says about itself first, so that people see that first too.
fn render(view: &impl Serialize, head: ViewHead) -> Result<Vec<u8>, ViewError> {
    let shape = |why: &str| ViewError::Shape { why: why.to_owned() };
    let json = serde_json::to_vec_pretty(view).map_err(|error| shape(&error.to_string()))?;
    let inside = json.strip_prefix(b"{").ok_or_else(|| shape("it is not an object"))?;
    let own: OwnFields =
        serde_json::from_slice(&json).map_err(|error| shape(&error.to_string()))?;
    if own.version.is_some() || own.up_to.is_some() || own.updated_at.is_some() {
        return Err(shape("it has a `version`, `upTo` or `updatedAt` of its own"));
    }
    let ViewHead { version, up_to, updated_at } = head;
    let mut text = format!(
        "{{\n  \"version\": {version},\n  \"upTo\": {up_to},\n  \"updatedAt\": {}",
        updated_at.as_millis()
    )
    .into_bytes();
    match inside {
        b"}" => text.extend_from_slice(b"\n}"),
        rest => {
            text.push(b',');
            text.extend_from_slice(rest);
        }
    }
    text.push(b'\n');
    Ok(text)
}
