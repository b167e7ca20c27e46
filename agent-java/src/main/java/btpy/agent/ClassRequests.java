package btpy.agent;

import btpy.runtime.ClassNames;
import btpy.runtime.Headroom;
import java.io.File;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;

/** Requests about the classes of the target: SEARCH, READ, LOOK_UP and LOCATE. */
final class ClassRequests extends RequestHandler {
    private static final int MAX_MATCHES_BYTES = 12 << 20;
    private static final int MAX_CLASS_FILES_BYTES = 512 << 10;

    /** The time that a search waits for a garbage collection to free memory. */
    private static final int PATIENCE_MILLIS = 2_000;

    /** Types whose supertypes are looked up for one request. */
    private static final int MAX_LOOKED_UP = 4096;

    private final Instrumentation instrumentation;
    private final Inventory inventory;

    /** The last SEARCH, and the classes that were loaded then. */
    private int lastSearch;
    private LoadedClasses searchedClasses = LoadedClasses.NONE;

    ClassRequests(Link link, Instrumentation instrumentation, Inventory inventory) {
        super(link);
        this.instrumentation = instrumentation;
        this.inventory = inventory;
    }

    void search(int id, Payload request) throws IOException {
        Watch watch = new Watch(ClassPattern.list(request));
        int maxListed = request.size();
        int since = request.u4();
        request.end();
        Frame frame = new Frame(Frame.CLASSES, 1 << 16).u4(id);
        int counts = frame.size();
        frame.u4(0).u4(0).u4(0);
        int loadedCount = 0;
        int matchedCount = 0;
        int listedCount = 0;
        Class<?>[] types = instrumentation.getAllLoadedClasses();
        LoadedClasses earlierClasses = since == lastSearch ? searchedClasses : LoadedClasses.NONE;
        lastSearch = id;
        searchedClasses = new LoadedClasses(types);
        for (Class<?> type : types) {
            if (type.isArray()) {
                continue;
            }
            String name = ClassNames.of(type);
            loadedCount++;
            if (Inventory.isOwn(name) || earlierClasses.contains(type, name) || !watch.matchesLoaded(type, name, true)) {
                continue;
            }
            matchedCount++;
            ClassRecord record = inventory.of(type);
            if (!Headroom.await(frame.size() / 8, PATIENCE_MILLIS)) {
                throw new ProtocolException("the heap of the JVM is nearly full");
            }
            if (listedCount < maxListed && frame.size() < MAX_MATCHES_BYTES) {
                describe(frame, record, type);
                listedCount++;
            }
        }
        watch.forget();
        frame.patch(counts, loadedCount).patch(counts + 4, matchedCount).patch(counts + 8, listedCount);
        send(frame);
    }

    /** Writes a {@code LoadedClass}. */
    private void describe(Frame frame, ClassRecord record, Class<?> type) {
        Class<?> superclass = type.getSuperclass();
        Class<?>[] interfaces = type.getInterfaces();
        frame.u4(record.id).string(record.name).string(record.loaderName);
        frame.string(superclass == null ? "" : ClassNames.of(superclass)).u4(interfaces.length);
        for (Class<?> interfaceType : interfaces) {
            frame.string(ClassNames.of(interfaceType));
        }
        boolean modifiable = instrumentation.isModifiableClass(type);
        frame.u2(type.getModifiers()).bool(modifiable).string(codeSource(type));
        frame.u1(!modifiable ? 2 : inventory.seesHandlers(type.getClassLoader()) ? 0 : 1);
    }

    private static String codeSource(Class<?> type) {
        try {
            java.security.CodeSource source = type.getProtectionDomain().getCodeSource();
            return source == null || source.getLocation() == null ? "" : source.getLocation().toString();
        } catch (RuntimeException refusal) {
            return "";
        }
    }

    void read(int id, Payload request) throws IOException {
        int[] ids = request.u4s();
        request.end();
        Frame frame = new Frame(Frame.CLASS_FILES, 1 << 16).u4(id);
        int at = frame.size();
        frame.u4(0);
        int fileCount = 0;
        for (int classId : ids) {
            Class<?> type = inventory.require(classId).loaded();
            byte[] classFile = type == null ? null : Resources.classFile(type);
            if (classFile != null && frame.size() + classFile.length > MAX_CLASS_FILES_BYTES && fileCount > 0) {
                break;
            }
            frame.u4(classId).bytes(classFile == null ? new byte[0] : classFile);
            fileCount++;
        }
        send(frame.patch(at, fileCount));
    }

    /** Reads the supertypes of types that are possibly not loaded, and their supertypes in turn, from class files. */
    void lookUp(int id, Payload request) throws IOException {
        ClassLoader loader = inventory.loader(request.string());
        ArrayDeque<String> names = new ArrayDeque<String>();
        for (int remaining = request.count(4); remaining > 0; remaining--) {
            names.add(request.string());
        }
        request.end();
        Set<String> visitedNames = new HashSet<String>(names);
        Frame frame = new Frame(Frame.SUPERTYPES, 1 << 12).u4(id);
        int at = frame.size();
        frame.u4(0);
        int count = 0;
        while (!names.isEmpty() && count < MAX_LOOKED_UP) {
            String name = names.remove();
            byte[] classFile = Resources.classFile(loader, name);
            ClassHeader header = classFile == null ? null : ClassHeader.parse(classFile);
            if (header == null) {
                continue;
            }
            frame.string(name).string(header.superclass).u4(header.interfaces.length);
            for (String interfaceName : header.interfaces) {
                frame.string(interfaceName);
                if (visitedNames.add(interfaceName)) {
                    names.add(interfaceName);
                }
            }
            if (!header.superclass.isEmpty() && visitedNames.add(header.superclass)) {
                names.add(header.superclass);
            }
            count++;
        }
        send(frame.patch(at, count));
    }

    /** Sends the client the search paths of the loaders for application classes. */
    void locate(int id, Payload request) throws IOException {
        request.end();
        Frame frame = new Frame(Frame.LOCATIONS).u4(id);
        int at = frame.size();
        frame.u4(0);
        int count = 0;
        for (String property : new String[] {"java.class.path", "jdk.module.path"}) {
            String path = System.getProperty(property);
            for (String entry : path == null ? new String[0] : path.split(File.pathSeparator)) {
                frame.string(new File(entry).getAbsolutePath());
                count++;
            }
        }
        send(frame.patch(at, count));
    }
}
