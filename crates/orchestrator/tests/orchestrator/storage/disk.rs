//! Disks and folders that fail as a test wants.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A small disk of its own, if this user may mount one. Unmounted when it goes.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    pub(crate) fn mount(at: &Path) -> Option<Self> {
        let mount = ["-t", "tmpfs", "-o", "size=2m,mode=0700", "orchestrator-test"];
        let output = Command::new("mount").args(mount).arg(at).output();
        output.is_ok_and(|output| output.status.success()).then(|| Self(at.to_path_buf()))
    }

    /// Leaves not one byte of room. Says which file has to go to make some.
    pub(crate) fn fill(&self) -> PathBuf {
        use std::io::Write;
        let path = self.0.join("ballast");
        let mut file = std::fs::File::create(&path).unwrap();
        for size in [4096, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
        path
    }
}

impl SmallDisk {
    /// The same with so many bytes of room left.
    pub(crate) fn fill_up_to(&self, room: usize) -> PathBuf {
        let kept = self.0.join("room");
        std::fs::write(&kept, vec![0; room]).unwrap();
        let ballast = self.fill();
        std::fs::remove_file(kept).unwrap();
        ballast
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}

/// A folder in which nothing can be changed, by whomever. It can again when this goes.
pub(super) struct Frozen(PathBuf);

impl Frozen {
    pub(super) fn freeze(folder: &Path) -> Option<Self> {
        let frozen = Self(folder.to_path_buf());
        frozen.mark("+i").then_some(frozen)
    }

    fn mark(&self, how: &str) -> bool {
        let mut command = Command::new("chattr");
        command.args(["-R", how]).arg(&self.0).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.mark("-i");
    }
}

/// A journal with one of its lines changed and its checksum right.
pub(super) fn reframed(text: &str, number: usize, change: impl Fn(&str) -> String) -> String {
    let lines = text.split_inclusive('\n').enumerate();
    lines
        .map(|(at, line)| match line.rsplit_once('\t') {
            Some((json, _)) if at == number => {
                let json = change(json);
                format!("{json}\t{:08x}\n", crc(json.as_bytes()))
            }
            _ => line.to_owned(),
        })
        .collect()
}

/// The checksum of a journal's line.
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 }
        })
    };
    !bytes.iter().fold(!0, step)
}
