//! A browser with one page open, as readers have it: `#[test(chromium)]`.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod fits;
mod input;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use headless_chrome::protocol::cdp::types::Event;
use headless_chrome::protocol::cdp::{Browser, Emulation, Log, Page as Pages};
use headless_chrome::{Browser as Chromium, LaunchOptions, Tab};
use serde_json::Value;
use tempfile::TempDir;

pub use fits::fits;
/// What eyes may lack.
pub use headless_chrome::protocol::cdp::Emulation::SetEmulatedVisionDeficiencyTypeOption as Deficiency;

/// Once opened, a page may take so long for anything: a busy machine is no failure.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a reader looks at a page.
#[derive(Clone, Copy)]
pub struct Look {
    /// The width of the window; a phone's has 360.
    pub width: u32,
    /// Its height.
    pub height: u32,
    /// Whether the reader prefers dark pages.
    pub dark: bool,
}

/// On a desk.
pub const DESK: Look = Look { width: 1200, height: 900, dark: false };
/// A phone at night.
pub const PHONE: Look = Look { width: 360, height: 740, dark: true };

/// An open page.
pub struct Page {
    tab: Arc<Tab>,
    /// Ends with the page.
    _browser: Chromium,
    folder: TempDir,
    complaints: Arc<Mutex<Vec<String>>>,
}

impl Page {
    /// Opens a page and waits until all timelines that are not folded away are there.
    pub fn open(html: &str, look: Look) -> Self {
        Self::open_after("", html, look)
    }

