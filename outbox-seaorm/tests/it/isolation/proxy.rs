//! What stands between a session and its server and holds each statement up.
//!
//! So the statements are the product's own, in the transactions that it makes, whatever they are.

use std::collections::HashMap;
use std::io::Result;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use super::gate::Gate;
use super::server::Clock;

/// Listens for the connections of one session and returns at which port.
pub(crate) async fn listen(server: String, wire: Wire, gate: Arc<Gate>, clock: Clock) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&server).await.unwrap();
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            let (gate, clock) = (Arc::clone(&gate), clock.clone());
            tokio::spawn(async move {
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let line = Line { wire, gate, clock, to_server, from_server, to_client };
                // That one side hangs up is how a connection ends.
                let _ = line.carry(from_client).await;
            });
        }
    });
    port
}

/// How messages are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    MySql,
    Postgres,
}

/// One connection.
struct Line {
    wire: Wire,
    gate: Arc<Gate>,
    clock: Clock,
    to_server: OwnedWriteHalf,
    from_server: OwnedReadHalf,
    to_client: OwnedWriteHalf,
}

impl Line {
    async fn carry(mut self, from_client: OwnedReadHalf) -> Result<()> {
        let number = if self.wire == Wire::MySql { Some(self.greet().await?) } else { None };
        let ended = self.carry_messages(from_client).await;
        if let Some(number) = number {
            self.gate.disconnected(number);
        }
        ended
    }

    async fn carry_messages(&mut self, from_client: OwnedReadHalf) -> Result<()> {
        let mut requests = Requests::new(self.wire, from_client);
        let mut answer = vec![0; 1 << 16];
        loop {
            tokio::select! {
                request = requests.next() => {
                    let request = request?;
                    if let Some(sql) = requests.statement(&request) {
                        self.gate.pass(&sql).await;
                        self.set_clock().await?;
                    }
                    self.to_server.write_all(&request).await?;
                }
                length = self.from_server.read(&mut answer) => {
                    let answer = &answer[..length?];
                    if answer.is_empty() {
                        return Ok(());
                    }
                    requests.learn(answer);
                    self.to_client.write_all(answer).await?;
                }
            }
        }
    }

    /// Hands the server's greeting on, in which it says the connection's number.
    async fn greet(&mut self) -> Result<u64> {
        let greeting = packet(&mut self.from_server).await?;
        let version = &greeting[5..];
        let end = 5 + version.iter().position(|byte| *byte == 0).unwrap_or_default() + 1;
        let number = u32::from_le_bytes(greeting[end..end + 4].try_into().unwrap());
        self.gate.connected(number.into());
        self.to_client.write_all(&greeting).await?;
        Ok(number.into())
    }

    /// Tells the session what time it is, where a session can be told.
    async fn set_clock(&mut self) -> Result<()> {
        let Some(sql) = self.clock.statement() else { return Ok(()) };
        let length = u32::try_from(sql.len() + 1).unwrap().to_le_bytes();
        let mut query = vec![length[0], length[1], length[2], 0, 3];
        query.extend(sql.bytes());
        self.to_server.write_all(&query).await?;
        let answer = packet(&mut self.from_server).await?;
        assert_eq!(answer[4], 0, "the server sets its clock");
        Ok(())
    }
}

/// A packet of the MySQL protocol, with its header.
async fn packet(from: &mut OwnedReadHalf) -> Result<Vec<u8>> {
    let mut packet = vec![0; 4];
    from.read_exact(&mut packet).await?;
    let length = u32::from_le_bytes([packet[0], packet[1], packet[2], 0]);
    packet.resize(4 + length as usize, 0);
    from.read_exact(&mut packet[4..]).await?;
    Ok(packet)
}

/// What the client asks, message by message.
struct Requests {
    wire: Wire,
    from_client: OwnedReadHalf,
    /// What was read of the next message. Kept here, because a read may be given up.
    begun: Vec<u8>,
    started: bool,
    /// Prepared statements, by what names them.
    statements: HashMap<Vec<u8>, String>,
    /// Prepared just now: its execution belongs to the same step.
    prepared: Option<String>,
}

impl Requests {
    fn new(wire: Wire, from_client: OwnedReadHalf) -> Self {
        let (begun, statements) = (Vec::new(), HashMap::new());
        Self { wire, from_client, begun, started: false, statements, prepared: None }
    }

    async fn next(&mut self) -> Result<Vec<u8>> {
        loop {
            if let Some(length) = self.length()
                && self.begun.len() >= length
            {
                return Ok(self.begun.drain(..length).collect());
            }
            if self.from_client.read_buf(&mut self.begun).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// How long the next message is, once that was read.
    fn length(&self) -> Option<usize> {
        let bytes = |at: usize| self.begun.get(at..at + 4)?.try_into().ok();
        match self.wire {
            Wire::MySql => {
                let [a, b, c, _] = bytes(0)?;
                Some(4 + u32::from_le_bytes([a, b, c, 0]) as usize)
            }
            Wire::Postgres => {
                let kind = usize::from(self.started);
                Some(kind + u32::from_be_bytes(bytes(kind)?) as usize)
            }
        }
    }

    /// The text of the statement that this message runs.
    fn statement(&mut self, request: &[u8]) -> Option<String> {
        match self.wire {
            Wire::MySql => self.mysql_statement(request),
            Wire::Postgres => self.postgres_statement(request),
        }
    }

    fn mysql_statement(&mut self, packet: &[u8]) -> Option<String> {
        let (0, command) = (packet[3], *packet.get(4)?) else { return None };
        let just_prepared = self.prepared.take();
        match command {
            // A query as text, or a preparation.
            0x03 => Some(text(&packet[5..])),
            0x16 => {
                self.prepared = Some(text(&packet[5..]));
                self.prepared.clone()
            }
            0x17 if just_prepared.is_none() => self.statements.get(packet.get(5..9)?).cloned(),
            _ => None,
        }
    }

    fn postgres_statement(&mut self, message: &[u8]) -> Option<String> {
        if !std::mem::replace(&mut self.started, true) {
            return None;
        }
        let mut parts = message[5..].split(|byte| *byte == 0);
        match message[0] {
            b'Q' => parts.next().map(text),
            b'P' => {
                let (name, sql) = (parts.next()?.to_vec(), text(parts.next()?));
                self.prepared = Some(text(&name));
                self.statements.insert(name, sql.clone());
                Some(sql)
            }
            b'B' => {
                let name = parts.nth(1)?;
                let just_prepared = self.prepared.take() == Some(text(name));
                self.statements.get(name).filter(|_| !just_prepared).cloned()
            }
            _ => None,
        }
    }

    /// Takes the number of a prepared statement from the answer.
    fn learn(&mut self, answer: &[u8]) {
        if let (Wire::MySql, Some(sql), Some(0)) = (self.wire, &self.prepared, answer.get(4))
            && let Some(number) = answer.get(5..9)
        {
            self.statements.insert(number.to_vec(), sql.clone());
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
