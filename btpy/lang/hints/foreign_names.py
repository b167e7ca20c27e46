"""Names from bpftrace, DTrace, BTrace, Java, AspectJ and Python, with their counterparts in this language.

The table has only names for which the most similar name of our language is a wrong suggestion.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

NAMES = {
    **dict.fromkeys(("nsecs", "timestamp", "nanoTime", "timeNanos", "monotonic", "perf_counter"), "nanos"),
    **dict.fromkeys(("walltimestamp", "currentTimeMillis", "timeMillis"), "now"),
    **dict.fromkeys(("gettimeofday_ns", "gettimeofday_us", "gettimeofday_ms", "gettimeofday_s"), "now"),
    **dict.fromkeys(("comm", "execname", "threadName", "curthread"), "thread_name"),
    **dict.fromkeys(("threadId", "thread_id"), "tid"),
    **dict.fromkeys(("func", "probefunc", "ppfunc", "methodName", "method_name", "probeMethod"), "method"),
    **dict.fromkeys(("probemod", "class", "className", "class_name", "clazz", "klass", "probeClass"), "cls"),
    **dict.fromkeys(("lineno", "line_number", "lineNumber"), "line"),
    **dict.fromkeys(("kstack", "ustack", "jstack", "stacktrace", "stackTrace", "backtrace"), "stack()"),
    **dict.fromkeys(("ucaller", "callerClass"), "caller()"),
    **dict.fromkeys(("return", "returned", "returnValue", "return_value", "rval", "result", "returnObj"), "retval"),
    **dict.fromkeys(("throwable", "Throwable", "exc", "thrown", "throwExp"), "exception"),
    **dict.fromkeys(("latency", "took", "elapsedTime", "duration_ns", "cost", "elapsed_time"), "duration"),
    **dict.fromkeys(("this", "receiver", "thisObject", "super"), "self"),
    **dict.fromkeys(("arguments", "params", "argv"), "args"),
    **dict.fromkeys(("None", "NULL", "nil", "nullptr", "undefined"), "null"),
    **dict.fromkeys(("pp", "pn", "probename"), "probe"),
    **dict.fromkeys(("True", "TRUE"), "true"),
    **dict.fromkeys(("False", "FALSE"), "false"),
}
"""The replacement for a name."""

OF_THREAD = {
    **dict.fromkeys(("name", "getName", "threadName"), "thread_name"),
    **dict.fromkeys(("id", "tid", "getId", "threadId"), "tid"),
    **dict.fromkeys(("isVirtual", "virtual", "is_virtual"), "is_virtual"),
    **dict.fromkeys(("stack", "stackTrace"), "stack()"),
}
"""The replacement for ``thread.NAME`` if the script has no thread variable of that name."""

_STACK = "the stack is stack(n), the stack of an exception is stack(exception, n):  print(stack(8))"
_NO_CAST = "values need no conversion:  print(arg0)"
_MAPS = "keep the values in a map:  @name[key] = …"
_WAIT = "a probe cannot wait; do later work in a timer:  @OnTimer(5s) { … }"
_LOOP = "a loop ends at its limit:  for x in items limit 10 { … }   or tests:  first(x in items: x.price > 3)"
_SKIP = "skip() ends this firing; to skip the rest of an iteration write:  if … { … }"
_SHARED = "all threads share maps:  @n = …   and a thread has values of its own:  thread.n = …"
_NOTHING = "a probe changes nothing in the program"
_EMPTY = "a body may be empty:  { }"
_CATCH = "an error ends this firing and is counted: handle it in @OnError { … }; for null write  a ?? b"

FORMS = {
    "break": _LOOP,
    "continue": _SKIP,
    "next": _SKIP,
    **dict.fromkeys(("pass", "noop"), _EMPTY),
    "with": "a probe takes no locks and opens nothing; a value gets a name by:  let x = …",
    "assert": 'a test whose result is printed:  if arg0 == null { print("null") }',
    **dict.fromkeys(("await", "async", "goto"), "this statement does not exist in a probe"),
    **dict.fromkeys(("global", "nonlocal"), _SHARED),
    "yield": 'a probe outputs values by print(value, …) or emit("name", key=value)',
    **dict.fromkeys(("import", "from"), "libraries are imported outside of probes:  import btpy.jdbc;"),
    **dict.fromkeys(("lambda",), "functions cannot be values; a function has a name:  fn twice(int n): int = n * 2;"),
    **dict.fromkeys(("try", "catch", "finally", "except"), _CATCH),
    **dict.fromkeys(("throw", "raise", "THROW"), f"{_NOTHING}, so it cannot throw"),
    **dict.fromkeys(("switch", "case", "match"), "write if … { … } else if … { … }, or c ? a : b"),
    "System": "print(…) writes a line; a script reads the JVM by property(name), nanos, uptime(), …",
    "Thread": "a script reads the thread by tid, thread_name, is_virtual; stack(8) is its stack",
    **dict.fromkeys(("Math", "math"), "there are + - * / %, c ? a : b, and the aggregations min, max, avg"),
    **dict.fromkeys(("String", "Strings"), 'text is built with f"{a} {b:>8}"; there are substr, lower, contains, …'),
    **dict.fromkeys(
        ("BTraceUtils", "Sys", "Threads", "Reflective", "Aggregations"),
        "call functions without an object, such as stack(8)",
    ),
    **dict.fromkeys(
        ("LOG", "LOGGER", "log", "logger", "Log", "logging"), "print(value, …) writes a line, warn(value, …) to stderr"
    ),
    **dict.fromkeys(
        ("RETURN", "ENTRY", "EXIT"), "`return` ends this firing; a location is written @return, @entry, @exit"
    ),
    **dict.fromkeys(("del", "unset"), "write delete @name[key]; a whole map is emptied by clear(@name)"),
    **dict.fromkeys(("isThrow", "is_throw"), "write exception != null, at @exit"),
    **dict.fromkeys(("isReturn", "is_return"), "write exception == null, at @exit"),
    "isBefore": "use a location:  com.acme.Foo::bar @entry { … }",
    **dict.fromkeys(("uid", "username", "user"), 'of the process:  @OnBegin { print(property("user.name")) }'),
    **dict.fromkeys(("cpu", "gid", "cgroup", "curtask", "ppid"), "the JVM does not know this id: use tid or pid"),
}
"""Advice if a name has no replacement."""

FUNCTIONS = {
    **dict.fromkeys(
        ("println", "echo", "log", "trace", "traceln", "debug", "puts", "console", "printArray"), "print(value, …)"
    ),
    **dict.fromkeys(("printFields", "dump", "inspect", "tracemem", "repr", "vars"), "print(show(object))"),
    **dict.fromkeys(("printa", "printAggregation", "printMap", "printNumberMap", "readCounter"), "print(@name)"),
    **dict.fromkeys(("int", "long", "float", "double", "Number", "parseInt"), "value as int, as long or as double"),
    **dict.fromkeys(("error", "fatal"), "warn(value, …), and exit(1) to end the session"),
    "speculation": "let id = new_id();  speculate(id)",
    "join": "print(array)",
    "zero": "clear(@name)",
    "trunc": "clear(@name), or print(@name, top=10)",
    "ftruncate": "clear(@name); the output goes to a file by  -o FILE",
    **dict.fromkeys(("remove", "unset"), "delete @name[key]"),
    **dict.fromkeys(("has_key", "exists", "containsKey"), "has(@name, key)"),
    **dict.fromkeys(("strcat", "strjoin", "concat", "sprintf", "format", "toString", "string", "String"), 'f"{a} {b}"'),
    **dict.fromkeys(("strlen", "length", "arraylen"), "len(x)"),
    **dict.fromkeys(("strcmp", "equals", "streq"), "a == b"),
    **dict.fromkeys(("strncmp", "startsWith", "hasPrefix"), "startswith(text, start)"),
    **dict.fromkeys(
        ("jstack", "ustack", "kstack", "dumpStack"), "print(stack()), or as a key:  @name[stack()] = count()"
    ),
    **dict.fromkeys(("strstr", "strcontains"), "contains(text, part)"),
    **dict.fromkeys(("indexOf", "index_of", "strpos"), "indexof(text, part)"),
    **dict.fromkeys(("regexp", "regex", "matcher", "like", "fnmatch"), "text =~ pattern"),
    **dict.fromkeys(("substring", "substr_before"), "substr(text, start, end)"),
    "toLowerCase": "lower(text)",
    "toUpperCase": "upper(text)",
    **dict.fromkeys(("quantize", "llquantize", "histogram"), "@name = hist(value)"),
    "lquantize": "@name = lhist(value, min, max, step)",
    **dict.fromkeys(("percentile", "percentiles", "quantile"), "@name = pctl(value, 50, 99)"),
    **dict.fromkeys(("average", "mean"), "@name = avg(value)"),
    **dict.fromkeys(("classOf", "getClass", "type"), "typeof(object)"),
    **dict.fromkeys(("isinstance", "instanceOf", "issubclass"), "object instanceof java.lang.String"),
    **dict.fromkeys(("identityHashCode", "hashCode", "identityStr"), "id(object)"),
    "sizeof": "shallow_size(object)",
    **dict.fromkeys(("name", "currentThread"), "thread_name"),
    **dict.fromkeys(("jstackAll", "threadDump", "thread_dump"), "print_threads()"),
    **dict.fromkeys(("getProperty", "sysprop"), 'property("user.dir")'),
    **dict.fromkeys(("getenv", "env"), 'environment("HOME")'),
    **dict.fromkeys(("heapUsage", "freeMemory"), "heap_used()"),
    "dumpHeap": 'heap_dump("/tmp/a.hprof")',
    **dict.fromkeys(("random", "randint"), "rand(100)"),
    **dict.fromkeys(("uuid", "nextId"), "new_id()"),
    **dict.fromkeys(("time", "ctime", "date"), 'print(strftime("%H:%M:%S"))'),
    **dict.fromkeys(("normalize", "denormalize", "scale"), "print(@name, scale=0.001)"),
    **dict.fromkeys(("range", "xrange"), "for i in 0..9 { … }"),
    **dict.fromkeys(("enumerate", "items", "entries"), "for i, x in list limit 20 { … }"),
    **dict.fromkeys(
        ("sorted", "reversed"), "for x in list limit 20 { … }, and for a map print(@name): its rows are sorted"
    ),
    **dict.fromkeys(("map", "filter", "reduce", "foreach", "forEach"), "for x in list limit 20 { … }"),
    **dict.fromkeys(("addToAggregation", "newAggregation", "newCounter"), "@name[key] = stats(value)"),
    **dict.fromkeys(("incrementCounter", "incrementAndGet", "increment", "incr", "inc", "addAndGet"), "@name += 1"),
    **dict.fromkeys(("callerEquals", "callerMatches"), 'contains(caller(), "Class.method")'),
    **dict.fromkeys(("not", "NOT"), "!(a > b)"),
    **dict.fromkeys(("isnull", "isNull", "is_null"), "x == null"),
    **dict.fromkeys(("ifnull", "coalesce", "nvl", "orElse"), "a ?? b"),
    **dict.fromkeys(("get", "field", "getField", "getInt", "getLong", "getattr"), "object.field"),
    "thread_indent": 'indent, at the beginning of a text:  print(f"{indent}{method}")',
}
"""The counterpart of a function of another language."""

FUNCTION_FORMS = {
    **dict.fromkeys(("kernel_string", "user_string", "user_string_quoted", "kstr_utf8"), _NO_CAST),
    **dict.fromkeys(
        ("flag", "flagged", "isFlagged", "setFlag", "clearFlag"), "keep it in a map:  @flagged[key] = true"
    ),
    "setopt": "settings stand outside of probes:  config { max_map_keys = 8192; }",
    **dict.fromkeys(("openTrace", "closeTrace", "freopen"), "the output goes to a file by  -o FILE"),
    **dict.fromkeys(("createTimer", "getElapsedTime", "resetTimer"), "the time of a call is `duration` at @return"),
    **dict.fromkeys(("createCountDown", "countDown", "waitFor", "signalWake", "rendezvous"), _WAIT),
    **dict.fromkeys(("strace", "ptrace", "kill", "raise", "panic", "stop", "breakpoint", "chill", "setattr"), _NOTHING),
    **dict.fromkeys(("copyout", "copyoutstr", "killJVM", "killThread"), _NOTHING),
    **dict.fromkeys(("str", "buf", "kstr", "copyinstr", "copyin", "stringof"), _NO_CAST),
    **dict.fromkeys(
        (
            "printStackTrace",
            "getStackTrace",
            "stack_trace",
            "print_stack",
            "traceStack",
            "print_backtrace",
            "print_ubacktrace",
            "jstackStr",
            "traceback",
        ),
        _STACK,
    ),
    **dict.fromkeys(("sleep", "wait", "delay"), _WAIT),
    **dict.fromkeys(("cat", "open", "readFile"), "a probe reads no files"),
    **dict.fromkeys(
        ("system", "exec", "shell", "popen"), "a probe starts no programs; pipe the output of btpy into one"
    ),
    **dict.fromkeys(("abs", "fabs", "absolute"), "write x < 0 ? -x : x"),
    **dict.fromkeys(("sqrt", "pow", "log2", "round", "floor", "ceil"), "do this arithmetic where the output is read"),
    **dict.fromkeys(("newHashMap", "newAtomicInteger", "HashMap", "dict"), _MAPS),
    **dict.fromkeys(
        ("ksym", "usym", "kaddr", "uaddr", "reg", "signal", "override", "ntop"), "a JVM has no counterpart"
    ),
}
"""Advice if there is no counterpart."""


ANNOTATIONS = {
    **dict.fromkeys(("OnExit", "OnShutdown", "End"), "@OnEnd"),
    **dict.fromkeys(("OnStart", "OnInit", "Begin", "OnAttach"), "@OnBegin"),
    **dict.fromkeys(("Before", "OnEntry", "OnEnter", "OnMethodEnter"), "@OnMethod(class=…, method=…, location=ENTRY)"),
    **dict.fromkeys(("AfterReturning", "OnReturn", "OnMethodReturn"), "@OnMethod(class=…, method=…, location=RETURN)"),
    **dict.fromkeys(("After", "Around", "OnMethodExit"), "@OnMethod(class=…, method=…, location=EXIT)"),
    **dict.fromkeys(("AfterThrowing", "OnThrow", "OnException"), "@OnMethod(class=…, method=…, location=THROW)"),
    **dict.fromkeys(("Schedule", "Scheduled", "Interval", "Every", "OnInterval", "OnTick"), "@OnTimer(5s)"),
    "Sampled": "@Sample(every=100)",
    **dict.fromkeys(("WithSpan", "NewSpan", "ContinueSpan", "Observed", "Trace", "Traced"), "@Span"),
}
"""The counterpart of an annotation of another language."""


_MATH = {
    "max": "a > b ? a : b",
    "min": "a < b ? a : b",
    "abs": "x < 0 ? -x : x",
    "random": "rand(100)",
    "round": 'print(f"{x:.0f}")',
}
_AS_IT_IS = "leave it out: values need no conversion"
_OF_NUMBERS = {
    **dict.fromkeys(("valueOf", "toString"), _AS_IT_IS),
    **dict.fromkeys(("parseInt", "parseLong", "parseDouble"), "leave it out: text cannot be read as a number here"),
}
MEMBERS = {
    "System": {
        "currentTimeMillis": "now",
        "nanoTime": "nanos",
        "getProperty": 'property("user.dir")',
        "getenv": 'environment("HOME")',
        "identityHashCode": "id(object)",
        "exit": "exit(code)",
        "out": "print(value, …)",
        "err": "warn(value, …)",
    },
    "Thread": {
        "currentThread": "thread_name, tid, is_virtual",
        "dumpStack": "print(stack())",
        "sleep": f"leave it out: {_WAIT}",
    },
    "Math": _MATH,
    "math": _MATH,
    "String": {"format": 'f"{a} {b:>8}"', "valueOf": 'f"{a}"', "join": 'f"{a}, {b}"'},
    "Strings": {
        "strcat": 'f"{a}{b}"',
        "str": "values need no conversion",
        "length": "len(text)",
        "strlen": "len(text)",
    },
    "Reflective": {
        "classOf": "typeof(object), or cls",
        "probeClass": "cls",
        "probeMethod": "method",
        "printFields": "print(show(object))",
        "get": "object.field",
        "getInt": "object.field",
        "getLong": "object.field",
        "field": "object.field",
    },
    "Collections": {"newHashMap": "@name[key] = …", "put": "@name[key] = …", "get": "@name[key]"},
    **dict.fromkeys(("Integer", "Long", "Double"), _OF_NUMBERS),
    "Objects": {
        "hash": "hash(text), or id(object)",
        "hashCode": "id(object)",
        "equals": "a == b",
        "isNull": "a == null",
        "nonNull": "a != null",
        "requireNonNull": "a ?? b",
    },
    "Arrays": dict.fromkeys(("toString", "deepToString", "asList", "stream"), "print({0})"),
    "Threads": dict.fromkeys(("jstack", "jstackStr", "jstackAll"), "print(stack(8)); of all threads:  print_threads()"),
    "Optional": {
        "of": "leave it out: null in a path gives null",
        "ofNullable": "leave it out: null in a path gives null, and for null there is  a ?? b",
        "empty": "null",
    },
    "Profiling": dict.fromkeys(
        ("newProfiler", "recordEntry", "recordExit", "snapshot", "printSnapshot"),
        "@took[cls, method] = stats(duration), at @exit",
    ),
    "D": dict.fromkeys(("probe",), 'print(value, …) or emit("name", key=value)'),
    "datetime": dict.fromkeys(("now", "utcnow", "today", "datetime"), 'print(strftime("%H:%M:%S"))'),
    "Instant": {"now": "now"},
    "LocalDateTime": {"now": 'print(strftime("%H:%M:%S"))'},
    "Sys": {"exit": "exit(code)"},
    "time": dict.fromkeys(("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic"), "now, nanos"),
    "sys": {"exit": "exit(code)", "argv": "param name = 5;", "stderr": "warn(value, …)"},
    "os": {"environ": 'environment("HOME")', "getenv": 'environment("HOME")', "getpid": "pid"},
    "threading": {"current_thread": "thread_name, tid", "get_ident": "tid"},
}
"""The replacement for a member of a class or a module of another language."""

METHODS_OF_MAPS = {
    **dict.fromkeys(("add", "append", "insert", "offer", "push"), "{map}[{0}] = true"),
    **dict.fromkeys(("put", "set"), "{map}[{0}] = {1}"),
    **dict.fromkeys(("setdefault", "putIfAbsent"), "if !has({map}, {0}) {{ {map}[{0}] = {1} }}"),
    **dict.fromkeys(("get", "getOrDefault"), "{map}[{0}] ?? {1}"),
    **dict.fromkeys(("merge", "increment", "incr", "inc", "incrementAndGet", "addAndGet"), "{map}[{0}] += 1"),
    **dict.fromkeys(("containsKey", "contains", "has", "has_key"), "has({map}, {0})"),
    **dict.fromkeys(("remove", "pop", "discard", "delete"), "delete {map}[{0}]"),
    **dict.fromkeys(("size", "length", "len"), "size({map})"),
    "isEmpty": "size({map}) == 0",
    "clear": "clear({map})",
    **dict.fromkeys(
        ("items", "entrySet", "keys", "keySet", "values", "forEach"), "for key, value in {map} limit 100 {{ … }}"
    ),
}
"""The replacement for a method of a collection that is called on a map."""


def advice_for_map(name: str, method: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """Like ``advice_for_name``, for ``@name.method(arguments)``."""
    replacement = METHODS_OF_MAPS.get(method)
    if replacement is None:
        return ()
    texts = [*arguments, *("key", "value")[len(arguments) :]]
    if replacement.endswith("?? {1}") and len(arguments) < 2:
        replacement = replacement.removesuffix(" ?? {1}")
    return (f"write {replacement.format(*texts, map=name)}",)


ARGUMENTS = {
    ("OnLowMemory", "threshold"): "a share of the pool, not bytes:  above=0.9",
    ("OnLowMemory", "thresholdFrom"): "a share of the pool:  above=0.9",
    ("OnMethod", "enableAt"): "an annotation of its own:  @Level(1) before the body",
    ("OnMethod", "where"): "it belongs to the location:  location=CALL(…, when=AFTER)",
    (
        "OnMethod",
        "when",
    ): "it belongs to the location:  location=CALL(…, when=AFTER); a predicate follows:  @OnMethod(…) when … { … }",
    ("OnMethod", "fqn"): "leave it out:  {cls}.{method} in an f-string is the whole name",
    ("OnMethod", "line"): "it is a location:  location=LINE(42)",
    ("OnMethod", "params"): 'types of parameters:  type="void (int, java.lang.String)"',
    ("OnProbe", "namespace"): "a library and its probe:  @OnProbe(jdbc.statement), after  import btpy.jdbc;",
}
"""The meaning of an argument that an annotation does not have."""


def advice_for_argument(annotation: str, name: str) -> tuple[str, ...]:
    """Like ``advice_for_name``, for the argument of an annotation."""
    help_ = ARGUMENTS.get((annotation, name))
    return () if help_ is None else (help_,)


OUTPUT_OPTIONS = {
    **dict.fromkeys(("end", "flush", "file"), "leave it out: each print is a line; values go into one f-string"),
    "sep": 'leave it out: values are separated by blanks; for another separator:  print(f"{a},{b}")',
}
"""The replacement for an option of Python's ``print``."""


