use std::collections::BTreeMap;

/// A query-protocol form, with its dotted names unfolded into a tree.
///
/// `Attributes.entry.1.key=FifoTopic` becomes `Attributes` → `entry` → `1` → `key`.
#[derive(Debug, Default)]
pub(crate) struct Form {
    value: Option<String>,
    children: BTreeMap<String, Form>,
}

/// The deepest name SNS knows, an attribute value within a batch entry. Whatever follows
/// stays in one piece, so that a hostile name cannot grow the tree without end.
const DEEPEST_NAME: usize = 8;

impl Form {
    pub(crate) fn from_pairs(pairs: Vec<(String, String)>) -> Self {
        let mut root = Self::default();
        for (name, value) in pairs {
            let leaf = name
                .splitn(DEEPEST_NAME, '.')
                .fold(&mut root, |node, part| node.children.entry(part.to_owned()).or_default());
            leaf.value = Some(value);
        }
        root
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.children.get(name)?.value.as_deref()
    }

    pub(crate) fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// The elements of a list, in the order of their numbers.
    pub(crate) fn list(&self, name: &str) -> Vec<&Self> {
        self.elements(name, "member")
    }

    /// The elements of a map, in the order of their numbers.
    pub(crate) fn map(&self, name: &str) -> Vec<&Self> {
        self.elements(name, "entry")
    }

    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.children.get(name)
    }

    fn elements(&self, name: &str, kind: &str) -> Vec<&Self> {
        let Some(elements) = self.child(name).and_then(|list| list.child(kind)) else {
            return Vec::new();
        };
        // Sorted as numbers: as text, element 10 would come before element 2.
        let mut numbered: Vec<(u32, &Self)> = elements
            .children
            .iter()
            .filter_map(|(number, element)| Some((number.parse().ok()?, element)))
            .collect();
        numbered.sort_by_key(|(number, _)| *number);
        numbered.into_iter().map(|(_, element)| element).collect()
    }
}
