package btpy.agent;

import btpy.runtime.ClassNames;
import java.util.IdentityHashMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A set of patterns that is matched against loaded classes (SEARCH) and classes being loaded (WATCH).
 *
 * <p>The supertypes of a loaded class are read from its {@code Class} object. The header of a class being loaded has
 * only the names of its supertypes. So the result is stored for every name, and a class with a matching supertype
 * matches. An unknown supertype is not loaded yet, because the JVM shows a class before it loads its supertypes. The
 * same loader is about to load it in the same thread, so its class file is read.
 */
final class Watch {
    private final ClassPattern[] patterns;

    private static final int LONGEST_CHAIN = 64;

    /** Whether the types seen so far match a pattern by supertype. */
    private static final class Verdicts {
        final ConcurrentHashMap<String, Boolean> byName = new ConcurrentHashMap<String, Boolean>();
        final IdentityHashMap<Class<?>, Boolean> byClass = new IdentityHashMap<Class<?>, Boolean>();
    }

    /** The verdicts of each pattern by supertype; null for other patterns. */
    private final Verdicts[] verdicts;
    private final boolean header;
    private final boolean annotations;

    Watch(ClassPattern[] patterns) {
        this.patterns = patterns;
        verdicts = new Verdicts[patterns.length];
        boolean header = false;
        boolean annotations = false;
        for (int i = 0; i < patterns.length; i++) {
            header |= patterns[i].isBySupertype();
            annotations |= patterns[i].kind == ClassPattern.ANNOTATED;
            if (patterns[i].isBySupertype()) {
                verdicts[i] = new Verdicts();
            }
        }
        this.header = header;
        this.annotations = annotations;
    }

    boolean isEmpty() {
        return patterns.length == 0;
    }

    boolean isBySupertype() {
        return header;
    }

    /**
     * Whether a loaded class matches. The caller must call {@link #forget} after a round of calls. Only one thread at a
     * time may use it.
     *
     * <p>Without {@code readResources}, patterns by annotation match no class. Of the patterns that depend on the
     * content of the class file, only patterns by supertype match: they then ignore the content, because the class may
     * have been loaded before the agent knew that it matches.
     */
    boolean matchesLoaded(Class<?> type, String name, boolean readResources) {
        boolean matches = false;
        boolean undecided = false;
        for (int i = 0; i < patterns.length; i++) {
            ClassPattern pattern = patterns[i];
            boolean fits = pattern.isBySupertype() ? isSubtype(type, name, i)
                    : pattern.kind == ClassPattern.ANNOTATED || pattern.matchesText(name);
            if (fits && pattern.kind != ClassPattern.ANNOTATED
                    && (pattern.constants.length == 0 || pattern.isBySupertype() && !readResources)) {
                matches = true;
            } else {
                undecided |= fits;
            }
        }
        return matches || undecided && readResources && matchesResource(type, name);
    }

    /** Notes which of the loaded classes match by supertype, because classes that are loaded later may extend them. */
    void learn(Class<?>[] types) {
        if (!header) {
            return;
        }
        for (Class<?> type : types) {
            if (!type.isArray()) {
                matchesLoaded(type, ClassNames.of(type), false);
            }
        }
        forget();
    }

    /** Drops the results of {@link #matchesLoaded}, so that they do not prevent classes from being unloaded. */
    void forget() {
        for (Verdicts ofPattern : verdicts) {
            if (ofPattern != null) {
                ofPattern.byClass.clear();
            }
        }
    }

    boolean matchesLoading(ClassLoader loader, String name, byte[] classFile) {
        for (ClassPattern pattern : patterns) {
            if (!pattern.isBySupertype() && pattern.kind != ClassPattern.ANNOTATED && pattern.matchesText(name)
                    && pattern.mayBeIn(classFile)) {
                return true;
            }
        }
        if (!header && !annotations) {
            return false;
        }
        ClassHeader classHeader = ClassHeader.parse(classFile);
        if (classHeader == null) {
            return false;
        }
        boolean matches = false;
        for (int i = 0; i < patterns.length; i++) {
            ClassPattern pattern = patterns[i];
            if (pattern.isBySupertype()) {
                matches |= joins(loader, classHeader, name, i, 0) && pattern.mayBeIn(classFile);
            } else if (!matches && pattern.kind == ClassPattern.ANNOTATED) {
                matches = classHeader.mentions(pattern) && pattern.mayBeIn(classFile);
            }
        }
        return matches;
    }

    private boolean joins(ClassLoader loader, ClassHeader classHeader, String name, int i, int depth) {
        boolean matches = patterns[i].matchesText(name) || isSubtype(loader, classHeader.superclass, i, depth);
        for (int k = 0; !matches && k < classHeader.interfaces.length; k++) {
            matches = isSubtype(loader, classHeader.interfaces[k], i, depth);
        }
        verdicts[i].byName.put(name, matches);
        return matches;
    }

    /**
     * Whether a supertype matches. {@code supertype} is empty for the superclass of Object. A type without a class file
     * does not match, and neither do unknown types of the boot loader, because the class being loaded may be one that
     * is needed to read class files.
     */
    private boolean isSubtype(ClassLoader loader, String supertype, int i, int depth) {
        if (supertype.isEmpty()) {
            return false;
        }
        Boolean verdict = verdicts[i].byName.get(supertype);
        if (verdict != null || patterns[i].matchesText(supertype)) {
            return verdict == null || verdict;
        }
        byte[] classFile = loader != null && depth < LONGEST_CHAIN ? Resources.classFile(loader, supertype) : null;
        ClassHeader classHeader = classFile == null ? null : ClassHeader.parse(classFile);
        return classHeader != null && joins(loader, classHeader, supertype, i, depth + 1);
    }

    private boolean isSubtype(Class<?> type, String name, int i) {
        Boolean verdict = verdicts[i].byClass.get(type);
        if (verdict != null) {
            return verdict;
        }
        boolean matches = patterns[i].matchesText(name);
        if (!matches) {
            Class<?> superclass = type.getSuperclass();
            matches = superclass != null && isSubtype(superclass, ClassNames.of(superclass), i);
            if (!matches) {
                for (Class<?> parent : type.getInterfaces()) {
                    if (isSubtype(parent, ClassNames.of(parent), i)) {
                        matches = true;
                        break;
                    }
                }
            }
        }
        verdicts[i].byClass.put(type, matches);
        if (matches || !Boolean.TRUE.equals(verdicts[i].byName.get(name))) {
            verdicts[i].byName.put(name, matches);
        }
        return matches;
    }

    /**
     * Matches the class file in the resource, for the patterns that need it. Only the client can judge a class without
     * a resource, because it asks the JVM.
     */
    private boolean matchesResource(Class<?> type, String name) {
        byte[] classFile = Resources.classFile(type);
        ClassHeader classHeader = classFile == null ? null : ClassHeader.parse(classFile);
        for (int i = 0; i < patterns.length; i++) {
            ClassPattern pattern = patterns[i];
            if (pattern.kind == ClassPattern.ANNOTATED) {
                if (classHeader != null && classHeader.mentions(pattern) && pattern.mayBeIn(classFile)) {
                    return true;
                }
            } else if (pattern.isBySupertype() ? isSubtype(type, name, i) : pattern.matchesText(name)) {
                if (classFile == null || pattern.mayBeIn(classFile)) {
                    return true;
                }
            }
        }
        return false;
    }
}
