"""The reports of trials in headless Chromium: part of `make test-ui`. Pictures are left in the folder
that the second argument names.

usage: reports.py KGYM PICTURES [TEST...]
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from selenium.webdriver.common.by import By

import run
from service import EVIL

PROGRAM, PICTURES = "", ""
NAMES = ["1_Softmax", "2_Gemm_ReLU", "3_" + EVIL]
STAGES = ["extract", "static", "compile", "tiny", "full", "timing", "profile"]


def record(name, key, turn, verdict, ratio):
    ok = verdict == "ok"
    ends = 99 if ok else 4
    status = ["pass" if i < ends else "fail" if i == ends else "skip" for i in range(7)]
    return {"schema": "kgym.record/1", "batch_id": key, "problem": {"name": name},
            "candidate": {"code": f"def kernel_{turn}(x):\n    return x * {turn}  # {EVIL}\n"},
            "verdict": verdict, "reason": None if ok else "value", "message": EVIL, "error": None,
            "stages": [{"name": n, "status": s, "ns": 1} for n, s in zip(STAGES, status)],
            "compiled": True, "correct": ok, "stage": "full",
            "speedup": {"ratio": ratio, "lo": ratio * .95, "hi": ratio * 1.05} if ok else None,
            "timing": {"status": "measured" if ok else "off", "candidate_ns": 5, "reference_ns": 9},
            "evidence": [{"check": "kernel", "name": EVIL, "share": 1, "calls": 1, "class": "own"}],
            "coverage": 1 if ok else None, "league": {"eligible": True},
            "environment": {"kgym": "0", "cpu": EVIL}}


def round_line(turn, key, verdict, ratio):
    ok = verdict == "ok"
    speed = {"speedup": ratio, "speedup_lo": ratio * .95, "speedup_hi": ratio * 1.05} if ok else {}
    return {"round": turn, "key": key, "context": list(range(1, turn)), "verdict": verdict,
            "reason": "" if ok else "value", "correct": ok, "new_best": ok, "message": EVIL,
            "tokens_in": 100 * turn, "tokens_out": 50, "again": speed or None, **speed}


def write(folder, kind):
    names = NAMES if kind == "bench" else NAMES[2:]
    samples, turns = (2, 3) if kind == "bench" else (1, 6)
    lines = {"replies": [], "records": [], "trajectories": [], "rounds": []}
    for p, name in enumerate(names):
        for s in range(1, samples + 1):
            for t in range(1, turns + 1):
                key, verdict = f"{name}/s{s}/t{t}", ["ok", "wrong"][(p + s + t) % 2]
                lines["replies"].append({"key": key, "text": EVIL, "reasoning": EVIL, "finish": "stop",
                                         "tokens_in": 100, "tokens_out": 50})
                lines["records"].append(record(name, key, t, verdict, .4 * (t + p + s)))
                lines["rounds"].append(round_line(t, key, verdict, .4 * (t + p + s)))
            lines["trajectories"].append({
                "schema": "kgym.trajectory/1", "id": f"{name}/s{s}", "prompt": EVIL, "end": "done",
                "turns": [{"turn": t, "feedback": EVIL} for t in range(1, turns + 1)]})
    for name, all_ in lines.items():
        with open(f"{folder}/{name}.jsonl", "w") as f:
            f.writelines(json.dumps(line) + "\n" for line in all_)
    problems = [{"name": n, "level": 1, "id": i + 1, "hash": ""} for i, n in enumerate(names)]
    with open(f"{folder}/run.json", "w") as f:
        json.dump({"schema": "kgym.run/1", "kind": kind, "samples": samples, "turns": turns, "seed": 1,
                   "suite": {"name": EVIL, "of": len(names), "subset": "", "problems": problems},
                   "policy": {"kind": "scripted", "model": EVIL}, "options": {"strategy": "top-w"}}, f)


class Reports(run.Browser):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        for kind in ("bench", "refine"):
            os.mkdir(f"{cls.folder.name}/{kind}")
            write(f"{cls.folder.name}/{kind}", kind)
            subprocess.run([PROGRAM, "report", f"{cls.folder.name}/{kind}"], check=True,
                           stdout=subprocess.DEVNULL)
        cls.root = f"file://{cls.folder.name}"
        cls.browser = run.start_browser()
        cls.addClassCleanup(cls.browser.quit)

    def open(self, kind, anchor=""):
        self.browser.get("about:blank")
        self.browser.get(f"{self.root}/{kind}/report.html{anchor}")

    def shown(self, element):
        return self.browser.find_element(By.ID, element).is_displayed()

    def test_each_look(self):
        for mode in run.MODES:
            for width in run.WIDTHS:
                for kind in ("bench", "refine"):
                    with self.subTest(kind=kind, mode=mode, width=width):
                        self.look(mode, width)
                        self.open(kind)
                        wide, high = self.browser.execute_script(
                            "const e = document.documentElement; return [e.scrollWidth, e.scrollHeight]")
                        self.assertLessEqual(wide, width, "the page is wider than the window")
                        self.look_at_tables(width)
                        ground = self.browser.execute_script(
                            "return getComputedStyle(document.body).backgroundColor")
                        self.assertEqual(ground, run.GROUND[mode])
                        self.look(mode, width, min(high, 4000))
                        self.browser.save_screenshot(f"{PICTURES}/report-{kind}-{mode}-{width}.png")
                        self.check_quiet(f"{kind} {mode} {width}", self.root)

    def look_at_tables(self, width):
        """The scores are not cut in a wide window; the best speed-ups are in sight in a narrow one."""
        cut = self.browser.execute_script(
            "return [...document.querySelectorAll('.levels')].filter(e => e.scrollWidth > e.clientWidth)"
            ".length")
        self.assertTrue(width < 1000 or cut == 0, "a table of scores is cut")
        right = self.browser.execute_script(
            "return [...document.querySelectorAll('#list th')].slice(0, 6).map("
            "e => e.getBoundingClientRect().right)")
        self.assertTrue(all(x <= width for x in right), "the best speed-ups are out of sight")

    def test_what_a_model_wrote_is_text(self):
        for kind in ("bench", "refine"):
            self.open(kind)
            self.assertIn(EVIL, self.browser.find_element(By.TAG_NAME, "main").text)
            self.assertNotEqual(self.browser.title, "owned")
            self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "main img, main script"), [])
            self.check_quiet(kind, self.root)

    def test_the_policy_holds(self):
        self.open("bench")
        self.browser.execute_script(
            "const s = document.createElement('script'); s.textContent = 'document.title = \"owned\"';"
            "document.body.append(s);"
            "const i = new Image(); i.src = 'http://127.0.0.1:9/x'; document.body.append(i)")
        self.assertNotEqual(self.browser.title, "owned")
        refused = " ".join(e["message"] for e in self.browser.get_log("browser"))
        self.assertIn("script-src", refused)
        self.assertIn("violates", refused)

    def test_the_list_is_searched(self):
        self.open("bench")
        rows = lambda: [r.text for r in self.browser.find_elements(By.CSS_SELECTOR, "#list tbody tr")
                        if r.is_displayed()]
        self.assertEqual(len(rows()), 3)
        box = self.browser.find_element(By.ID, "q")
        box.send_keys("gemm RELU")
        self.assertEqual(len(rows()), 1)
        self.assertIn("2_Gemm_ReLU", rows()[0])
        self.assertEqual(self.browser.find_element(By.ID, "shown").text, "1 of 3 problems")

    def test_a_link_opens_what_it_names(self):
        self.open("bench")
        self.assertFalse(self.shown("p1"))
        self.browser.find_element(By.CSS_SELECTOR, "#list a[href='#p1']").click()
        self.until(lambda: self.shown("p1"))
        self.open("bench", "#p0")
        self.until(lambda: self.shown("p0"))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    PROGRAM, PICTURES = sys.argv[1:3]
    os.makedirs(PICTURES, exist_ok=True)
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[3:]])
