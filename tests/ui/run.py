"""The dashboard in headless Chromium: `make test-ui`. Needs Debian's chromium, chromium-driver and
python3-selenium. Pictures of all pages are left in the folder that the second argument names.

usage: run.py KGYM PICTURES [TEST...]
"""

import http.server
import json
import os
import sys
import threading
import unittest
import urllib.error
import urllib.request

from selenium import webdriver
from selenium.common.exceptions import JavascriptException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service as Driver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from service import EVIL, Service

PROGRAM, PICTURES = "", ""
UPDATE_S = 2  # issue of the service: an update shows within this time
MODES, WIDTHS = ("light", "dark"), (390, 1400)
GROUND = {"light": "rgb(246, 246, 243)", "dark": "rgb(19, 20, 23)"}


def start_browser():
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--hide-scrollbars", "--disable-background-networking"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.binary_location = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    driver = os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver")
    return webdriver.Chrome(service=Driver(driver), options=options)


class Browser(unittest.TestCase):
    """What tests of any page need: self.browser is the subclass's."""

    def setUp(self):
        self.look("light", 1400)
        self.browser.get("about:blank")
        self.browser.get_log("browser")
        self.browser.get_log("performance")

    def look(self, mode, width, height=900):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": mode}]})
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def until(self, true, seconds=30, message=""):
        wait = WebDriverWait(self.browser, seconds, 0.05, (StaleElementReferenceException,
                                                           JavascriptException))
        return wait.until(lambda _: true(), message)

    def check_quiet(self, where, root):
        """No error on the console (a broken policy is one), and no request to anybody else."""
        errors = [e["message"] for e in self.browser.get_log("browser") if e["level"] != "INFO"]
        self.assertEqual(errors, [], where)
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                self.assertTrue(url.startswith((root + "/", "about:", "data:", "chrome:")), url)


