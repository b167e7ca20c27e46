package btpy.agent;

import btpy.runtime.ClassNames;
import java.util.Arrays;

/** The classes that were loaded at one time. It has no references to them. */
final class LoadedClasses {
    static final LoadedClasses NONE = new LoadedClasses(new Class<?>[0]);

    /** Of each class the identity hash and the hash of the name, sorted. */
    private final long[] keys;

    LoadedClasses(Class<?>[] types) {
        keys = new long[types.length];
        for (int i = 0; i < types.length; i++) {
            keys[i] = key(types[i], ClassNames.of(types[i]));
        }
        sort(keys);
    }

    boolean contains(Class<?> type, String name) {
        return Arrays.binarySearch(keys, key(type, name)) >= 0;
    }

    private static long key(Class<?> type, String name) {
        return (long) System.identityHashCode(type) << 32 | name.hashCode() & 0xFFFFFFFFL;
    }

    /** Sorts ascending (Shell 1959, gaps of Gonnet and Baeza-Yates). {@code Arrays.sort} would load 30 kB of class files. */
    private static void sort(long[] numbers) {
        for (int gap = numbers.length / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11) {
            for (int i = gap; i < numbers.length; i++) {
                long number = numbers[i];
                int at = i;
                for (; at >= gap && numbers[at - gap] > number; at -= gap) {
                    numbers[at] = numbers[at - gap];
                }
                numbers[at] = number;
            }
        }
    }
}
