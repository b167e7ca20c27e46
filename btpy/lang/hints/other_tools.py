"""Scripts for BTrace, bpftrace, DTrace, SystemTap, Byteman and Arthas: recognises them, and shows how to write their
constructs in this language.

It does not translate whole scripts, because constructs do not map one to one (a Java method body is not a probe body).
It looks up each construct that the script uses, and lists the translations in order of appearance.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from btpy.model.diagnostics import Diagnostic, Label
from btpy.model.source import Source, Span

MOST_FORMS = 24
_TRACES_METHODS = "btpy traces methods of a JVM:  com.acme.Foo::bar @return when duration > 10ms { … }"

LOCATIONS_OF_BTRACE = {"ERROR": "THROW", "THROW": "RAISE", "CHECKCAST": "CAST", "SYNC_ENTRY": "SYNC_ENTER"}
"""Locations that have another name in BTrace."""

VARIABLES_OF_BTRACE = {
    "@Self": "self",
    "@Return": "retval",
    "@Duration": "duration",
    "@ProbeClassName": "cls",
    "@ProbeMethodName": "method",
    "@TargetInstance": "target",
    "@TargetMethodOrField": "target_method",
}


class Form(NamedTuple):
    """``pattern`` finds the construct; ``used``: the text that shows the construct to the user (None: the text of the
    script); ``write``: the translation.
    """

    pattern: re.Pattern[str]
    write: str | Callable[[re.Match[str]], str]
    used: str | None = None


def _form(pattern: str, write: str | Callable[[re.Match[str]], str], used: str | None = None) -> Form:
    return Form(re.compile(pattern), write, used)


_BY_TYPE = ("THROW", "RAISE", "CATCH", "CAST", "INSTANCEOF", "NEWARRAY", "ARRAY_GET", "ARRAY_SET")


def _argument_of_btrace(location: str, key: str, value: str) -> str:
    """``clazz="X"`` of a location; BTrace names an array by the type of its elements."""
    if key not in ("clazz", "class"):
        return f'{key}="{value}"'
    if location in _BY_TYPE:
        return f'type="{value}[]"' if location == "NEWARRAY" and not value.startswith("/") else f'type="{value}"'
    return f'class="{value}"'


def location_of_btrace(match: re.Match[str]) -> str:
    """A location of BTrace in this language; ``match`` names its ``kind``."""
    name = LOCATIONS_OF_BTRACE.get(match["kind"], match["kind"])
    inner = [_argument_of_btrace(name, key, value) for key, value in re.findall(r"(\w+)\s*=\s*\"([^\"]*)\"", match[0])]
    line = re.search(r"\bline\s*=\s*(-?\d+)", match[0])
    if line is not None:
        inner.append("1..65535" if line[1].startswith("-") else line[1])
    if "Where.AFTER" in match[0] and name in ("CALL", "SYNC_ENTER", "SYNC_EXIT"):
        inner.append("when=AFTER")
    return name + (f"({', '.join(inner)})" if inner else "")


def _location(match: re.Match[str]) -> str:
    note = {"ERROR": "an exception leaves the method", "THROW": "a throw statement runs"}.get(match["kind"])
    return f"location={location_of_btrace(match)}" + (f"    ({note})" if note else "")


def _timer(match: re.Match[str]) -> str:
    return f"@OnTimer({match[1]}ms)"


def _aggregation(match: re.Match[str]) -> str:
    name = {
        "QUANTIZE": "hist(value)",
        "COUNT": "count()",
        "AVERAGE": "avg(value)",
        "MAXIMUM": "max(value)",
        "MINIMUM": "min(value)",
        "SUM": "sum(value)",
    }
    return f"@name[key] = {name.get(match[1], 'stats(value)')}"


_BTRACE = (
    _form(r"@OnMethod\b", '@OnMethod(class="…", method="…", location=…), with the same patterns'),
    _form(
        r"location\s*=\s*@Location\s*\((?:[^()]|\([^()]*\))*?Kind\s*\.\s*(?P<kind>\w+)(?:[^()]|\([^()]*\))*\)",
        _location,
    ),
    _form(r"@Sampled\b[^\n]*?Adaptive", "@Sample(adaptive=true)", "@Sampled(kind = Adaptive)"),
    _form(r"@Sampled\b", "@Sample(every=N)"),
    _form(r"@Level\b", "@Level(n)"),
    _form(r"@OnTimer\s*\(\s*(?:value\s*=\s*)?(\d+)\s*\)", _timer),
    _form(r"@OnEvent\b", '@OnEvent("name")'),
    _form(r"@OnError\b", "@OnError"),
    _form(r"@OnExit\b", "@OnEnd"),
    _form(r"@OnLowMemory\b", '@OnLowMemory(pool="…", above=0.9)'),
    _form(r"@OnProbe\b", "@OnProbe(library.probe), after `import library as …;`"),
    *(_form(rf"{annotation}\b", f"`{name}` in the body") for annotation, name in VARIABLES_OF_BTRACE.items()),
    _form(r"\bAnyType\s*\[\]", "`args`, or a probe head with `..`", "AnyType[] args"),
    _form(r"@TLS\b", "thread.name = …"),
    _form(r"@Export\b|@Property\b", "a map: @name = …"),
    _form(r"\bprintln?\s*\(|\bBTraceUtils\.print\w*\s*\(", 'print(value, …) or print(f"… {value} …")', "println(…)"),
    _form(r"\bprintf\s*\(", 'printf("format", value, …)', "printf(…)"),
    _form(r"\b(?:Strings\.)?(?:str)?cat\s*\(|\bstrcat\s*\(", 'f"{a}{b}"', "strcat(a, b)"),
    _form(r"\b(?:Strings\.)?str\s*\(", "values need no conversion", "str(value)"),
    _form(
        r"\bStrings\.(?!strcat|str\b)(\w+)\s*\(",
        "startswith, endswith, contains, indexof, substr, lower, upper, trim, `=~`",
        "Strings.…",
    ),
    _form(r"\b(?:Sys\.)?Env\.property\s*\(|(?<!\.)\bproperty\s*\(\s*\"", 'property("name")', "Sys.Env.property(…)"),
    _form(r"\b(?:Sys\.)?Env\.getenv\s*\(|(?<!\.)\bgetenv\s*\(", 'environment("NAME")', "Sys.Env.getenv(…)"),
    _form(r"\bvmArguments\s*\(", "vm_arguments()", "vmArguments()"),
    _form(r"\bTime\.millis\s*\(", "now", "Time.millis()"),
    _form(r"\bTime\.nanos\s*\(", "nanos", "Time.nanos()"),
    _form(r"\bProfiling\.\w+\s*\(", "@time[cls, method] = stats(duration), at EXIT", "Profiling.…"),
    _form(r"\b(?:Threads\.)?jstackAll\s*\(", "print_threads()", "jstackAll()"),
    _form(r"\b(?:Threads\.)?jstack\s*\(", "print(stack())", "jstack()"),
    _form(r"\b(?:Threads\.)?jstack(?:Str|AllStr)\s*\(", "stack()", "jstackStr()"),
    _form(r"\bprintArray\s*\(", "print(args) or print(array)", "printArray(…)"),
    _form(r"\bprintFields\s*\(|\bReflective\.printFields\s*\(", "print(show(object))", "printFields(object)"),
    _form(r"\b(?:Reflective\.)?get(?:Int|Long|Static)?\s*\(\s*(?:field\b|\")", "object.field", "get(field, object)"),
    _form(r"\bfield\s*\(\s*\"", "object.field", 'field("Class", "name")'),
    _form(r"\bprobeClass\s*\(", "cls", "probeClass()"),
    _form(r"\b(?:Reflective\.)?probeMethod\s*\(", "method", "probeMethod()"),
    _form(r"\bclassOf\s*\(", "typeof(object)", "name(classOf(object))"),
    _form(r"\bidentityStr\s*\(|\bidentityHashCode\s*\(", "id(object)", "identityStr(object)"),
    _form(r"\btimeNanos\s*\(", "nanos", "timeNanos()"),
    _form(r"\btimeMillis\s*\(", "now", "timeMillis()"),
    _form(r"\bthreadName\s*\(|\bThreads\.name\s*\(|\bname\s*\(\s*currentThread", "thread_name", "Threads.name(…)"),
    _form(r"\bthreadId\s*\(", "tid", "threadId(currentThread())"),
    _form(r"\bAggregations\.newAggregation\s*\(\s*AggregationFunction\.(\w+)\s*\)", _aggregation),
    _form(
        r"\bAggregations\.(?:addToAggregation|printAggregation)\s*\(",
        "@name[key] = …; print(@name)",
        "addToAggregation(…)",
    ),
    _form(r"\b(?:Collections\.)?newHashMap\s*\(|\bnewWeakMap\s*\(", "a map: @name[key]", "newHashMap()"),
    _form(r"\b(?:Counters|Atomic)\.\w+|\bnewAtomic\w+\s*\(|\bincrementAndGet\s*\(", "@name++", "newAtomicInteger(0)"),
    _form(r"\bdeadlocks\s*\(", "deadlocks() counts them, print_deadlocks() shows them", "deadlocks()"),
    _form(r"\b(?:Memory|Sys\.Memory)\.heapUsage\s*\(|\bheapUsage\s*\(", "heap_used()", "heapUsage()"),
    _form(r"\bdumpHeap\s*\(", 'heap_dump("file"), with --allow heap-dump', "dumpHeap(…)"),
    _form(r"\bSys\.exit\s*\(|(?<![.\w])exit\s*\(", "exit(code)", "exit(code)"),
    _form(r"\bSys\.\$\s*\(|\$\s*\(\s*\d", "param name: type = default;  and  --name value", "$(n)"),
    _form(r"\bsizeof\s*\(", "shallow_size(object)", "sizeof(object)"),
    _form(
        r"\bimport\s+(?:static\s+)?(?:org\.openjdk\.btrace|com\.sun\.btrace)\.[\w.*]+;?",
        "leave it out: the words of the language need no import",
        "import …",
    ),
    _form(
        r"\bpublic\s+(?:static\s+)?class\b|\bclass\s+\w+\s*\{", "no class: a script is a list of probes", "class … { }"
    ),
    _form(
        r"\b(?:public\s+)?static\s+void\s+\w+\s*\(",
        "probe name(String arg, ..) { … }, or just { … }",
        "public static void …",
    ),
)


_BTRACE_SCRIPT = re.compile(r"@BTrace\b|\bimport\s+(?:static\s+)?(?:org\.openjdk\.btrace|com\.sun\.btrace)\b")
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?(?:\*/|(?P<open>\Z))", re.DOTALL)
_LINE_COMMENTS = re.compile(r"//[^\n]*")

BPFTRACE_PROBE = (
    r"(?:kprobe|kretprobe|kfunc|kretfunc|fentry|fexit|uprobe|uretprobe|tracepoint|rawtracepoint|usdt|profile|interval|software|"
    r"hardware|watchpoint|iter|self)"
)
_SHORT = r"(?:kr|ur|rt|fr|[ktupihfsw])(?=:[\w./*+,:-]+\s*[/{,])(?!::)"  # for example k:vfs_read { … }
_BPFTRACE_SCRIPT = re.compile(
    rf"\s*(?:#![^\n]*bpftrace|(?:{BPFTRACE_PROBE}|{_SHORT}):(?!::)[\w:./*+,-]*|(?:BEGIN|END|begin|end)(?=\s*\{{))",
)

_BPFTRACE = (
    _form(r"\b(?:BEGIN|begin)\s*(?=\{)", "@OnBegin { … }"),
    _form(r"\b(?:END|end)\s*(?=\{)", "@OnEnd { … }"),
    _form(r"\busdt:[\w./*]*:(?:hotspot:)?gc__\w+", "gc_count(), gc_time(); its calls:  use btpy.gc_calls;"),
    _form(
        r"\b(?:software|hardware|s|h):[\w-]+:\d+",
        "nothing: probes run in methods, and cannot read counters of the processor",
    ),
    _form(r"\b(?:kr|ur|fr):(?!:)[\w:./*+,-]+", "com.acme.Foo::bar @return { … }"),
    _form(r"\bi:s:(\d+)", lambda match: f"@OnTimer({match[1]}s) {{ … }}"),
    _form(r"\bi:ms:(\d+)", lambda match: f"@OnTimer({match[1]}ms) {{ … }}"),
    _form(r"\b[ktuf]:(?!:)[\w:./*+,-]+", "com.acme.Foo::bar @entry { … }    (a Java method)"),
    _form(r"\bdelete\s*\(", "delete @name[key]", "delete(…)"),
    _form(
        r"\b(?:kprobe|kfunc|fentry|uprobe|usdt(?!:[\w./*]*:(?:hotspot:)?gc__)|tracepoint):[\w:./*+,-]*",
        "com.acme.Foo::bar @entry { … }    (a Java method)",
    ),
    _form(r"\b(?:kretprobe|kretfunc|fexit|uretprobe):[\w:./*+,-]*", "com.acme.Foo::bar @return { … }"),
    _form(r"\binterval:s:(\d+)", lambda match: f"@OnTimer({match[1]}s) {{ … }}"),
    _form(r"\binterval:ms:(\d+)", lambda match: f"@OnTimer({match[1]}ms) {{ … }}"),
    _form(r"\bself:signal:\w+", '@OnEvent("") { … }, then  kill -USR1 PID_OF_BTPY'),
    _form(r"\bprofile:hz:(\d+)", lambda match: f"@OnSample({match[1]}) {{ @busy[stack()] = count() }}"),
    _form(r"/[^/\n{}]+/\s*(?=\{)", "when …", "/predicate/"),
    _form(r"@start\[tid\]", "`duration` at @return and @exit: nothing to keep by hand"),
    _form(r"\bnsecs\b", "nanos"),
    _form(r"\belapsed\b", "elapsed"),
    _form(r"\bcomm\b", "thread_name"),
    _form(r"\bprobe\b(?!\s*[({])", "probe"),
    _form(r"\bfunc\b", 'method, or f"{cls}.{method}"'),
    _form(r"\b[ku]stack\b(?:\([^)]*\))?", "stack(n)"),
    _form(r"\bstr\s*\(\s*arg(\d)[^)]*\)", lambda match: f"arg{match[1]}: a string needs no function"),
    _form(r"\bsarg\d\b|\bargs(?:->|\.)\w+", "arg0, arg1, … or $name"),
    _form(r"\$(?!\w*\()\w+\s*=(?!=)", "let name = …", "$name = …"),
    _form(r"\bquantize\s*\(|\bhist\s*\(", "hist(value)", "hist(…)"),
    _form(r"\blhist\s*\(", "lhist(value, min, max, step)", "lhist(…)"),
    _form(r"\bunroll\s*\(", "for i in 0..n { … }", "unroll (n)"),
    _form(r"\bwhile\s*\(", "for x in … limit n { … }", "while (…)"),
    _form(r"\btime\s*\(", 'print(strftime("%H:%M:%S"))', "time(…)"),
    _form(r"\bjoin\s*\(", "print(array)", "join(…)"),
    _form(r"\bsystem\s*\(", "no: a probe starts no programs", "system(…)"),
    _form(r"\bzero\s*\(", "clear(@name)", "zero(@name)"),
    _form(r"\bprintf\s*\(\s*\"[^\"]*\\n\"", 'printf or print(f"…"): each is a line, without \\n', 'printf("…\\n")'),
)


_DTRACE_PROVIDER = (
    r"(?:dtrace|syscall|profile|proc|io|sched|fbt|sdt|vminfo|sysinfo|lockstat|plockstat"
    r"|(?:pid|hotspot_jni|hotspot)[$\w*]*)"
)
_DTRACE_SCRIPT = re.compile(
    rf"\s*(?:#![^\n]*dtrace\b[^\n]*|\#pragma\s+D\b[^\n]*|{_DTRACE_PROVIDER}:[\w.$*`-]*:[\w.$*`<>+-]*:[\w.*$-]*|(?:tick|profile)-\w+(?=\s*[/{{]))"
)

_DTRACE = (
    _form(r"\b(?:dtrace:::)?BEGIN\b", "@OnBegin { … }", "dtrace:::BEGIN"),
    _form(r"\b(?:dtrace:::)?END\b", "@OnEnd { … }", "dtrace:::END"),
    _form(r"\bhotspot[$\w*]*:::method-entry\b", "com.acme.Foo::bar @entry { … }"),
    _form(r"\bhotspot[$\w*]*:::method-return\b", "com.acme.Foo::bar @return { … }"),
    _form(r"\bhotspot[$\w*]*:::gc-\w+", "gc_count(), gc_time()"),
    _form(r"\bhotspot[$\w*]*:::thread-\w+", "use btpy.threads;"),
    _form(r"\bhotspot[$\w*]*:::class-loaded", '@OnClassLoad(class="com.acme.**") { … }'),
    _form(r"\bhotspot[$\w*]*:::object-alloc", "com.acme.**::* @new(java.math.BigDecimal) { … }"),
    _form(r"\bhotspot[$\w*]*:::monitor-\w+", "com.acme.**::* @sync(when=AFTER) { … }"),
    _form(
        rf"\b(?!dtrace|profile|hotspot){_DTRACE_PROVIDER}:[\w.$*`-]*:[\w.$*`<>+-]*:[\w.*$-]*",
        "com.acme.Foo::bar @entry { … }    (a Java method)",
    ),
    _form(
        r"\b(?:profile:::)?tick-(\d+)(s|sec|ms|msec)\b",
        lambda match: f"@OnTimer({match[1]}{'ms' if match[2].startswith('m') else 's'}) {{ … }}",
    ),
    _form(r"\bprofile-(\d+)\w*", lambda match: f"@OnSample({match[1]}) {{ @busy[stack()] = count() }}"),
    _form(r"/[^/\n{}]+/\s*(?=\{)", "when …", "/predicate/"),
    _form(r"\bself->\w+", "thread.name"),
    _form(r"\bthis->\w+", "let name = …"),
    _form(r"\btimestamp\b", "nanos; the time that a method took is `duration` at @return", "timestamp"),
    _form(r"\bexecname\b|\bcurthread\b", "thread_name"),
    _form(r"\bprobefunc\b", "method"),
    _form(r"\bprobemod\b", "cls"),
    _form(r"\bcopyinstr\s*\(", "strings need no function: $name or arg0", "copyinstr(…)"),
    _form(r"(?<!l)\bquantize\s*\(", "hist(value)", "quantize(…)"),
    _form(r"\blquantize\s*\(", "lhist(value, min, max, step)", "lquantize(…)"),
    _form(r"\bprinta\s*\(", "print(@name)", "printa(…)"),
    _form(r"\btrunc\s*\(", "clear(@name), or print(@name, top=10)", "trunc(…)"),
    _form(r"\b([uj]?stack)\s*\([^()]*\)", "stack(n)"),
    _form(r"\bspeculation\s*\(", "new_id(), then speculate(id), commit(id), discard(id)", "speculation()"),
    _form(r"\bprintf\s*\(\s*\"[^\"]*\\n\"", 'printf or print(f"…"): each is a line, without \\n', 'printf("…\\n")'),
)


def _systemtap_java(match: re.Match[str]) -> str:
    """``java("App").class("Foo").method("bar").return``"""
    owner, method = match["owner"] or "com.acme.Foo", (match["method"] or "bar").partition("(")[0]
    return f"{owner}::{method} {'@return' if match['return'] else '@entry'} {{ … }}"


_SYSTEMTAP_POINT = (
    r"(?:begin|end|error|never|oneshot|(?:timer|kernel|process|module|java|hotspot|jvm|python\d?|procfs|netfilter|perf|syscall"
    r"|nd_syscall|scheduler|vm|vfs|ioblock|socket|tcp|udp|signal|stap|task_finder|user)\b[\w.*(\"]*)"
)
_SYSTEMTAP_SCRIPT = re.compile(
    rf"\s*(?:#![^\n]*stap\b[^\n]*\s*|(?:private\s+)?global\b(?:[^\n;]*[\n;])\s*)*"
    rf"probe\s+{_SYSTEMTAP_POINT}[^\n{{]*?(?=\s*[{{\n,?!])"
)

_SYSTEMTAP = (
    _form(r"\bprobe\s+begin\b", "@OnBegin { … }"),
    _form(r"\bprobe\s+(?:end|error)\b", "@OnEnd { … }"),
    _form(r"\bprobe\s+oneshot\b", "@OnBegin { …; exit() }"),
    _form(r"\bprobe\s+never\b", "leave it out"),
    _form(r"\btimer\.(s|sec)\((\d+)\)", lambda match: f"@OnTimer({match[2]}s) {{ … }}"),
    _form(
        r"\btimer\.(us|usec|ns|nsec|jiffies)\((\d+)\)[.\w()]*",
        "@OnTimer(10ms) { … }    (of threads that run:  @OnSample(99) { … })",
    ),
    _form(r"\bprobe\s+process(?:\([^()\n]*\))?\.(?:begin|thread\.begin)\b", "@OnBegin { … }"),
    _form(r"\bprobe\s+process(?:\([^()\n]*\))?\.(?:end|thread\.end)\b", "@OnEnd { … }"),
    _form(r"\btimer\.(ms|msec)\((\d+)\)", lambda match: f"@OnTimer({match[2]}ms) {{ … }}"),
    _form(
        r"\btimer\.(?:profile|hz)\b(?:\((\d+)\))?",
        lambda match: f"@OnSample({match[1] or 99}) {{ @busy[stack()] = count() }}",
    ),
    _form(
        r"\bjava\([^()\n]*\)(?:\.class\(\"(?P<owner>[^\"\n]*)\"\))?(?:\.method\(\"(?P<method>[^\"\n]*)\"\))?(?P<return>\.return)?",
        _systemtap_java,
    ),
    _form(r"\bhotspot\.gc_\w+", "gc_count(), gc_time()"),
    _form(r"\bhotspot\.thread_\w+", "use btpy.threads;"),
    _form(r"\bhotspot\.class_loaded", '@OnClassLoad(class="com.acme.**") { … }'),
    _form(r"\bhotspot\.method_entry", "com.acme.Foo::bar @entry { … }"),
    _form(r"\bhotspot\.method_return", "com.acme.Foo::bar @return { … }"),
    _form(
        r"\b(?:kernel|process|module|syscall|vfs|user|python\d?)\b[\w.*]*(?:\([^()\n]*\))?[\w.]*(?:\([^()\n]*\))?(?=\.return)\.return",
        "com.acme.Foo::bar @return { … }    (a Java method)",
    ),
    _form(
        r"\bprobe\s+(?!timer|java|hotspot|begin|end|error|oneshot|never)[\w.*]+(?:\([^()\n]*\))?[\w.]*(?:\([^()\n]*\))?(?!\.return)"
        r"(?=[?!]?\s*[{,])",
        "com.acme.Foo::bar @entry { … }    (a Java method)",
    ),
    _form(r"\b(?:private\s+)?global\s+(\w+)%?", lambda match: f"a map, without a declaration: @{match[1]}[key] = …"),
    _form(r"(\w+)(?:\[[^\]\n]*\])?\s*<<<\s*[^;\n}]+", lambda match: f"@{match[1]}[key] = stats(value)"),
    _form(
        r"@(count|sum|min|max|avg)\s*\(",
        lambda match: f"@name[key] = {match[1]}(…), printed by print(@name)",
        "@count(…)",
    ),
    _form(r"@hist_(?:log|linear)\s*\(", "@name = hist(value)", "@hist_log(…)"),
    _form(r"\bforeach\s*\(", "for key, value in @name limit 100 { … }", "foreach (…)"),
    _form(r"\bexecname\s*\(\s*\)", "thread_name"),
    _form(r"\btid\s*\(\s*\)", "tid"),
    _form(r"\bpid\s*\(\s*\)", "pid"),
    _form(r"\bpp\s*\(\s*\)|\bprobefunc\s*\(\s*\)", 'method, or f"{cls}.{method}"'),
    _form(r"\bgettimeofday_\w+\s*\(\s*\)", "nanos; the time that a method took is `duration` at @return"),
    _form(r"\bprint_u?backtrace\s*\(", "print(stack())", "print_backtrace()"),
    _form(r"\bprintln?\s*\(", 'print(value, …) or print(f"… {value} …")', "println(…)"),
    _form(r"\bprintf\s*\(\s*\"[^\"]*\\n\"", 'printf or print(f"…"): each is a line, without \\n', 'printf("…\\n")'),
    _form(
        r"\buser_string\w*\s*\(|\bkernel_string\w*\s*\(", "strings need no function: $name or arg0", "user_string(…)"
    ),
    _form(r"\bnext\b", "skip()"),
    _form(r"\bdelete\s+(?!@)\w+", "delete @name[key], or clear(@name)"),
)

_BYTEMAN_SCRIPT = re.compile(r"\s*RULE\b[^\n]*")

_BYTEMAN = (
    _form(r"\bRULE\b[^\n]*", "one probe; its name:  … @entry as name { … }", "RULE …"),
    _form(r"\bCLASS\s+(?!\^)([\w.$]+)", lambda match: f"{match[1]}::method"),
    _form(r"\bCLASS\s+\^([\w.$]+)", lambda match: f"+{match[1]}::method    (subclasses, too)"),
    _form(r"\bINTERFACE\s+\^?([\w.$]+)", lambda match: f"+{match[1]}::method"),
    _form(r"\bMETHOD\s+([\w<>$]+(?:\([^()\n]*\))?)", lambda match: f"Class::{match[1]}"),
    _form(r"\bAT\s+ENTRY\b", "@entry"),
    _form(r"\bAT\s+(?:EXIT|RETURN)\b", "@return"),
    _form(r"\bAT\s+EXCEPTION\s+EXIT\b", "@throw"),
    _form(r"\bAT\s+THROW\b", "@raise"),
    _form(r"\b(?:AT|AFTER)\s+LINE\s+(\d+)", lambda match: f"@line({match[1]})"),
    _form(
        r"\bAT\s+(?:INVOKE|CALL)\s+([\w.$]+?)\.?(\w+)(?:\([^()\n]*\))?(?=\s|$)",
        lambda match: f"@call({match[1]}::{match[2]})",
    ),
    _form(
        r"\bAFTER\s+(?:INVOKE|CALL)\s+([\w.$]+?)\.?(\w+)(?:\([^()\n]*\))?(?=\s|$)",
        lambda match: f"@call({match[1]}::{match[2]}, when=AFTER)",
    ),
    _form(r"\b(?:AT|AFTER)\s+READ\s+(\S+)", "@get(com.acme.Foo::field)"),
    _form(r"\b(?:AT|AFTER)\s+WRITE\s+(\S+)", "@set(com.acme.Foo::field)"),
    _form(r"\b(?:AT|AFTER)\s+SYNCHRONIZE\b", "@sync(when=AFTER)"),
    _form(r"\bBIND\b", "let name = …;  in the body"),
    _form(r"\bIF\s+(?i:true)\b", "nothing: a probe without `when` always runs", "IF true"),
    _form(r"\bIF\s+(?!(?i:true)\b)[^\n]+", "when …"),
    _form(r"\bDO\b", "{ … }"),
    _form(r"\bENDRULE\b", "}"),
    _form(r"\$0\b|\$this\b", "self"),
    _form(r"\$([1-9])\b", lambda match: f"arg{int(match[1]) - 1}"),
    _form(r"\$!", "retval"),
    _form(r"\$\^", "exception"),
    _form(r"\$\*", "args"),
    _form(r"\$#", "the number of parameters is known: Class::method(int, String) chooses one overload"),
    _form(
        r"\b(?:traceln|debug|trace|System\.out\.println)\s*\(", 'print(value, …) or print(f"… {value} …")', "traceln(…)"
    ),
    _form(r"\btraceStack\s*\(", "print(stack())", "traceStack()"),
    _form(r"\b(?:incrementCounter|createCounter|readCounter)\s*\(", "@name += 1", "incrementCounter(…)"),
    _form(r"\bcallerEquals\s*\(|\bcallerMatches\s*\(", 'contains(caller(), "…")', "callerEquals(…)"),
    _form(r"\b(?:throw|RETURN\s+\S|killJVM|delay|waitFor|signalWake)\b", "no: a probe changes nothing in the program"),
)

_ARTHAS_SCRIPT = re.compile(
    r"\s*(?:(?:watch|trace|stack|tt|monitor|sc|sm|jad|getstatic|vmtool|dump|redefine|retransform)"
    r"(?:\s+-{1,2}\w+(?:\s+\d+)?)*\s+[\w.*$/|?^]+(?:(?:\s+|::|\#)[\w*<>$|.]+)?(?=\s|$)|tt(?=\s+-[lipd]\b)|ognl(?=\s+['\"])|"
    r"(?:thread(?=\s+-|\s*$)|dashboard|memory|jvm|sysprop|sysenv|heapdump|logger|profiler|classloader|perfcounter|vmoption)\b[^\n{:=]*$|"
    r"mbean\b[^\n{}]*$)"
)


def _arthas_method(match: re.Match[str], location: str) -> str:
    names = (match["owner"], match["method"] or "*")
    patterns = [f"/{name}/" if "|" in name else name for name in names]
    return f"{'::'.join(patterns)}{location}"


_ARTHAS_TARGET = (
    r"(?:\s+-{1,2}\w+(?:\s+\d+)?)*\s+(?!-)(?P<owner>[A-Za-z*][\w.*$|?^]*)(?:(?:\s+|::|\#)(?P<method>[\w*<>$|.]+))?"
)

_ARTHAS = (
    _form(
        rf"^\s*watch{_ARTHAS_TARGET}",
        lambda match: _arthas_method(match, " @exit { print(args, show(retval), exception) }"),
    ),
    _form(
        r"^\s*tt(?=\s+-[lipd]\b)[^\n]*",
        "btpy cannot repeat calls; it can record events:  btpy PID -e '…' --record FILE",
        "tt",
    ),
    _form(
        rf"^\s*tt(?!\s+-[lipd]\b){_ARTHAS_TARGET}",
        lambda match: _arthas_method(match, " @exit { print(args, retval) }"),
    ),
    _form(
        rf"^\s*trace{_ARTHAS_TARGET}",
        lambda match: f"btpy trace PID {_arthas_method(match, '')} --min 10ms    (at the command line)",
    ),
    _form(
        rf"^\s*monitor{_ARTHAS_TARGET}",
        lambda match: f"btpy latency PID {_arthas_method(match, '')}    (at the command line)",
    ),
    _form(rf"^\s*stack{_ARTHAS_TARGET}", lambda match: _arthas_method(match, " { print(stack()) }")),
    _form(
        rf"^\s*s[cm]{_ARTHAS_TARGET}",
        lambda match: f"btpy ls PID {_arthas_method(match, '')}    (at the command line)",
    ),
    _form(
        r"^\s*(?:jad|dump|redefine|retransform)\b",
        "btpy decompiles and redefines nothing; to list members:  btpy ls PID com.acme.Foo",
    ),
    _form(
        r"^\s*(?:ognl|getstatic|vmtool)\b",
        "btpy runs no code of the program; a probe prints the values in a method:  btpy PID -e '…'",
    ),
    _form(r"^\s*thread\b", "@OnBegin { print_threads() }"),
    _form(
        r"^\s*(?:dashboard|memory|jvm)\b",
        "@OnTimer(5s) { print(heap_used(), gc_count(), uptime()) }; btpy ps lists JVMs",
    ),
    _form(r"^\s*sysprop\b", '@OnBegin { print(property("user.dir")) }'),
    _form(r"^\s*sysenv\b", '@OnBegin { print(environment("HOME")) }'),
    _form(r"^\s*heapdump\b", '@OnBegin { heap_dump("/tmp/a.hprof") }, with --allow heap-dump'),
    _form(r"^\s*classloader\b", "of a class that is traced:  loader; of a value:  loader_of(value)"),
    _form(r"^\s*(?:mbean|perfcounter|vmoption)\b", "@OnBegin { print(vm_arguments(), heap_used(), gc_count()) }"),
    _form(r"^\s*profiler\b", "@OnSample(99) { @busy[stack()] = count() }"),
    _form(r"^\s*logger\b", "btpy cannot change log levels: it changes nothing in the program"),
    _form(r"\bparams\b(?:\[(\d)\])?", lambda match: f"arg{match[1]}" if match[1] else "args", None),
    _form(r"\breturnObj\b", "retval"),
    _form(r"\bthrowExp\b", "exception"),
    _form(r"(?<=[{, ])target\b", "self"),
    _form(r"#cost\b", "duration:  when duration > 10ms"),
    _form(r"\s-x\s+(\d)", lambda match: f"show(object, {match[1]})"),
    _form(r"\s-n\s+(\d+)", lambda match: f"@Limit(hits={match[1]}), or --hits {match[1]}"),
)


class Tool(NamedTuple):
    """Another tracer. ``script`` matches the beginning of its scripts, or with ``anywhere`` a part of them."""

    name: str
    code: str
    script: re.Pattern[str]
    forms: tuple[Form, ...]
    title: str
    note: str
    anywhere: bool = False


_TOOLS = (
    Tool(
        "BTrace",
        "BT011",
        _BTRACE_SCRIPT,
        _BTRACE,
        "this is a BTrace script: a Java class",
        'a script is a list of probes:  @OnMethod(class="…", method="…", location=RETURN) { … }',
        anywhere=True,
    ),
    Tool("bpftrace", "BT014", _BPFTRACE_SCRIPT, _BPFTRACE, "this is a bpftrace script", _TRACES_METHODS),
    Tool("DTrace", "BT014", _DTRACE_SCRIPT, _DTRACE, "this is a DTrace script", _TRACES_METHODS),
    Tool("SystemTap", "BT014", _SYSTEMTAP_SCRIPT, _SYSTEMTAP, "this is a SystemTap script", _TRACES_METHODS),
    Tool("Byteman", "BT014", _BYTEMAN_SCRIPT, _BYTEMAN, "this is a Byteman rule", _TRACES_METHODS),
    Tool("Arthas", "BT014", _ARTHAS_SCRIPT, _ARTHAS, "this is a command of Arthas", _TRACES_METHODS),
)


def head_of_probe(text: str, start: int) -> tuple[str, tuple[int, int], str] | None:
    """A probe of bpftrace, DTrace or SystemTap that begins at ``start``, among probes of our language: the name of the
    tool, the span of its head, and the translation (empty if there is none).
    """
    for tool in _TOOLS:
        match = None if tool.anywhere or tool.name in _OF_OTHER_SHAPE else tool.script.match(text, start)
        if match is None or match[0].lstrip().startswith("#"):
            continue
        at = match.start() + len(match[0]) - len(match[0].lstrip())
        for form in tool.forms:
            used = form.pattern.search(text, at, match.end() + 40)
            if used is not None and used.start() < match.end():
                replacement = form.write if isinstance(form.write, str) else form.write(used)
                return tool.name, (at, max(match.end(), at + 1)), replacement
        return tool.name, (at, max(match.end(), at + 1)), ""
    return None


_OF_OTHER_SHAPE = ("Byteman", "Arthas")
"""These scripts are not lists of probes with bodies in braces."""

_LINES_OF_COMMENT = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)


def _blank(comment: re.Match[str]) -> str:
    """Spaces in place of a comment. ``/*`` without an end is part of a path such as ``/lib/*``. The pattern matches it
    to the end of the text, so that the search does not start again at each ``/*`` of a long text.
    """
    if comment["open"] is not None:
        return _LINE_COMMENTS.sub(lambda line: " " * len(line[0]), comment[0])
    return re.sub(r"[^\n]", " ", comment[0])


def recognise(source: Source) -> Diagnostic | None:
    """The diagnostic for a script that is written for another tracer; None for other scripts."""
    text = _COMMENTS.sub(_blank, source.text)
    for tool in _TOOLS:
        if tool.anywhere:
            match = tool.script.search(text)
        else:  # a line that begins with # may be a comment, or a pragma
            texts = (text, source.text, _LINES_OF_COMMENT.sub(lambda line: " " * len(line[0]), text))
            match = next((match for text in texts if (match := tool.script.match(text)) is not None), None)
        if match is None:
            continue
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        return Diagnostic(
            tool.code,
            tool.title,
            Label(Span(source, start, start + len(match[0].strip())), f"{tool.name}'s"),
            help=_help(_table(text, tool.forms)),
            notes=(tool.note,),
        )
    return None


def _help(table: str) -> tuple[str, ...]:
    return (f"the counterparts of its forms in btpy:\n{table}",) if table else ()


def _table(text: str, forms: tuple[Form, ...]) -> str:
    rows: dict[str, tuple[int, str]] = {}
    for form in forms:
        for match in form.pattern.finditer(text):
            used = form.used or " ".join(match[0].split())
            write = form.write if isinstance(form.write, str) else form.write(match)
            rows.setdefault(used, (match.start(), write))
    rows_in_order = sorted((at, used, write) for used, (at, write) in rows.items())
    table_rows = rows_in_order[:MOST_FORMS]
    width = max((len(used) for _, used, _ in table_rows if len(used) <= 44), default=0)
    lines = [
        f"  {used:<{width}}  →  {write}" if len(used) <= 44 else f"  {used}\n  {'':<{width}}  →  {write}"
        for _, used, write in table_rows
    ]
    if len(rows_in_order) > len(table_rows):
        lines.append(f"  … and {len(rows_in_order) - len(table_rows)} more")
    return "\n".join(lines)
