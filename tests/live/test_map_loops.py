"""``for k, v in @m``: the keys and values of a map, on the agent's thread."""

from __future__ import annotations

from btpy.engine.session import Session
from btpy.wire.messages import ErrorKind, Errors
from tests.live.scripts import counted, program

SCRIPT = """
@OnBegin {
  @one["a"] = 5; @one["b"] = 7.5; @one[null] = "text";
  @two["a", 1] = count(); @two["a", 1] = count(); @two["b", 2] = count();
  for i in 1 .. 103 { @many[i] = i * i; }
}
@OnEnd {
  for k in @one { print("key", k); }
  for k, v in @one { print("pair", k, v); delete @one[k]; }
  for k in @one { print("left", k); }
  for a, b in @two { print("keys", a, b); }
  for a, b, n in @two { print("triple", a, b, n + 1); }
  let total = 0;
  for k, v in @many limit 200 { total += v; }
  print("total", total);
  let seen = 0;
  for k in @many { seen++; }
  print("seen", seen);
}
"""


def test_keys_and_values() -> None:
    with counted(17) as target, Session.attach(target.pid) as session:
        session.deployer.load(program(SCRIPT))
        session.departure.restore()
        assert session.departure.detach().clean
        items = list(session.delivery.items(None))
        templates = program(SCRIPT).templates
        results: dict[str, list[tuple[object, ...]]] = {}
        for item in items:
            for record in getattr(item, "records", ()):
                text = templates[record.template].parts[0]
                results.setdefault(str(text).strip(), []).append(record.values)
        failures = [failure for item in items if isinstance(item, Errors) for failure in item.failures]
    one = [("a", 5), ("b", 7.5), (None, "text")]
    assert sorted(results["key"], key=str) == sorted([(key,) for key, _ in one], key=str)
    assert sorted(results["pair"], key=str) == sorted(one, key=str)
    assert "left" not in results
    assert sorted(results["keys"], key=str) == [("a", 1), ("b", 2)]
    assert sorted(results["triple"], key=str) == [("a", 1, 3), ("b", 2, 2)]
    assert results["total"] == [(sum(i * i for i in range(1, 104)),)]
    assert results["seen"] == [(100,)]
    assert [(failure.kind, failure.count) for failure in failures] == [(ErrorKind.CUT, 1)]
