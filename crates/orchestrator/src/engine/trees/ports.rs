//! Ports that belong to trees: rows of ten that nobody else is given and nothing listens on when they
//! are given. The ledger of all trees of a user lies in the state folder.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::path::Path;

use coven_folder::{Durability, OFlags, OpenFolder};
use coven_model::PortRange;
use serde::{Deserialize, Serialize};

/// The ports that are given out.
const FIRST_PORT: u16 = 20_000;
const LAST_PORT: u16 = 29_999;

/// Rows begin at multiples of this.
const ROW: u16 = 10;

const LEDGER: &str = "ports.json";
const LOCK: &str = "ports.lock";

/// Nobody else may see or change what is written.
const PRIVATE_MODE: u32 = 0o700;

/// A ledger of a later version is not written over.
const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct PortLedger {
    version: u32,
    rows: Vec<PortRow>,
}

#[derive(Debug, Serialize, Deserialize)]
struct PortRow {
    first: u16,
    count: u16,
    /// The folder of the tree.
    tree: String,
}

/// The ledger, which nobody else has at the same time.
struct OpenLedger {
    folder: OpenFolder,
    ledger: PortLedger,
    _lock: File,
}

impl OpenLedger {
    fn open(state_dir: &Path) -> io::Result<Self> {
        let folder = OpenFolder::make_without_links(&state_dir.join("trees"), PRIVATE_MODE);
        let folder = folder.map_err(io::Error::other)?;
        let lock = folder.file(LOCK, OFlags::RDWR | OFlags::CREATE).map_err(io::Error::other)?;
        lock.lock()?;
        let ledger = match folder.read(LEDGER).map_err(io::Error::other)? {
            Some(bytes) => serde_json::from_slice(&bytes)?,
            None => PortLedger { version: VERSION, rows: Vec::new() },
        };
        if ledger.version > VERSION {
            return Err(io::Error::other("the ledger of ports is of a later version"));
        }
        Ok(Self { folder, ledger, _lock: lock })
    }

    fn write(&self) -> io::Result<()> {
        let bytes = serde_json::to_vec_pretty(&self.ledger)?;
        self.folder.replace(LEDGER, &bytes, Durability::Synced).map_err(io::Error::other)
    }
}

/// The ports of a tree: those that it has, or free ones. Trees whose folders are gone have none any
/// more.
pub(super) fn take(state_dir: &Path, tree: &str, count: u16) -> io::Result<Option<PortRange>> {
    if count == 0 {
        return Ok(None);
    }
    let mut open = OpenLedger::open(state_dir)?;
    let rows = &mut open.ledger.rows;
    if let Some(row) = rows.iter().find(|row| row.tree == tree && row.count == count) {
        return Ok(Some(PortRange { first: row.first, count }));
    }
    rows.retain(|row| row.tree != tree && Path::new(&row.tree).exists());
    let is_given = |first: u16| {
        let last = first + (count - 1);
        rows.iter().any(|row| row.first <= last && first <= row.first + (row.count - 1))
    };
    let room = LAST_PORT - FIRST_PORT + 1;
    let rows_of = (FIRST_PORT..=LAST_PORT).step_by(usize::from(ROW));
    let mut fitting = rows_of.filter(|first| count <= room && *first <= LAST_PORT - (count - 1));
    let free = fitting
        .find(|first| !is_given(*first) && (*first..=*first + (count - 1)).all(nothing_listens));
    let first = free.ok_or_else(|| io::Error::other("no ports from 20000 to 29999 are free"))?;
    open.ledger.rows.push(PortRow { first, count, tree: tree.to_owned() });
    open.write()?;
    Ok(Some(PortRange { first, count }))
}

/// The ports of a tree that was removed are free.
pub(super) fn give_back(state_dir: &Path, tree: &str) -> io::Result<()> {
    let mut open = OpenLedger::open(state_dir)?;
    let before = open.ledger.rows.len();
    open.ledger.rows.retain(|row| row.tree != tree);
    if open.ledger.rows.len() == before { Ok(()) } else { open.write() }
}

fn nothing_listens(port: u16) -> bool {
    let loopbacks = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    // A machine may be without one of them; then nothing listens there.
    let is_taken = |address: IpAddr| {
        TcpListener::bind((address, port)).is_err_and(|error| error.kind() == ErrorKind::AddrInUse)
    };
    !loopbacks.into_iter().any(is_taken)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use parking_lot::Mutex;

    use super::*;

    /// A probe holds a port for a moment, which another test would take for somebody's.
    static PROBES: Mutex<()> = Mutex::new(());

    fn tree(folder: &Path, name: &str) -> String {
        let path = folder.join(name);
        std::fs::create_dir_all(&path).unwrap();
        path.to_str().unwrap().to_owned()
    }

    #[test]
    fn each_tree_has_ports_of_its_own_until_it_is_gone() {
        let _probes = PROBES.lock();
        let folder = coven_testkit::folders::temporary().unwrap();
        let state = folder.path().join("state");
        let (one, two) = (tree(folder.path(), "one"), tree(folder.path(), "two"));
        let first = take(&state, &one, 10).unwrap().unwrap();
        let second = take(&state, &two, 15).unwrap().unwrap();
        assert!(first.first >= FIRST_PORT && first.first.is_multiple_of(ROW));
        assert!(second.first >= first.first + 10);
        assert_eq!(take(&state, &one, 10).unwrap(), Some(first), "asked again, it is the same");
        assert_eq!(take(&state, &one, 0).unwrap(), None);
        let mode = std::fs::metadata(state.join("trees").join(LEDGER)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);

        give_back(&state, &two).unwrap();
        std::fs::remove_dir(&one).unwrap();
        let three = tree(folder.path(), "three");
        let third = take(&state, &three, 10).unwrap().unwrap();
        assert_eq!(third.first, first.first, "a tree that is gone needs none");
    }

    #[test]
    fn a_port_that_something_listens_on_is_not_given_out() {
        let _probes = PROBES.lock();
        let folder = coven_testkit::folders::temporary().unwrap();
        let state = folder.path().join("state");
        let one = tree(folder.path(), "one");
        let free = take(&state, &one, 10).unwrap().unwrap();
        give_back(&state, &one).unwrap();
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, free.first + 7));
        let other = take(&state, &one, 10).unwrap().unwrap();
        // Somebody else may have been faster with the port.
        assert!(taken.is_err() || other.first > free.first, "{other:?}");
    }
}
