package btpy.runtime;

import java.util.Arrays;

/**
 * Decides by the name of its class whether a frame is skipped. Created from globs that are separated by commas. A glob
 * after {@code !} keeps frames that the other globs would skip.
 *
 * <p>Most globs name a package and end with a star. They are stored as prefixes, in a sorted array in which no prefix
 * begins with another prefix, so that one binary search decides. The other globs are tried one by one.
 */
final class FrameFilter {
    final String globs;
    /** The number of the filter in its {@link StackTable}, from 1; 0: it is not stored there. */
    final int number;
    private final String[] prefixes;
    private final String[] otherGlobs;
    private final String[] keptGlobs;

    FrameFilter(String globs, int number) {
        this.globs = globs;
        this.number = number;
        String[] parts = globs.split(",");
        String[] prefixes = new String[parts.length];
        String[] otherGlobs = new String[parts.length];
        String[] keptGlobs = new String[parts.length];
        int prefixCount = 0;
        int otherCount = 0;
        int keptCount = 0;
        for (String part : parts) {
            String glob = part.trim();
            String prefix = prefix(glob);
            if (glob.startsWith("!")) {
                keptGlobs[keptCount++] = glob.substring(1).trim();
            } else if (prefix.isEmpty()) {
                otherGlobs[otherCount++] = glob;
            } else {
                prefixes[prefixCount++] = prefix;
            }
        }
        this.prefixes = withoutNested(Arrays.copyOf(prefixes, prefixCount));
        this.otherGlobs = Arrays.copyOf(otherGlobs, otherCount);
        this.keptGlobs = Arrays.copyOf(keptGlobs, keptCount);
    }

    /** Returns the text before the stars at the end; empty if there is another star or question mark, or no star. */
    private static String prefix(String glob) {
        int end = glob.length();
        while (end > 0 && glob.charAt(end - 1) == '*') {
            end--;
        }
        String prefix = glob.substring(0, end);
        return end == glob.length() || prefix.indexOf('*') >= 0 || prefix.indexOf('?') >= 0 ? "" : prefix;
    }

    private static String[] withoutNested(String[] prefixes) {
        Arrays.sort(prefixes);
        int count = 0;
        for (String prefix : prefixes) {
            if (count == 0 || !prefix.startsWith(prefixes[count - 1])) {
                prefixes[count++] = prefix;
            }
        }
        return Arrays.copyOf(prefixes, count);
    }

    boolean skips(String className) {
        return (hasPrefix(className) || fitsAny(otherGlobs, className)) && !fitsAny(keptGlobs, className);
    }

    private boolean hasPrefix(String className) {
        int at = Arrays.binarySearch(prefixes, className);
        int index = at >= 0 ? at : -at - 2;
        return index >= 0 && className.startsWith(prefixes[index]);
    }

    private static boolean fitsAny(String[] globs, String className) {
        for (String glob : globs) {
            if (Patterns.fits(className, glob)) {
                return true;
            }
        }
        return false;
    }
}