    /// The same, but a script runs before those of the page.
    pub fn open_after(script: &str, html: &str, look: Look) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.html");
        fs::write(&file, html).unwrap();
        // Nothing but the page: without these, a browser asks for news of its own.
        let quiet = ["--disable-component-update", "--disable-quic", "--hide-scrollbars"];
        let options = LaunchOptions::default_builder()
            .path(Some(PathBuf::from("chromium")))
            // Tests may run as root, which a sandbox refuses. The page is ours.
            .sandbox(false)
            .window_size(Some((look.width, look.height)))
            .args(quiet.iter().map(OsStr::new).collect())
            .idle_browser_timeout(PATIENCE)
            // It leaves a socket there.
            .process_envs(Some([("TMPDIR".to_owned(), folder.path().display().to_string())].into()))
            .build()
            .unwrap();
        let browser = Chromium::new(options).unwrap();
        let tab = browser.new_tab().unwrap();
        tab.set_default_timeout(PATIENCE);
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&complaints);
        let listener = move |event: &Event| {
            let text = match event {
                Event::RuntimeExceptionThrown(thrown) => format!("{:?}", thrown.params.exception_details),
                Event::LogEntryAdded(entry) if entry.params.entry.level == Log::LogEntryLevel::Error => {
                    format!("{:?}", entry.params.entry)
                }
                _ => return,
            };
            heard.lock().unwrap().push(text);
        };
        tab.add_event_listener(Arc::new(listener)).unwrap();
        tab.enable_runtime().unwrap();
        tab.enable_log().unwrap();
        let page = Self { tab, _browser: browser, folder, complaints };
        page.look(look);
        page.call(Pages::AddScriptToEvaluateOnNewDocument {
            source: script.into(),
            world_name: None,
            include_command_line_api: None,
            run_immediately: None,
        });
        let downloads = page.folder.path().display().to_string();
        page.call(Browser::SetDownloadBehavior {
            behavior: Browser::SetDownloadBehaviorBehaviorOption::Allow,
            browser_context_id: None,
            download_path: Some(downloads),
            events_enabled: None,
        });
        page.tab.navigate_to(&format!("file://{}", file.display())).unwrap().wait_until_navigated().unwrap();
        page.until("[...document.querySelectorAll('figure.timeline')].every(f => 'drawn' in f.dataset || f.closest('details:not([open])'))");
        page
    }

    /// Another window, and another taste.
    pub fn look(&self, look: Look) {
        self.look_at(look, 1.0);
    }

    /// The same, on a screen that has so many pixels for each of the page's, in either direction.
    pub fn look_at(&self, Look { width, height, dark }: Look, pixels: f64) {
        self.call(Emulation::SetDeviceMetricsOverride {
            width,
            height,
            device_scale_factor: pixels,
            mobile: width < 500,
            scale: None,
            screen_width: None,
            screen_height: None,
            position_x: None,
            position_y: None,
            dont_set_visible_size: None,
            screen_orientation: None,
            viewport: None,
            display_feature: None,
            device_posture: None,
        });
        let touched = Emulation::SetTouchEmulationEnabled { enabled: width < 500, max_touch_points: Some(5) };
        self.call(touched);
        let value = if dark { "dark" } else { "light" };
        let feature = Emulation::MediaFeature { name: "prefers-color-scheme".into(), value: value.into() };
        self.call(Emulation::SetEmulatedMedia { media: None, features: Some(vec![feature]) });
    }

    /// The page as it is printed by a reader who prefers dark ones, from now on.
    pub fn printed_at_night(&self) {
        let dark = Emulation::MediaFeature { name: "prefers-color-scheme".into(), value: "dark".into() };
        self.call(Emulation::SetEmulatedMedia { media: Some("print".into()), features: Some(vec![dark]) });
    }

    /// The page as colour-blind people see it, from now on.
    pub fn seen_with(&self, deficiency: Deficiency) {
        self.call(Emulation::SetEmulatedVisionDeficiency { Type: deficiency });
    }

    fn call<C>(&self, method: C) -> C::ReturnObject
    where
        C: headless_chrome::protocol::cdp::types::Method + serde::Serialize + std::fmt::Debug,
    {
        self.tab.call_method(method).unwrap()
    }

    /// What an expression of the page's language gives, perhaps later.
    pub fn ask(&self, expression: &str) -> Value {
        self.tab
            .evaluate(&format!("Promise.resolve({expression}).then(given => JSON.stringify(given))"), true)
            .unwrap()
            .value
            .map_or(Value::Null, |text| text.as_str().map_or(Value::Null, |text| serde_json::from_str(text).unwrap()))
    }

    /// The same, as a number.
    pub fn number(&self, expression: &str) -> f64 {
        let value = self.ask(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    /// The same, as a text.
    pub fn text(&self, expression: &str) -> String {
        let value = self.ask(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is {value}")).to_owned()
    }

    /// Waits until an expression holds.
    pub fn until(&self, expression: &str) {
        for _ in 0..PATIENCE.as_millis() / 20 {
            if self.ask(&format!("Boolean({expression})")) == Value::Bool(true) {
                return;
            }
            sleep(Duration::from_millis(20));
        }
        panic!("never: {expression}; the page said: {:?}", self.complaints.lock().unwrap());
    }

    /// Waits until what was asked for is drawn.
    pub fn drawn(&self) {
        self.tab
            .evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))", true)
            .unwrap();
    }

    /// Where something is: left, top, width, height.
    pub fn place(&self, selector: &str) -> [f64; 4] {
        let place = self.ask(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{block: 'center'}}); \
             const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; }})()"
        ));
        serde_json::from_value(place).unwrap()
    }

    /// A file that the page has saved.
    pub fn saved(&self, name: &str) -> Vec<u8> {
        let path = self.folder.path().join(name);
        for _ in 0..PATIENCE.as_millis() / 20 {
            // While it is written it has another name.
            if let Ok(bytes) = fs::read(&path) {
                return bytes;
            }
            sleep(Duration::from_millis(20));
        }
        let there: Vec<PathBuf> =
            fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        panic!("{name} is not saved; there are {there:?}");
    }

    /// A picture of all of the page, kept where `EVENKEEL_SCREENSHOTS` says, for people to look at.
    pub fn picture(&self, name: &str, look: Look) {
        self.picture_at(name, look, 1.0);
    }

    /// The same, on a screen as [`Self::look_at`] has it.
    pub fn picture_at(&self, name: &str, look: Look, pixels: f64) {
        let Some(folder) = std::env::var_os("EVENKEEL_SCREENSHOTS") else { return };
        let height = self.number("document.documentElement.scrollHeight") as u32;
        self.look_at(Look { height, ..look }, pixels);
        self.drawn();
        let png = self.tab.capture_screenshot(Pages::CaptureScreenshotFormatOption::Png, None, None, true).unwrap();
        fs::create_dir_all(&folder).unwrap();
        fs::write(Path::new(&folder).join(format!("{name}.png")), png).unwrap();
    }

    /// Nothing went wrong, and nothing came from elsewhere.
    pub fn is_content(&self) {
        let complaints = self.complaints.lock().unwrap();
        assert!(complaints.is_empty(), "{complaints:?}");
        let fetched = "performance.getEntriesByType('resource').map(e => e.name).filter(n => !/^(data|blob):/.test(n))";
        assert_eq!(self.ask(fetched), serde_json::json!([]), "nothing is fetched");
    }
}
