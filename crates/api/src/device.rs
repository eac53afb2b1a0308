//! Devices: the browsers and programs that may use the daemon over TCP, and how each signs in.
//!
//! A browser has a key of its own. It asks the daemon for a [`SignInChallenge`], checks the
//! daemon's signature, signs the same challenge and gets a token that lives until the daemon ends.
//! A program has a token that was made for it. What is signed is the text of
//! [`SignInChallenge::daemon_text`] and [`SignInChallenge::device_text`], by ECDSA over P-256 with
//! SHA-256; keys, nonces and signatures are written as base64 for URLs without padding.

use coven_model::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a device may do. Each role may do what the ones before it may.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum DeviceRole {
    /// Look: every request that only reads, and streams.
    Look,
    /// Also decide what waits for a person, and type to agents.
    Answer,
    /// Also start, end and change sessions.
    #[default]
    Full,
}

impl DeviceRole {
    /// The role as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Answer => "answer",
            Self::Full => "full",
        }
    }
}

/// How a device shows who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A browser, by a key that does not leave it.
    Browser,
    /// A program, by a token.
    Program,
}

/// One device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceItem {
    /// Tells it from all others, also from a later one of the same name.
    pub id: String,
    /// The name that its owner gave it.
    pub name: String,
    /// What it may do.
    pub role: DeviceRole,
    /// How it shows who it is.
    pub kind: DeviceKind,
    /// When it was added.
    pub created: Timestamp,
    /// When it was last heard of, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used: Option<Timestamp>,
    /// How many connections it has now.
    pub connections: u64,
}

/// The answer of `GET /devices`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceList {
    /// The devices, by name.
    pub devices: Vec<DeviceItem>,
}

/// What `POST /devices` takes: a program that gets a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddDevice {
    /// Its name: letters, digits, `-`, `_` and `.`.
    #[schemars(length(min = 1, max = 40))]
    pub name: String,
    /// What it may do; everything unless said.
    #[serde(default)]
    pub role: DeviceRole,
}

/// A program that was added, with its token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddedDevice {
    /// The device.
    pub device: DeviceItem,
    /// Its token, for `Authorization: Bearer`. It is kept hashed and shown only here.
    pub token: String,
}

/// What `POST /sign-in/codes` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MakeSignInCode {
    /// The name of the device that signs in with the code; it finds one itself unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 40))]
    pub name: Option<String>,
    /// What the device may do; everything unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<DeviceRole>,
    /// Also write a file that leads a browser to the page, so that no code is among its arguments.
    #[serde(default)]
    pub redirect_file: bool,
}

/// A code that signs a browser in, once, within a minute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInCode {
    /// The one-time code: a secret, a dot, and the fingerprint of the daemon's key.
    pub code: String,
    /// The page's address with the code in its fragment, which browsers do not send.
    pub url: String,
    /// The file that leads a browser to that address, if one was asked for. The daemon removes it
    /// when the code was used or is too old.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The port that the daemon had before, if another program has taken it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_port: Option<u16>,
}

/// What `POST /sign-in/challenge` takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AskChallenge {
    /// 32 random bytes of the client.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{43}$"))]
    pub nonce: String,
}

/// What the daemon says of itself, signed, and what a client is to sign in turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignInChallenge {
    /// The port of the daemon. A client compares it with the port that it asked.
    pub port: u16,
    /// The nonce of the client.
    #[schemars(length(max = 100))]
    pub client_nonce: String,
    /// The nonce of the daemon.
    #[schemars(length(max = 100))]
    pub daemon_nonce: String,
    /// When it was made, in milliseconds since 1970. It can be used for a minute.
    pub issued: u64,
    /// The daemon's public key: an uncompressed point.
    #[schemars(length(max = 200))]
    pub daemon_key: String,
    /// The daemon's signature over [`Self::daemon_text`].
    #[schemars(length(max = 200))]
    pub signature: String,
}

impl SignInChallenge {
    /// The text that the daemon signs.
    pub fn daemon_text(&self) -> String {
        format!("coven daemon 1\n{}", self.text())
    }

    /// The text that a device with this public key signs.
    pub fn device_text(&self, public_key: &str) -> String {
        format!("coven device 1\n{public_key}\n{}", self.text())
    }

    fn text(&self) -> String {
        let Self { port, client_nonce, daemon_nonce, issued, daemon_key, signature: _ } = self;
        format!("{port}\n{client_nonce}\n{daemon_nonce}\n{issued}\n{daemon_key}\n")
    }
}

/// What `POST /sign-in` takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignIn {
    /// A one-time code, with which the key becomes that of a device. Without one it must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub code: Option<String>,
    /// What the device calls itself; counts where the code gives no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub name: Option<String>,
    /// The public key of the device: an uncompressed point.
    #[schemars(length(max = 200))]
    pub public_key: String,
    /// What the daemon gave to be signed.
    pub challenge: SignInChallenge,
    /// The device's signature over [`SignInChallenge::device_text`].
    #[schemars(length(max = 200))]
    pub signature: String,
}

/// What a device that signed in may show from then on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignedIn {
    /// A token, for `Authorization: Bearer`. It lives until the daemon ends or the device goes.
    pub token: String,
    /// The device.
    pub device: DeviceItem,
}