OF_METHOD = {
    "target": "the object whose method runs is `self`",
    "lock": "the lock of a monitor is known at @sync",
}
"""The counterpart of an operand's name that a script uses at a location of a whole method, such as @entry."""


def advice_for_member(owner: str, member: str, argument: str = "array") -> tuple[str, ...]:
    """Like ``advice_for_name``, for ``System.nanoTime``; ``argument``: the first argument of a call."""
    replacement = MEMBERS.get(owner, {}).get(member)
    if replacement is None:
        return ()
    replacement = replacement.replace("{0}", argument)
    return (replacement if replacement.startswith("leave it out") else f"write {replacement}",)


def advice_for_name(name: str) -> tuple[str, ...]:
    """The help for an unknown name. Empty if no other language has the name."""
    if name in NAMES:
        return (f"write {NAMES[name]}",)
    return (FORMS[name],) if name in FORMS else ()


def value_of(name: str) -> str | None:
    """The variable that replaces a function of another language (``timestamp()``); None for others."""
    if name in FUNCTIONS or name in FUNCTION_FORMS or NAMES.get(name, ")").endswith(")"):
        return None
    return NAMES[name]


def in_our_words(names: str) -> str:
    """Translates a list of names that are separated by commas."""
    return ", ".join(NAMES.get(name.strip(), name.strip()) for name in names.split(","))


