//! Keys and what is drawn, without a terminal and without a host.

use evenkeel_linux::monitor::{Change, CoreNow, Label, Reply, Request, Snapshot, State, ThreadNow};
use evenkeel_model::Ns;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;

fn thread(tid: u32, big: u64, little: u64, delay: u64, blame: u64) -> ThreadNow {
    ThreadNow {
        tid,
        process: 7,
        state: State::Running,
        cpu: (tid % 2) as u16,
        run: vec![Ns::from_ms(big), Ns::from_ms(little)],
        delay: Ns::from_ms(delay),
        blame: Some(Ns::from_ms(blame)),
        ..ThreadNow::default()
    }
}

fn snapshot(seconds: u64, threads: Vec<ThreadNow>) -> Snapshot {
    Snapshot {
        host: "run".into(),
        pid: 5,
        policy: "colab".into(),
        elapsed: Ns::from_secs(seconds),
        cost: Ns::from_ms(seconds * 10),
        core_types: vec!["big".into(), "little".into()],
        cores: vec![CoreNow { cpu: 0, core_type: 0, thread: Some(8) }, CoreNow { cpu: 1, core_type: 1, thread: None }],
        threads,
        missing: vec!["No hardware counters.".into()],
    }
}

/// A tree in which the threads have names and the cores frequencies; CPU 0 has been busy for 46 of the last 100 ticks.
fn facts() -> (tempfile::TempDir, Facts) {
    let tree = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = tree.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for (tid, name) in [(8, "leader"), (9, "worker"), (10, "Worker-2")] {
        write(&format!("proc/7/task/{tid}/comm"), name);
    }
    for (cpu, khz) in [(0, "1800000\n"), (1, "600000\n")] {
        write(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"), khz);
    }
    let mut facts = Facts::new(tree.path());
    write("proc/stat", "cpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n");
    facts.busy();
    write("proc/stat", "cpu0 46 0 0 54 0 0 0 0\ncpu1 0 0 0 100 0 0 0 0\n");
    (tree, facts)
}

/// A second in which thread 8 ran all the time, half of it on the big core, 9 waited for a core and 10 for it. You have pinned 8.
fn app() -> App {
    let (_tree, mut facts) = facts();
    let before = snapshot(1, vec![thread(8, 100, 0, 0, 0), thread(9, 900, 0, 0, 0), thread(10, 0, 0, 0, 0)]);
    let leader =
        ThreadNow { label: Label::Critical, speedup: Some(2.1), pinned: vec![0, 1], ..thread(8, 600, 500, 0, 250) };
    let threads = vec![leader, thread(9, 900, 100, 900, 0), thread(10, 0, 0, 0, 0)];
    let policies = ["cfs", "colab", "pfs"].map(String::from).to_vec();
    let mut app = App::new(Ns::from_secs(1), Sort::Run, String::new(), policies);
    app.show(View::new(Some(&before), &snapshot(2, threads), &mut facts));
    app
}

fn press(app: &mut App, keys: &[KeyCode]) -> Option<Act> {
    keys.iter().map(|key| app.key(KeyEvent::new(*key, KeyModifiers::NONE))).last().flatten()
}

fn typed(app: &mut App, text: &str) -> Option<Act> {
    press(app, &text.chars().map(KeyCode::Char).collect::<Vec<_>>())
}

fn order(app: &App) -> Vec<u32> {
    app.rows().iter().map(|row| row.tid).collect()
}

fn drawn(app: &mut App, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(app, frame)).unwrap();
    let screen = terminal.backend().to_string();
    let lines = screen.lines().map(|line| line.trim_matches('"').trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn shares_are_of_the_time_since_the_last_snapshot() {
    let view = app().view;
    let row = |tid: u32| view.threads.iter().find(|row| row.tid == tid).unwrap();
    assert_eq!((row(8).run, row(8).big, row(8).blame), (1.0, Some(0.5), Some(0.25)));
    assert_eq!((row(9).run, row(9).big, row(9).ready), (0.1, Some(0.0), 0.9));
    assert_eq!((row(10).run, row(10).big), (0.0, None), "it did not run");
    assert_eq!(view.cost, 0.01);
    let (_tree, mut facts) = facts();
    let first = View::new(None, &snapshot(2, vec![thread(8, 600, 500, 0, 250)]), &mut facts);
    assert_eq!((first.threads[0].run, first.threads[0].name.as_str()), (0.55, "leader"), "of its whole life");
}

#[test]
fn threads_are_sorted_and_filtered() {
    let mut app = app();
    assert_eq!(order(&app), [8, 9, 10], "those that ran most first");
    typed(&mut app, "r");
    assert_eq!(order(&app), [10, 9, 8]);
    typed(&mut app, "r>>");
    assert_eq!((app.sort, order(&app)), (Sort::Ready, vec![9, 8, 10]));
    typed(&mut app, "<<<<<");
    assert_eq!((app.sort, order(&app)), (Sort::Tid, vec![8, 9, 10]));
    typed(&mut app, "/WORK");
    assert_eq!(order(&app), [9, 10], "letters of any case");
    press(&mut app, &[KeyCode::Backspace, KeyCode::Enter]);
    assert_eq!((app.filter.as_str(), order(&app)), ("WOR", vec![9, 10]), "it stays");
    let one_too_many = press(&mut app, &[KeyCode::Char('/'), KeyCode::Esc, KeyCode::Esc]);
    assert_eq!((one_too_many, order(&app)), (None, vec![8, 9, 10]));
    typed(&mut app, "/10");
    assert_eq!(order(&app), [10], "by its number");
}

#[test]
fn threads_are_sorted_by_what_is_no_number() {
    let mut app = app();
    app.view.threads[1].service = true;
    app.view.threads[2].label = Label::Little;
    let mut by = |sort: Sort| {
        app.sort = sort;
        order(&app)
    };
    assert_eq!(by(Sort::On), [8, 10, 9], "CPUs 0, 0 and 1");
    assert_eq!(by(Sort::Label), [8, 10, 9], "critical, little and a service");
    app.view.threads[0].label = Label::Any;
    assert_eq!(order(&app), [10, 9, 8], "little, a service, and none");
    app.view.threads[2].pinned = vec![0];
    app.sort = Sort::Pinned;
    assert_eq!(order(&app), [10, 8, 9], "CPU 0, CPUs 0 and 1, and none");
}

#[test]
fn a_thread_is_pinned_and_refusals_are_shown() {
    let mut app = app();
    assert_eq!(typed(&mut app, "p"), None);
    assert!(app.said.as_ref().unwrap().refused, "none is selected");
    press(&mut app, &[KeyCode::Down, KeyCode::Down]);
    typed(&mut app, "p1,x");
    assert_eq!(press(&mut app, &[KeyCode::Enter]), None, "that is no list of CPUs");
    assert!(drawn(&mut app, 100, 20).contains("\"x\" is no CPU"), "{}", drawn(&mut app, 100, 20));
    let change = Change::Pin { tid: 9, cpus: vec![1] };
    let asked = press(&mut app, &[KeyCode::Backspace, KeyCode::Enter]);
    assert_eq!(asked, Some(Act::Ask(Request::Change(change.clone()))));
    app.hear(&Reply::Done(change));
    assert_eq!(typed(&mut app, "p"), None);
    assert!(drawn(&mut app, 100, 20).contains("to CPUs: 1_"), "what is pinned already can be changed");
    press(&mut app, &[KeyCode::Esc]);
    app.hear(&Reply::Done(Change::Pin { tid: 9, cpus: vec![1] }));
    assert!(drawn(&mut app, 100, 20).ends_with("thread 9 is pinned to CPU 1"));
    app.hear(&Reply::Refused("it has ended".into()));
    assert!(drawn(&mut app, 100, 20).ends_with("it has ended"));
    app.ended = true;
    press(&mut app, &[KeyCode::Char('p')]);
    assert_eq!(press(&mut app, &[KeyCode::Enter]), None, "there is nothing that could do it");
}

#[test]
fn a_policy_is_chosen_from_the_list() {
    let mut app = app();
    typed(&mut app, "P");
    let screen = drawn(&mut app, 80, 20);
    assert!(["cfs", "colab", "pfs"].iter().all(|name| screen.contains(name)), "{screen}");
    let asked = press(&mut app, &[KeyCode::Down, KeyCode::Down, KeyCode::Enter]);
    assert_eq!(asked, Some(Act::Ask(Request::Change(Change::Policy("pfs".into())))), "the one after the present one");
    typed(&mut app, "P");
    assert_eq!(press(&mut app, &[KeyCode::Home, KeyCode::Esc]), None);
    assert_eq!(typed(&mut app, "q"), Some(Act::Quit));
}

#[test]
fn a_pause_holds_what_is_shown() {
    let mut app = app();
    typed(&mut app, " ");
    app.show(View::default());
    assert_eq!(order(&app), [8, 9, 10]);
    assert!(drawn(&mut app, 100, 20).contains("paused"));
    typed(&mut app, " ");
    app.show(View::default());
    assert!(order(&app).is_empty());
}

#[test]
fn periods_stay_within_what_the_host_takes() {
    let mut app = app();
    assert_eq!(typed(&mut app, "++"), Some(Act::Ask(Request::Every(Ns::from_ms(250)))));
    assert_eq!(typed(&mut app, "++++"), Some(Act::Ask(Request::Every(Ns::from_ms(100)))));
    assert_eq!(typed(&mut app, &"-".repeat(20)), Some(Act::Ask(Request::Every(Ns::from_secs(60)))));
}

#[test]
fn the_screen_has_cores_and_threads() {
    let mut app = app();
    press(&mut app, &[KeyCode::Down]);
    let screen = drawn(&mut app, 100, 12);
    let expected = "\
evenkeel run 5  policy colab  2 s  3 threads  itself 1.0 % of a CPU
No hardware counters.
   0 big     1.80 GHz #####----- 46 leader 8         1 little  0.60 GHz ----------  0
     tid name                               on    run    big  ready  blame speedup label    pinned
       8 leader                             0+  100 %   50 %    0 %   25 %    2.10 critical 0-1
       9 worker                             1+   10 %    0 %   90 %    0 %
      10 Worker-2                           0+    0 %           0 %    0 %



";
    assert_eq!(screen.lines().take(10).collect::<Vec<_>>(), expected.lines().collect::<Vec<_>>(), "\n{screen}");
}

#[test]
fn a_narrow_screen_has_whole_columns() {
    let mut app = app();
    let columns = |app: &mut App, width: u16| {
        let screen = drawn(app, width, 12);
        screen.lines().find(|line| line.contains("name")).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(columns(&mut app, 84), "tid name on run big ready blame speedup label pinned");
    assert_eq!(columns(&mut app, 80), "tid name on run big ready blame speedup label");
    assert_eq!(columns(&mut app, 70), "tid name on run big ready blame label");
    assert_eq!(columns(&mut app, 46), "tid name on run big");
    // What is sorted by stays.
    typed(&mut app, ">>>>");
    assert_eq!(columns(&mut app, 46), "tid name on run speedup");
    let screen = drawn(&mut app, 60, 12);
    assert!(screen.contains(" 100 %"), "{screen}");
}

/// Whatever a window's size is, keys do not end it.
#[test]
fn any_size_will_do() {
    for (width, height) in [(1, 1), (3, 2), (20, 5), (46, 9), (300, 100)] {
        let mut app = app();
        app.view.cores = vec![app.view.cores[0].clone(); 200];
        for keys in ["", "?", "x", "P", "j", "p"] {
            typed(&mut app, keys);
            drawn(&mut app, width, height);
            press(&mut app, &[KeyCode::PageDown, KeyCode::End, KeyCode::Home]);
        }
    }
}

#[test]
fn what_counts_from_zero_again_has_its_shares() {
    let (_tree, mut facts) = facts();
    let (before, now) = (snapshot(1, vec![thread(8, 900, 0, 100, 0)]), snapshot(2, vec![thread(8, 0, 400, 50, 0)]));
    let row = View::new(Some(&before), &now, &mut facts).threads.remove(0);
    assert_eq!((row.run, row.big, row.ready), (0.4, Some(0.0), 0.05));
}

#[test]
fn keys_with_control_are_not_those_of_their_letters() {
    let mut app = app();
    let control = |app: &mut App, letter| app.key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL));
    assert_eq!(control(&mut app, 'q'), None);
    assert_eq!(control(&mut app, 'z'), Some(Act::Stop));
    typed(&mut app, "/w");
    assert_eq!(control(&mut app, 'u'), None);
    assert_eq!(app.filter, "w", "the text being typed stays");
    assert_eq!(control(&mut app, 'c'), Some(Act::Quit));
}

#[test]
fn the_help_has_room_for_all_of_it() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut app = app();
        typed(&mut app, "?");
        let screen = drawn(&mut app, width, height);
        assert!(screen.contains("the CPUs that you have kept it to"), "the last line: {screen}");
    }
}

