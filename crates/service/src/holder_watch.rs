//! Looks at the processes below holders now and then, so that they are known if a holder is killed.

use std::time::Duration;

use crate::service::Service;

/// How often. What is started between two looks is known by other signs.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// Looks until the service stops.
pub(crate) async fn watch(service: Service) {
    let (stopping, registry) = (service.stopping(), service.holders());
    let mut turns = tokio::time::interval(LOOK_INTERVAL);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while stopping.run_until_cancelled(turns.tick()).await.is_some() {
        let registry = registry.clone();
        let looked = coven_orchestrator::blocking(move || registry.refresh()).await;
        if let Err(error) = looked {
            tracing::warn!("the list of holders cannot be read: {error}");
        }
    }
}
