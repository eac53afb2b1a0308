//! How requests are read and answered: JSON in and out, and every error as a problem. The
//! framework's own rejections never reach a client.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use coven_api::problem::MEDIA_TYPE;
use coven_api::{ApiProblem, ProblemCode};
use coven_service::ServiceError;
use http_body_util::BodyExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The largest body that is read.
pub(crate) const MAX_BODY_BYTES: usize = 4 << 20;

/// So much is heard of one that is too large.
const MAX_DISCARDED_BODY_BYTES: usize = 64 << 20;

/// How long a body may take to arrive: 4 MiB need less even through a slow tunnel.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// A problem, as an answer.
#[derive(Debug)]
pub(crate) struct HttpFailure(pub(crate) Box<ApiProblem>);

/// What a route gives.
pub(crate) type Answer<T> = Result<Json<T>, HttpFailure>;

/// What a route gives that has nothing to say.
pub(crate) type Done = Result<StatusCode, HttpFailure>;

impl From<ApiProblem> for HttpFailure {
    fn from(problem: ApiProblem) -> Self {
        Self(Box::new(problem))
    }
}

impl From<ServiceError> for HttpFailure {
    fn from(error: ServiceError) -> Self {
        error.problem().into()
    }
}

impl IntoResponse for HttpFailure {
    fn into_response(self) -> Response {
        respond(&self.0)
    }
}

/// A problem as a response.
pub(crate) fn respond(problem: &ApiProblem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = serde_json::to_vec(problem).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    if status == StatusCode::UNAUTHORIZED {
        let scheme = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    }
    response.extensions_mut().insert(LoggedProblem(problem.clone()));
    response
}

/// The problem that a response tells, for the log and to add the request's id.
#[derive(Clone, Debug)]
pub(crate) struct LoggedProblem(pub(crate) ApiProblem);

/// A value as JSON, with status 200.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
            Err(error) => respond(&ApiProblem::new(ProblemCode::Internal, error.to_string())),
        }
    }
}

/// A JSON body that must be there.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

/// A JSON body that need not be there.
#[derive(Debug)]
pub(crate) struct MayRead<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = HttpFailure;

    async fn from_request(request: Request, _: &S) -> Result<Self, HttpFailure> {
        Ok(Self(body(request).await?.ok_or_else(|| {
            ApiProblem::new(ProblemCode::BadRequest, "the request has no body")
                .with_hint("send a JSON object with `Content-Type: application/json`")
        })?))
    }
}

impl<S: Sync, T: DeserializeOwned + Default> FromRequest<S> for MayRead<T> {
    type Rejection = HttpFailure;

    async fn from_request(request: Request, _: &S) -> Result<Self, HttpFailure> {
        Ok(Self(body(request).await?.unwrap_or_default()))
    }
}

async fn body<T: DeserializeOwned>(request: Request) -> Result<Option<T>, ApiProblem> {
    let (parts, body) = request.into_parts();
    let (bytes, length) = in_time(collect(body, MAX_BODY_BYTES)).await?;
    if length > MAX_BODY_BYTES {
        let detail = format!("a body has at most {MAX_BODY_BYTES} bytes");
        return Err(ApiProblem::new(ProblemCode::TooLarge, detail));
    }
    if bytes.is_empty() {
        return Ok(None);
    }
    if !is_json(&parts) {
        return Err(ApiProblem::new(
            ProblemCode::UnsupportedMediaType,
            "the body is not said to be JSON",
        )
        .with_hint("send `Content-Type: application/json`"));
    }
    parse(&bytes).map(Some)
}

/// The beginning of a body, at most `limit` bytes. The rest is heard for a while and forgotten.
pub(crate) async fn beginning(body: Body, limit: usize) -> Result<Vec<u8>, ApiProblem> {
    Ok(in_time(collect(body, limit)).await?.0)
}

async fn in_time<T>(body: impl Future<Output = Result<T, ApiProblem>>) -> Result<T, ApiProblem> {
    tokio::time::timeout(BODY_TIMEOUT, body).await.map_err(|_| {
        ApiProblem::new(ProblemCode::RequestTimeout, "the body took too long to arrive")
    })?
}

/// Reads a body: its beginning, and how long it is. What is too much is heard for a while longer and
/// forgotten: who is still sending when we hang up does not hear why.
async fn collect(mut body: Body, limit: usize) -> Result<(Vec<u8>, usize), ApiProblem> {
    let mut bytes = Vec::new();
    let mut heard = 0;
    while let Some(frame) = body.frame().await {
        let broken =
            |_| ApiProblem::new(ProblemCode::BadRequest, "the body ended before it was complete");
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        heard += data.len();
        if heard > MAX_DISCARDED_BODY_BYTES {
            break;
        }
        let room = data.len().min(limit - bytes.len());
        bytes.extend_from_slice(&data[..room]);
    }
    Ok((bytes, heard))
}

fn is_json(parts: &Parts) -> bool {
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.and_then(|kind| kind.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Reads JSON, and says where it is wrong. Everything that is sent to us is an object.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiProblem> {
    // A list would be taken for the fields of an object in their order.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(ApiProblem::new(ProblemCode::BadRequest, "the body is a list, not an object"));
    }
    exactly(bytes).or_else(|problem| {
        // For a JSON schema 5.0 is an integer.
        let value: Value = serde_json::from_slice(bytes).map_err(|_| problem.clone())?;
        serde_json::from_value(whole(value)).map_err(|_| problem)
    })
}

/// The same with integers where numbers have no fraction.
fn whole(value: Value) -> Value {
    match value {
        Value::Number(number) => {
            let float = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0);
            let text = float.map(|float| format!("{float:.0}"));
            text.and_then(|text| text.parse::<i64>().ok())
                .map_or(Value::Number(number), Value::from)
        }
        Value::Array(values) => Value::Array(values.into_iter().map(whole).collect()),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, value)| (name, whole(value))).collect())
        }
        other => other,
    }
}

fn exactly<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiProblem> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let told = |error: &serde_json::Error, path: Option<String>| {
        let words = error.to_string();
        let detail = match path.filter(|path| path != ".") {
            Some(path) => format!("the body does not fit at `{path}`: {words}"),
            None => format!("the body cannot be read: {words}"),
        };
        ApiProblem::new(ProblemCode::BadRequest, detail)
    };
    let value = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| told(error.inner(), Some(error.path().to_string())))?;
    reader.end().map_err(|error| told(&error, None))?;
    Ok(value)
}

/// What stands in the query.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = HttpFailure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpFailure> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|query| Self(query.0))
            .map_err(|error| wrong_url("the query", &error.body_text()))
    }
}

/// A problem with a part of a URL, without the words of the framework.
fn wrong_url(part: &str, told: &str) -> HttpFailure {
    let why = told.split_once(": ").map_or(told, |(_, why)| why);
    let why = why
        .replace("number too large to fit in target type", "the number is too large")
        .replace("invalid digit found in string", "that is not a number")
        .replace("cannot parse integer from empty string", "there is no number");
    ApiProblem::new(ProblemCode::BadRequest, format!("{part} cannot be read: {why}")).into()
}

/// What varies in the path.
#[derive(Debug)]
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = HttpFailure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpFailure> {
        axum::extract::Path::from_request_parts(parts, state)
            .await
            .map(|path| Self(path.0))
            .map_err(|error| wrong_url("the path", &error.body_text()))
    }
}