/// The help's lines on a screen that has room for nothing else: names, and what is said of them.
fn help() -> Vec<(String, String)> {
    let mut app = app();
    typed(&mut app, "?");
    let screen = drawn(&mut app, 80, 24);
    let lines = screen.lines().filter_map(|line| line.trim_matches(['│', ' ']).split_once("  "));
    lines.map(|(names, what)| (names.to_owned(), what.to_owned())).collect()
}

#[test]
fn the_help_names_each_column() {
    let help = help();
    for column in Sort::ALL.map(Sort::name).into_iter().chain(["core"]) {
        assert!(help.iter().any(|(names, what)| names == column && !what.is_empty()), "{column}: {help:?}");
    }
}

#[test]
fn the_help_names_each_key_that_does_something() {
    use KeyCode::{BackTab, Backspace, Delete, Down, End, Enter, Esc, F, Home, Insert, Left, PageDown, PageUp};
    use KeyCode::{Right, Tab, Up};

    let others =
        [BackTab, Backspace, Delete, Down, End, Enter, Esc, Home, Insert, Left, PageDown, PageUp, Right, Tab, Up];
    let codes = (' '..='~').map(KeyCode::Char).chain((1..=12).map(F)).chain(others);
    let plain = codes.map(|code| (code.to_string(), KeyEvent::new(code, KeyModifiers::NONE)));
    let control = ('a'..='z').map(|letter| {
        let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        (format!("Ctrl-{}", letter.to_ascii_uppercase()), key)
    });
    let help = help();
    let named = |name: &str| {
        let within = |what: &str| name.len() > 1 && what.contains(name);
        help.iter().any(|(names, what)| names.split(' ').any(|word| word == name) || within(what))
    };
    let mut checked = 0;
    for (name, key) in plain.chain(control) {
        let mut app = app();
        press(&mut app, &[Down, Down]);
        let before = format!("{app:?}");
        if app.key(key).is_some() || format!("{app:?}") != before {
            assert!(named(&name), "{name}: {help:?}");
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked}");
}
