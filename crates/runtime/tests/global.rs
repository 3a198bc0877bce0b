//! The global pool is made once. One test, because the pool is one for the whole process.

use evenkeel_runtime::{BuildError, Pool, PoolBuilder, join};

#[test]
fn the_global_pool_is_configured_once() {
    assert_eq!(PoolBuilder::new().threads(0).build_global().err(), Some(BuildError::ZeroThreads));
    let pool = PoolBuilder::new().threads(3).build_global().unwrap();
    assert_eq!(pool.threads(), 3);
    assert_eq!(join(|| Pool::global().threads(), || 1), (3, 1));
    assert_eq!(PoolBuilder::new().threads(2).build_global().err(), Some(BuildError::GlobalExists));
}
