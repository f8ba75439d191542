"""The stand-in's endpoint: an httpx2 transport, so that every line of the client but the network is real."""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import httpx2

from core.llm.simulated.acting import choose
from core.llm.simulated.dice import uniform
from core.llm.simulated.judging import (
    condense,
    judge_compliance,
    judge_conflict,
    judge_episode,
    judge_merge,
    name_intent,
    shorten,
)
from core.llm.simulated.lettered import letter_logprobs
from core.llm.simulated.reflecting import reflect
from core.llm.simulated.toolbox import Option
from core.settings import SimulationSettings
from core.text import estimate_tokens

_BLOCK_TOKENS = 128
_BLOCK_CHARACTERS = 512
_CACHED_BLOCKS = 50_000


class SimulatedTransport(httpx2.BaseTransport):
    """Answers chat completions from the messages alone; seeded; fails at set rates.

    It gets nothing but the request: no environment, no task table, no database.
    """

    def __init__(self, settings: SimulationSettings) -> None:
        self._settings = settings
        self._cache = PrefixCache()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request, or fail it as an endpoint would.

        Raises:
            httpx2.ReadTimeout: at the set rate.
        """
        raw = request.read()
        body = json.loads(raw)
        attempt = request.headers.get("x-rulewright-attempt", "1")
        draw = uniform(self._settings.seed, "fault", hashlib.sha256(raw).hexdigest(), attempt)
        if draw < self._settings.timeout_rate:
            raise httpx2.ReadTimeout("simulated time-out", request=request)
        if draw < self._settings.timeout_rate + self._settings.rate_limit_rate:
            error = {"error": {"message": "simulated rate limit", "type": "rate_limit", "code": "rate_limit"}}
            return httpx2.Response(429, json=error, headers={"retry-after": "0"}, request=request)
        cut_off = draw > 1 - self._settings.malformed_rate
        return httpx2.Response(200, json=self._complete(body, cut_off), request=request)

    def _complete(self, body: Mapping[str, Any], cut_off: bool) -> dict[str, Any]:
        letters = letter_logprobs(body["messages"], _seed(body), self._settings) if body.get("logprobs") else {}
        message = _as_text(max(letters, key=lambda one: letters[one])) if letters else self._answer(body)
        if cut_off and body.get("response_format") and message["content"]:
            message["content"] = message["content"][: int(len(message["content"]) * 0.8)]
        prompt = json.dumps([body.get("tools"), body["messages"]], ensure_ascii=False)
        input_tokens = _prompt_tokens(body)
        output_tokens = estimate_tokens(json.dumps(message, ensure_ascii=False))
        usage = {
            "prompt_tokens": input_tokens,
            "completion_tokens": output_tokens,
            "total_tokens": input_tokens + output_tokens,
            "prompt_tokens_details": {"cached_tokens": min(input_tokens, self._cache.hit(prompt))},
        }
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        return {
            "id": "sim-" + hashlib.sha256(prompt.encode()).hexdigest()[:12],
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": finish, "message": message, **_logprobs(letters)}],
            "usage": usage,
        }

    def _answer(self, body: Mapping[str, Any]) -> dict[str, Any]:
        if body.get("tools"):
            return _as_tool_call(self._choose(body, body["tools"]))
        name = str(((body.get("response_format") or {}).get("json_schema") or {}).get("name", ""))
        request = "\n".join(str(message.get("content") or "") for message in body["messages"])
        answer = _JUDGES.get(name)
        if answer is not None:
            return _as_text(json.dumps(answer(request), ensure_ascii=False))
        if name == "reflection_output":
            return _as_text(json.dumps(reflect(request, self._settings), ensure_ascii=False))
        return _as_text(condense(request))

    def _choose(self, body: Mapping[str, Any], tools: list[Mapping[str, Any]]) -> Option | None:
        temperature = float(body.get("temperature") or 0.0)
        return choose(body["messages"], tools, temperature, _seed(body), self._settings)


_JUDGES: dict[str, Callable[[str], dict[str, Any]]] = {
    "merge_judgement": judge_merge,
    "conflict_judgement": judge_conflict,
    "compliance_judgement": judge_compliance,
    "episode_judgement": judge_episode,
    "shortened_rule": shorten,
    "intent_tags": name_intent,
}


class PrefixCache:
    """Counts tokens of a prompt's start that were sent before, in blocks, as endpoints with prefix caching do."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[bytes, None] = OrderedDict()
        self._lock = threading.Lock()

    def hit(self, prompt: str) -> int:
        """Return the cached tokens of this prompt, and remember it."""
        hasher, known, prefix_known = hashlib.blake2b(digest_size=12), 0, True
        with self._lock:
            for start in range(0, len(prompt) - _BLOCK_CHARACTERS + 1, _BLOCK_CHARACTERS):
                hasher.update(prompt[start : start + _BLOCK_CHARACTERS].encode())
                key = hasher.digest()
                prefix_known = prefix_known and key in self._blocks
                known += prefix_known
                self._blocks[key] = None
                self._blocks.move_to_end(key)
            while len(self._blocks) > _CACHED_BLOCKS:
                self._blocks.popitem(last=False)
        return known * _BLOCK_TOKENS


def _prompt_tokens(body: Mapping[str, Any]) -> int:
    total = estimate_tokens(json.dumps(body["tools"])) if body.get("tools") else 0
    for message in body["messages"]:
        total += 4 + estimate_tokens(str(message.get("content") or ""))
        if message.get("tool_calls"):
            total += estimate_tokens(json.dumps(message["tool_calls"]))
    return total


def _seed(body: Mapping[str, Any]) -> int:
    return int(body.get("seed") or 0)


def _logprobs(letters: Mapping[str, float]) -> dict[str, Any]:
    if not letters:
        return {}
    listed = [{"token": letter, "logprob": value} for letter, value in sorted(letters.items(), key=lambda one: -one[1])]
    return {"logprobs": {"content": [{**listed[0], "top_logprobs": listed}]}}


def _as_text(content: str) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def _as_tool_call(option: Option | None) -> dict[str, Any]:
    if option is None:
        return _as_text("I have nothing further to try.")
    arguments = json.dumps(dict(option.arguments))
    identity = hashlib.sha256(f"{option}".encode()).hexdigest()[:10]
    call = {"id": f"call_{identity}", "type": "function", "function": {"name": option.tool, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
