"""The claims about the construction that are exact: what breaks them."""

from theorykit.claims import select


def test_a_wrong_lookup_is_found(monkeypatch):
    from theorykit.subjects.boolean import _lookup

    right = _lookup.slopes
    monkeypatch.setattr(_lookup, "slopes", lambda d: [-w for w in right(d)])
    assert select(["sharper.9.lookup"])[0].run().verdict == "refuted"
    assert select(["sharper.16.cot"])[0].run().verdict == "refuted"
