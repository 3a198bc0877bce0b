//! Prices of European options by the formula of Black and Scholes (Journal of Political Economy 81, 1973).
//!
//! A parallel loop over options. PARSEC prices each of them 100 times to have something to measure (Bienia et al., PACT 2008,
//! `blackscholes`), and so does this. The options are drawn; PARSEC's come from a file.

use std::f64::consts::FRAC_1_SQRT_2;
use std::hint::black_box;

use crate::Pool;
use crate::inputs::Draw;
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, ensure, scaled};
use crate::primitives::tabulate;

/// Options that one task prices: the paper's 64 tasks.
const GRAIN: usize = 16;
const TIMES: usize = 100;

/// `bscholes`.
#[derive(Debug)]
pub struct BlackScholes;

/// What an option depends on. Prices in one currency, rates and volatility a year.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    spot: f64,
    strike: f64,
    rate: f64,
    volatility: f64,
    /// Years until it expires.
    years: f64,
}

/// What the right to buy and the right to sell are worth.
type Prices = [f64; 2];

impl Kernel for BlackScholes {
    type Input = Vec<Terms>;
    type Output = Vec<Prices>;

    const INFO: Info = Info {
        name: "bscholes",
        suite: Suite::Parsec,
        method: Method::Loops,
        input: "1024 options",
        tasks: 64,
        task_kiloinstructions: 629.0,
    };

    fn input(scale: f64) -> Vec<Terms> {
        let mut draw = Draw::new(21);
        let mut terms = |_| Terms {
            spot: draw.between(20.0, 120.0),
            strike: draw.between(20.0, 120.0),
            rate: draw.between(0.01, 0.1),
            volatility: draw.between(0.05, 0.65),
            years: draw.between(0.05, 1.0),
        };
        (0..scaled(1024, scale)).map(&mut terms).collect()
    }

    fn run<P: Pool>(pool: &P, options: &Vec<Terms>) -> Vec<Prices> {
        tabulate(pool, options.len(), GRAIN, |index| {
            let mut prices = [0.0; 2];
            for _ in 0..TIMES {
                prices = price(black_box(&options[index]));
            }
            prices
        })
    }

    /// Parity of call and put, and the bounds that hold whatever the volatility.
    fn check(options: &Vec<Terms>, prices: &Vec<Prices>) -> Result<(), Wrong> {
        ensure(prices.len() == options.len(), || format!("{} prices", prices.len()))?;
        for (index, (terms, [call, put])) in options.iter().zip(prices).enumerate() {
            let strike_today = terms.strike * libm::exp(-terms.rate * terms.years);
            let parity = call - put - (terms.spot - strike_today);
            ensure(parity.abs() < 1e-9, || format!("option {index}: call and put are {parity} off parity"))?;
            let least = (terms.spot - strike_today).max(0.0);
            let bounded = (least - 1e-9..=terms.spot).contains(call);
            ensure(bounded, || format!("option {index}: call {call} is not between {least} and {}", terms.spot))?;
        }
        Ok(())
    }

    fn digest(prices: &Vec<Prices>) -> u64 {
        digest(prices.iter().flatten().map(|price| price.to_bits()))
    }
}

fn price(terms: &Terms) -> Prices {
    let Terms { spot, strike, rate, volatility, years } = *terms;
    let deviation = volatility * years.sqrt();
    let d1 = (libm::log(spot / strike) + (rate + volatility * volatility / 2.0) * years) / deviation;
    let d2 = d1 - deviation;
    let strike_today = strike * libm::exp(-rate * years);
    [spot * normal(d1) - strike_today * normal(d2), strike_today * normal(-d2) - spot * normal(-d1)]
}

/// The cumulative standard normal distribution.
fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verify;

    #[test]
    fn medium_sets() {
        verify::<BlackScholes>(&BlackScholes::input(0.1));
    }

    /// Hull, "Options, Futures, and Other Derivatives", the example of the chapter on the model: 4.76 and 0.81.
    #[test]
    fn the_textbooks_example() {
        let terms = Terms { spot: 42.0, strike: 40.0, rate: 0.1, volatility: 0.2, years: 0.5 };
        let [call, put] = price(&terms);
        assert!((call - 4.76).abs() < 0.005 && (put - 0.81).abs() < 0.005, "{call} {put}");
    }

    #[test]
    fn a_wrong_price_is_found_out() {
        let options = BlackScholes::input(0.01);
        let mut prices = BlackScholes::run(&crate::Serial, &options);
        prices[3][1] += 1e-6;
        assert!(BlackScholes::check(&options, &prices).is_err());
    }
}
