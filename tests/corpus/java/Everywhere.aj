/** Advice of every kind at every join point of a library. */
public aspect Everywhere {
    static long calls;

    pointcut here(): !within(Everywhere);

    before(): execution(* *(..)) && here() { calls++; }

    Object around(): execution(!void *(..)) && here() { return proceed(); }

    after() throwing(Throwable error): execution(* *(..)) && here() { calls--; }

    before(): set(* *) && here() { calls++; }

    after() returning: call(*.new(..)) && here() { calls++; }

    before(Throwable error): handler(Throwable+) && args(error) && here() { calls++; }
}
