"""clients/kgym.py against the stand-in service: retries, joins, refusals, and rewards that are never
made up. Run by tests/unit/test_clients.c."""

import os
import sys
import tempfile
import threading
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "clients")]
sys.dont_write_bytecode = True
import kgym  # noqa: E402
import stand_in  # noqa: E402


class Rig(unittest.TestCase):
    def setUp(self):
        self.service = stand_in.Service()
        self.server = stand_in.Server(self.service)
        self.gym = kgym.Gym(self.server.url, timeout_s=30)
        os.environ["KGYM_URL"] = self.server.url

    def tearDown(self):
        self.server.end()


class Evaluations(Rig):
    def test_a_record_comes_back(self):
        record = self.gym.evaluate("relu", reply="x", preset="quick", set={"laws": 1})
        self.assertEqual(record["verdict"], "ok")
        body = next(iter(self.service.keys.values()))[1]
        self.assertEqual(body["set"], {"laws": 1})
        self.assertNotIn("source", body)

    def test_waits_and_faults_end_in_one_job_each(self):
        for n, word in enumerate(["@slow", "@flaky", "@full", "@reset", "@lost"], 1):
            self.service.seen = {}
            self.assertEqual(self.gym.evaluate("relu", reply=word)["verdict"], "ok", word)
            self.assertEqual(len(self.service.jobs), n, word)

    def test_a_token_that_only_submits_waits_by_its_key(self):
        self.service.submit_only = True
        self.assertEqual(self.gym.evaluate("relu", reply="@slow")["verdict"], "ok")
        self.assertEqual(len(self.service.jobs), 1)
        with self.assertRaises(kgym.Refused):
            self.gym.get("J00000")

    def test_who_waits_for_a_silent_service_says_so(self):
        with mock.patch.object(kgym.Gym, "_told", [0.0]), mock.patch("sys.stderr") as stderr:
            with self.assertRaises(kgym.GymError):
                kgym.Gym("http://127.0.0.1:9", timeout_s=1.5).evaluate("relu", reply="x")
        said = "".join(call.args[0] for call in stderr.write.call_args_list)
        self.assertEqual(said.count("it is asked again, for up to 1.5 s"), 1)
        self.assertIn("http://127.0.0.1:9: ", said)

    def test_a_certificate_that_is_none_is_told_at_once(self):
        error = kgym.ssl.SSLCertVerificationError("certificate verify failed")
        with mock.patch("http.client.HTTPSConnection.request", side_effect=error):
            with self.assertRaises(kgym.GymError) as caught:
                kgym.Gym("https://127.0.0.1:9").evaluate("relu", reply="x")
        self.assertEqual(caught.exception.code, "certificate")

    def test_a_restart_is_waited_for(self):
        self.service.failing = True
        timer = threading.Timer(0.6, setattr, (self.service, "failing", False))
        timer.start()
        self.assertEqual(self.gym.evaluate("relu", reply="x")["verdict"], "ok")
        timer.join()

    def test_an_unreachable_service_is_an_error(self):
        gym = kgym.Gym("http://127.0.0.1:9", timeout_s=0.4)
        with self.assertRaises(kgym.GymError) as caught:
            gym.evaluate("relu", reply="x")
        self.assertEqual(caught.exception.code, "unreachable")
        self.service.failing = True
        with self.assertRaises(kgym.GymError):
            kgym.Gym(self.server.url, timeout_s=0.4).reward("relu", reply="x")

    def test_a_record_that_stays_lost_is_given_up(self):
        with mock.patch("kgym.time.sleep"), self.assertRaises(kgym.GymError) as caught:
            self.gym.evaluate("relu", reply="@gone")
        self.assertEqual(caught.exception.code, "record_lost")
        self.assertEqual(self.service.seen["gone"], 10)

    def test_refusals_are_told_at_once(self):
        with self.assertRaises(kgym.Refused) as caught:
            self.gym.evaluate("nothing", reply="x")
        self.assertEqual((caught.exception.status, caught.exception.field), (404, "problem"))
        self.gym.evaluate("relu", reply="x", key="k")
        with self.assertRaises(kgym.Refused) as caught:
            self.gym.evaluate("relu", reply="y", key="k")
        self.assertEqual(caught.exception.status, 409)
        self.gym.evaluate("relu", reply="x", key="k")
        self.assertEqual(len(self.service.jobs), 1)

    def test_a_token_is_sent(self):
        self.service.token = "s3cret"
        with self.assertRaises(kgym.Refused) as caught:
            self.gym.evaluate("relu", reply="x")
        self.assertEqual(caught.exception.status, 401)
        gym = kgym.Gym(self.server.url, token="s3cret")
        self.assertEqual(gym.evaluate("relu", reply="x")["verdict"], "ok")
        with tempfile.NamedTemporaryFile("w", suffix=".token") as f:
            f.write("s3cret\nmore\n")
            f.flush()
            self.assertEqual(kgym.Gym(self.server.url, token_file=f.name).token, "s3cret")
            with mock.patch.dict(os.environ, KGYM_TOKEN="other", KGYM_TOKEN_FILE=f.name):
                self.assertEqual(kgym.Gym(self.server.url).token, "other")
                self.assertEqual(kgym.Gym(self.server.url, token_file=f.name).token, "s3cret")
                del os.environ["KGYM_TOKEN"]
                self.assertEqual(kgym.Gym(self.server.url).token, "s3cret")
                os.environ["KGYM_TOKEN_FILE"] = os.devnull
                self.assertRaises(ValueError, kgym.Gym, self.server.url)

    def test_a_job_that_was_given_up_has_no_record(self):
        with self.assertRaises(kgym.GymError) as caught:
            self.gym.evaluate("relu", reply="@dead")
        self.assertEqual(caught.exception.blame, "gym")

    def test_half_a_surrogate_pair_is_sent_as_text(self):
        self.gym.evaluate("relu", reply="a\ud800b")
        self.assertEqual(next(iter(self.service.keys.values()))[1]["reply"], "a?b")

    def test_the_rest(self):
        self.assertEqual(len(self.gym.problems()), 2)
        self.assertIn("relu in triton", self.gym.prompt("relu", "triton"))
        id = self.gym.submit("relu", reply="x")
        self.assertEqual(self.gym.get(id)["state"], "done")
        self.assertIn("ok", self.gym.feedback(id))
        with self.assertRaises(ValueError):
            kgym.Gym("ftp://x")


