//! What a folder brings along, and agreeing to it.

use std::path::Path;

use coven_api::system::{FolderTrust, SetTrust, TrustQuery, TrustState};
use coven_store::FolderOwners;

use crate::blocking::blocking;
use crate::error::{ServiceError, StaleTrust};
use crate::folder;
use crate::service::Service;
use crate::trust_inventory::TrustInventory;
use crate::trust_store::TrustAgreement;

impl Service {
    /// How a folder stands, or the workspace; with what there is to see of it, if that is wanted.
    pub async fn trust(&self, query: TrustQuery) -> Result<FolderTrust, ServiceError> {
        let service = self.clone();
        blocking(move || {
            let path = folder::to_read(service.context(), query.base_dir.as_deref())?;
            let trust = service.trust_of_blocking(&path)?;
            if query.contents { service.context().contents_of(&path) } else { Ok(trust) }
        })
        .await
    }

    /// Agrees to what a folder brings along or to who can write to it, as the user saw them, or
    /// takes that back.
    pub async fn set_trust(&self, set: SetTrust) -> Result<FolderTrust, ServiceError> {
        let service = self.clone();
        blocking(move || service.set_trust_blocking(&set)).await
    }

    fn set_trust_blocking(&self, set: &SetTrust) -> Result<FolderTrust, ServiceError> {
        let path = folder::canonical(Path::new(&set.base_dir))?;
        if !set.trusted {
            return self.agree(&path, TrustAgreement::Nothing);
        }
        if let Some(seen) = &set.owners {
            let owners = FolderOwners::of(&path)
                .map_err(|error| ServiceError::BadBaseDir(error.to_string()))?;
            if owners.to_string() != *seen {
                return Err(ServiceError::StaleTrust(StaleTrust::Owners));
            }
            return self.agree(&path, TrustAgreement::Owners(owners));
        }
        let now = self.trust_of_blocking(&path)?;
        if now.state == TrustState::NotOwned {
            folder::owned(self.context(), &path)?;
        }
        // What is agreed to and copied is what has this digest, whatever is in the folder then.
        let inventory = TrustInventory::of(&path).map_err(|error| {
            ServiceError::BadBaseDir(format!("{} cannot be looked at: {error}", path.display()))
        })?;
        match (&inventory.digest, &set.digest) {
            (None, None) => self.agree(&path, TrustAgreement::NoContent),
            (Some(digest), Some(seen)) if digest == seen => {
                self.agree(&path, TrustAgreement::Content(inventory))
            }
            (_, Some(_)) => Err(ServiceError::StaleTrust(StaleTrust::Content)),
            (Some(_), None) => Err(ServiceError::StaleTrust(StaleTrust::NothingSeen)),
        }
    }

    fn agree(&self, path: &Path, agreement: TrustAgreement) -> Result<FolderTrust, ServiceError> {
        self.context().trust.set(path, agreement).map_err(|source| ServiceError::Storage {
            what: "trust cannot be written down".to_owned(),
            source,
        })?;
        self.trust_of_blocking(path)
    }
}
