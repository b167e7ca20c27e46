"""Every diagnostic of a script, with its exact text in tests/golden/lang/errors (``--update-golden``, then read it)."""

from __future__ import annotations

import pytest

from btpy.errors import ScriptError
from btpy.explanations import explanations
from btpy.lang.check.checker import check_source
from btpy.model.diagnostics import render_all
from btpy.model.source import Source
from tests.conftest import Golden

QUOTE = '@OnMethod(class="com.acme.shop.PricingEngine", method="quote", location=RETURN)\n'
PLACE = '@OnMethod(class="com.acme.shop.OrderService", method="place", location=ENTRY)\n'

BTRACE = """/* Who is slow? */
import static org.openjdk.btrace.core.BTraceUtils.*;
import org.openjdk.btrace.core.annotations.*;

@BTrace public class Slow {
    @TLS private static long started;
    private static Aggregation times = Aggregations.newAggregation(AggregationFunction.QUANTIZE);

    @OnMethod(clazz = "+java.sql.Statement", method = "/execute.*/", location = @Location(Kind.ERROR))
    public static void failed(@Self Object self, @ProbeMethodName String name, Throwable error) {
        println(Strings.strcat("failed: ", name));
        Threads.jstack();
    }

    @OnMethod(clazz = "com.acme.Foo", method = "bar",
              location = @Location(value = Kind.CALL, clazz = "java.net.URL", method = "open", where = Where.AFTER))
    public static void called(@Duration long time, AnyType[] args) {
        Aggregations.addToAggregation(times, time);
        printArray(args);
    }

    @OnTimer(4000) public static void print() {
        printAggregation("times", times); println(Sys.Env.property(Strings.str(Time.millis()))); jstackAll();
    }
}
"""
BPFTRACE = """#!/usr/bin/env bpftrace
BEGIN { printf("tracing\\n"); }
kprobe:vfs_read /pid == 42/ { @start[tid] = nsecs; }
kretprobe:vfs_read /@start[tid]/ { @us[comm] = hist((nsecs - @start[tid]) / 1000); delete(@start[tid]); }
interval:s:5 { print(@us); clear(@us); }
"""
DTRACE = """#!/usr/sbin/dtrace -s
hotspot$target:::method-entry /copyinstr(arg1) == "com/acme/Foo"/ { self->ts = timestamp; }
hotspot$target:::method-return /self->ts/ { @[probefunc] = quantize(timestamp - self->ts); self->ts = 0; }
tick-5s { printa(@); trunc(@); }
"""

