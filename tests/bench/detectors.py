"""How far the detectors agree with the labelled pairs. ``python -m tests.bench.detectors``"""

from tests.support.rule_pairs import figures

if __name__ == "__main__":
    print(figures())