OPERATORS = {
    **dict.fromkeys(("and", "AND"), "&&"),
    **dict.fromkeys(("or", "OR"), "||"),
    **dict.fromkeys(("eq", "EQ", "IS"), "=="),
    **dict.fromkeys(("ne", "NE", "NEQ", "is not"), "!="),
    **dict.fromkeys(("gt", "GT"), ">"),
    **dict.fromkeys(("ge", "GE", "gte", "GTE"), ">="),
    **dict.fromkeys(("lt", "LT"), "<"),
    **dict.fromkeys(("le", "LE", "lte", "LTE"), "<="),
    **dict.fromkeys(("mod", "MOD"), "%"),
    **dict.fromkeys(("div", "DIV"), "/"),
    **dict.fromkeys(("like", "LIKE", "matches", "MATCHES"), "=~"),
    "is": "==",
    "<>": "!=",
    "===": "==",
}
"""The counterpart of an operator of another language."""

_WORDS_BETWEEN = re.compile(r"(?<=[\w)\]\"])\s+(is\s+not|is|and|or)\s+(?=[\w($@\"])")
_LITERALS = re.compile(r"(?<![\w.$@\"])(?:None|True|False)(?![\w\"(])")


def expression_in_our_words(text: str) -> str:
    """Translates the operators and constants of Python in an expression without texts in quotes."""
    if '"' in text:
        return text
    operators = _WORDS_BETWEEN.sub(lambda word: f" {OPERATORS[' '.join(word[1].split())]} ", text)
    return _LITERALS.sub(lambda word: NAMES[word[0]], operators)


def advice_for_annotation(name: str) -> tuple[str, ...]:
    """Like ``advice_for_name``, for an annotation."""
    if name in ("DTrace", "DTraceRef", "PeriodicEvent", "Injected", "Service"):
        return ("leave it out: btpy has no such annotation",)
    return (f"write {ANNOTATIONS[name]}",) if name in ANNOTATIONS else ()


def advice_for_function(name: str) -> tuple[str, ...]:
    """Like ``advice_for_name``, for the name of a called function."""
    if name in FUNCTIONS:
        return (f"here it is written:  {FUNCTIONS[name]}",)
    if name in FUNCTION_FORMS:
        return (FUNCTION_FORMS[name],)
    return advice_for_name(name)
