"""Rules for the bundled world as a person who knows its secrets would write them."""

from core.environments.incidents_content import load_types


def right_rules() -> dict[str, str]:
    """One short rule a type, as a person who knows the world would write it."""
    rules = {}
    for name, kind in load_types().items():
        place = kind.decisive[0]
        evidence = next(e for e in kind.signatures.evidence if e in " ".join(place.texts[0].split()).lower())
        symptoms = " or ".join(kind.signatures.alert)
        rules[name] = (
            f"When {symptoms}, and {place.tool} on the {place.component} shows {evidence}, "
            f"apply {kind.remedy.name} on the {kind.remedy.component}, not {kind.wrong.name}."
        )
    return rules
