"""The one way to a model: the openai client, retries, structured answers, the ledger (design section 2)."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import httpx2
import openai
from pydantic import BaseModel
from tenacity import Retrying, retry_if_exception, stop_after_attempt

from core.clock import Clock, utc_now
from core.errors import ModelCallError
from core.ids import new_id
from core.llm.completion import Reply, ToolCall, read_reply, read_usage
from core.llm.dialect import Dialect
from core.llm.faults import Fault, fault_of, is_worth_another_attempt, waiting
from core.llm.ledger import Attempt, Ledger
from core.llm.prices import UNREPORTED, TokenUsage
from core.llm.streaming import AS_STREAM, gather
from core.llm.structured import Judge, response_format
from core.settings import Purpose, Settings
from core.tables.ledger import Outcome

__all__ = ["CallContext", "ModelClient", "Reply", "ToolCall"]

T = TypeVar("T", bound=BaseModel)

Message = Mapping[str, Any]

_OPENAI_URL = "https://api.openai.com/v1"
_NO_KEY = "no-key"  # the openai client insists on one; endpoints without keys ignore it
_ATTEMPT_HEADER = "X-Rulewright-Attempt"


@dataclass(frozen=True)
class CallContext:
    """Who is asking; goes into the ledger. ``agent`` is whose episode it is about, '' where there is none."""

    purpose: Purpose
    episode_id: str | None = None
    round_number: int | None = None
    reflection_id: str | None = None
    agent: str = ""


@dataclass
class _Request:
    """One request of the product; its attempts are counted through retries and the re-ask alike."""

    id: str
    context: CallContext
    attempts: int = 0


class ModelClient:
    """Asks the models of one endpoint; safe to share between threads.

    Not to be called inside ``Database.write()``: the ledger commits each attempt in a transaction of its own,
    which on SQLite would wait for that one.

    Args:
        settings: models by purpose, time-out, attempts, backoff.
        ledger: gets every attempt, and may refuse one.
        http_client: how to reach the endpoint, if not over the network as usual.
        sleep: waits so many seconds between attempts.
        clock: the present moment, for latencies and Retry-After dates.
    """

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        http_client: httpx2.Client | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Clock = utc_now,
    ) -> None:
        self._models = settings.model
        self._ledger = ledger
        self._sleep = sleep
        self._clock = clock
        self._dialect = Dialect(settings.model.json_schema)
        key = settings.openai_api_key
        self._openai = openai.OpenAI(
            api_key=key.get_secret_value() if key else _NO_KEY,
            base_url=settings.openai_base_url or _OPENAI_URL,
            http_client=http_client,
            timeout=settings.model.timeout_s,
            max_retries=0,
        )

    def close(self) -> None:
        """Close the connections."""
        self._openai.close()

    def chat(
        self,
        context: CallContext,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        temperature: float = 0.0,
        seed: int | None = None,
        response_format: Mapping[str, Any] | None = None,
        top_logprobs: int | None = None,
    ) -> Reply:
        """Ask for a free answer: text, tool calls or both.

        Args:
            context: chooses the model, and goes into the ledger.
            messages: in OpenAI chat format.
            tools: in OpenAI format.
            temperature: 0..2.
            seed: of the model's sampling, where the endpoint honours one.
            response_format: in OpenAI format; what comes back is not validated.
            top_logprobs: ask for one token, and for the log-probabilities of so many that it could have been.

        Raises:
            ModelCallError: refused, or attempts used up.
            BudgetExceededError: the limit on spend is reached; nothing was sent.
        """
        body = self._body(context, messages, temperature, seed)
        if tools:
            body["tools"] = list(tools)
        if response_format:
            body["response_format"] = dict(response_format)
        if top_logprobs:
            body |= {"logprobs": True, "top_logprobs": top_logprobs, "max_tokens": 1}
        return self._ask(_Request(new_id("req"), context), body, lambda _reply: Outcome.OK)

    def structured(
        self,
        context: CallContext,
        messages: Sequence[Message],
        schema: type[T],
        *,
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> T:
        """Ask for an answer of the given shape.

        If it is not valid, one re-ask quotes the error; if that does not help, json-repair tries. The re-ask
        has ``attempts`` of its own, under the same request id.

        Raises:
            ModelCallError: refused, attempts used up, or no answer could be made valid.
            BudgetExceededError: the limit on spend is reached; nothing was sent.
        """
        request, judge = _Request(new_id("req"), context), Judge(schema)
        body = self._body(context, messages, temperature, seed)
        body["response_format"] = response_format(schema)
        self._ask(request, body, judge.first)
        if judge.value is None:
            self._ask_again(request, {**body, "messages": [*messages, *judge.reask()]}, judge)
        if judge.value is None:
            raise ModelCallError(
                "{model} gave no usable answer for {purpose}, not even when asked again: {problem}",
                model=body["model"],
                purpose=context.purpose,
                problem=judge.problem,
            )
        return judge.value

    def _ask_again(self, request: _Request, body: dict[str, Any], judge: Judge[T]) -> None:
        try:
            self._ask(request, body, judge.second)
        except ModelCallError:
            if not judge.repair_first():
                raise

    def _body(
        self, context: CallContext, messages: Sequence[Message], temperature: float, seed: int | None
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": getattr(self._models, context.purpose),
            "messages": list(messages),
            "temperature": temperature,
            "max_tokens": self._models.max_output_tokens,
        }
        if self._models.stream:
            body |= AS_STREAM
        return body if seed is None else {**body, "seed": seed}

    def _ask(self, request: _Request, body: dict[str, Any], judge: Callable[[Reply], Outcome]) -> Reply:
        """Send until an answer comes, attempts are used up, or the endpoint refuses for good."""
        while True:
            sent = self._dialect.adapt(body)
            try:
                return self._retrying()(self._attempt, request, sent, judge)
            except Fault as fault:
                if not self._dialect.learn(sent, fault):
                    raise ModelCallError(
                        "The call to {model} for {purpose} failed, attempt {attempts} ({outcome}): {problem}",
                        model=body["model"],
                        purpose=request.context.purpose,
                        attempts=request.attempts,
                        outcome=fault.outcome.value,
                        problem=fault.problem,
                    ) from fault

    def _retrying(self) -> Retrying:
        return Retrying(
            retry=retry_if_exception(is_worth_another_attempt),
            stop=stop_after_attempt(self._models.attempts),
            wait=waiting(self._models, self._clock),
            sleep=self._sleep,
            reraise=True,
        )

    def _attempt(self, request: _Request, body: dict[str, Any], judge: Callable[[Reply], Outcome]) -> Reply:
        self._ledger.check_budget()
        request.attempts += 1
        started = self._clock()
        try:
            reply, usage = self._send(body, request.attempts)
        except Fault as fault:
            self._record(request, body, fault.outcome, fault.usage, self._milliseconds_since(started))
            raise
        latency = self._milliseconds_since(started)
        self._record(request, body, judge(reply), usage, latency)
        return reply

    def _send(self, body: dict[str, Any], number: int) -> tuple[Reply, TokenUsage]:
        """Send one attempt.

        Raises:
            Fault: no answer came.
        """
        # chat.completions.create() walks through every message by its type hints, which takes ten times as
        # long as all the rest; post() is the openai client's own way to send a body as it is.
        post = partial(
            self._openai.post, "/chat/completions", body=body, options={"headers": {_ATTEMPT_HEADER: str(number)}}
        )
        try:
            if body.get("stream"):
                with post(cast_to=object, stream=True, stream_cls=openai.Stream[object]) as stream:
                    data = self._read_stream(stream)
            else:
                data = _read_whole(post(cast_to=httpx2.Response))
        except openai.APIError as error:
            raise fault_of(error) from error
        usage = read_usage(data, cached_in_input=self._models.cached_in_input)
        reply = read_reply(data)
        if reply is None:
            raise Fault(Outcome.EMPTY, "the response has neither text nor tool calls", usage)
        return reply, usage

    def _read_stream(self, stream: openai.Stream[object]) -> Any:
        response = stream.response
        if response.headers.get("content-type", "").startswith("application/json"):
            return _read_whole(response)  # an endpoint that does not stream, such as the stand-in's
        return gather(stream, cached_in_input=self._models.cached_in_input)

    def _record(
        self, request: _Request, body: dict[str, Any], outcome: Outcome, usage: TokenUsage, latency_ms: float
    ) -> None:
        context = request.context
        self._ledger.record(
            Attempt(
                request_id=request.id,
                number=request.attempts,
                purpose=context.purpose,
                model=body["model"],
                outcome=outcome,
                usage=usage,
                latency_ms=latency_ms,
                episode_id=context.episode_id,
                round_number=context.round_number,
                reflection_id=context.reflection_id,
                agent=context.agent,
            )
        )

    def _milliseconds_since(self, moment: datetime) -> float:
        return max(0.0, (self._clock() - moment).total_seconds() * 1000)


def _read_whole(response: httpx2.Response) -> Any:
    try:
        return json.loads(response.read())
    except httpx2.HTTPError as error:
        raise Fault(Outcome.CONNECTION_ERROR, f"the response broke off: {error}", UNREPORTED) from error
    except (ValueError, RecursionError) as error:
        raise Fault(Outcome.EMPTY, f"the response is not JSON: {error}", UNREPORTED) from error
