"""``config { name = value; }``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from btpy.lang.builtins import SETTINGS, SettingRule
from btpy.lang.check.attachments import Report
from btpy.lang.check.checking import Checking
from btpy.lang.check.faults import repeated
from btpy.lang.check.frameworks import split
from btpy.lang.link.parameters import constant
from btpy.lang.syntax import nodes
from btpy.model.diagnostics import Diagnostic, Label, did_you_mean

SettingValue = int | float | bool | str


def read_settings(checking: Checking) -> None:
    """Reads the values of ``config``. Frameworks of the script are added to those that the user has named."""
    checking.settings = _values(checking.linked.settings, checking.report)
    frameworks = split(str(checking.settings.get("frameworks", "")))
    permissions = checking.permissions
    checking.permissions = replace(permissions, frameworks=(*permissions.frameworks, *frameworks))


def _values(settings: Iterable[nodes.Setting], report: Report) -> dict[str, SettingValue]:
    """The values by name. Wrong values are reported and left out."""
    settings_of: dict[str, tuple[SettingValue, nodes.Setting]] = {}
    for setting in settings:
        name = setting.name.text
        rule = SETTINGS.get(name)
        if rule is None:
            report(
                Diagnostic(
                    "BT110",
                    f"unknown setting `{name}`",
                    Label(setting.name.span),
                    help=did_you_mean(name, SETTINGS),
                    notes=("settings: " + ", ".join(SETTINGS),),
                )
            )
        elif name in settings_of:
            report(repeated(f"`{name}` is set twice", setting.name.span, settings_of[name][1].name.span))
        else:
            value = _value(rule, setting.value)
            if value is None:
                help_ = did_you_mean(str(getattr(constant(setting.value), "value", "")), rule.choices)
                report(Diagnostic("BT201", f"`{name}` must be {rule.wanted}", Label(setting.value.span), help=help_))
            else:
                settings_of[name] = value, setting
    return {name: value for name, (value, _) in settings_of.items()}


def _value(rule: SettingRule, tree: nodes.Expression) -> SettingValue | None:
    """The value, if the setting allows it."""
    literal = constant(tree)
    value = None if literal is None else literal.value
    match rule.type:
        case "boolean":
            fits = isinstance(value, bool)
        case "text":
            fits = isinstance(value, str)
        case "string":
            fits = value in rule.choices
        case "integer":
            fits = isinstance(value, int) and not isinstance(value, bool) and rule.least <= value <= rule.most
        case _:
            fits = isinstance(value, int | float) and not isinstance(value, bool) and rule.least < value <= rule.most
    return value if fits else None
