//! Devices, and how they sign in.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use coven_api::device::{
    AddDevice, AddedDevice, AskChallenge, DeviceList, MakeSignInCode, SignIn, SignInChallenge,
    SignInCode, SignedIn,
};
use coven_api::{ApiProblem, ProblemCode};
use coven_model::Timestamp;
use coven_service::{DeviceCredential, DeviceError, DeviceRecord};

use crate::answer::{Answer, Done, HttpFailure, Json, JsonBody, MayRead, Path};
use crate::identity::fingerprint;
use crate::peer::{Caller, PeerTransport};
use crate::sign_in::{CODE_LIFETIME, InvitedDevice, RedirectFile};
use crate::state::Daemon;

/// The letters of a nonce of 32 bytes.
const NONCE_LENGTH: usize = 43;

/// `POST /sign-in/codes`: a code, and if wanted the file that leads a browser to the page with it.
pub(super) async fn code(
    State(daemon): State<Daemon>,
    MayRead(make): MayRead<MakeSignInCode>,
) -> Result<Response, HttpFailure> {
    let Some(address) = daemon.address() else {
        let detail = "the daemon does not listen on loopback, so there is no page";
        return Err(ApiProblem::new(ProblemCode::NotNow, detail).into());
    };
    let MakeSignInCode { name, role, redirect_file } = make;
    if let Some(name) = &name {
        daemon.devices().store().check_new(name).map_err(device_problem)?;
    }
    let answer = {
        let daemon = daemon.clone();
        blocking(move || {
            let fingerprint = daemon.identity().fingerprint();
            let url = |secret: &str| {
                format!("http://127.0.0.1:{}/#code={secret}.{fingerprint}", address.port())
            };
            let (device, folder) = (
                InvitedDevice { name, role: role.unwrap_or_default() },
                daemon.service.places().run_dir(),
            );
            let mut file = None;
            let redirect = |secret: &str| {
                if !redirect_file {
                    return Ok(None);
                }
                let written = RedirectFile::write(&folder, &url(secret))?;
                file = Some(written.path().display().to_string());
                Ok(Some(written))
            };
            let secret = daemon.codes().make(device, redirect, Instant::now())?;
            let (code, url) = (format!("{}.{fingerprint}", secret.reveal()), url(secret.reveal()));
            Ok::<_, ApiProblem>(SignInCode { code, url, file, lost_port: daemon.lost_port() })
        })
        .await?
    };
    forget_later(&daemon);
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

/// Removes a code that nobody used, and its file, once it is too old.
fn forget_later(daemon: &Daemon) {
    let (daemon, stopping) = (daemon.clone(), daemon.service.stopping());
    daemon.service.clone().spawn(async move {
        if stopping.run_until_cancelled(tokio::time::sleep(CODE_LIFETIME)).await.is_some() {
            let forgotten = tokio::task::spawn_blocking(move || {
                daemon.codes().forget_old(Instant::now());
            });
            if let Err(error) = forgotten.await {
                tracing::warn!("codes that are too old cannot be removed: {error}");
            }
        }
    });
}

/// `POST /sign-in/challenge`: the daemon shows who it is, and gives what is to be signed.
pub(super) async fn challenge(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
    JsonBody(ask): JsonBody<AskChallenge>,
) -> Answer<SignInChallenge> {
    let port = port_of(&caller)?;
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if ask.nonce.len() != NONCE_LENGTH || !ask.nonce.bytes().all(is_letter) {
        let detail = "the nonce is not 32 bytes in base64 for URLs without padding";
        return Err(ApiProblem::new(ProblemCode::BadRequest, detail).into());
    }
    let made = daemon.identity().challenge(ask.nonce, port, now()).map_err(internal)?;
    Ok(Json(made))
}

/// `POST /sign-in`: a device shows who it is and gets a token; with a code a key becomes a device.
pub(super) async fn sign_in(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
    JsonBody(sign_in): JsonBody<SignIn>,
) -> Answer<SignedIn> {
    daemon.identity().check(&sign_in, port_of(&caller)?, now())?;
    let credential = DeviceCredential::PublicKey(sign_in.public_key.clone());
    let known = daemon.devices().store().find(&credential);
    let device = match (&sign_in.code, known) {
        (None, Some(device)) => device,
        (None, None) => {
            return Err(ApiProblem::new(
                ProblemCode::Unauthorized,
                "this browser is not signed in, or was removed",
            )
            .with_hint("open the page anew with `coven ui`")
            .into());
        }
        (Some(code), known) => {
            let (source, now) = (caller.via.into(), Instant::now());
            let open = daemon.codes().exchange(code, source, caller.is_seen(), now)?;
            let (daemon, sign_in) = (daemon.clone(), sign_in.clone());
            blocking(move || {
                let invited = invite(&daemon, &sign_in, open.device.clone(), known);
                if invited.is_err() {
                    daemon.codes().restore(open);
                }
                invited.map_err(device_problem)
            })
            .await?
        }
    };
    daemon.identity().use_up(&sign_in.challenge, now())?;
    let token = daemon.devices().issue(&device.id).map_err(internal)?;
    tracing::info!(device = device.name, role = device.role.as_str(), "a device signed in");
    Ok(Json(SignedIn { token: token.reveal().to_owned(), device: device.item(0) }))
}

/// Makes a key that of a device. A browser that is one keeps its name and role, unless the code
/// says others.
fn invite(
    daemon: &Daemon,
    sign_in: &SignIn,
    invited: InvitedDevice,
    known: Option<DeviceRecord>,
) -> Result<DeviceRecord, DeviceError> {
    let devices = daemon.devices();
    match (invited.name, known) {
        (None, Some(known)) => Ok(known),
        (name, known) => {
            let wished = sign_in.name.as_deref().unwrap_or_default();
            let device = DeviceRecord {
                id: fingerprint(&sign_in.public_key),
                name: name.unwrap_or_else(|| devices.store().free_name(wished)),
                role: invited.role,
                created: now(),
                last_used: Some(now()),
                credential: DeviceCredential::PublicKey(sign_in.public_key.clone()),
            };
            devices.store().add(device.clone())?;
            if known.is_some() {
                devices.end(&device.id);
            }
            Ok(device)
        }
    }
}

pub(super) async fn list(State(daemon): State<Daemon>) -> Answer<DeviceList> {
    daemon.devices().store().check_usable().map_err(device_problem)?;
    Ok(Json(DeviceList { devices: daemon.devices().list() }))
}

pub(super) async fn add(
    State(daemon): State<Daemon>,
    JsonBody(add): JsonBody<AddDevice>,
) -> Result<Response, HttpFailure> {
    let (device, token) = blocking(move || {
        daemon.devices().add_program(add.name, add.role, now()).map_err(device_problem)
    })
    .await?;
    tracing::info!(device = device.name, role = device.role.as_str(), "a device was added");
    let added = AddedDevice { device: device.item(0), token: token.reveal().to_owned() };
    Ok((StatusCode::CREATED, Json(added)).into_response())
}

pub(super) async fn remove(State(daemon): State<Daemon>, Path(name): Path<String>) -> Done {
    let removed = name.clone();
    blocking(move || daemon.devices().remove(&removed).map_err(device_problem)).await?;
    tracing::info!(device = name, "a device was removed");
    Ok(StatusCode::NO_CONTENT)
}

/// The port that a client asked. Over the socket there is none, and no need to sign in.
fn port_of(caller: &Caller) -> Result<u16, ApiProblem> {
    match caller.via {
        PeerTransport::Tcp { local, .. } => Ok(local.port()),
        PeerTransport::Socket { .. } => {
            Err(ApiProblem::new(ProblemCode::NotNow, "over the socket nobody needs to sign in"))
        }
    }
}

/// What time it is.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Does what waits for a disk where it holds up nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiProblem> + Send + 'static,
) -> Result<T, ApiProblem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(ApiProblem::new(ProblemCode::Internal, error.to_string())),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn internal(error: std::io::Error) -> ApiProblem {
    ApiProblem::new(ProblemCode::Internal, error.to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn device_problem(error: DeviceError) -> ApiProblem {
    let (code, hint) = match &error {
        DeviceError::BadName => (ProblemCode::BadInput, "choose another name"),
        DeviceError::Exists(_) => {
            (ProblemCode::DeviceExists, "choose another name, or remove it: coven device rm NAME")
        }
        DeviceError::NotFound(_) => (ProblemCode::DeviceNotFound, "coven device ls"),
        DeviceError::TooMany => (ProblemCode::TooMany, "remove some: coven device rm NAME"),
        DeviceError::Unusable { .. } => {
            (ProblemCode::NotNow, "mend or remove the file, then restart the daemon")
        }
        DeviceError::File { .. } => (ProblemCode::Storage, "is there room on the disk?"),
    };
    ApiProblem::new(code, error.to_string()).with_hint(hint)
}
