package btpy.agent;

import java.lang.annotation.Annotation;
import java.lang.reflect.InvocationTargetException;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * The types of JFR events that the scripts of one session write. JFR knows a type from the time when its class is
 * defined until the last session that writes such events ends; the class itself stays, as handlers do.
 *
 * <p>JFR is used by reflection, because a JVM may lack the module jdk.jfr. Only the agent's own threads call it.
 */
final class JfrEvents {
    /** Types of all sessions in the life of the JVM. */
    private static final int MOST_TYPES = 1024;

    /** The number of sessions that write events of each type; 0: JFR does not know it any more. */
    private static final Map<Class<?>, Integer> SESSIONS = new HashMap<Class<?>, Integer>();

    private final Set<Class<?>> ownTypes = new LinkedHashSet<Class<?>>();

    /** Whether the class is the class of an event. */
    static boolean isEvent(byte[] classFile) {
        ClassHeader header = ClassHeader.parse(classFile);
        return header != null && header.superclass.equals("jdk.jfr.Event");
    }

    /** Defines the class and tells JFR of its type. Returns null, or the reason why there is no such type. */
    String define(String name, byte[] classFile) {
        synchronized (SESSIONS) {
            try {
                String refusal = unavailability();
                if (refusal == null && SESSIONS.size() >= MOST_TYPES && HandlerClasses.find(name) == null) {
                    refusal = "JFR: this JVM has " + MOST_TYPES
                            + " types of events of btpy already, and none is unloaded before the JVM ends";
                }
                if (refusal == null) {
                    Platform.openHandlers(recorder());
                    refusal = HandlerClasses.define(name, classFile);
                }
                return refusal == null ? register(Class.forName(name, true, null)) : refusal;
            } catch (ReflectiveOperationException | LinkageError failure) {
                return "JFR: " + cause(failure);
            }
        }
    }

    /** Takes the types of this session out of JFR, unless another session writes such events. */
    void unregister() {
        synchronized (SESSIONS) {
            for (Class<?> type : ownTypes) {
                int otherSessions = SESSIONS.get(type) - 1;
                SESSIONS.put(type, otherSessions);
                try {
                    if (otherSessions == 0) {
                        recorder().getMethod("unregister", Class.class).invoke(null, type);
                    }
                } catch (ReflectiveOperationException | LinkageError failure) {
                    // then JFR still knows a type that has no events
                }
            }
            ownTypes.clear();
        }
    }

    private String register(Class<?> type) throws ReflectiveOperationException {
        if (ownTypes.contains(type)) {
            return null;
        }
        Integer earlierSessions = SESSIONS.get(type);
        int sessions = earlierSessions == null ? 0 : earlierSessions;
        if (sessions == 0) {
            String name = nameOf(type);
            if (isTaken(name)) {
                return "JFR: the JVM has an event \"" + name + "\" already; choose another name";
            }
            recorder().getMethod("register", Class.class).invoke(null, type);
        }
        SESSIONS.put(type, sessions + 1);
        ownTypes.add(type);
        return null;
    }

    /** Whether the application, or another session, has an event of this name with other fields. */
    private boolean isTaken(String name) throws ReflectiveOperationException {
        for (Map.Entry<Class<?>, Integer> entry : SESSIONS.entrySet()) {
            if (entry.getValue() > 0 && !ownTypes.contains(entry.getKey()) && nameOf(entry.getKey()).equals(name)) {
                return true;
            }
        }
        if (!Boolean.TRUE.equals(recorder().getMethod("isInitialized").invoke(null))) {
            return false; // asking for the event types would start the recorder
        }
        Object recorder = recorder().getMethod("getFlightRecorder").invoke(null);
        Iterable<?> types = (Iterable<?>) recorder().getMethod("getEventTypes").invoke(recorder);
        for (Object type : types) {
            if (name.equals(type.getClass().getMethod("getName").invoke(type)) && !isOwn(name)) {
                return true;
            }
        }
        return false;
    }

    /** Whether this session already has an event of this name, from a probe that the client has replaced. */
    private boolean isOwn(String name) throws ReflectiveOperationException {
        for (Class<?> type : ownTypes) {
            if (nameOf(type).equals(name)) {
                return true;
            }
        }
        return false;
    }

    private static String nameOf(Class<?> type) throws ReflectiveOperationException {
        for (Annotation annotation : type.getAnnotations()) {
            Class<?> kind = annotation.annotationType();
            if (kind.getName().equals("jdk.jfr.Name")) {
                return (String) kind.getMethod("value").invoke(annotation);
            }
        }
        return type.getName();
    }

    /** Null, or the reason why this JVM records no events. */
    private static String unavailability() throws ReflectiveOperationException {
        try {
            boolean available = Boolean.TRUE.equals(recorder().getMethod("isAvailable").invoke(null));
            return available ? null : "no JFR: this JVM was built or started without Flight Recorder";
        } catch (ClassNotFoundException missingClass) {
            return "no JFR: this JVM has no module jdk.jfr";
        }
    }

    private static Class<?> recorder() throws ClassNotFoundException {
        return Class.forName("jdk.jfr.FlightRecorder", true, null);
    }

    private static Throwable cause(Throwable failure) {
        return failure instanceof InvocationTargetException && failure.getCause() != null
                ? failure.getCause()
                : failure;
    }
}
