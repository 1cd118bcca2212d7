//! Nodes over one database, each a process of its own with a way of its own to it.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use reqwest::Client;

use super::gate::{Gate, Way};
use crate::chaos::address;
use crate::chaos::follow::Scene;
use crate::postgres::{PRIMARY, Postgres};
use crate::server::Server;

/// How many there are.
pub(in crate::chaos) const NODES: usize = 3;

/// How nodes are started.
#[derive(Default, Clone)]
pub(in crate::chaos) struct Manner {
    /// More arguments of `serve`.
    pub(in crate::chaos) args: Vec<&'static str>,
    /// Variables of each node.
    pub(in crate::chaos) variables: [Vec<(String, String)>; NODES],
}

/// The nodes of one database.
pub(in crate::chaos) struct Nodes {
    pub(in crate::chaos) scene: Arc<Scene>,
    pub(in crate::chaos) database: String,
    gates: Vec<Gate>,
    servers: Vec<Option<Server>>,
    manner: Manner,
    /// What those that were killed have said.
    logs: Vec<String>,
}

impl Nodes {
    /// Starts them, over a database of their own.
    pub(in crate::chaos) async fn start(
        postgres: &Postgres,
        database: &str,
        manner: Manner,
        client: &Client,
    ) -> Self {
        postgres.make(database);
        let mut gates = Vec::new();
        for _ in 0..NODES {
            gates.push(Gate::to(&postgres.socket(PRIMARY)).await);
        }
        let mut own = Self {
            scene: Scene::of_nodes(client, vec![String::new(); NODES]),
            database: database.to_owned(),
            gates,
            servers: (0..NODES).map(|_| None).collect(),
            manner,
            logs: Vec::new(),
        };
        for node in 0..NODES {
            own.up(node).await;
        }
        own
    }

    /// Starts a node.
    pub(in crate::chaos) async fn up(&mut self, node: usize) {
        let store = format!("postgres://postgres@{}/{}", self.gates[node].address, self.database);
        let manner = self.manner.clone();
        let started = tokio::task::spawn_blocking(move || {
            let listen = address();
            let own = ["--listen", &listen, "--store", &store];
            let variables = &manner.variables[node];
            let variables: Vec<_> =
                variables.iter().map(|(name, value)| (&**name, &**value)).collect();
            Server::start_in(&[&own[..], &manner.args].concat(), &variables)
        });
        let server = started.await.unwrap();
        self.scene.node_moved(node, &server.url);
        self.servers[node] = Some(server);
    }

    /// `kill -9`.
    pub(in crate::chaos) fn kill(&mut self, node: usize) {
        if let Some(server) = self.servers[node].take() {
            self.logs.push(server.kill());
        }
    }

    /// Sends a node's process a signal.
    pub(in crate::chaos) fn signal(&self, node: usize, name: &str) {
        let id = self.servers[node].as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
    }

    /// Where a node is.
    pub(in crate::chaos) fn url(&self, node: usize) -> &str {
        &self.servers[node].as_ref().unwrap().url
    }

    /// What becomes of what a node sends to its database.
    pub(in crate::chaos) fn set(&self, node: usize, way: &Way) {
        self.gates[node].set(way.clone());
    }

    /// The same for all of them.
    pub(in crate::chaos) fn set_all(&self, way: &Way) {
        (0..NODES).for_each(|node| self.set(node, way));
    }

    /// Ends them; what they have said is written down.
    pub(in crate::chaos) fn end(mut self, folder: &Path) {
        (0..NODES).for_each(|node| self.kill(node));
        std::fs::write(folder.join("log"), self.logs.join("\n---\n")).unwrap();
    }
}
