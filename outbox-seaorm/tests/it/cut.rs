//! A way to a database that can be cut while an answer is on it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a client asks for, whose answer is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
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
        let mut asked = self.asked.lock().unwrap();
        asked.take_if(|asked| asked.is_in(request, self.protocol)).is_some()
    }
}

/// Forwards every connection to a server, until told to lose an answer.
#[derive(Debug)]
pub(crate) struct Way {
    /// The same database, over this way and without encryption.
    pub(crate) url: String,
    loss: Loss,
    forwarding: JoinHandle<()>,
}

impl Way {
    pub(crate) async fn to(url: &str) -> Self {
        let (scheme, rest) = url.split_once("://").unwrap();
        let (user, rest) = rest.split_once('@').map_or(("", rest), |(user, rest)| (user, rest));
        let (server, path) = rest.split_once('/').unwrap();
        let name = path.split('?').next().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        let (protocol, plain) = match scheme {
            "mysql" => (Protocol::MySql, "ssl-mode=disabled"),
            _ => (Protocol::Postgres, "sslmode=disable"),
        };
        let loss = Loss { asked: Arc::default(), protocol };
        let forwarding = tokio::spawn(forward_all(listener, server.to_owned(), loss.clone()));
        Self { url: format!("{scheme}://{user}@{here}/{name}?{plain}"), loss, forwarding }
    }

    /// Ends the connection on which this is asked for next, once the server has done it.
    pub(crate) fn lose_answer_to(&self, asked: Asked) {
        *self.loss.asked.lock().unwrap() = Some(asked);
    }

    /// Whether the answer was lost that was to be.
    pub(crate) fn has_lost_it(&self) -> bool {
        self.loss.asked.lock().unwrap().is_none()
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.forwarding.abort();
    }
}

async fn forward_all(listener: TcpListener, server: String, loss: Loss) {
    loop {
        let (client, _): (TcpStream, SocketAddr) = listener.accept().await.unwrap();
        let server = TcpStream::connect(&server).await.unwrap();
        tokio::spawn(forward(client, server, loss.clone()));
    }
}

/// Returns, and so closes both ends, when one of them closes or an answer is lost.
async fn forward(client: TcpStream, server: TcpStream, loss: Loss) {
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let (mut request, mut answer) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
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
