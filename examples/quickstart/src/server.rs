//! The web API as a server: where it listens, what each request carries along, how it ends.

use std::time::Duration;

use anyhow::Context as _;
use outbox_seaorm::ContextLayer;
use outbox_worker::CancellationToken;
use sea_orm::DatabaseConnection;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::web;

/// How long requests that have begun may take when the program ends.
const GRACE: Duration = Duration::from_secs(5);

/// The running web API.
pub(crate) struct Server {
    url: String,
    shutdown: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Server {
    pub(crate) async fn start(db: DatabaseConnection, port: u16) -> anyhow::Result<Self> {
        // Every event that a request stages carries its trace and its correlation id.
        let routes = web::routes(db).layer(ContextLayer::new());
        let listener = TcpListener::bind(("127.0.0.1", port))
            .await
            .with_context(|| format!("port {port} cannot be listened on: choose another --port"))?;
        let url = format!("http://{}", listener.local_addr()?);
        let shutdown = CancellationToken::new();
        let server = axum::serve(listener, routes)
            .with_graceful_shutdown(shutdown.clone().cancelled_owned());
        Ok(Self { url, shutdown, serving: tokio::spawn(server.into_future()) })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Takes no more requests and lets those end that have begun.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.shutdown.cancel();
        let served = timeout(GRACE, self.serving).await;
        Ok(served.context("requests were still under way when the web API ended")???)
    }
}
