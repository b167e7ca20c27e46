package btpy.runtime;

/** Facts of a woven place. */
final class Site {
    final String className;
    final String method;
    final String descriptor;
    final int line;
    /** What the instruction at the place names; empty where it names nothing. */
    final String targetClass;
    final String targetMember;
    final String loader;

    Site(String className, String method, String descriptor, int line, String targetClass, String targetMember, String loader) {
        this.className = className;
        this.method = method;
        this.descriptor = descriptor;
        this.line = line;
        this.targetClass = targetClass;
        this.targetMember = targetMember;
        this.loader = loader;
    }
}
