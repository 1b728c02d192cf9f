//! A way to a database that can be cut while an answer is on it, or stand still.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What a client asks for, whose answer is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The end of a transaction.
    Commit,
    /// A prepared statement, which commits by itself unless a transaction was begun.
    Execution,
}

impl Asked {
    /// Whether these bytes ask for it. Drivers send a whole request at once.
    fn is_in(self, request: &[u8], protocol: Protocol) -> bool {
        match (self, protocol) {
            (Self::Commit, _) => request.windows(6).any(|word| word == b"COMMIT"),
            // Behind the length and the number of the packet.
            (Self::Execution, Protocol::MySql) => request.get(4) == Some(&0x17),
            // The message that binds values comes first.
            (Self::Execution, Protocol::Postgres) => request.first() == Some(&b'B'),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Protocol {
    MySql,
    Postgres,
}

/// What is to be lost next.
#[derive(Clone, Debug)]
struct Loss {
    asked: Arc<Mutex<Option<Asked>>>,
    protocol: Protocol,
}

impl Loss {
    fn is_due(&self, request: &[u8]) -> bool {
        let mut asked = self.asked.lock().expect("no panic under it");
        asked.take_if(|asked| asked.is_in(request, self.protocol)).is_some()
    }
}

/// Forwards every connection to a server, until told to lose an answer or to stand still.
#[derive(Debug)]
pub struct Way {
    /// The same database, over this way and without encryption.
    pub url: String,
    loss: Loss,
    frozen: watch::Sender<bool>,
    forwarding: JoinHandle<()>,
}

impl Way {
    /// A way to the database of this URL.
    pub async fn to(url: &str) -> Self {
        let (scheme, rest) = url.split_once("://").expect("a URL");
        let (user, rest) = rest.split_once('@').map_or(("", rest), |(user, rest)| (user, rest));
        let (server, path) = rest.split_once('/').expect("a database");
        let name = path.split('?').next().unwrap_or_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let here = listener.local_addr().expect("an address");
        let (protocol, plain) = match scheme {
            "mysql" => (Protocol::MySql, "ssl-mode=disabled"),
            _ => (Protocol::Postgres, "sslmode=disable"),
        };
        let loss = Loss { asked: Arc::default(), protocol };
        let frozen = watch::Sender::new(false);
        let all = forward_all(listener, server.to_owned(), loss.clone(), frozen.subscribe());
        let url = format!("{scheme}://{user}@{here}/{name}?{plain}");
        Self { url, loss, frozen, forwarding: tokio::spawn(all) }
    }

    /// Ends the connection on which this is asked for next, once the server has done it.
    pub fn lose_answer_to(&self, asked: Asked) {
        *self.loss.asked.lock().expect("no panic under it") = Some(asked);
    }

    /// Whether the answer was lost that was to be.
    pub fn has_lost_it(&self) -> bool {
        self.loss.asked.lock().expect("no panic under it").is_none()
    }

    /// Stands still: no connection is closed, and nothing passes on any, be it old or new.
    pub fn freeze(&self) {
        self.frozen.send_replace(true);
    }

    /// Forwards what is connected from now on. What was connected before stands still for ever.
    pub fn thaw(&self) {
        self.frozen.send_replace(false);
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.forwarding.abort();
    }
}

async fn forward_all(
    listener: TcpListener,
    server: String,
    loss: Loss,
    frozen: watch::Receiver<bool>,
) {
    let mut unanswered = Vec::new();
    loop {
        let (client, _): (TcpStream, SocketAddr) = listener.accept().await.expect("a connection");
        if *frozen.borrow() {
            unanswered.push(client);
            continue;
        }
        // A server that is away closes its connections too.
        let Ok(server) = TcpStream::connect(&server).await else { continue };
        tokio::spawn(forward(client, server, loss.clone(), frozen.clone()));
    }
}

/// Returns, and so closes both ends, when one of them closes or an answer is lost.
async fn forward(
    client: TcpStream,
    server: TcpStream,
    loss: Loss,
    mut frozen: watch::Receiver<bool>,
) {
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let (mut request, mut answer) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            () = stands_still(&mut frozen) => return std::future::pending().await,
            read = from_client.read(&mut request) => {
                let Ok(length @ 1..) = read else { return };
                let is_last = loss.is_due(&request[..length]);
                if to_server.write_all(&request[..length]).await.is_err() {
                    return;
                }
                if is_last {
                    // The server answers when it is done.
                    let _ = from_server.read(&mut answer).await;
                    return;
                }
            }
            read = from_server.read(&mut answer) => {
                let Ok(length @ 1..) = read else { return };
                if to_client.write_all(&answer[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Returns once the way stands still.
async fn stands_still(frozen: &mut watch::Receiver<bool>) {
    if frozen.wait_for(|frozen| *frozen).await.is_err() {
        // The way is gone, so nobody can freeze it any more.
        std::future::pending::<()>().await;
    }
}
