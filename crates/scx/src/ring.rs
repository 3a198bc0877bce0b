//! The ring through which the kernel's part tells what happened.

use std::cell::RefCell;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use libbpf_rs::{MapCore, RingBuffer, RingBufferBuilder};

use crate::Error;
use crate::event::Event;
use crate::loading::refused;

/// The reader of a ring.
pub(crate) struct Ring {
    buffer: RingBuffer<'static>,
    fd: OwnedFd,
    events: Rc<RefCell<Vec<Event>>>,
}

impl Ring {
    /// Of a map of the kernel's part.
    pub(crate) fn new(map: &impl MapCore) -> Result<Self, Error> {
        let events = Rc::new(RefCell::new(Vec::new()));
        let sink = Rc::clone(&events);
        let mut builder = RingBufferBuilder::new();
        let read = move |bytes: &[u8]| {
            sink.borrow_mut().extend(Event::read(bytes));
            0
        };
        builder.add(map, read).map_err(refused)?;
        let buffer = builder.build().map_err(refused)?;
        Ok(Self { buffer, fd: map.as_fd().try_clone_to_owned().map_err(Error::Kernel)?, events })
    }

    /// Becomes readable when there are events.
    pub(crate) fn ready(&self) -> impl AsFd + '_ {
        self.fd.as_fd()
    }

    /// Takes the events that have come, in order.
    pub(crate) fn events(&mut self) -> Vec<Event> {
        let _ = self.buffer.consume();
        self.events.take()
    }
}
