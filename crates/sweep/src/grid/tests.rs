use super::*;

fn grid(text: &str) -> Result<Grid> {
    let text = format!(
        "machines = [\"2B2S\", \"2B4S\"]\nworkloads = [\"radix\", \"fft\"]\npolicies = [\"cfs\", \"gts\"]\n{text}"
    );
    Grid::parse(&text, "grid.toml", None, &())
}

#[test]
fn every_run_has_a_number_and_is_in_one_piece() {
    let grid =
        grid("seeds = [5, 3, 200]\nmachine.costs.tick_us = [1000, 4000]\nconditions.noise = [false, true]").unwrap();
    assert_eq!((grid.runs(), grid.counts()), (2 * 4 * 2 * 2 * 2 * 3, [2, 4, 2, 2, 2, 3]));
    let mut runs: Vec<u64> = grid.pieces(1).flat_map(|piece| grid.of_piece(&piece)).collect();
    runs.sort_unstable();
    assert_eq!(runs, (0..grid.runs()).collect::<Vec<_>>());
    let mut keys: Vec<Key> = (0..grid.runs()).map(|run| grid.key(grid.run(run))).collect();
    assert!((0..grid.runs()).all(|run| grid.number(grid.run(run)) == run));
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len() as u64, grid.runs(), "a key of its own for each");
    let last = grid.run(grid.runs() - 1);
    assert_eq!(grid.names(last), ("fft", "2B4S", "gts", "little-first", 200));
    let values: Vec<_> = grid.values(last).flatten().map(Value::to_string).collect();
    assert_eq!(values, ["4000", "true"]);
    let columns: Vec<String> = grid.columns().map(|(name, _)| name).collect();
    assert_eq!(columns, ["machine.costs.tick_us", "conditions.noise"]);
}

#[test]
fn many_seeds_are_several_pieces() {
    let grid = grid("seeds = 1000").unwrap();
    let pieces: Vec<Piece> = grid.pieces(1).collect();
    assert_eq!(pieces.len(), 4 * 1000_usize.div_ceil(64));
    assert_eq!(pieces.iter().map(|piece| grid.of_piece(piece).len()).max(), Some(256));
    let of_parts: Vec<u64> = (1..=3).map(|part| grid.runs_of(format!("{part}/3").parse().unwrap())).collect();
    assert!(of_parts.iter().sum::<u64>() == grid.runs() && of_parts.iter().all(|runs| *runs > 0), "{of_parts:?}");
    assert_eq!(grid.runs_of(Shard::ALL), grid.runs());
}

/// A grid that grows keeps what was done.
#[test]
fn a_key_depends_on_the_run_alone() {
    let (small, large) = (grid("seeds = 1").unwrap(), grid("seeds = 2\nconditions.noise = [true, false]").unwrap());
    let keys: Vec<Key> = (0..large.runs()).map(|run| large.key(large.run(run))).collect();
    for run in 0..small.runs() {
        assert!(keys.contains(&small.key(small.run(run))));
    }
}

