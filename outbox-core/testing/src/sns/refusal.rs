use std::borrow::Cow;

/// A request that SNS turns down with an error document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: Cow<'static, str>,
    pub(crate) message: Cow<'static, str>,
}

impl Refusal {
    pub(crate) fn new(
        status: u16,
        code: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { status, code: code.into(), message: message.into() }
    }

    /// `reason` is the text after "Invalid parameter: ".
    pub(crate) fn invalid_parameter(reason: impl AsRef<str>) -> Self {
        Self::new(400, "InvalidParameter", format!("Invalid parameter: {}", reason.as_ref()))
    }

    pub(crate) fn invalid_value(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(400, "ParameterValueInvalid", message)
    }

    pub(crate) fn missing_topic() -> Self {
        Self::new(404, "NotFound", "Topic does not exist")
    }
}
