//! The web API as a server: where it listens, what each request carries along, how it ends.

use std::time::Duration;

use anyhow::Context as _;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use outbox_seaorm::{Context, ScopeContext};
use outbox_worker::CancellationToken;
use sea_orm::DatabaseConnection;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::web;

/// Longest correlation id that is taken over: a header comes from outside.
const LONGEST_CORRELATION_ID: usize = 128;
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
        let routes = web::routes(db).layer(from_fn(correlate));
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

/// Every event that a request stages inherits the request's correlation id.
async fn correlate(request: Request, next: Next) -> Response {
    let header = request.headers().get("x-correlation-id").and_then(|id| id.to_str().ok());
    let correlation_id =
        header.filter(|id| (1..=LONGEST_CORRELATION_ID).contains(&id.len())).map(str::to_owned);
    let context = Context { correlation_id, ..Context::default() };
    context.scope(next.run(request)).await
}
