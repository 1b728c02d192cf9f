use super::accepted::Attribute;
use super::form::Form;
use super::refusal::Refusal;

/// A `Publish`, or a `PublishBatch`, before any check.
#[derive(Debug)]
pub(crate) struct PublishRequest {
    /// Whose signature it bears.
    pub(crate) access_key_id: Option<String>,
    pub(crate) topic_arn: String,
    pub(crate) entries: Vec<Entry>,
    pub(crate) shape: Shape,
}

/// Which of the two publish actions was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Batch,
    Single,
}

/// One message of a request; `id` is empty in a single `Publish`.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) message: String,
    pub(crate) subject: Option<String>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) group_id: Option<String>,
    pub(crate) deduplication_id: Option<String>,
}

impl PublishRequest {
    pub(crate) fn single(form: &Form, access_key_id: Option<String>) -> Result<Self, Refusal> {
        Ok(Self {
            access_key_id,
            topic_arn: topic_arn(form, "TargetArn")?,
            entries: vec![Entry::read(form)?],
            shape: Shape::Single,
        })
    }

    pub(crate) fn batch(form: &Form, access_key_id: Option<String>) -> Result<Self, Refusal> {
        let entries = form.list("PublishBatchRequestEntries");
        Ok(Self {
            access_key_id,
            topic_arn: topic_arn(form, "TopicArn")?,
            entries: entries.into_iter().map(Entry::read).collect::<Result<_, _>>()?,
            shape: Shape::Batch,
        })
    }
}

impl Entry {
    fn read(form: &Form) -> Result<Self, Refusal> {
        if form.text("MessageStructure").is_some() {
            return Err(Refusal::invalid_parameter(
                "MessageStructure Reason: this endpoint has no message structures",
            ));
        }
        Ok(Self {
            id: form.owned("Id").unwrap_or_default(),
            message: form.owned("Message").unwrap_or_default(),
            subject: form.owned("Subject"),
            attributes: form
                .map("MessageAttributes")
                .into_iter()
                .map(attribute)
                .collect::<Result<_, _>>()?,
            group_id: form.owned("MessageGroupId"),
            deduplication_id: form.owned("MessageDeduplicationId"),
        })
    }

    /// The bytes that count against the size limit.
    pub(crate) fn size(&self) -> usize {
        self.message.len() + self.attributes.iter().map(attribute_size).sum::<usize>()
    }
}

fn topic_arn(form: &Form, other_name: &str) -> Result<String, Refusal> {
    form.owned("TopicArn").or_else(|| form.owned(other_name)).ok_or_else(|| {
        Refusal::invalid_parameter("TopicArn or TargetArn Reason: no value for required parameter")
    })
}

fn attribute(form: &Form) -> Result<Attribute, Refusal> {
    let name = form.owned("Name").unwrap_or_default();
    let value = form.child("Value");
    let data_type = value.and_then(|value| value.owned("DataType")).unwrap_or_default();
    let field = if data_type.starts_with("Binary") { "BinaryValue" } else { "StringValue" };
    match value.and_then(|value| value.owned(field)) {
        Some(value) => Ok(Attribute { name, data_type, value }),
        None => Err(Refusal::invalid_value(format!(
            "The message attribute '{name}' with type '{data_type}' must use field '{field}'."
        ))),
    }
}

fn attribute_size(attribute: &Attribute) -> usize {
    let value = if attribute.data_type.starts_with("Binary") {
        // Four characters of base64 stand for three bytes; the padding stands for none.
        attribute.value.trim_end_matches('=').len() * 3 / 4
    } else {
        attribute.value.len()
    };
    attribute.name.len() + attribute.data_type.len() + value
}
