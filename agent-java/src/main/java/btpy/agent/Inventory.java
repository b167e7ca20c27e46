package btpy.agent;

import btpy.handlers.Starter;
import btpy.runtime.ClassNames;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The classes of a session. It compares them by identity, so it calls neither {@code hashCode} of a loader nor other
 * code of the application. Application threads call it from the transformer. So no method blocks or calls other code
 * while it holds the monitor. {@link #seesHandlers} calls other code without the monitor.
 */
final class Inventory {
    /** The beginning of the internal names of handlers. */
    private static final byte[] HANDLERS = {'b', 't', 'p', 'y', '/', 'h', 'a', 'n', 'd', 'l', 'e', 'r', 's', '/'};

    /**
     * The reason for not weaving a class whose loader does not find handlers ({@link #seesHandlers}). The client
     * explains the code in brackets.
     */
    static final String UNSEEN = "its loader does not see btpy's run-time classes [BT336]";

    private final ClassLoader system = ClassLoader.getSystemClassLoader();
    private final ClassLoader platform = system == null ? null : system.getParent();

    private final List<ClassRecord> byId = new ArrayList<ClassRecord>();
    private final Map<Integer, ClassRecord> byIdentity = new HashMap<Integer, ClassRecord>();

    /** By name, the classes about which the agent asked during loading, and which it has not seen loaded yet. */
    private final Map<String, ClassRecord> loadingRecords = new HashMap<String, ClassRecord>();
    private final List<LoaderFact> loaders = new ArrayList<LoaderFact>();

    private static final class LoaderFact extends WeakReference<ClassLoader> {
        final boolean seesHandlers;

        /** By name, the handlers that the JVM has found through the loader. */
        final ConcurrentHashMap<String, Boolean> handlers = new ConcurrentHashMap<String, Boolean>();

        LoaderFact(ClassLoader loader, boolean seesHandlers) {
            super(loader);
            this.seesHandlers = seesHandlers;
        }
    }

    /** The record of a loaded class, made if there is none. */
    synchronized ClassRecord of(Class<?> type) {
        ClassRecord record = find(type);
        if (record != null) {
            return record;
        }
        ClassLoader loader = type.getClassLoader();
        return enter(new ClassRecord(ClassNames.of(type), loader, loaderName(loader)), type);
    }

    /** The record of a loaded class or null. Recognises a class that was woven while it was being loaded. */
    synchronized ClassRecord find(Class<?> type) {
        for (ClassRecord record = byIdentity.get(System.identityHashCode(type)); record != null; record = record.next) {
            if (record.loaded() == type) {
                return record;
            }
        }
        if (loadingRecords.isEmpty()) {
            return null;
        }
        String name = ClassNames.of(type);
        ClassLoader loader = type.getClassLoader();
        ClassRecord previousRecord = null;
        for (ClassRecord loadingRecord = loadingRecords.get(name); loadingRecord != null;
                previousRecord = loadingRecord, loadingRecord = loadingRecord.next) {
            if (loadingRecord.loader.get() == loader) {
                if (previousRecord != null) {
                    previousRecord.next = loadingRecord.next;
                } else if (loadingRecord.next != null) {
                    loadingRecords.put(name, loadingRecord.next);
                } else {
                    loadingRecords.remove(name);
                }
                return enter(loadingRecord, type);
            }
        }
        return null;
    }

    /** Null for an unknown id. */
    synchronized ClassRecord get(int id) {
        return id < 1 || id > byId.size() ? null : byId.get(id - 1);
    }

    /** The record of an id that the client names. */
    ClassRecord require(int id) throws ProtocolException {
        ClassRecord record = get(id);
        if (record == null) {
            throw new ProtocolException("no class has the id " + id);
        }
        return record;
    }

    /** Adds a class that is being loaded, about which the client was asked. */
    synchronized void addLoading(ClassRecord record) {
        record.next = loadingRecords.get(record.name);
        loadingRecords.put(record.name, record);
    }

    /** Searches the loaded classes for the classes that were being loaded. Returns true if all were found. */
    boolean findLoaded(Class<?>[] loadedTypes) {
        synchronized (this) {
            if (loadingRecords.isEmpty()) {
                return true;
            }
        }
        for (Class<?> type : loadedTypes) {
            if (!type.isArray()) {
                find(type);
            }
        }
        synchronized (this) {
            return loadingRecords.isEmpty();
        }
    }

    /** All records whose bytes the JVM got, including classes that have not been seen loaded yet. */
    synchronized List<ClassRecord> woven() {
        List<ClassRecord> woven = new ArrayList<ClassRecord>();
        for (ClassRecord record : byId) {
            if (record.woven) {
                woven.add(record);
            }
        }
        for (ClassRecord newest : loadingRecords.values()) {
            for (ClassRecord record = newest; record != null; record = record.next) {
                if (record.woven) {
                    woven.add(record);
                }
            }
        }
        return woven;
    }

    /** All loaded classes that the client wove too late. */
    synchronized List<ClassRecord> overdue() {
        List<ClassRecord> overdue = new ArrayList<ClassRecord>();
        for (ClassRecord record : byId) {
            if (record.overdue) {
                overdue.add(record);
            }
        }
        return overdue;
    }

    /** {@code boot}, {@code platform}, {@code app} or class name and identity hash. */
    String loaderName(ClassLoader loader) {
        if (loader == null) {
            return "boot";
        }
        if (loader == platform) {
            return "platform";
        }
        if (loader == system) {
            return "app";
        }
        return loader.getClass().getName() + "@" + Integer.toHexString(System.identityHashCode(loader));
    }

    /** Whether the loader belongs to the JDK. */
    boolean isOfJdk(ClassLoader loader) {
        return loader == null || loader == platform;
    }

    /** The loader for a name of {@link #loaderName}; null for the boot loader, and for a loader that was unloaded. */
    ClassLoader loader(String name) {
        if (name.equals("platform")) {
            return platform;
        }
        if (name.equals("app")) {
            return system;
        }
        synchronized (loaders) {
            for (LoaderFact fact : loaders) {
                ClassLoader loader = fact.get();
                if (loader != null && loaderName(loader).equals(name)) {
                    return loader;
                }
            }
        }
        return null;
    }

    /** Whether a class belongs to the agent or its launcher, and so must not be probed. {@code name}: with dots. */
    static boolean isOwn(String name) {
        return name.startsWith("btpy.") || name.equals("BtpyLauncher");
    }

    /**
     * Whether the loader finds handlers. It asks the loader once, which runs code of the application. To link a woven
     * class, the JVM would ask the loader for them, too.
     */
    boolean seesHandlers(ClassLoader loader) {
        if (isOfJdk(loader)) {
            return true;
        }
        LoaderFact fact = fact(loader);
        if (fact != null) {
            return fact.seesHandlers;
        }
        boolean sees;
        try {
            sees = Class.forName(Starter.class.getName(), false, loader) == Starter.class;
        } catch (Throwable failure) {
            sees = false;
        }
        synchronized (loaders) {
            loaders.add(new LoaderFact(loader, sees));
        }
        return sees;
    }

    /** Whether a class file has been woven. */
    static boolean isWoven(byte[] classFile) {
        ClassHeader header = ClassHeader.parse(classFile);
        return header != null && !header.mentionedClasses(HANDLERS).isEmpty();
    }

    /**
     * Makes the JVM resolve the handlers that a woven class calls. Afterwards the JVM does not ask the loader for them
     * again (JVMS §5.3). Loaders of OSGi may return a class to the agent that they hide from their own classes. @return
     * null, or the reason why the class would not link
     */
    String link(ClassLoader loader, byte[] woven) {
        if (isOfJdk(loader)) {
            return null;
        }
        ClassHeader header = ClassHeader.parse(woven);
        return header == null ? "its woven class file cannot be read" : find(loader, header.mentionedClasses(HANDLERS));
    }

    /** As {@link #link}, for a prewoven class, which adds {@code constants} to the constants of the class. */
    String linkAdded(ClassLoader loader, byte[] constants) {
        return isOfJdk(loader) ? null : find(loader, ClassHeader.texts(constants, HANDLERS));
    }

    private String find(ClassLoader loader, List<String> handlers) {
        for (String handler : handlers) {
            LoaderFact fact = fact(loader);
            if (fact != null && fact.handlers.containsKey(handler)) {
                continue;
            }
            try {
                Class.forName(handler, false, loader);
            } catch (Throwable failure) {
                return "its loader " + loaderName(loader) + " does not find " + handler;
            }
            if (fact != null) {
                fact.handlers.put(handler, true);
            }
        }
        return null;
    }

    private LoaderFact fact(ClassLoader loader) {
        synchronized (loaders) {
            for (int i = loaders.size() - 1; i >= 0; i--) {
                ClassLoader candidate = loaders.get(i).get();
                if (candidate == loader) {
                    return loaders.get(i);
                }
                if (candidate == null) {
                    loaders.remove(i);
                }
            }
            return null;
        }
    }

    private ClassRecord enter(ClassRecord record, Class<?> type) {
        Integer identity = System.identityHashCode(type);
        record.type = new WeakReference<Class<?>>(type);
        record.next = byIdentity.get(identity);
        byIdentity.put(identity, record);
        byId.add(record);
        record.id = byId.size();
        return record;
    }
}
