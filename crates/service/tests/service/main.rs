//! The service without a transport.
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod opening;
mod showing;

use std::path::Path;

use coven_service::{Service, ServiceConfig, ServiceOptions, UserFolders};

fn service(home: &Path) -> Service {
    service_with(home, ServiceConfig::default())
}

fn service_with(home: &Path, config: ServiceConfig) -> Service {
    let (config_dir, state_dir) = (home.join("config"), home.join("state"));
    for folder in [&config_dir, &state_dir] {
        std::fs::create_dir(folder).unwrap();
    }
    let data_dir = home.join("data");
    let places = UserFolders { config_dir, state_dir, data_dir, runtime_dir: None };
    Service::new(ServiceOptions { places, program: "coven".into(), config }).unwrap()
}

fn folder(home: &Path, name: &str) -> String {
    let path = home.join(name);
    std::fs::create_dir(&path).unwrap();
    path.display().to_string()
}
