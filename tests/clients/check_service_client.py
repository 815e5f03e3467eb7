"""Does tools/service_client.py see what is unlike the protocol's tables? No service is needed."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))
sys.dont_write_bytecode = True
import service_client as client  # noqa: E402

TIMES = {"+": 2.0, "any": -1}


def result_of(outcome):
    """One that is as the table says."""
    status, compiled, correct, decoy, reference, kernel, speedup, code, begins = \
        client.OUTCOMES[outcome]
    fault = client.FAULTS.get(outcome, "candidate")
    return {"task_id": "t", "status": status, "compiled": compiled, "correctness": correct,
            "decoy_kernel": decoy, "reference_runtime": TIMES.get(reference, reference),
            "kernel_runtime": TIMES.get(kernel, kernel), "speedup": 1.0 if speedup == "+" else 0,
            "metadata": {"fault": fault} if fault else {}, "error_code": code,
            "error_message": begins and begins + "why", "submitted_at": "s", "completed_at": "c",
            "processing_time": 1.0}


class Unlike(unittest.TestCase):
    def differs(self, outcome, **changes):
        self.assertTrue(client.unlike({**result_of(outcome), **changes}, outcome),
                        f"{outcome}: {changes}")

    def test_each_outcome_is_itself_alone(self):
        for outcome in client.OUTCOMES:
            for other in client.OUTCOMES:
                found = client.unlike(result_of(outcome), other)
                self.assertEqual(not found, outcome == other, f"{outcome} as {other}: {found}")

    def test_members(self):
        self.differs("success", reward=1.0)
        result = result_of("success")
        del result["processing_time"]
        self.assertTrue(client.unlike(result, "success"))
        for member in ("compiled", "correctness", "decoy_kernel"):
            for value in (None, 1, 0, "true"):
                self.differs("success", **{member: value})
        self.differs("success", speedup=None)
        self.differs("success", speedup=2.0)
        self.differs("success", kernel_runtime=-1)
        self.differs("wrong", error_message=None)
        self.differs("wrong", metadata={"fault": "system"})
        self.differs("untimed", speedup=1.0)
        self.differs("success", completed_at=None)

    def test_spread_and_time_are_of_one_size(self):
        near = {"timing": {"reference": {"median": 2.1}, "kernel": {"median": 2.0}}}
        self.assertEqual(client.unlike({**result_of("success"), "metadata": near}, "success"), [])
        for median in (1e-6, 0.9, 4.5):
            self.differs("success", metadata={"timing": {"reference": {"median": median}}})

    def test_coverage(self):
        numbers = dict(zip(client.COVERAGE, (1, 2, 5.0, 10.0)))
        right = {**result_of("success"), "metadata": numbers}
        self.assertEqual(client.unlike(right, "success"), [])
        self.assertEqual(client.coverage(right), 0.5)
        self.assertIsNone(client.coverage(result_of("success")))
        for key in client.COVERAGE:
            self.differs("success", metadata={**numbers, key: "1"})
            self.differs("success", metadata={**numbers, key: None})
            self.differs("success", metadata={k: v for k, v in numbers.items() if k != key})

    def test_status_and_result_agree(self):
        result = result_of("died")
        state = {k: result[k] for k in ("task_id", "status", "error_code", "completed_at",
                                        "error_message")}
        self.assertIs(client.agreeing(state, result), result)
        for changes in ({"status": "completed"}, {"error_message": "Task failed"},
                        {"error_message": "other"}, {"error_code": None}):
            with self.assertRaises(client.Unlike):
                client.agreeing({**state, **changes}, result)
        del state["error_message"]
        with self.assertRaises(client.Unlike):
            client.agreeing(state, result)


if __name__ == "__main__":
    unittest.main()
