//! Looks after the file of the key that seals journals. The service has the key in memory, and the
//! next one needs the file: without it every session would be foreign.

use std::time::Duration;

use coven_store::seal::KeyFile;

use crate::service::Service;

/// How often. A file that is read is small.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// Looks until the service stops, and puts the key back if its file was deleted.
pub(crate) async fn watch(service: Service) {
    let stopping = service.stopping();
    let mut turns = tokio::time::interval(LOOK_INTERVAL);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut told = String::new();
    while stopping.run_until_cancelled(turns.tick()).await.is_some() {
        let problem = keep(&service).await;
        if problem != told && !problem.is_empty() {
            tracing::warn!("{problem}");
        }
        told = problem;
    }
}

/// Looks once, and says what was wrong.
pub(crate) async fn keep(service: &Service) -> String {
    let context = service.context();
    let path = context.places.authority(&context.config).key;
    let (key, file) = (context.authority.key().clone(), path.clone());
    match coven_orchestrator::blocking(move || key.keep(&file)).await {
        Ok(KeyFile::InPlace) => String::new(),
        Ok(KeyFile::PutBack) => format!("{} was deleted, and was put back", path.display()),
        Ok(KeyFile::Another) => format!(
            "{} is another key than the one that seals journals now: after a restart the sessions \
             of this one are foreign. Put the file back that was there",
            path.display()
        ),
        Err(error) => error.to_string(),
    }
}
