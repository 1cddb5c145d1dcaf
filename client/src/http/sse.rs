//! Server-sent events, as pieces of bytes come.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// `message` if the stream names none.
    pub name: String,
    pub id: Option<String>,
    pub data: String,
}

/// Most bytes of one event.
const MAX_EVENT: usize = 8 << 20;

/// Cuts a stream into events.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last line ended with CR, so an LF after it belongs to it.
    after_cr: bool,
}

impl Parser {
    /// Takes the next bytes and gives the events that they complete. `None`: an event is too long, so the stream is not
    /// one of the service.
    pub fn feed(&mut self, bytes: &[u8]) -> Option<Vec<Event>> {
        let mut events = Vec::new();
        for byte in bytes {
            let after_cr = std::mem::take(&mut self.after_cr);
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => {
                    self.after_cr = *byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    events.extend(self.end_of_line(&String::from_utf8_lossy(&line)));
                }
                byte => self.line.push(*byte),
            }
            if self.line.len() + self.event.data.len() > MAX_EVENT {
                return None;
            }
        }
        Some(events)
    }

    fn end_of_line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.event);
            if !std::mem::take(&mut self.has_data) {
                return None;
            }
            if event.name.is_empty() {
                event.name.push_str("message");
            }
            return Some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_whole_however_the_bytes_are_cut() {
        let text =
            "event: message\ndata: {\"a\":\ndata: 1}\nid: 17\n\n: comment\r\n\r\nretry: 5\ndata:x\r\n\r\nevent: y\n\n";
        let whole = Parser::default().feed(text.as_bytes()).unwrap();
        let first = Event { name: "message".into(), id: Some("17".into()), data: "{\"a\":\n1}".into() };
        assert_eq!(whole, [first, Event { name: "message".into(), id: None, data: "x".into() }]);
        for size in 1..text.len() {
            let mut parser = Parser::default();
            let cut: Vec<Event> = text.as_bytes().chunks(size).flat_map(|piece| parser.feed(piece).unwrap()).collect();
            assert_eq!(cut, whole, "pieces of {size}");
        }
    }

    #[test]
    fn an_event_without_an_end_does_not_fill_the_memory() {
        let mut parser = Parser::default();
        let piece = vec![b'x'; 1 << 20];
        assert!((0..9).any(|_| parser.feed(&piece).is_none()));
    }
}