NEVER = ["@host", "@problem", "@stopped", "@unrewarded", "@dead"]


class Rewards(Rig):
    def test_of_a_reply(self):
        self.assertEqual(self.gym.reward("relu", reply="x"), 3.0)
        self.assertEqual(self.gym.reward("relu", reply="x", preset_reward="binary"), 1.0)
        self.assertEqual(self.gym.reward("relu", reply="@wrong"), 0.0)
        self.assertEqual(self.gym.reward("relu", reply="@gpu"), 0.0)

    def test_what_the_gym_could_not_raises(self):
        for word in NEVER:
            with self.assertRaises(kgym.GymError, msg=word):
                self.gym.reward("relu", reply=word)
            with self.assertRaises(kgym.GymError, msg=word):
                kgym.compute_score("kernels", word, "relu")
            with self.assertRaises(kgym.GymError, msg=word):
                kgym.reward_func(prompts=["p", "p"], completions=["x", word],
                                 problem=["relu", "relu"])
        for value in (None, True, "1", float("nan"), float("inf")):
            with self.assertRaises(kgym.GymError):
                kgym.reward_of({"verdict": "ok", "rewards": {"dr-kernel": {"value": value}}})

    def test_verl(self):
        score = kgym.compute_score(data_source="k", solution_str="x", ground_truth="relu",
                                   extra_info={"index": 1}, more=1)
        self.assertEqual(score, {"score": 3.0, "acc": 1.0, "speedup": 1.5, "verdict": "ok"})
        score = kgym.compute_score("k", "@wrong", "relu")
        self.assertEqual((score["score"], score["acc"], score["speedup"]), (0.0, 0.0, 0.0))

    def test_a_time_that_is_not_trusted_is_no_speedup(self):
        for word in ("@untrusted", "@claimed", "@hack"):
            self.assertEqual(kgym.compute_score("k", word, "relu")["speedup"], 0.0, word)

    def test_trl(self):
        chat = [{"role": "assistant", "content": "@wrong"}]
        parts = [{"role": "assistant", "content": [{"type": "text", "text": "x"}]},
                 {"role": "user", "content": "@wrong"}]
        got = kgym.reward_func(prompts=["p"] * 3, completions=["x", chat, parts],
                               completion_ids=[[1]] * 3, problem=["relu", "gelu", "relu"])
        self.assertEqual(got, [3.0, 0.0, 3.0])
        binary = kgym.make_reward_func("binary", column="name", gym=self.gym)
        self.assertEqual(binary(["p"], ["x"], name=["relu"]), [1.0])
        self.assertEqual(binary.__name__, "kgym_binary")
        with self.assertRaises(ValueError):
            kgym.reward_func(prompts=["p"], completions=["x"], name=["relu"])
        with self.assertRaises(ValueError):
            kgym.reward_func(prompts=["p"], completions=["x"], problem=[])

    def test_many_at_once(self):
        n = 200
        got = kgym.reward_func(prompts=["p"] * n, problem=["relu"] * n,
                               completions=["@wrong" if i % 3 else "x" for i in range(n)])
        self.assertEqual(got, [0.0 if i % 3 else 3.0 for i in range(n)])


if __name__ == "__main__":
    unittest.main()
