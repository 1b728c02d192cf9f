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
    /// Not the ARN of a topic without its name.
    #[error("the ARN prefix of topics has the form arn:aws:sns:region:account:")]
    Prefix,
    /// Neither environment nor profile name a region.
    #[error("no AWS region is configured: set AWS_REGION, or `region` in the AWS profile")]
    RegionMissing,
}