class Pages(Browser):
    @classmethod
    def setUpClass(cls):
        cls.service = Service(PROGRAM)
        cls.addClassCleanup(cls.service.close)
        cls.ids = cls.service.fill()
        cls.browser = start_browser()
        cls.addClassCleanup(cls.browser.quit)
        ids = cls.ids
        cls.pages = {
            "overview": "/", "evaluations": "/evaluations", "hacks": "/evaluations?verdict=hack",
            "ok": f"/evaluations/{ids[0]}", "wrong": f"/evaluations/{ids[2]}",
            "crash": f"/evaluations/{ids[5]}", "compile_error": f"/evaluations/{ids[6]}",
            "no_code": f"/evaluations/{ids[7]}", "compare": f"/compare?a={ids[0]}&b={ids[1]}",
            "problems": "/problems", "problem": "/problems/softmax", "trajectories": "/trajectories"}

    def text(self):
        return self.browser.find_element(By.ID, "page").text

    def drawn(self):
        return self.browser.find_elements(By.CSS_SELECTOR, "main h1")

    def open(self, path, root=None):
        self.browser.get("about:blank")
        self.browser.get((root or self.service.root) + "/ui/#" + path)
        self.until(self.drawn, message=path)

    def live(self):
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, "#live.on"))

    def press(self, *keys):
        self.browser.switch_to.active_element.send_keys(*keys)

    def active(self, expression):
        return self.browser.execute_script(f"const e = document.activeElement; return {expression}")

    def check_quiet(self, where, root=None):
        super().check_quiet(where, root or self.service.root)

    def test_each_page_in_each_look(self):
        for mode in MODES:
            for width in WIDTHS:
                for name, path in self.pages.items():
                    with self.subTest(page=name, mode=mode, width=width):
                        self.look(mode, width)
                        self.open(path)
                        self.live()
                        wide, high = self.browser.execute_script(
                            "const e = document.documentElement; return [e.scrollWidth, e.scrollHeight]")
                        self.assertLessEqual(wide, width, "the page is wider than the window")
                        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, ".note[role=alert]"), [])
                        ground = self.browser.execute_script("return getComputedStyle(document.body).backgroundColor")
                        self.assertEqual(ground, GROUND[mode])
                        self.look(mode, width, min(high, 4000))
                        self.browser.save_screenshot(f"{PICTURES}/{name}-{mode}-{width}.png")
                        self.check_quiet(f"{name} {mode} {width}")

    def test_pages_show_what_is_there(self):
        for name, words in {
                "overview": ["hack · replay", "hack · async", "no_code", "Funnel", "waiting"],
                "hacks": ["hack · replay", "hack · async"],
                "ok": ["1.82×", "softmax_rows", "not needed", "dr-kernel", "expf(in[c] - most)", "Verdict: ok"],
                "wrong": ["precision", "mismatch"],
                "compile_error": ["expected ';'"],
                "no_code": ["No code was found"],
                "compare": ["fast_expf", "1.82×", "2.41×"],
                "problems": ["softmax", "2.41×"],
                "problem": ["fast_expf"],
                "trajectories": ["None yet"]}.items():
            self.open(self.pages[name])
            for word in words:
                self.assertIn(word, self.text(), name)
        self.open(self.pages["hacks"])
        self.assertNotIn("no_code", self.browser.find_element(By.TAG_NAME, "table").text)
        self.open("/evaluations/" + "0" * 26)
        self.assertIn("no such thing", self.text())

    def test_what_a_model_wrote_is_text(self):
        for name in ("crash", "compile_error"):
            self.open(self.pages[name])
            self.assertIn(EVIL, self.text())
            self.assertNotEqual(self.browser.title, "owned")
            self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "main img, main script"), [])
        self.open(f"/compare?a={self.ids[5]}&b={self.ids[6]}")
        self.assertIn(EVIL, self.text())
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "main img, main script"), [])
        self.check_quiet("hostile text")

    def test_an_update_shows_in_time(self):
        self.open("/evaluations?state=waiting")
        self.live()
        job = self.service.submit("silu", priority="high")
        row = f"[data-key=job-{job}]"
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, row), UPDATE_S, "a new job in the list")
        self.open("/")
        self.live()
        before = self.browser.find_elements(By.CSS_SELECTOR, ".tile b")[2].text
        self.assertEqual(self.service.judge(self.service.answers[0]), job)
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, ".tile b")[2].text != before, UPDATE_S,
                   "one more was judged")
        other = self.service.submit("silu", priority="high")
        self.open(f"/evaluations/{other}")
        self.live()
        self.assertIn("waiting", self.text())
        self.service.judge(self.service.answers[1])
        self.until(lambda: "2.41×" in self.text(), UPDATE_S, "the record of the job that is open")

    def test_a_link_can_be_opened_anew(self):
        for name, path in self.pages.items():
            self.open(path)
            head = self.drawn()[0].text
            self.browser.refresh()
            self.until(self.drawn)
            self.assertEqual(self.drawn()[0].text, head, name)

    def test_by_keyboard(self):
        for name, path in self.pages.items():
            with self.subTest(page=name):
                self.open(path)
                self.browser.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
                seen = set()
                for _ in range(25):
                    self.press(Keys.TAB)
                    if self.active("e === document.body"):
                        break
                    self.assertTrue(self.active("getComputedStyle(e).outlineStyle !== 'none'"),
                                    self.active("e.outerHTML.slice(0, 200)"))
                    seen.add(self.active("e.outerHTML.slice(0, 80)"))
                self.assertGreater(len(seen), 6)
        self.open("/")
        self.press(Keys.TAB)
        self.assertEqual(self.active("e.className"), "skip")
        self.press(Keys.ENTER)
        self.assertEqual(self.active("e.id"), "page")
        self.browser.find_element(By.CSS_SELECTOR, "nav a[href='#/evaluations']").send_keys(Keys.ENTER)
        self.until(lambda: self.browser.find_elements(By.NAME, "verdict"))
        self.browser.find_element(By.NAME, "verdict").send_keys("hack")
        self.until(lambda: "verdict=hack" in self.browser.current_url)
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, "[data-key^=pick-]"))
        for box in self.browser.find_elements(By.CSS_SELECTOR, "[data-key^=pick-]")[:2]:
            box.send_keys(Keys.SPACE)
        self.browser.find_element(By.CSS_SELECTOR, "[data-key=compare]").send_keys(Keys.ENTER)
        self.until(lambda: "Both" in self.text())

    def test_focus_stays_when_a_page_is_drawn_anew(self):
        self.open("/evaluations")
        self.live()
        field = self.browser.find_element(By.NAME, "problem")
        field.send_keys("soft")
        job = self.service.submit("silu", priority="high")
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, f"[data-key=job-{job}]"))
        self.assertEqual(self.active("e.name + e.value"), "problemsoft")
        self.service.judge(self.service.answers[0])

    def test_times_are_rounded_once(self):
        self.open("/")
        times = {59.94: "59.9 s", 59.97: "1 min 0 s", 119.7: "2 min 0 s", 119.2: "1 min 59 s", 3599.4: "59 min 59 s",
                 3599.7: "1 h 0 min", 7185: "2 h 0 min", 7140: "1 h 59 min", 172790: "2 days"}
        shown = self.browser.execute_async_script(
            "const [at, times, done] = arguments;"
            "import(at).then((m) => done(times.map((t) => m.span(t))), (e) => done(String(e)))",
            self.service.root + "/ui/dom.js", list(times))
        self.assertEqual(shown, list(times.values()))

    def test_a_trajectory_turn_by_turn(self):
        turns = [{"turn": i + 1, "state": "judged", "evaluation": self.ids[i], "verdict": verdict,
                  "reason": "", "rewards": {"dr-kernel": reward}, "feedback": EVIL if i == 0 else None,
                  "reply": f"{EVIL}\n```c\n{self.service.answers[i]['candidate']['code']}```\n"
                           "Its use:\n```c\nsoftmax(a_call_of_it);\n```\n"}
                 for i, (verdict, reward) in enumerate((("wrong", 0.0), ("ok", 1.25)))]
        one = {"id": "0" * 26, "problem": {"name": "softmax"}, "group": "g", "state": "ended",
               "end": "done", "best": 2, "turns": turns}
        row = {**one, "problem": "softmax", "turns": 2, "max_turns": 3, "created": 1.7e9}
        gate = Gate(self.service.root, {"/v1/trajectories": {"trajectories": [row]},
                                        "/v1/trajectories/" + one["id"]: one})
        self.addCleanup(gate.close)
        self.open_locked(gate)
        self.browser.find_element(By.ID, "token").send_keys(Gate.TOKEN, Keys.ENTER)
        self.until(self.drawn)
        for mode in MODES:
            for width in WIDTHS:
                self.look(mode, width)
                self.browser.get(gate.root + "/ui/#/trajectories")
                self.until(lambda: "softmax" in self.text())
                self.browser.find_element(By.CSS_SELECTOR, "td a").send_keys(Keys.ENTER)
                self.until(lambda: "Turn 2" in self.text())
                for word in ("fast_expf", "best turn", "dr-kernel 1.250", EVIL):
                    self.assertIn(word, self.text())
                self.assertNotIn("a_call_of_it", self.text(), "the code is what was judged")
                self.assertNotIn("rom the repl", self.text())
                self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "main img, main script"), [])
                self.assertEqual(len(self.browser.find_elements(By.CSS_SELECTOR, ".diff .add")), 3)
                self.assertLessEqual(self.browser.execute_script("return document.documentElement.scrollWidth"), width)
                self.browser.save_screenshot(f"{PICTURES}/trajectory-{mode}-{width}.png")
        for turn in turns:
            del turn["evaluation"]
        self.browser.refresh()
        self.until(lambda: "from the replies" in self.text())
        self.assertIn("From the reply", self.text())
        self.assertIn("a_call_of_it", self.text())

    def test_a_token_is_asked_for_once(self):
        gate = Gate(self.service.root)
        self.addCleanup(gate.close)
        self.open_locked(gate)
        field = self.browser.find_element(By.ID, "token")
        field.send_keys("wrong", Keys.ENTER)
        self.until(lambda: self.browser.find_elements(By.ID, "token") and
                   self.browser.find_element(By.ID, "token").get_attribute("value") == "")
        self.assertIn("does not open", self.browser.find_element(By.TAG_NAME, "dialog").text)
        self.browser.find_element(By.ID, "token").send_keys(Gate.TOKEN, Keys.ENTER)
        self.until(self.drawn)
        self.live()
        self.browser.refresh()
        self.until(self.drawn)
        self.assertEqual(self.browser.find_elements(By.ID, "token"), [])
        self.assertTrue(gate.streams, "events came with the token")
        self.assertFalse(any(Gate.TOKEN in path for path in gate.paths), "the token is in no address")

    def open_locked(self, gate):
        self.browser.get(gate.root + "/ui/")
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, "dialog[open] #token"))
        self.assertEqual(len(self.browser.find_elements(By.TAG_NAME, "dialog")), 1)


