//! What a holder is asked to hold, as the arguments of `coven hold`. Command line, environment
//! and working directory are inherited, so that they arrive exactly as they were given and none of
//! them is on disk.

use std::ffi::OsString;
use std::path::PathBuf;

use coven_terminal::screen::GridSize;

use crate::domain::{Connection, Sandbox};

/// One process to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldRequest {
    pub folder: PathBuf,
    /// The job. The holder does not carry it in its own environment, so that a search for the
    /// job's processes does not find the holder.
    pub job: String,
    pub connection: Connection,
    /// The file that is the input of the process; a pipe for none.
    pub input: Option<PathBuf>,
    pub sandbox: Option<Sandbox>,
    /// How much output is kept on disk, where it is not the usual.
    pub keep: Option<u64>,
    /// The name of the start in the folder's record, which must still be that one.
    pub ticket: Option<String>,
    /// The secret that clients must know is on standard input.
    pub has_secret: bool,
    /// Where holders are written down, so that other jobs are not taken for clients.
    pub registry: Option<PathBuf>,
    pub argv: Vec<OsString>,
}

/// What `coven hold` may be asked for.
#[expect(clippy::large_enum_variant, reason = "a process makes one of them")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoldVerb {
    /// To hold a process.
    Hold(HoldRequest),
    /// To save the screen of a folder's process, as far as its tape goes, and end.
    Snap(PathBuf),
}

impl HoldVerb {
    pub fn from_args(args: impl IntoIterator<Item = OsString>) -> Result<Self, BadRequest> {
        let args: Vec<OsString> = args.into_iter().collect();
        match &args[..] {
            [verb, folder] if verb == "--snap" => Ok(Self::Snap(folder.into())),
            _ => HoldRequest::from_args(args).map(Self::Hold),
        }
    }
}

/// The arguments are not those of a holder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; `hold` is started by coven itself")]
pub struct BadRequest(String);

impl HoldRequest {
    /// The arguments that say this.
    pub(crate) fn to_args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> =
            vec![self.folder.clone().into(), "--job".into(), self.job.clone().into()];
        match self.connection {
            Connection::Terminal(size) => {
                args.extend(["--size".into(), format!("{}x{}", size.columns, size.rows).into()]);
            }
            Connection::Pipes => args.push("--pipes".into()),
        }
        if let Some(input) = &self.input {
            args.extend(["--input".into(), input.clone().into()]);
        }
        if let Some(sandbox) = &self.sandbox {
            args.push(if sandbox.signals_only { "--scope".into() } else { "--sandbox".into() });
            for path in &sandbox.write {
                args.extend(["--write".into(), path.clone().into()]);
            }
            for path in &sandbox.hide {
                args.extend(["--hide".into(), path.clone().into()]);
            }
            for path in &sandbox.show {
                args.extend(["--show".into(), path.clone().into()]);
            }
            if let Some(ports) = &sandbox.ports {
                let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
                args.extend(["--ports".into(), ports.join(",").into()]);
            }
        }
        if let Some(keep) = self.keep {
            args.extend(["--keep".into(), keep.to_string().into()]);
        }
        if let Some(ticket) = &self.ticket {
            args.extend(["--ticket".into(), ticket.into()]);
        }
        if self.has_secret {
            args.push("--secret".into());
        }
        if let Some(registry) = &self.registry {
            args.extend(["--holders".into(), registry.clone().into()]);
        }
        args.push("--".into());
        args.extend(self.argv.iter().cloned());
        args
    }

    pub fn from_args(args: impl IntoIterator<Item = OsString>) -> Result<Self, BadRequest> {
        let mut args = args.into_iter();
        let folder = args.next().ok_or_else(|| BadRequest("a folder is missing".to_owned()))?;
        let mut request = Self {
            folder: folder.into(),
            job: String::new(),
            connection: Connection::Pipes,
            input: None,
            sandbox: None,
            keep: None,
            ticket: None,
            has_secret: false,
            registry: None,
            argv: Vec::new(),
        };
        while let Some(arg) = args.next() {
            let name = arg.to_string_lossy().into_owned();
            let mut value =
                || args.next().ok_or_else(|| BadRequest(format!("{name} needs a value")));
            match name.as_str() {
                "--job" => request.job = value()?.to_string_lossy().into_owned(),
                "--ticket" => request.ticket = Some(value()?.to_string_lossy().into_owned()),
                "--secret" => request.has_secret = true,
                "--holders" => request.registry = Some(value()?.into()),
                "--input" => request.input = Some(value()?.into()),
                "--pipes" => request.connection = Connection::Pipes,
                "--size" => request.connection = Connection::Terminal(size(&value()?)?),
                "--sandbox" => request.sandbox = Some(request.sandbox.take().unwrap_or_default()),
                "--scope" => request.sandbox.get_or_insert_default().signals_only = true,
                "--write" => {
                    let path = PathBuf::from(value()?);
                    request.sandbox.get_or_insert_default().write.push(path);
                }
                "--hide" => {
                    let path = PathBuf::from(value()?);
                    request.sandbox.get_or_insert_default().hide.push(path);
                }
                "--show" => {
                    let path = PathBuf::from(value()?);
                    request.sandbox.get_or_insert_default().show.push(path);
                }
                "--ports" => {
                    request.sandbox.get_or_insert_default().ports = Some(ports(&value()?)?);
                }
                "--keep" => {
                    let text = value()?.to_string_lossy().into_owned();
                    let bytes =
                        text.parse().map_err(|_| BadRequest(format!("{text} is no number")))?;
                    request.keep = Some(bytes);
                }
                "--" => {
                    request.argv = args.collect();
                    return Ok(request);
                }
                _ => return Err(BadRequest(format!("{name} is unknown"))),
            }
        }
        Err(BadRequest("a command is missing".to_owned()))
    }
}