CASES = {
    # reading
    "BT001_value_missing": "@OnEnd { let x = ; }",
    "BT001_operand_missing": "@OnEnd { print(1 + ) }",
    "BT001_no_body": '@OnMethod(class="A")',
    "BT001_braces": "A::b { if (x) print(1); }",
    "BT001_semicolon": "A::b { print(1)\n  print(2) }",
    "BT001_upper_case_map": "A::b { @Hits[cls] = count(); }",
    "BT001_misspelt_keyword": "A::b wehn x { }",
    "BT001_stray_character": "A::b { print(1 $ 2) }",
    "BT001_version_in_the_middle": "A::b { } btpy 1;",
    "BT002_next_line": '@OnMethod(class="com.acme.shop.OrderService", method="place"\n{ print(arg0); }',
    "BT002_same_line": "A::b { @m[1 = count(); }",
    "BT002_brace": "A::b {\n  print(1);\n\n@OnEnd { print(2) }",
    "BT003_stray": "A::b { print(1)); }",
    "BT004_open": 'A::b { print("abc) }',
    "BT004_single_quotes": "A::b { print('it') }",
    "BT005": "/* text\nA::b { }",
    "BT006": "A::b { print(9223372036854775808, 300000000000d) }",
    "BT007": r'A::b { print("\q") }',
    "BT009": "A::b { print(" + "-" * 200 + "1) }",
    "BT010_open": 'A::b { print(f"{cls") }',
    "BT010_close": 'A::b { print(f"cls}") }',
    "BT010_empty": 'A::b { print(f"{}") }',
    "BT001_in_an_f_string": 'A::b { print(f"{cls +}") }',
    "BT011_location": '@OnMethod(class="x", location=@Location(Kind.ERROR)) { print(1) }',
    "BT011_call": '@OnMethod(class="x", location=@Location(value=Kind.CALL, clazz="y", method="z")) { print(1) }',
    "BT011_kind": '@OnMethod(class="x", location=Kind.RETURN) { print(1) }',
    "BT011_class": "@BTrace public class Foo { }",
    "BT011_script": BTRACE,
    "BT014_script": BPFTRACE,
    "BT014_second": "A::b { print(1) }\nkprobe:vfs_read { print(2) }",
    "BT014_dtrace": DTRACE,
    "BT014_short": "k:vfs_* { @[probe] = count(); }\ni:s:1 { print(@); clear(@); }\nh:cycles:1000 { delete(@x[tid]); }",
    "BT014_gc": "usdt:/usr/lib/libjvm.so:hotspot:gc__begin { @start[tid] = nsecs; }",
    "BT014_dtrace_one_liner": 'syscall::read:entry /execname == "java"/ { @[execname] = count(); }',
    "BT011_method": '@OnMethod(class="x") public static void f(Object x) { }',
    "BT011_parameter": '@OnMethod(class="x") probe f(@Self Object x) { }',
    "BT012": "A::b @return /duration > 1ms/ { print(1) }",
    "BT013": "A::b { print(a?.b) }",
    "BT014_kprobe": "kprobe:vfs_read { @[comm] = count(); }",
    "BT014_begin": "BEGIN { print(1) }",
    "BT015": "btpy 2;\nA::b { }",
    "BT016_and": "A::b when depth == 0 and tid > 1 { }",
    "BT004_typographic_quotes": "A::b { print(“it”) }",
    "BT004_back_quotes": "A::b { print(`it`) }",
    "BT001_no_break_space": "A::b {\u00a0print(1) }",
    "BT001_full_width": "A::b { if tid ≥ 3 { print(1) } }",
    "BT016_suffix": "A::b { print(1L << 33) }\nA::c { print(1.5f) }",
    "BT016_arrow": "A::b { print(arg0->name) }",
    "BT016_arrow_body": "A::b -> print(1)",
    "BT016_thread_variable": "A::b { self->ts = nanos; }",
    "BT016_clause_variable": "A::b { this->ts = nanos; }",
    "BT016_lambda": "A::b { $items.forEach(x -> print(x)) }",
    "BT016_elif": "A::b { if tid > 1 { print(1) } elif tid > 2 { print(2) } }",
    "BT016_typed_variable": "A::b { String name = arg0; }\nA::c { var name = arg0; }\nA::d { List<String> a = arg0; }",
    "BT016_conditional": "A::b { print(1 if tid > 2 else 3) }",
    "BT016_positional": "A::b { print($1) }",
    "BT016_delete": "A::b { @m[tid] = 1; delete(@m[tid]) }\nA::b { @m[1] = 1; delete(@m, 1) }\nA::c { delete(@m); }",
    "BT016_formal": '@OnMethod(class="A") probe f(name: String) { }',
    "BT001_untyped_formal": "fn f(n) = n + 1;",
    "BT016_def": "def f(n) { return n; }",
    "BT016_throw": 'A::b { throw new Error("x"); }',
    "BT016_try": "A::b { try { print(1) } catch (e) { } }",
    "BT001_global": "int calls = 0;\nA::b { @calls++ }",
    "BT001_probe_inside": "A::b { com.acme.Foo::bar { print(1) } }",
    "BT404_counted": "A::b { for (int i = 0; i < 10; i++) { print(i) } }",
    "BT101_habits": "A::b { print(nsecs); }\nA::c { print(None); }\nA::d { quantize(1); }\nA::e { sleep(5); }\n"
    "A::f { jstack(); }\nA::g { print(comm()); }\nA::h { print(tid()); }\nA::i { break; }",
    "BT201_percent": 'A::b { print("%s" % tid) }',
    "BT210_exception": "A::b @throw { print(exception.message) }",
    "BT213": "A::b { print(com.acme.Limits.MAX); }\nA::c { print(Limits.current(), 1); }\n"
    "A::d { if arg0.status == Status.SHIPPED { print(1) } }",
    "BT011_state": "@TLS long start;\n@Export int calls;\nA::b { @calls += 1; }",
    "BT011_after": '@OnMethod(clazz="a.B", location=@Location(value=Kind.CALL, clazz="/.*/", where=Where.AFTER))\n{ }',
    "BT001_annotation_as_value": '@OnMethod(clazz="a.B", method="c", enableAt=@Level("1")) { }',
    "BT106_habits": "@OnExit { print(1) }\n@AfterThrowing { print(2) }",
    "BT012_dtrace": "A::b @return /self->ts/ { print(1) }",
    "BT016_for_each": "A::b { for (String s : arg0) { print(s); } }\nA::c { for (x in arg0) { print(x); } }",
    "BT016_blocks": "A::b { unroll(5) { print(1) } }\nA::c { synchronized (self) { print(1) } }",
    "BT016_declarations": "A::b { final long x = 5; }\nA::c { Map<K, V> m = arg0; }\nA::d { int[] a = arg0; }",
    "BT016_cast": "A::b { print((int) arg0); }\nA::c { let s = (java.lang.String) $name; }",
    "BT016_share": '@OnMethod(class="A", method="b") @Sample(rate=5%) { @n = count() }',
    "BT001_two_locations": "A::b @entry, @return { print(1) }\nA::c @return @throw { print(1) }",
    "BT001_dollar": "A::b { print($) }",
    "BT001_greek": "A::b { print(1)\u037e }",
    "BT001_body": "A::b when depth == 0 print(1)",
    "BT001_digit": "param 2x: int = 5;",
    "BT001_unit_case": "A::b @return when duration > 5MS { print(1) }",
    "BT001_no_condition": "A::b { if tid > 1 { } else if { } }",
    "BT201_exception": 'A::b @throw { print(stack("x"), 1); }\nA::c @throw { print(message("x")); }',
    "BT101_elsewhere": "A::b { print(durration) }",
    "BT108_asked_range": "A::b { print(tid in 1..5); }",
    "BT001_range": "A::b { if tid in 1..10 { print(1) } }",
    "BT001_map_in_braces": "A::b { @x{cls} = count() }",
    "BT208_method": "A::b { @x.count(); @x = 1; }\nA::c { @y[cls].sum(tid); @y[cls] = sum(1) }",
    "BT401_map": "A::b { x[cls] = count(); @y[cls][method] = count(); @y[1] = count(); arg0.x = 1 }",
    "BT201_name_of_argument": '@OnMethod(class="A") @Unit(ms) { @n = count() }',
    "BT212": 'A::b { print("{tid} ${arg0}"); print("%s %d", cls, tid); print("{other} 5%", tid) }',
    "BT114_java": "import java.util.List;",
    "BT402_operator": "A::b { print(arg0.isEmpty(), 1) }\nA::c @throw { exception.printStackTrace(); }",
    "BT016_equals": "A::b { if depth = 3 { } }",
    # names
    "BT101_name": QUOTE + "when durration > 50ms {\n  print(1);\n}",
    "BT101_function": "A::b { prnt(1) }",
    "BT101_function_as_name": "A::b { print(stack) }",
    "BT101_map_as_name": "A::b { @hits = count(); print(hits) }",
    "BT101_assignment": "A::b { total = 1 }",
    "BT102_let": "A::b { let x = 1; if true { let x = 2 } }",
    "BT102_built_in": "A::b { let depth = 1 }",
    "BT102_probe": "A::b as one { } A::c as one { }",
    "BT102_parameter": '@OnMethod(class="A") probe b(int x, long x) { }',
    "BT102_argument": '@OnMethod(class="A", clazz="B") { }',
    "BT103_hist": "A::b @return {\n  @lat[cls] = hist(duration, 0, 100);\n}",
    "BT103_len": "A::b { print(len()) }",
    "BT103_printf_width": 'A::b { printf("%*s", 5) }',
    "BT103_on_sample": "@OnSample { @n = count() }",
    "BT105_timer_stack": "@OnTimer(1s) { print(stack()) }",
    "BT107_sample_rate": "@OnSample(1001) { @n = count() }",
    "BT107_sample_threads": '@OnSample(99, threads="idle") { @n = count() }',
    "BT201_sample_period": "@OnSample(10ms) { @n = count() }",
    "BT103_printf": 'A::b { printf("%d %s", 1) }',
    "BT104": '@OnMethod(class="com.acme.shop.OrderService", method="place", location=EXT)\n{ }',
    "BT104_point": "A::b @retrun { }",
    "BT105_duration": PLACE + "when duration > 100ms {\n  print(1)\n}",
    "BT105_default_location": "A::b { print(retval) }",
    "BT105_throw": "A::b @throw { print(retval) }",
    "BT105_timer": "@OnTimer(5s) { print(cls) }",
    "BT105_argument_in_timer": "@OnTimer(5s) { print($x) }",
    "BT105_entry": "A::b { print(entry(arg0)) }",
    "BT105_span": 'A::b { span("b", of=arg0) }',
    "BT105_span_annotation": '@OnMethod(class="A") @Span { }',
    "BT105_inside_entry": "A::b @return { print(entry(duration)) }",
    "BT105_local_inside_entry": "A::b @return { let x = 1; print(entry(x)) }",
    "BT105_call": '@OnMethod(class="A", location=CALL(method="x"))\nwhen duration > 1ms { }',
    "BT105_targs": "A::b @new(java.lang.Thread) { print(targs[0]) }",
    "BT105_locals": "A::b @return { print(locals()) }",
    "BT105_oldval": "A::b @get(A::x) { print(oldval) }",
    "BT105_newval": "A::b @line(3) { print(newval) }",
    "BT105_size": "A::b @new(java.lang.Thread) when size > 1KB { }",
    "BT105_lock": "A::b @sync { print(target) }",
    "BT105_wait": "A::b @sync when duration > 1ms { }",
    "BT105_held": "A::b @sync_exit(when=AFTER) when duration > 1ms { }",
    "BT105_index": "A::b @set(A::x) { print(index) }",
    "BT105_caught": "A::b @catch(java.io.IOException) { print(retval, target) }",
    "BT105_entry_of_a_call": "A::b @line(3) { print(entry(arg0)) }",
    "BT101_error_field": "@OnError { print(error.knd); }",
    "BT103_event": "@OnEvent { }",
    "BT105_told": '@OnEvent("x") { print(cls, used, error.kind, stack(3)); }\n@OnUncaught { print(retval); }',
    "BT107_event": "A::b { send(cls); }",
    "BT107_happening": '@OnClassLoad(class="a.B", loader="x") { }\n@OnLowMemory(above=90) { }\n@OnEvent("a", "b") { }',
    "BT108_error": "@OnError { print(error); }",
    "BT111_class_load": "@OnClassLoad { }",
    "BT120": '@OnEvent("report") { }\nA::b { send("reprot"); }',
    "BT410": '@OnEvent("a") { send("b"); }\n@OnEvent("b") { if pid > 3 { send("a"); } }',
    "BT106": '@OnMetod(class="x") { }',
    "BT107_annotation": '@OnMethod(clas="x", class="y") { }',
    "BT107_line": '@OnMethod(class="A", location=LINE("x"))\n{ }',
    "BT107_line_zero": '@OnMethod(class="A", location=LINE(0..5))\n{ }',
    "BT107_line_last": '@OnMethod(class="A", location=LINE(5..65536))\n{ }',
    "BT107_lines": '@OnMethod(class="A", location=LINE(9..3))\n{ }',
    "BT107_lines_of_a_call": '@OnMethod(class="A", location=CALL("x", "y", "z", 1..2))\n{ }',
    "BT107_when": '@OnMethod(class="A", location=CALL(method="x", when=AFTR))\n{ }',
    "BT107_no_when": '@OnMethod(class="A", location=NEW(class="x", when=AFTER))\n{ }',
    "BT107_sync": '@OnMethod(class="A", location=SYNC_ENTER("x"))\n{ }',
    "BT107_array": '@OnMethod(class="A", location=NEWARRAY(type="byte"))\n{ }',
    "BT107_field": '@OnMethod(class="A", location=FIELD_SET(class="A", filed="x"))\n{ }',
    "BT107_print_map": "A::b { @m = count(); print(@m, topp=3) }",
    "BT107_order": 'A::b @return { @m[1] = hist(duration); print(@m, by="p98") }',
    "BT107_linear": "A::b { @m = lhist(tid, 0, 100, 30); @n = lhist(tid, 5, 5, 1); @o = lhist(tid, 0, 5000, 1) }",
    "BT107_linear_step": "A::b { @m = lhist(tid, 0, 10, -1); @n = lhist(tid, 0, tid, 1) }",
    "BT107_percentile": "A::b { @m = pctl(tid, 50, 100) }",
    "BT107_series": 'A::b { @m = tseries(tid, 1s, 60, "summ"); @n = tseries(tid, 1us); @o = tseries(tid, 1s, 0) }',
    "BT107_topk": "A::b { @m = topk(tid, 1000); @n = sample_of(tid, 0) }",
    "BT107_table": 'A::b { @m[1] = count(); @n[1] = stats(tid); } @OnEnd { table(@m, @n, by="n.p99"); }',
    "BT107_sample": '@OnMethod(class="A") @Sample(rate=2) { }\n@OnMethod(class="A") @Sample(every=2, key="tread") { }',
    "BT107_together": '@OnMethod(class="A") @Sample(every=2, key="thread") { }\n'
    '@OnMethod(class="A", location=EXIT) @Sample(every=3, key="thread") { }',
    "BT107_limit": '@OnMethod(class="A") @Limit(hits=0) { }\n@OnMethod(class="A") @Limit(rate=5/m) { }',
    "BT103_sample": '@OnMethod(class="A") @Sample { }\n@OnMethod(class="A") @Sample(every=2, rate=0.5) { }',
    "BT103_limit": '@OnMethod(class="A") @Limit { }\n@OnMethod(class="A") @Level { }',
    "BT102_sample": '@OnMethod(class="A") @Sample(every=2) @Sample(every=3) { }',
    "BT111_sample": "@OnTimer(1s) @Sample(every=2) { }",
    "BT103_has": "A::b { @m[1] = count(); if has(@m) { print(1) } }",
    "BT103_plot": "A::b { @m[1] = count(); plot(1); }",
    "BT204_has": "A::b { @m[1] = count(); if has(@m, 1, 2) { print(1) } }",
    "BT204_table": "A::b { @m[1] = count(); @n[1, 2] = count(); } @OnEnd { table(@m, @n); }",
    "BT102_table": "A::b { @m[1] = count(); } @OnEnd { table(@m, flush(@m)); }",
    "BT105_rate": "A::b { @m[1] = count(); print(rate(@m)) }",
    "BT108_rate": "A::b { @m[1] = 1; } @OnTimer(1s) { print(rate(@m)) }",
    "BT108_flush": "A::b { @m[1] = count(); let x = flush(@m); }",
    "BT108_table": "A::b { @m[1] = count(); } @OnEnd { table(@m[1]); }",
    "BT202_linear": "A::b @return { @m = lhist(duration, 0, 100, 10) }",
    "BT202_interval": "A::b { @m = tseries(tid, 5) }",
    "BT202_limit": '@OnMethod(class="A") @Limit(for=30) { }',
    "BT203_linear": "A::b { @m = lhist(tid, 0, 100, 10); @m = lhist(tid, 0, 100, 20) }",
    "BT102_span": 'A::b @exit { span("b", duration=1) }',
    "BT107_span_annotation": '@OnMethod(class="A", location=EXIT) @Span("a", tid) { }',
    "BT102_jfr": 'A::b @exit { jfr("acme.B", duration=duration) }',
    "BT103_jfr": "A::b { jfr(n=1) }",
    "BT107_jfr": 'A::b { jfr("acme.order-placed", n=1) }\nA::c { jfr("jdk.GC", n=1) }\nA::d { jfr("B", tid) }',
    "BT108_jfr": 'A::b { speculate(tid); jfr("acme.B", n=1) }',
    "BT201_jfr": 'A::b { jfr("acme.B", of=arg0) }\nA::c { jfr("C", of=stack()) }\nA::d { jfr("D", of=self.x) }',
    "BT203_jfr": 'A::b { jfr("acme.B", n=1, t=tid) }\nA::c { jfr("acme.B", n=1, t=elapsed) }',
    "BT223_jfr": "A::b { "
    + "; ".join(f'jfr("acme.E{number}", n={number})' for number in range(65))
    + " }\nA::c { "
    + f'jfr("acme.F", {", ".join(f"f{number}=1" for number in range(65))})'
    + " }",
    "BT103_span": "A::b @exit { span(method) }",
    "BT107_emit": 'A::b { emit("x", tid) }',
    "BT108_args": "A::b { let all = args }",
    "BT108_targs": "A::b @call(A::x) { let all = targs }",
    "BT108_targs_index": "A::b @call(A::x) { print(targs[depth]) }",
    "BT108_locals": "A::b @line(3) { let all = locals() }",
    "BT108_two_rests": "A::b @call(A::x) { print(args, targs) }",
    "BT108_range": "A::b { print(1..2) }",
    "BT108_statement": "A::b { print(print(1)) }",
    "BT108_return": "A::b { return 1; }",
    "BT108_clear": "A::b { @m[1] = count(); clear(@m[1]) }",
    "BT108_histogram": "A::b @exit { @m[cls] = hist(duration); print(@m[cls]) }",
    "BT109": "A::b { @hits = count() } @OnEnd { print(@hit) }",
    "BT110": "config { print_maps = true; }",
    "BT111_none": "@Outermost { }",
    "BT111_span": '@Span("a") { }',
    "BT111_twice": '@OnMethod(class="A")\n@OnEnd { }',
    "BT111_locations": '@OnMethod(class="A", location=[CALL(method="x"), NEW(class="x")])\n{ }',
    "BT111_types": '@OnMethod(class="A", location=[THROW(type="x"), CATCH(type="y")])\n{ }',
    "BT111_class": '@OnMethod(method="x") { }',
    "BT112_declared": '@OnMethod(class="A") probe b(int qty) { print($qyt, arg1) }',
    "BT113_timer": "@OnTimer(1s) probe p(int x) { }",
    # types
    "BT107_default": "param p = now; @OnEnd { print(p) }",
    "BT107_untyped": "param p; @OnEnd { print(p) }",
    "BT107_pattern": 'param p = "x"; @OnMethod(class=f"{p}.{self}", method="m") { }',
    "BT107_library": "import btpy.exceptions(off=3);\n@OnEnd { print(exceptions.@created) }",
    "BT107_formal": "fn f(int n): int = n; @OnEnd { print(f(m=1)) }",
    "BT101_library": "import btpy.exceptions;\n@OnEnd { print(exceptions.off, exceptions.f(1), exception.@created) }",
    "BT101_probe": "import btpy.exceptions;\n@OnProbe(exceptions.creatd) { }",
    "BT101_event": "import btpy.exceptions;\n@OnProbe(exceptions.created) { print(event.typ) }",
    "BT102_function": "fn f(int n): int = n;\nparam f = 1;\nfn len(string s): int = 1;\n@OnEnd { let f = 1; }",
    "BT103_function": "fn f(int n): int = n; @OnEnd { print(f(1, 2)) }",
    "BT105_event": "A::b { print(event.x) }",
    "BT105_subscriber": "import btpy.exceptions;\n@OnProbe(exceptions.created) { print(self, $x) }",
    "BT108_library": "import btpy.exceptions;\n@OnEnd { print(exceptions) }",
    "BT108_promised": "fn f(int n): int { if n > 1 { return n; } }\n@OnEnd { print(f(1)) }",
    "BT108_returns": "fn f(int n) { return n; }\nfn g(int n): int { return; }\n@OnEnd { f(1); print(g(1), f(1)) }",
    "BT108_skip": "fn f(int n): int { skip(); return n; }\n@OnEnd { print(f(1)) }",
    "BT114": "import btpy.exeptions;\n@OnEnd { print(exeptions.x, exeptions.@m, exeptions.f(1)) }",
    "BT116": "import btpy.exceptions;\n@OnEnd { exceptions.@created[1, 2] = count(); clear(exceptions.@created) }",
    "BT117_name": "A::b { provide(x=1) }",
    "BT117_nothing": '@OnMethod(class="A") probe a { }\n@OnProbe(a) { }',
    "BT117_subscriber": '@OnMethod(class="A") probe a { provide(x=1) }\n'
    "@OnProbe(a) probe b { provide(y=1) }\n@OnProbe(b) { }",
    "BT118": "import btpy.exceptions;\nparam p = 1;\nfn f(int n): int = n;\n@OnEnd { print(1) }",
    "BT201_setting": 'config { on_error = "disabel"; depth = 17; cpu_budget = 1.5; string_length = 0; }',
    "BT201_parameter": "param p: strng = 1;\nparam q: duration = 5;\nparam r: int = 3000000000;\n@OnEnd { }",
    "BT201_import": "import btpy.exceptions(at=2.5);\n@OnEnd { print(exceptions.@created) }",
    "BT202_called": "fn f(int n): int = n > 1ms ? 1 : 2;\n@OnEnd { print(f(1)) }",
    "BT201_name_after_condition": "A::b @return when duration > 1ms as slow { print(1) }",
    "BT201_formal": 'fn f(int n): int = n;\n@OnEnd { print(f("x")) }',
    "BT407": "fn f(int n): int = g(n);\nfn g(int n): int = f(n);\n@OnEnd { print(f(1)) }",
    "BT408": 'param p = 0ms;\nstatic_check(p > 0ms && len("x") == 1, "p is positive");\n@OnEnd { print(p) }',
    "BT107_static_check": '@OnEnd { static_check(now > 0, "x"); }',
    "BT201_args": "A::b @call(A::x) { print(targs.x) }",
    "BT202_size": "A::b @newarray(byte[]) when size > 65536 { }",
    "BT201_declared": QUOTE + "probe quote(String sku, int qty)\nwhen sku > 50ms { print(qty) }",
    "BT201_condition": "A::b { if depth { } }",
    "BT201_boolean": "A::b { print(is_virtual + 1) }",
    "BT201_assignment": "A::b { let total = 0; total += 1.5 }",
    "BT201_string_field": "A::b { print(cls.length) }",
    "BT201_fraction": "A::b @exit { print(duration * 1.5) }",
    "BT201_sum_of_text": "A::b { @m = sum(cls) }",
    "BT202_literal": "A::b @exit when duration > 100 { }",
    "BT202_int": '@OnMethod(class="A", location=EXIT) probe b(int millis) when duration > millis { }',
    "BT202_timer": "@OnTimer(5) { }",
    "BT203_kinds": "A::b @exit { @m[cls] = hist(duration); }\nA::c { @m[cls] = count(); }",
    "BT203_precision": "A::b @exit { @m = hist(duration); @m = hist(duration, k=4) }",
    "BT203_plain": "A::b { @n++ } A::c { @n = count() }",
    "BT204": "A::b { @m[cls, method] = count(); delete @m[cls] }",
    "BT206": "A::b { depth + 1; }",
    "BT207_format": 'A::b { print(f"{tid:zz}") }',
    "BT207_conversion": 'A::b { printf("%q", 1) }',
    "BT208": "A::b { print(count()) }",
    "BT221_back_reference": r'A::b when $x =~ "/(a|b)\1/" { }',
    "BT221_look_ahead": 'A::b when matches($x, "/(?!a).*/") { }',
    "BT221_class": 'A::b when $x !~ "/[a-/" { }',
    "BT221_size": 'A::b when $x =~ "/(a|b)*a(a|b){12}/" { }',
    "BT222_limit": "A::b { for x in arg0 limit 1001 { print(x) } }",
    "BT222_none": "A::b { for x in arg0 limit 0 { print(x) } }",
    "BT201_elements": 'A::b { for c in "text" { print(c) } }',
    "BT108_range_in_list": "A::b { for x in [1 .. 3] { print(x) } }",
    "BT204_loop": "A::b { @m[1, 2] = count() } @OnEnd { for k in @m { print(k) } }",
    "BT204_loop_without_keys": "A::b { @m = count() } @OnEnd { for k in @m { print(k) } }",
    "BT105_loop": "A::b { @m[1] = count(); for k in @m { print(k) } }",
    "BT108_loop_value": "A::b { @m[1] = hist(tid) } @OnEnd { for k, v in @m { print(k, v) } }",
    "BT103_loop": "A::b { for a, b, c in arg0 { print(a) } }",
    "BT103_range": "A::b { for i, x in 1 .. 3 { print(x) } }",
    "BT102_loop": "A::b { for x in arg0 { for x in arg1 { print(x) } } }",
    "BT223": "A::b {" + "".join(f" thread.v{number} = {number};" for number in range(34)) + " }",
    "BT001_bare_thread": "A::b { @calls[thread] = count(); }",
    "BT101_thread_name": "A::b { print(thread.name) }",
    "BT101_thread": "A::b { thread.request = 1; print(thread.reqest) }",
    "BT105_thread": "A::b { thread.x = 1 }\n@OnTimer(1s) { print(thread.x) }",
    "BT105_clear_thread": "@OnEnd { clear_thread() }",
    "BT201_thread": "A::b { thread.x -= cls }",
    "BT223_state": "A::b {" + "".join(f" state(self).v{number} = {number};" for number in range(34)) + " }",
    "BT101_state": "A::b { state(self).queued = nanos; print(state(self).queud) }",
    "BT108_state": "A::b { print(state(self)) }",
    "BT201_state_of_text": "A::b { state(cls).n = 1 }",
    "BT201_state": "A::b { state(self).x -= cls }",
    "BT101_flow": "A::b { begin_flow(); flow.user = cls; print(flow.usr) }",
    "BT105_flow": "@OnTimer(1s) { print(flow.id) }",
    "BT105_begin_flow": "@OnTimer(1s) { begin_flow() }",
    "BT108_flow": "A::b { print(flow) }",
    "BT401_flow": "A::b { flow.id = 1 }",
    "BT201_flow": "A::b { hand_over_flow(cls) }",
    "BT102_flow": "A::b { let flow = 1; print(flow) }",
    "BT103_clear_state": "A::b { state(self).x = 1; clear_state() }",
    "BT207_unit": 'A::b { print(f"{depth:us}") }',
    "BT207_key": 'A::b { @m[f"{depth:.3e}"] = count() }',
    "BT207_general": 'A::b { @m[f"{depth:.3}"] = count() }',
    "BT207_strftime": 'A::b { print(strftime("%H:%M:%S.%L")) }',
    "BT107_strftime": "A::b { print(strftime(cls)) }",
    "BT108_strftime": 'A::b { @m[strftime("%H")] = count() }',
    "BT103_speculate": "A::b { speculate(); commit(1) }",
    "BT102_duration": '@OnMethod(class="A", method="b", location=RETURN) probe p(Long duration) { print(duration) }',
    "BT103_size": "A::b @new(C) { print(size(target)) }",
    "BT209": "A::b when depth == null { }",
    "BT001_point_with_dot": "com.acme.Foo.bar @return { print(1) }",
    "BT001_point_with_colon": "com.acme.Foo:bar when tid > 0 { print(1) }",
    "BT001_point_with_slashes": "com/acme/Foo::bar { print(1) }",
    "BT001_annotation_in_lower_case": '@onmethod(class="a.B") { print(1) }',
    "BT001_statement_outside": "print(1);\n@calls[1] = count();\nlet x = 5;\n{ print(1) }",
    "BT001_no_semicolon_between": "A::b { let x = 5 let y = 6; print(x) print(y) }",
    "BT001_unit_apart": "A::b @return when duration > 5 ms { }",
    "BT001_unit_of_others": "A::b @return when duration > 5msec { } A::b { print(16kb) } A::b { print(5x) }",
    "BT201_no_quotes": "@OnMethod(class=com.acme.Foo, method=bar) { print(1) }",
    "BT101_java": 'A::b { System.out.println("x") }',
    "BT211": 'A::b @sync(when=AFTER) when duration > 1ms { @owners[owner_name(lock) ?? "?"] = count() }',
    # patterns and safety
    "BT312": '@OnMethod(class="com.acme.shop.OrderService", method="execute.*") { }',
    "BT102_location": '@OnMethod(class="A", location=CALL("x", class="y"))\n{ }',
    "BT312_call": '@OnMethod(class="A", location=CALL(class="java.net.URL", method="open.*"))\n{ }',
    "BT313_call": '@OnMethod(class="A", location=CALL(type="int"))\n{ }',
    "BT313_regex": '@OnMethod(class="/com.(acme/") { }',
    "BT313_signature": '@OnMethod(class="A", type="int") { }',
    "BT401_field": "A::b { self.count = 1 }",
    "BT401_built_in": "A::b { depth = 1 }",
    "BT402_getter": PLACE + "{\n  print(arg0.getTotal());\n}",
    "BT402_overload": 'A::b { print($name.replaceAll("x", "y")) }',
    "BT402_arity": 'A::b { print(arg0.indexOf("a", 2)) }',
    "BT402_string": '@OnTimer(1s) { print(property("x").intern()) }',
    "BT411": '@OnTimer(1s) { heap_dump("/tmp/a.hprof"); }',
    "BT105_function": "A::b { print(deadlocks()); print_threads(); }",
    "BT108_shown": "A::b { let s = show(self); if fields(self) == null { } }",
    "BT201_cast": "A::b { print(pid as a.B); }",
    "BT403": "A::b { $x = 1 }",
    "BT404": "A::b { while (depth > 0) { print(1) } }",
    "BT405": "A::b { let x = new Foo(); }",
    "BT406": "@OnEnd { " + "print(1); " * 1001 + "}",
    # declared maps
    "BT101_storage": "map @m[string] = lur(5); A::b { @m[cls] = 1 }",
    "BT102_map": "map @m[string] = lru(5); map @m[long] = lru(7); A::b { @m[cls] = 1 }",
    "BT102_map_key": "map @m[string word, long word]; A::b { @m[cls, 1] = 1 }",
    "BT107_storage": "map @m[string] = lru(0); map @n[string] = fixed(2.5); A::b { @m[cls] = 1 }",
    "BT111_map": "map @m = lru(5); A::b { @m = 1 }",
    "BT201_key": "map @m[string, long] = lru(5); A::b { @m[tid, 1] = 1 }",
    "BT203_declared": "map @m[string] = sum(5); A::b { @m[cls] = count() }",
    "BT204_declared": "map @m[string] = lru(5); A::b { @m[cls, method] = count() }",
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str, golden: Golden) -> None:
    source = Source("probe.bt", CASES[name])
    try:
        diagnostics = check_source(source).warnings
    except ScriptError as error:
        diagnostics = error.diagnostics
    code = name.split("_")[0]
    assert code in {diagnostic.code for diagnostic in diagnostics}
    script = CASES[name] if len(CASES[name]) < 400 else CASES[name][:100] + " …"
    golden.check(f"lang/errors/{name}.txt", f"{script}\n\n{render_all(diagnostics)}")


def test_every_code_of_a_script_has_a_case() -> None:
    by_planner = {"BT210"}
    when_binding = {"BT205"}
    at_once = {"BT008"}  # tests/lang/test_parser.py
    with_files = {"BT115"}  # tests/lang/test_libraries.py
    in_sessions = {"BT412"}  # tests/live/test_python.py
    covered = {name.split("_")[0] for name in CASES}
    of_scripts = {code for code in explanations() if code < "BT300" or "BT312" <= code <= "BT313" or code[2] == "4"}
    assert covered | by_planner | when_binding | at_once | with_files | in_sessions == of_scripts
