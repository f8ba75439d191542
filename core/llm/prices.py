"""What a call costs: a person's own table first, then the maintained genai-prices package, else unknown.

The package's data comes with it; nothing is fetched. A run with the simulated model is priced as the models
it stands in for.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from genai_prices import Usage, calc_price
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from core.errors import UserError

PRICES_FILE = Path(__file__).resolve().parents[2] / "data" / "prices.json"

_MILLION = 1_000_000


class ModelPrice(BaseModel):
    """USD per million tokens; without ``cached_input``, cached tokens cost as much as others."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)


@dataclass(frozen=True)
class TokenUsage:
    """Tokens of one response; ``input`` is all input, what came from the cache (``cached``) included once.

    ``reported`` is False for a response that came but did not say what it used; its tokens are then 0.
    """

    input: int = 0
    cached: int = 0
    output: int = 0
    reported: bool = True


UNREPORTED = TokenUsage(reported=False)


class Prices:
    """Prices calls made to one endpoint.

    Args:
        own: prices that beat all others, by model name.
        base_url: the endpoint, if it is not OpenAI's. If the package knows its provider, that provider's
            prices count; if not, those of whoever the package takes for the maker of a model of that name.
    """

    def __init__(self, own: Mapping[str, ModelPrice], base_url: str | None = None) -> None:
        self._own = own
        self._base_url = base_url
        self._providers: dict[str, str | None] = {}

    def cost(self, model: str, usage: TokenUsage, at: datetime) -> float | None:
        """Return USD for what a response reported, or None if that or the model's price is unknown.

        An attempt that got no response, or one of no token, costs 0 whatever the price. ``at`` counts where a
        provider's price depends on the date or the hour.
        """
        if not usage.reported:
            return None
        if usage == TokenUsage():
            return 0.0
        if model in self._own:
            return _own_cost(self._own[model], usage)
        provider = self._provider(model, at)
        if provider is None:
            return None
        tokens = Usage(input_tokens=usage.input, cache_read_tokens=usage.cached, output_tokens=usage.output)
        return float(calc_price(tokens, model, provider_id=provider, genai_request_timestamp=at).total_price)

    def _provider(self, model: str, at: datetime) -> str | None:
        if model not in self._providers:
            self._providers[model] = self._find_provider(model, at)
        return self._providers[model]

    def _find_provider(self, model: str, at: datetime) -> str | None:
        places = (self._base_url, None) if self._base_url else ("https://api.openai.com/v1", None)
        for url in places:
            try:
                found = calc_price(Usage(), model, provider_api_url=url, genai_request_timestamp=at)
            except LookupError:
                continue
            return str(found.provider.id)
        return None


def load_prices(path: Path = PRICES_FILE, base_url: str | None = None) -> Prices:
    """Read a person's own prices (none if there is no file) and return the prices for an endpoint.

    Raises:
        UserError: the file is not JSON, or a price is missing, negative or no number.
    """
    try:
        table = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        entries = {name: price for name, price in table.items() if not name.startswith("_")}
        own = TypeAdapter(dict[str, ModelPrice]).validate_python(entries)
    except (ValidationError, ValueError, AttributeError) as error:
        raise UserError("The prices in {path} are not usable: {problem}", path=str(path), problem=error) from error
    return Prices(own, base_url)


def _own_cost(price: ModelPrice, usage: TokenUsage) -> float:
    cached = price.input if price.cached_input is None else price.cached_input
    uncached = (usage.input - usage.cached) * price.input
    return (uncached + usage.cached * cached + usage.output * price.output) / _MILLION
