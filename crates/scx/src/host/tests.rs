//! The driver against a model of the part in the kernel.

mod bounds;
mod conformance;
mod counters;
mod kernel;
mod orders;

use evenkeel_model::machines;

use super::*;
use kernel::Kernel;

struct Draw(u64);

impl Draw {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % most as u64) as usize
    }
}

fn driver(policy: &str) -> Driver<Kernel> {
    let machine = machines::by_name("2B2S").unwrap();
    Driver::new(Kernel::new(4), machine, (0..4).collect(), &Setup::parse(policy).unwrap(), Speeds::default(), Ns::ZERO)
}

/// The process acts on everything that it has heard of.
fn listen(driver: &mut Driver<Kernel>, tick: bool, refresh: bool) {
    while let Some(event) = driver.orders.events.pop_front() {
        driver.hear(&event);
    }
    let now = driver.orders.now;
    if tick {
        driver.tick(now);
    }
    if refresh {
        driver.refresh(now);
    }
    driver.tell();
}

/// Both act until nothing more comes of it.
fn settle(driver: &mut Driver<Kernel>) {
    for _ in 0..6 {
        listen(driver, false, false);
        (0..4).for_each(|cpu| driver.orders.dispatch(cpu, false));
    }
}
