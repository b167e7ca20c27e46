import static org.openjdk.btrace.core.BTraceUtils.println;

import org.openjdk.btrace.core.annotations.BTrace;
import org.openjdk.btrace.core.annotations.OnMethod;

/** For BTrace: a line for each call of Stepping.Hot.step. */
@BTrace(trusted = true)
public class SteppingTrace {
    @OnMethod(clazz = "Stepping$Hot", method = "step")
    public static void step(long x, int i) {
        println(i);
    }
}