class Gate:
    """Passes requests on to a service, those of /v1 only with a token: as a service with tokens does.
    own: answers of its own, by path."""

    TOKEN = "a-token-of-this-test"

    def __init__(self, service, own=None):
        gate = self
        own = own or {}
        self.paths, self.streams, self.closed = [], [], threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                gate.paths.append(self.path)
                known = self.headers.get("Authorization") == "Bearer " + gate.TOKEN
                if self.path.startswith("/v1/") and not known:
                    self.answer(401, "application/json", b'{"code": "no_token", "message": "", "field": ""}')
                    return
                stream = "event-stream" in self.headers.get("Accept", "")
                if stream:
                    gate.streams.append(self.path)
                    self.send_response(200)
                    self.send_header("Content-Type", "text/event-stream")
                    self.end_headers()
                    self.wfile.write(b": kgym\n\n")
                    self.wfile.flush()
                    gate.closed.wait()
                    return
                if self.path.split("?")[0] in own:
                    self.answer(200, "application/json", json.dumps(own[self.path.split("?")[0]]).encode())
                    return
                request = urllib.request.Request(service + self.path, headers={"Accept": self.headers["Accept"]})
                try:
                    with urllib.request.urlopen(request, timeout=30) as a:
                        self.answer(a.status, a.headers["Content-Type"], a.read())
                except urllib.error.HTTPError as e:
                    self.answer(e.code, "application/json", e.read())

            def answer(self, status, kind, body):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.closed.set()
        self.server.shutdown()
        self.server.server_close()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    PROGRAM, PICTURES = sys.argv[1:3]
    os.makedirs(PICTURES, exist_ok=True)
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[3:]])
