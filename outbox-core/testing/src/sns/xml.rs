const NAMESPACE: &str = "http://sns.amazonaws.com/doc/2010-03-31/";

/// An XML document under construction. Names are ours, texts may be hostile.
#[derive(Debug)]
pub(crate) struct Xml(String);

impl Xml {
    pub(crate) fn document(root: &str, content: impl FnOnce(&mut Self)) -> String {
        let mut xml = Self(format!("<{root} xmlns=\"{NAMESPACE}\">"));
        content(&mut xml);
        xml.close(root);
        xml.0
    }

    pub(crate) fn nest(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        self.open(name);
        content(self);
        self.close(name);
    }

    pub(crate) fn leaf(&mut self, name: &str, text: &str) {
        self.open(name);
        text.chars().for_each(|character| self.escaped(character));
        self.close(name);
    }

    fn open(&mut self, name: &str) {
        self.0.push('<');
        self.0.push_str(name);
        self.0.push('>');
    }

    fn close(&mut self, name: &str) {
        self.0.push_str("</");
        self.0.push_str(name);
        self.0.push('>');
    }

    fn escaped(&mut self, character: char) {
        match character {
            '&' => self.0.push_str("&amp;"),
            '<' => self.0.push_str("&lt;"),
            '>' => self.0.push_str("&gt;"),
            '"' => self.0.push_str("&quot;"),
            '\'' => self.0.push_str("&apos;"),
            // A bare carriage return would be read back as a line feed.
            '\r' => self.0.push_str("&#xD;"),
            '\t' | '\n' => self.0.push(character),
            // XML 1.0 has no way to write these, not even as a character reference.
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => self.0.push('\u{fffd}'),
            _ => self.0.push(character),
        }
    }
}
