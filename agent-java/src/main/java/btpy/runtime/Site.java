package btpy.runtime;

/** Describes a site for handlers. Methods return null or 0 if the fact is unknown. */
public final class Site {
    static final Site UNKNOWN = new Site(null, null, null, 0, null, null, null);

    final String className;
    final String method;
    final String descriptor;
    final int line;
    /**
     * The class of the member that the instruction at the site names. The class and the member are empty if the
     * instruction names no member.
     */
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

    public static String className(Session session, int siteId) {
        return session.site(siteId).className;
    }

    public static String methodName(Session session, int siteId) {
        return session.site(siteId).method;
    }

    public static String signature(Session session, int siteId) {
        return session.site(siteId).descriptor;
    }

    public static int line(Session session, int siteId) {
        return session.site(siteId).line;
    }

    public static String targetClass(Session session, int siteId) {
        return session.site(siteId).targetClass;
    }

    /** Returns the name of the method or field that the instruction names. */
    public static String targetMember(Session session, int siteId) {
        return session.site(siteId).targetMember;
    }

    /** Returns the name of the loader of the class. */
    public static String loader(Session session, int siteId) {
        return session.site(siteId).loader;
    }
}
