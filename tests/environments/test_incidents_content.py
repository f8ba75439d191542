"""What the texts of the incidents world promise to whoever learns in it."""

import random
import re
from collections.abc import Iterator

import pytest

from core.environments.incidents_content import IncidentType, draw_names, fill, load_types, load_world

TYPES = list(load_types().values())
ROLES = ("service", "database", "cache", "upstream", "gateway", "host")


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def _stem(word: str) -> str:
    return re.sub(r"(ing|ed|es|s|e)$", "", word)


def _alike(one: str, other: str) -> bool:
    same_beginning = min(len(one), len(other)) >= 5 and one[:5] == other[:5]
    return _stem(one) == _stem(other) or same_beginning


def overlap(text: str, remedy: str) -> int:
    """How many words of a remedy's name occur in a text, whatever their ending."""
    words = _words(text)
    return sum(any(_alike(part, word) for word in words) for part in remedy.split("_"))


def _observations(kind: IncidentType) -> Iterator[str]:
    for place in (*kind.decisive, *kind.red_herrings):
        yield from place.texts
    yield kind.wrong.worse


def _rendered(text: str, times: int = 20) -> Iterator[str]:
    world = load_world()
    for seed in range(times):
        rng = random.Random(seed)
        yield fill(text, {**draw_names(world, rng), "component": "service"}, rng)


def test_ten_types_are_early_three_late_and_two_held_out():
    phases = [kind.phase for kind in TYPES]
    assert (phases.count("early"), phases.count("late"), phases.count("held_out")) == (10, 3, 2)


def test_names_refer_to_what_the_world_knows():
    world = load_world()
    assert 16 <= len(world.remedies) <= 20
    assert set(world.noise) == set(world.tools)
    assert tuple(world.components) == ROLES
    for kind in TYPES:
        assert {kind.remedy.name, kind.wrong.name} <= set(world.remedies)
        assert kind.remedy.name != kind.wrong.name
        assert kind.topology[0] == "service"
        assert kind.remedy.component in kind.topology
        assert kind.remedy.component in world.remedies[kind.remedy.name].components
        assert set(world.remedies[kind.wrong.name].components) & set(kind.topology)