fn ports(text: &std::ffi::OsStr) -> Result<Vec<u16>, BadRequest> {
    let text = text.to_string_lossy();
    let words = text.split(',').filter(|word| !word.is_empty());
    let ports: Result<Vec<u16>, _> = words.map(str::parse).collect();
    ports.map_err(|_| BadRequest(format!("{text} are no ports")))
}

fn size(text: &std::ffi::OsStr) -> Result<GridSize, BadRequest> {
    let text = text.to_string_lossy();
    let parsed = text
        .split_once('x')
        .and_then(|(columns, rows)| Some(GridSize::new(columns.parse().ok()?, rows.parse().ok()?)));
    parsed.ok_or_else(|| BadRequest(format!("{text} is no size")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_arrives_as_it_was() {
        for connection in [Connection::Pipes, Connection::Terminal(GridSize::new(120, 40))] {
            let sandboxes = [
                None,
                Some(Sandbox::default()),
                Some(Sandbox { write: vec!["/a b".into()], ..Sandbox::default() }),
                Some(Sandbox { signals_only: true, ..Sandbox::default() }),
                Some(Sandbox {
                    hide: vec!["/h".into()],
                    show: vec!["/h/own".into()],
                    ports: Some(vec![443, 80]),
                    ..Sandbox::default()
                }),
                Some(Sandbox { ports: Some(Vec::new()), ..Sandbox::default() }),
            ];
            for sandbox in sandboxes {
                let request = HoldRequest {
                    folder: "/some where".into(),
                    job: "session/task/1".into(),
                    connection,
                    input: (connection == Connection::Pipes).then(|| "/in put".into()),
                    sandbox,
                    keep: Some(99),
                    ticket: Some("17-4".into()),
                    has_secret: connection == Connection::Pipes,
                    registry: Some("/state/holders".into()),
                    argv: vec!["sh".into(), "--".into(), "-c".into(), "".into()],
                };
                assert_eq!(HoldRequest::from_args(request.to_args()), Ok(request));
            }
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for args in [
            &[][..],
            &["dir"],
            &["dir", "--size"],
            &["dir", "--size", "x", "--"],
            &["dir", "--odd", "--"],
        ] {
            assert!(HoldRequest::from_args(args.iter().map(OsString::from)).is_err(), "{args:?}");
        }
    }
}
