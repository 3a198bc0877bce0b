//! QEMU's monitor (QMP): says when QEMU itself stops a guest. A guest whose KVM fails is paused, and would stay so for ever.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use serde::Deserialize;

/// The host's end. QEMU connects to it.
pub(super) struct Monitor {
    listener: UnixListener,
    stream: Option<UnixStream>,
    /// What has arrived of a line.
    line: Vec<u8>,
    stopped: bool,
}

/// Of what QEMU sends, the part that matters here.
#[derive(Deserialize)]
struct Message {
    event: Option<String>,
    #[serde(rename = "QMP")]
    greeting: Option<serde_json::Value>,
}

/// Until it has been sent, QEMU reports no events.
const BEGIN: &[u8] = b"{\"execute\": \"qmp_capabilities\"}\n";

impl Monitor {
    pub fn bind(path: &Path) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, stream: None, line: Vec::new(), stopped: false })
    }

    /// Reads what has arrived, without waiting, and returns whether QEMU has stopped the guest.
    pub fn stopped(&mut self) -> bool {
        if self.stream.is_none() {
            self.stream = self.listener.accept().ok().map(|(stream, _)| stream);
            self.stream.iter().for_each(|stream| drop(stream.set_nonblocking(true)));
        }
        let mut bytes = [0; 4096];
        while let Some(stream) = &mut self.stream {
            match stream.read(&mut bytes) {
                Ok(0) => break,
                Ok(read) => bytes[..read].iter().for_each(|byte| self.take(*byte)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.stopped
    }

    fn take(&mut self, byte: u8) {
        if byte != b'\n' {
            self.line.push(byte);
            return;
        }
        let message = serde_json::from_slice::<Message>(&std::mem::take(&mut self.line));
        let Ok(Message { event, greeting }) = message else { return };
        self.stopped |= event.is_some_and(|event| event == "STOP");
        if let (Some(_), Some(stream)) = (greeting, &mut self.stream) {
            let _ = stream.write_all(BEGIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_seen_and_other_events_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("monitor");
        let mut monitor = Monitor::bind(&path).unwrap();
        assert!(!monitor.stopped(), "nothing is connected");
        let mut qemu = UnixStream::connect(&path).unwrap();
        qemu.write_all(b"{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n").unwrap();
        assert!(!monitor.stopped());
        let mut begin = [0; BEGIN.len()];
        qemu.read_exact(&mut begin).unwrap();
        assert_eq!(begin, BEGIN);
        qemu.write_all(b"{\"return\": {}}\r\n{\"event\": \"RESUME\"}\r\nnot JSON\r\n{\"event\": \"ST").unwrap();
        assert!(!monitor.stopped(), "half of a line");
        qemu.write_all(b"OP\", \"timestamp\": {}}\r\n").unwrap();
        assert!(monitor.stopped());
        drop(qemu);
        assert!(monitor.stopped(), "for good");
    }
}
