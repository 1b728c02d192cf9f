//! What can be wrong with the configuration of SNS.

/// A configuration that cannot work.
///
/// It never repeats the value: whoever read it knows its key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnsConfigError {
    /// Not the ARN of a topic.
    #[error("the ARN of a topic has the form arn:aws:sns:region:account:name")]
    Arn,
    /// A header cannot travel as a message attribute.
    #[error("filter headers cannot be message attributes: {0}")]
    FilterHeader(&'static str),
    /// A size limit that no topic can have.
    #[error("the size limit of a topic is from 1024 to 1048576 bytes")]
    Limit,
    /// Not the ARN of a topic without its name.
    #[error("the ARN prefix of topics has the form arn:aws:sns:region:account:")]
    Prefix,
    /// Neither environment nor profile name a region.
    #[error("no AWS region is configured: set AWS_REGION, or `region` in the AWS profile")]
    RegionMissing,
}
