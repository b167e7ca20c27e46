package btpy.runtime;

import java.util.Arrays;

/**
 * Decides by the name of its class whether a frame is skipped. Created from globs that are separated by commas. A glob
 * after {@code !} keeps frames that the others would skip.
 *
 * <p>Most globs name a package and end with a star. They are prefixes, in a sorted array without prefixes of prefixes,
 * so that one binary search decides. The other globs are tried one by one.
 */
final class FrameFilter {
    final String globs;
    private final String[] prefixes;
    private final String[] others;
    private final String[] kept;

    FrameFilter(String globs) {
        this.globs = globs;
        String[] parts = globs.split(",");
        String[] prefixes = new String[parts.length];
        String[] others = new String[parts.length];
        String[] kept = new String[parts.length];
        int prefixCount = 0;
        int otherCount = 0;
        int keptCount = 0;
        for (String part : parts) {
            String glob = part.trim();
            String prefix = prefix(glob);
            if (glob.startsWith("!")) {
                kept[keptCount++] = glob.substring(1).trim();
            } else if (prefix.isEmpty()) {
                others[otherCount++] = glob;
            } else {
                prefixes[prefixCount++] = prefix;
            }
        }
        this.prefixes = withoutNested(Arrays.copyOf(prefixes, prefixCount));
        this.others = Arrays.copyOf(others, otherCount);
        this.kept = Arrays.copyOf(kept, keptCount);
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
        return (hasPrefix(className) || fitsAny(others, className)) && !fitsAny(kept, className);
    }

    private boolean hasPrefix(String className) {
        int at = Arrays.binarySearch(prefixes, className);
        int before = at >= 0 ? at : -at - 2;
        return before >= 0 && className.startsWith(prefixes[before]);
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
