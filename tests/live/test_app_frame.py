"""``app_frame()``: the code of the application behind frames of the JDK, of frameworks, proxies and drivers."""

from __future__ import annotations

from pathlib import Path

from tests.jdks import all_jdks, compiled
from tests.targets import target
from tests.tracer import tracing

JAVA = Path(__file__).parents[1] / "java"

SCRIPT = """\
config { frameworks = "Layered$Driver*"; }
@OnMethod(class="Layered$Driver", method="execute") {
  @frame[app_frame()] = count();
  @second[app_frame(1)] = count();
  @caller[frame(1)] = count();
  @skipped[frame(0, skip="java.*,Layered$*,*Proxy*,jdk.*")] = count();
  @kept[stack(skip="Layered$*,!Layered$Driver")] = count();
}
@OnMethod(class="Layered$Driver", method="execute", location=THROW) {
  @failed[app_frame(exception)] = count();
  @thrower[frame(exception, 0, skip="none")] = count();
}
"""


@all_jdks
def test_app_frame_skips_the_platform_and_the_proxy(jdk: int, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(SCRIPT)
    classes = compiled([JAVA / "Gate.java", JAVA / "Layered.java"], release=11)
    with target(jdk, "Layered", classpath=[classes]) as program:
        with tracing(program.pid, script, "--frameworks", "Layered$Platform*") as tracer:
            program.send()
            program.wait_for("done")
            assert tracer.stop() == 0, tracer.stderr
            tracer.check_complete()
        maps = tracer.maps()
        find, first, second = "Layered.find:76", "Layered.first:67", "Layered.second:71"
        # For one call, the stack has more frames of the platform than the search reads. The answer is then the best
        # frame outside of the JDK.
        assert maps["frame"] == {find: 13 + 31 + 5, "Layered$Driver.execute:17": 1}
        assert maps["second"] == {first: 13, second: 31, "Layered.main:59": 5, "null": 1}
        assert maps["caller"] == {"Layered$Platform.lambda$query$0:33": 50}
        assert maps["skipped"] == {find: 49, "null": 1}
        assert maps["kept"] == {"    Layered$Driver.execute:17": 50}
        assert maps["failed"] == {find: 2 + 4 + 1}
        assert maps["thrower"] == {"Layered$Driver.execute:18": 7}
