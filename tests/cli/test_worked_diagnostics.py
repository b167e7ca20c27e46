"""The diagnostics of the language's own examples, for a user who names the class path: btpy check FILE --cp …

The examples in the definition of the language were written by hand. The output of btpy differs from them in these
places:

- Columns count characters, and each label stands below its place. The definition is not exact about these in examples
  2, 3b, 4, 5, 6 and 7.
- Example 3: a class path has no loaded classes, loaders or pid, and nothing is loaded later. The definition shows the
  text for a JVM (``tests/live``).
- Example 4: the definition says that the getter "reads a lazy collection". Bytecode shows only the called method and
  the place.
- Example 8: SYNC_ENTER has a duration as well, as the definition's own table of variables says.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_command import btpy
from tests.conftest import Golden
from tests.jdks import compiled

QUOTE = '@OnMethod(class="com.acme.shop.PricingEngine", method="quote", location=RETURN)\n'
PLACE = '@OnMethod(class="com.acme.shop.OrderService", method="place", location=ENTRY)\n'
SCRIPTS = {
    "01_unknown_name": QUOTE + "when durration > 50ms {\n  print(retval);\n}\n",
    "02_types": QUOTE + "when $sku > 50ms {\n  print(retval);\n}\n",
    "03_no_class": PLACE.replace("OrderService", "OrderServce") + "{ print(1); }\n",
    "04_unsafe_call": PLACE + "probe place(com.acme.shop.Order order) {\n  print(order.getTotal());\n}\n",
    "05_bracket": '@OnMethod(class="com.acme.shop.OrderService", method="place"\n{ print(arg0); }\n',
    "06_arity": QUOTE + "{\n  @lat[cls] = hist(duration, 0, 100);\n}\n",
    "06_overload": PLACE + "probe place(String customer, int qty) {\n  print(customer);\n}\n",
    "07_location": PLACE.replace("ENTRY", "EXT") + "{ print(1); }\n",
    "08_duration": PLACE + "when duration > 100ms {\n  print(1);\n}\n",
    "09_unit": QUOTE + "when duration > 100 {\n  print(1);\n}\n",
    "10_btrace": QUOTE.replace("location=RETURN", "location=@Location(Kind.RETURN)") + "{ print(1); }\n",
    "11_bpftrace": "com.acme.shop.PricingEngine::quote @return /duration > 1ms/ { print(1); }\n",
    "12_read_only": QUOTE + "{ $qty = 1; }\n",
    "13_null_safe": QUOTE + "{ print(retval?.cents); }\n",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_text(name: str, golden: Golden, tmp_path: Path) -> None:
    script = tmp_path / "probe.bt"
    script.write_text(SCRIPTS[name], encoding="utf-8")
    classes = compiled([Path(__file__).parents[1] / "java" / "acme" / "Shop.java"])
    result = btpy("check", script, "--cp", classes)
    assert result.returncode in (2, 4)
    text = result.stderr.replace(str(tmp_path) + "/", "").replace(str(classes), "CLASSES")
    golden.check(f"cli/worked/{name}.txt", text)