def test_the_world_has_six_tools_that_look_and_one_that_acts():
    assert list(load_world().tools) == [
        "query_metrics",
        "search_logs",
        "list_deploys",
        "read_config",
        "check_dependencies",
        "inspect_host",
    ]
    assert load_world().remedy_tool.name == "apply_remedy"


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
class TestType:
    def test_has_enough_variants_of_both_kinds(self, kind):
        overt = sum(alert.overt for alert in kind.alerts)
        assert len(kind.alerts) >= 5
        assert overt >= 2
        assert len(kind.alerts) - overt >= 3
        assert len({alert.text for alert in kind.alerts}) == len(kind.alerts)

    def test_alerts_have_two_or_three_sentences_of_25_to_60_words_in_all(self, kind):
        for alert in kind.alerts:
            for text in _rendered(alert.text):
                assert 25 <= len(text.split()) <= 60, text
                assert 2 <= len(re.split(r"(?<=[.?!])\s", text)) <= 3, text

    def test_every_alert_has_a_signature_phrase_and_every_phrase_is_used(self, kind):
        phrases = kind.signatures.alert
        assert 2 <= len(phrases) <= 4
        for alert in kind.alerts:
            assert any(phrase in alert.text.lower() for phrase in phrases), alert.text
        for phrase in phrases:
            assert any(phrase in alert.text.lower() for alert in kind.alerts), phrase

    def test_all_decisive_evidence_has_a_signature_phrase_and_nothing_else_has_one(self, kind):
        phrases = kind.signatures.evidence
        assert 2 <= len(kind.decisive) <= 3
        assert 2 <= len(phrases) <= 4
        for place in kind.decisive:
            for text in place.texts:
                assert any(phrase in text.lower() for phrase in phrases), text
        for phrase in phrases:
            assert any(phrase in text.lower() for place in kind.decisive for text in place.texts), phrase
            assert not any(phrase in text for place in kind.red_herrings for text in place.texts)

    def test_places_are_distinct_sensible_and_inside_the_topology(self, kind):
        places = [(place.tool, place.component) for place in (*kind.decisive, *kind.red_herrings)]
        assert len(set(places)) == len(places)
        for tool, component in places:
            assert component in load_world().tools[tool].components
            assert component in kind.topology

    def test_texts_name_only_parts_of_the_topology(self, kind):
        for text in (*(alert.text for alert in kind.alerts), *_observations(kind)):
            named = set(re.findall(r"\{(\w+)\}", text)) & set(ROLES)
            assert named <= set(kind.topology), text

    def test_covert_alerts_point_at_the_wrong_fix_and_at_no_other_more(self, kind):
        for alert in (alert for alert in kind.alerts if not alert.overt):
            for text in _rendered(alert.text, 5):
                wrong = overlap(text, kind.wrong.name)
                assert wrong >= 1, text
                assert overlap(text, kind.remedy.name) == 0, text
                others = {name: overlap(text, name) for name in load_world().remedies}
                assert max(others.values()) == wrong, (others, text)

    def test_overt_alerts_point_at_the_right_remedy(self, kind):
        for alert in (alert for alert in kind.alerts if alert.overt):
            for text in _rendered(alert.text, 5):
                right = overlap(text, kind.remedy.name)
                assert right >= 1, text
                assert overlap(text, kind.wrong.name) < right, text

    def test_no_observation_shares_a_word_with_the_right_remedy(self, kind):
        for text in _observations(kind):
            for rendered in _rendered(text, 5):
                assert overlap(rendered, kind.remedy.name) == 0, rendered

    def test_red_herrings_point_at_the_wrong_fix(self, kind):
        texts = [text for place in kind.red_herrings for text in place.texts]
        assert sum(overlap(text, kind.wrong.name) > 0 for text in texts) >= 1

    def test_no_text_names_a_remedy_by_its_identifier(self, kind):
        texts = [*(alert.text for alert in kind.alerts), *_observations(kind)]
        assert not any(name in text for text in texts for name in load_world().remedies)


def test_look_alikes_share_alert_phrases_but_neither_evidence_nor_remedy():
    pairs = [(kind, load_types()[kind.look_alike]) for kind in TYPES if kind.look_alike]
    assert len({frozenset((one.name, other.name)) for one, other in pairs}) >= 3
    for one, other in pairs:
        assert other.look_alike == one.name
        assert set(one.signatures.alert) == set(other.signatures.alert)
        assert not set(one.signatures.evidence) & set(other.signatures.evidence)
        assert one.remedy.name != other.remedy.name
        assert one.wrong.name == other.remedy.name or other.wrong.name == one.remedy.name


def test_other_types_share_no_alert_phrase():
    for one in TYPES:
        for other in TYPES:
            if other.name not in (one.name, one.look_alike):
                assert not set(one.signatures.alert) & set(other.signatures.alert)


def test_shared_texts_point_at_no_remedy():
    world = load_world()
    shared = [*world.unchanged, *world.resolved, *(text for texts in world.noise.values() for text in texts)]
    for text in shared:
        for rendered in _rendered(text, 5):
            assert not any(overlap(rendered, name) for name in world.remedies), rendered


def test_descriptions_of_remedies_share_no_signature_phrase():
    for kind in TYPES:
        for phrase in (*kind.signatures.alert, *kind.signatures.evidence):
            assert not any(phrase in known.description.lower() for known in load_world().remedies.values())


def test_fill_draws_whole_and_decimal_numbers_within_their_bounds():
    rng = random.Random(3)
    for _ in range(200):
        whole, decimal, name = fill("{3..5} {0.4..0.9} {team}", {"team": "growth"}, rng).split()
        assert whole in {"3", "4", "5"}
        assert re.fullmatch(r"0\.[4-9]", decimal)
        assert name == "growth"
