"""OpenEnv's own client plays episodes: check_openenv.py URL. Every reply is without code, so each
turn takes milliseconds. Run by tests/unit/test_svc_peers.c."""

import asyncio
import json
import os
import sys
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
from lift import openenv_client  # noqa: E402

url = sys.argv[1]
Client = openenv_client()


def get(path):
    with urllib.request.urlopen(url + path) as answer:
        return json.load(answer)


async def refused(awaitable, *words):
    try:
        got = await awaitable
    except RuntimeError as error:
        assert all(word in str(error) for word in words), error
        return
    raise SystemExit(f"was not refused: {got}")


async def an_episode():
    schema = get("/schema")
    assert schema["action"]["required"] == ["reply"], schema
    assert get("/metadata")["name"] == "kgym" and get("/health")["status"] == "healthy"
    async with Client(base_url=url) as env:
        first = await env.reset(problem="silu", rewards="ladder", max_turns=3)
        seen = first.observation
        assert first.reward is None and not first.done, first
        assert "silu" in seen["message"] and seen["turn"] == 0 and seen["verdict"] is None, seen
        assert seen["messages"] == [{"role": "user", "content": seen["message"]}], seen
        assert set(seen) == set(schema["observation"]["properties"]), seen
        for turn in 1, 2, 3:
            result = await env.step({"reply": f"nothing {turn}"})
            seen = result.observation
            assert result.reward == -1.0 and seen["rewards"] == {"ladder": -1.0}, result
            assert seen["verdict"] == "no_code" and seen["turn"] == turn, seen
            assert len(seen["feedback"]) > 20 and result.done == (turn == 3), result
            assert seen["message"] == (None if turn == 3 else seen["feedback"]), seen
            record = get("/v1/evaluations/" + seen["evaluation"])["record"]
            assert record["verdict"] == "no_code", record
        state = await env.state()
        assert state["step_count"] == 3 and state["done"] and state["problem"] == "silu", state
        await refused(env.step({"reply": "more"}), "has ended")


async def what_is_refused():
    async with Client(base_url=url) as env:
        await refused(env.step({"reply": "x"}), "reset first")
        await refused(env.reset(problem="sillu"), "VALIDATION_ERROR", "silu")
        await refused(env.reset(problem="../x.c"), "VALIDATION_ERROR", "path")
        await refused(env.reset(problem="silu", max_turn=2), "max_turns")
        await refused(env.reset(problem="silu", set={"python": "/bin/sh"}), "VALIDATION_ERROR")
        await refused(env.reset(episode_id="0" * 26), "no such episode")
        await env.reset(problem="silu")  # a refusal ends nothing
        await refused(env.step({"code": "x"}), "reply")
        await refused(env.step({"reply": ["x"]}), "reply")
        assert (await env.step({"reply": "x", "metadata": {}})).observation["turn"] == 1


async def a_lost_socket_goes_on():
    env = Client(base_url=url)
    seen = (await env.reset(problem="silu", rewards="ladder")).observation
    await env.step({"reply": "one"})
    await env._ws.close()  # no message says that it ends
    async with Client(base_url=url) as env:
        again = await env.reset(episode_id=seen["episode_id"])
        assert again.observation["turn"] == 1 and again.reward == -1.0, again
        assert again.observation["message"] == again.observation["feedback"], again
        assert (await env.step({"reply": "two"})).observation["turn"] == 2
    # A client's own id, with the same words; the problem follows from it.
    env = Client(base_url=url)
    mine = (await env.reset(episode_id="mine-1", rewards="ladder")).observation
    assert mine["episode_id"] == "mine-1", mine
    await env.step({"reply": "one"})
    await env._ws.close()
    async with Client(base_url=url) as env:
        again = (await env.reset(episode_id="mine-1", rewards="ladder")).observation
        assert (again["turn"], again["problem"]) == (1, mine["problem"]), again
        await refused(env.reset(episode_id="mine-1", problem="relu"), "another problem")
        await refused(env.reset(episode_id="mine-1", seed=1), "something else")


def offers():
    return sorted(word for device in get("/v1/devices")["devices"] for word in device["words"])


async def a_seed_draws_a_problem():
    async with Client(base_url=url) as env:
        known = None
        while known != offers():  # a device that was looked at meanwhile may have changed the draw
            known = offers()
            drawn = [(await env.reset(seed=n)).observation["problem"] for n in (1, 2, 3, 4, 1)]
        assert drawn[0] == drawn[4] and len(set(drawn)) > 1, drawn
        for seed in range(5, 9):  # each can be judged here
            await env.reset(seed=seed)
            assert (await env.step({"reply": "nothing"})).observation["verdict"] == "no_code", seed


async def an_idle_one_ends():
    env = Client(base_url=url)
    seen = (await env.reset(problem="silu", idle_s=0.5)).observation
    for _ in range(600):
        if (await env.reset(episode_id=seen["episode_id"])).done:
            break
        await asyncio.sleep(0.1)
    await refused(env.step({"reply": "x"}), "has ended")
    await env.close()


async def many_at_once():
    async def one(n):
        async with Client(base_url=url) as env:
            await env.reset(problem="silu", rewards="ladder", max_turns=2)
            return [(await env.step({"reply": f"{n} {turn}"})).done for turn in (1, 2)]
    assert await asyncio.gather(*map(one, range(20))) == [[False, True]] * 20


async def main():
    while not offers():  # then problems that are drawn can be judged
        await asyncio.sleep(0.1)
    for part in (an_episode, what_is_refused, a_lost_socket_goes_on, a_seed_draws_a_problem,
                 an_idle_one_ends, many_at_once):
        await part()


asyncio.run(main())
print("OK")
