package btpy.runtime;

/** Facts of a woven place. */
final class Site {
    final String className;
    final String method;
    final String descriptor;
    final int line;

    Site(String className, String method, String descriptor, int line) {
        this.className = className;
        this.method = method;
        this.descriptor = descriptor;
        this.line = line;
    }
}
