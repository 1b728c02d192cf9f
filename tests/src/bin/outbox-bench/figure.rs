//! Figures with their spread.

use std::fmt;

use serde_json::{Map, Value, json};

/// One measured or derived value over all rounds.
#[derive(Debug)]
pub(crate) struct Figure {
    name: &'static str,
    unit: &'static str,
    rounds: Vec<f64>,
}

impl Figure {
    pub(crate) fn new(name: &'static str, unit: &'static str, rounds: Vec<f64>) -> Self {
        Self { name, unit, rounds }
    }

    /// The ratio of two figures, round by round.
    pub(crate) fn ratio(name: &'static str, over: &Self, under: &Self) -> Self {
        let rounds = over.rounds.iter().zip(&under.rounds).map(|(a, b)| a / b).collect();
        Self::new(name, "", rounds)
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }

    fn spread(&self) -> (f64, f64, f64) {
        let sorted = self.sorted();
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        (at(sorted.len() / 2), at(0), at(sorted.len().saturating_sub(1)))
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (median, min, max) = self.spread();
        let digits = if median < 100.0 { 2 } else { 0 };
        write!(f, "{:<24}{median:>12.digits$} {:<6}", self.name, self.unit)?;
        write!(f, " [{min:.digits$} .. {max:.digits$}]")
    }
}

/// All figures by name, each with median, min and max.
pub(crate) fn object(figures: &[Figure]) -> Value {
    let entry = |figure: &Figure| {
        let (median, min, max) = figure.spread();
        (figure.name.to_owned(), json!({ "median": median, "min": min, "max": max }))
    };
    Value::Object(figures.iter().map(entry).collect::<Map<_, _>>())
}