#[test]
fn mistakes_are_said_with_their_place() {
    let said = |text: &str| {
        let error = grid(text).unwrap_err();
        let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
        format!("{error}{source}")
    };
    assert_eq!(said("sedes = 3"), "grid.toml:4:1: unknown key \"sedes\": did you mean \"seeds\"?");
    assert_eq!(
        said("policy = [\"cfs\"]"),
        "grid.toml:4:10: policy: expected what is varied, such as policy.colab.takeover = [\"any\", \"none\"]; names come into \
         policies"
    );
    assert_eq!(
        said("conditions = true"),
        "grid.toml:4:14: conditions: expected what is varied, such as conditions.noise = [false, true]"
    );
    assert_eq!(
        said("conditions.delay = [\"1ms\", \"2ms\", \"1000us\"]"),
        "grid.toml:4:35: conditions.delay has \"1ms\" twice, here as \"1000us\": expected it once"
    );
    assert_eq!(said("orders = []"), "grid.toml:4:10: orders is empty: expected at least one");
    assert!(said("conditions.tasks = \"fifo\"").contains("for programs made of tasks"));
    assert_eq!(said("seeds = []"), "grid.toml:4:9: seeds is empty: expected at least one");
    for (seeds, why) in [
        ("\"x\"", "4:9: \"x\": expected how many seeds, or a list of them"),
        ("-1", "4:9: -1: expected how many seeds, or a list of them"),
        ("2020-01-01", "4:9: a date: expected how many seeds, or a list of them"),
        ("[1, \"x\"]", "4:13: \"x\": expected a whole number that is not negative"),
        ("[1, 1.5]", "4:13: 1.5: expected a whole number that is not negative"),
        ("[1, -1]", "4:13: -1: expected a whole number that is not negative"),
        ("[1, 2, 1]", "4:16: seeds has 1 twice: expected it once"),
    ] {
        assert_eq!(said(&format!("seeds = {seeds}")), format!("grid.toml:{why}"));
    }
    assert_eq!(
        said("orders = [\"declared\", \"x\"]"),
        "grid.toml:4:23: \"x\": expected one of declared, big-first, little-first"
    );
    assert_eq!(said("baseline = 2020-01-01"), "grid.toml:4:12: a date: expected text in quotes");
    for (place, value) in
        [("machine.costs.tick_us", "[1000, 2020-01-01]"), ("workload.program.radix.n", "[1, 10:00:00]")]
    {
        let text = said(&format!("{place} = {value}"));
        assert!(text.contains(": a date: expected a") && text.contains("number"), "{text}");
    }
    let date = said("conditions.noise = 2020-01-01");
    assert_eq!(date, "grid.toml:4:20: conditions.noise = 2020-01-01: a date: expected true or false");
    let whole = said("machine.costs = 5");
    assert!(whole.starts_with("grid.toml:4:9: machine: 2B2S with costs = 5: `costs` is a table: "), "{whole}");
    assert_eq!(said("\nseeds = 1000000000"), "grid.toml:5:9: seeds = 1000000000: expected at most 10000000");
    assert!(said("seeds = 9000000").starts_with("grid.toml: more than 100000000 runs"));
    assert!(
        said("baseline = \"eas\"")
            .starts_with("grid.toml:4:12: baseline = \"eas\": expected one of the policies, cfs, gts")
    );
    assert!(said("machine.costs.tik_us = 1").starts_with("grid.toml:4:15: machine: 2B2S with costs.tik_us = 1: "));
    assert!(
        said("machine.costs.tick_us = []")
            .contains("grid.toml:4:25: machine.costs.tick_us = []: expected at least one value")
    );
    let knob = said("policy.cfs.x = 1");
    assert_eq!(knob, "grid.toml:4:12: policy: policy cfs: it has no knob \"x\", nor any other");
    assert!(
        said("workload.program.radix.nn = 1").starts_with("grid.toml:4:24: workload: radix with program.radix.nn = 1")
    );
    // The first key that is unknown, whether or not the keys have a line of their own.
    let phase = said("[workload.program.radix.phases.xx]\nilp = [1, 2]");
    assert!(phase.starts_with("grid.toml:4:32: workload: radix with"), "{phase}");
    assert!(said("\nmachine.cor.x = 1").starts_with("grid.toml:5:9: machine: "));
    assert!(said("\nmachine.core.x.width = 1").starts_with("grid.toml:5:14: machine.core.x.width: the grid has no"));
    assert!(said("\npolicy.eas.x = 1").starts_with("grid.toml:5:8: policy.eas.x: the grid does not run eas"));
    assert!(said("conditions.nois = true").starts_with("grid.toml:4:12: conditions.nois = true: there is no such"));
    assert!(said("conditions.delay = 5").starts_with("grid.toml:4:20: conditions.delay = 5: expected a duration"));
    // A value that a parser repeats is said once.
    let list = said("workload.program = 5");
    assert_eq!(list, "grid.toml:4:20: workload: radix with program = 5: expected a list in brackets");
    let name = said("machine.name = 5");
    assert_eq!(name, "grid.toml:4:16: machine: 2B2S with name = 5: expected text in quotes");
    let noise = said("conditions.noise = 1");
    assert_eq!(noise, "grid.toml:4:20: conditions.noise = 1: expected true or false");
    // Which of several values it is.
    let second = said("machine.costs.tick_us = [1000, 0]\nmachine.costs.migrate_across_clusters_us = [0, 60]");
    assert!(second.starts_with("grid.toml:4:32: machine: 2B2S with"), "{second}");
    assert!(said("conditions.noise = [true,\n 1]").starts_with("grid.toml:5:2: conditions.noise = 1: "));
    assert!(said("machine.costs.tick_us = [1000, inf]").starts_with("grid.toml:4:32: machine.costs.tick_us = inf: "));
    let unknown = Grid::parse(
        "machines = [\n\"2B2S\",\n\"2B2T\"]\nworkloads = [\"radix\"]\npolicies = [\"cfs\"]",
        "g",
        None,
        &(),
    );
    assert!(unknown.unwrap_err().to_string().starts_with("g:3:1: machine"));
    let of_table = Grid::of_table(&"machines = []\nworkloads = []\npolicies = []".parse().unwrap(), "grid", None, &());
    assert_eq!(of_table.unwrap_err().to_string(), "grid: workloads is empty: expected at least one");
}
