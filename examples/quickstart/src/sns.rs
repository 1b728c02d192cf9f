//! Where events go: an SNS endpoint inside of this program, or a real one.

use std::sync::Arc;

use anyhow::Context;
use aws_config::{Region, SdkConfig};
use aws_sdk_sns::Client;
use aws_sdk_sns::config::{Credentials, SharedCredentialsProvider};
use outbox_core::Publisher;
use outbox_testing::sns::SnsStub;
use outbox_worker::publisher::sns::{
    ClientTimeouts, SnsPublisher, SnsTopic, SnsTopics, client, client_from_env,
};

use crate::arrivals::Arrival;
use crate::receipts::{Receipted, Receipts};

/// The topic's name in the events.
const TOPIC: &str = "orders";
const REGION: &str = "us-east-1";
const ENDPOINTS: [&str; 2] = ["AWS_ENDPOINT_URL_SNS", "AWS_ENDPOINT_URL"];

/// An SNS topic, and the way to see what it accepted.
pub(crate) struct Sns {
    client: Client,
    topic: SnsTopic,
    endpoint: Endpoint,
}

enum Endpoint {
    /// Speaks the wire protocol of SNS over TCP and keeps a journal.
    Loopback(SnsStub),
    /// Nobody can look into a topic, so its receipts have to do.
    Real { name: String, receipts: Receipts },
}

impl Sns {
    /// A real endpoint if the environment names one or a topic is given, else one on loopback.
    pub(crate) async fn choose(topic_arn: Option<String>) -> anyhow::Result<Self> {
        let variable = |name: &&str| std::env::var(name).ok().filter(|url| !url.is_empty());
        let endpoint = ENDPOINTS.iter().find_map(variable);
        let topic_arn = topic_arn.filter(|arn| !arn.is_empty());
        if endpoint.is_none() && topic_arn.is_none() {
            return Self::loopback().await;
        }
        Self::real(endpoint.unwrap_or_else(|| "AWS".to_owned()), topic_arn).await
    }

    async fn loopback() -> anyhow::Result<Self> {
        let stub = SnsStub::builder().region(REGION).start().await?;
        let anybody = Credentials::new("quickstart", "quickstart", None, None, "quickstart");
        let config = SdkConfig::builder()
            .region(Region::new(REGION))
            .endpoint_url(stub.endpoint_url())
            .credentials_provider(SharedCredentialsProvider::new(anybody))
            .build();
        let config = client(&config, ClientTimeouts::default())?.config().to_builder();
        // The way to this machine itself leads through no proxy, whatever the environment says.
        let direct = aws_smithy_http_client::Builder::new().build_http();
        let client = Client::from_conf(config.http_client(direct).build());
        let topic = create_topic(&client).await?;
        Ok(Self { client, topic, endpoint: Endpoint::Loopback(stub) })
    }

    async fn real(name: String, topic_arn: Option<String>) -> anyhow::Result<Self> {
        let client = client_from_env(ClientTimeouts::default()).await?;
        let topic = match topic_arn {
            Some(arn) => SnsTopic::new(arn).context("QUICKSTART_TOPIC_ARN cannot be used")?,
            None => create_topic(&client).await?,
        };
        let endpoint = Endpoint::Real { name, receipts: Receipts::default() };
        Ok(Self { client, topic, endpoint })
    }

    /// What sends to the topic.
    pub(crate) fn publisher(&self) -> Arc<dyn Publisher> {
        let topics = SnsTopics::new().with_topic(TOPIC, self.topic.clone());
        let publisher = SnsPublisher::new(self.client.clone(), topics);
        match &self.endpoint {
            Endpoint::Loopback(_) => Arc::new(publisher),
            Endpoint::Real { receipts, .. } => {
                Arc::new(Receipted::new(publisher, receipts.clone()))
            }
        }
    }

    /// Everything accepted so far, in order.
    pub(crate) fn accepted(&self) -> Vec<Arrival> {
        match &self.endpoint {
            Endpoint::Loopback(stub) => stub.journal().iter().map(Arrival::from).collect(),
            Endpoint::Real { receipts, .. } => receipts.all(),
        }
    }

    /// Waits until this many messages are accepted.
    pub(crate) async fn accepted_at_least(&self, messages: usize) -> Vec<Arrival> {
        match &self.endpoint {
            Endpoint::Loopback(stub) => {
                stub.accepted_at_least(messages).await.iter().map(Arrival::from).collect()
            }
            Endpoint::Real { receipts, .. } => receipts.at_least(messages).await,
        }
    }

    pub(crate) fn topic_arn(&self) -> &str {
        self.topic.arn()
    }

    pub(crate) fn shown(&self) -> String {
        match &self.endpoint {
            Endpoint::Loopback(stub) => {
                format!("{} (inside of this program)", stub.endpoint_url())
            }
            Endpoint::Real { name, .. } => name.clone(),
        }
    }

    /// The variables with which a worker of its own sends to the same topic.
    pub(crate) fn variables(&self) -> Vec<String> {
        let topic = match self.topic_arn().strip_suffix(&format!(":{TOPIC}")) {
            Some(prefix) => format!("OUTBOX_SNS__TOPIC_ARN_PREFIX={prefix}:"),
            None => format!("OUTBOX_SNS__TOPICS__{}={}", TOPIC.to_uppercase(), self.topic_arn()),
        };
        let Endpoint::Loopback(stub) = &self.endpoint else { return vec![topic] };
        vec![
            format!("AWS_ENDPOINT_URL={} AWS_REGION={REGION}", stub.endpoint_url()),
            "AWS_ACCESS_KEY_ID=quickstart AWS_SECRET_ACCESS_KEY=quickstart".to_owned(),
            topic,
        ]
    }
}

/// Creating a topic that exists answers its ARN.
async fn create_topic(client: &Client) -> anyhow::Result<SnsTopic> {
    let created = client.create_topic().name(TOPIC).send().await;
    let created = created.with_context(|| format!("SNS did not create the topic `{TOPIC}`"))?;
    Ok(SnsTopic::new(created.topic_arn.unwrap_or_default())?)
}
