//! A customer that uses the web API over HTTP, as any other would.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// How the API answered, by the correlation id of the request.
#[derive(Default)]
pub(crate) struct Requests {
    pub(crate) committed: BTreeSet<String>,
    pub(crate) rolled_back: BTreeSet<String>,
}

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (committed, rolled_back) = (self.committed.len(), self.rolled_back.len());
        write!(f, "{committed} requests were committed, {rolled_back} rolled back")
    }
}

/// Places twenty orders, reprices ten, cancels five, and is refused eight times.
pub(crate) async fn drive(api: &str) -> anyhow::Result<Requests> {
    let mut customer = Customer::new(api)?;
    let mut orders = Vec::new();
    for n in 1..=20 {
        orders.push(customer.place(n).await?);
        if n % 5 > 2 {
            customer.ask_too_much(n).await?;
        }
    }
    for order in orders.iter().take(10) {
        customer.reprice(*order).await?;
    }
    // The first two of these were repriced: three events under one key, which keep their order.
    for order in orders.iter().skip(8).take(5) {
        customer.cancel(*order).await?;
    }
    Ok(customer.requests)
}

struct Customer {
    http: Client,
    orders: String,
    /// Sets this run apart from earlier ones on the same database or topic.
    run: String,
    requests: Requests,
}

impl Customer {
    fn new(api: &str) -> anyhow::Result<Self> {
        // The way to this machine itself leads through no proxy, whatever the environment says.
        let http = Client::builder().no_proxy().timeout(PATIENCE).build()?;
        let run = Uuid::new_v4().simple().to_string().split_off(26);
        Ok(Self { http, orders: format!("{api}/orders"), run, requests: Requests::default() })
    }

    async fn place(&mut self, n: usize) -> anyhow::Result<i64> {
        let order = json!({ "customer": "ann", "sku": "cup", "quantity": 1, "total": 900 + n });
        let request = self.http.post(&self.orders).json(&order);
        let placed: Value = self.ask(&format!("place-{n:02}"), request).await?.json().await?;
        placed["id"].as_i64().context("the API placed no order")
    }

    async fn ask_too_much(&mut self, n: usize) -> anyhow::Result<()> {
        let order = json!({ "customer": "ann", "sku": "sold-out", "quantity": 1, "total": 100 });
        let request = self.http.post(&self.orders).json(&order);
        self.ask(&format!("refuse-{n:02}"), request).await.map(drop)
    }

    async fn reprice(&mut self, order: i64) -> anyhow::Result<()> {
        let url = format!("{}/{order}", self.orders);
        let request = self.http.patch(url).json(&json!({ "total": 700 }));
        self.ask(&format!("reprice-{order}"), request).await.map(drop)
    }

    async fn cancel(&mut self, order: i64) -> anyhow::Result<()> {
        let request = self.http.delete(format!("{}/{order}", self.orders));
        self.ask(&format!("cancel-{order}"), request).await.map(drop)
    }

    /// Sends a request under a correlation id of its own and notes what became of it.
    async fn ask(&mut self, name: &str, request: RequestBuilder) -> anyhow::Result<Response> {
        let correlation_id = format!("{}-{name}", self.run);
        let answer = request.header("x-correlation-id", &correlation_id).send().await?;
        match answer.status() {
            status if status.is_success() => self.requests.committed.insert(correlation_id),
            StatusCode::CONFLICT => self.requests.rolled_back.insert(correlation_id),
            status => bail!("{name} was answered with {status}"),
        };
        Ok(answer)
    }
}
