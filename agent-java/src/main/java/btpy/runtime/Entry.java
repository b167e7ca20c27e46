package btpy.runtime;

/** One key of a map with its values. */
final class Entry extends Cells {
    static final Object UNSET = new Object();
    /** Marks the place of a deleted entry in a table. */
    static final Entry DELETED = new Entry(-1, 0, null, null, null, null, null);

    private static final Memory MEMORY = Memory.instance();
    private static final long VALUE = MEMORY.fieldOffset(Entry.class, "value");

    final int slot;
    final int hash;
    final Object a;
    final Object b;
    final Object c;
    final Object d;
    /** All components if there are more than four. */
    final Object[] all;
    /**
     * By stripe, the cells to which only the owner of the stripe adds, allocated at first use. Null if threads share
     * all cells of this kind.
     */
    Cells[] ownCells;
    volatile Object value = UNSET;
    /** Whether the value was set, and not only added to. Such a value cannot be merged from parts. */
    volatile boolean assigned;
    /**
     * The {@link Weights} of samples that represent several hits, allocated for the first such sample. Code changes it
     * with atomic operations at its field offset.
     */
    long[] weights;
    /** The {@link Exemplars} by place, allocated for the first exemplar. Code changes it with atomic operations. */
    Object[] exemplars;
    /** The serial number of the newest entry when this entry was last used; only in a map that evicts. */
    long lastUse;

    Entry(int slot, int hash, Object a, Object b, Object c, Object d, Object[] all) {
        this.slot = slot;
        this.hash = hash;
        this.a = a;
        this.b = b;
        this.c = c;
        this.d = d;
        this.all = all;
    }

    /** Whether the entry has the key with these components. Strings are compared up to {@code limit} characters. */
    boolean matches(Object a, Object b, Object c, Object d, Object[] all, int limit) {
        if (all == null) {
            return Keys.same(this.a, a, limit)
                    && Keys.same(this.b, b, limit)
                    && Keys.same(this.c, c, limit)
                    && Keys.same(this.d, d, limit);
        }
        for (int i = 0; i < all.length; i++) {
            if (!Keys.same(this.all[i], all[i], limit)) {
                return false;
            }
        }
        return true;
    }

    boolean hasKeyOf(Entry other) {
        if (hash != other.hash) {
            return false;
        }
        if (all == null) {
            return Keys.same(a, other.a) && Keys.same(b, other.b) && Keys.same(c, other.c) && Keys.same(d, other.d);
        }
        for (int i = 0; i < all.length; i++) {
            if (!Keys.same(all[i], other.all[i])) {
                return false;
            }
        }
        return true;
    }

    Object component(int i) {
        return all != null ? all[i] : i == 0 ? a : i == 1 ? b : i == 2 ? c : d;
    }

    /** The key as a script sees it: an array if it has several components. */
    Object shownKey(int keys) {
        if (keys == 1) {
            return Keys.shown(a);
        }
        Object[] components = new Object[keys];
        for (int i = 0; i < keys; i++) {
            components[i] = Keys.shown(component(i));
        }
        return components;
    }

    /** An estimate of the memory of the components. */
    long keyBytes() {
        long bytes = Keys.bytes(a) + Keys.bytes(b) + Keys.bytes(c) + Keys.bytes(d);
        for (int i = 0; all != null && i < all.length; i++) {
            bytes += Keys.bytes(all[i]);
        }
        return bytes;
    }

    boolean replaceValue(Object from, Object to) {
        return MEMORY.compareAndSetReference(this, VALUE, from, to);
    }

    /** Returns the plain value. With {@code take}, removes it. */
    Object value(boolean take) {
        Object result;
        do {
            result = value;
        } while (take && result != UNSET && !replaceValue(result, UNSET));
        return result;
    }

    /** Whether the entry has got no value since the last flush. */
    boolean isEmpty(MapShape shape) {
        if (shape.holdsObject()) {
            return value == UNSET;
        }
        char[] layout = shape.layout;
        for (int stripe = 0; stripe < shape.stripes; stripe++) {
            for (int i = 0; i < layout.length; i++) {
                if (read(cells, stripe * shape.stride + i, initial(layout[i]), false) != initial(layout[i])) {
                    return false;
                }
            }
        }
        for (int stripe = 0; ownCells != null && stripe < ownCells.length; stripe++) {
            Cells cells = ownCells[stripe];
            for (int i = 0; cells != null && i < layout.length; i++) {
                if (readOwn(cells.cells, layout[i], i, false) != initial(layout[i])) {
                    return false;
                }
            }
        }
        return true;
    }

    /**
     * Merges the cells of all stripes, followed by buckets or registers. With {@code take}, resets them to their
     * initial values.
     */
    long[] merged(MapShape shape, boolean take) {
        int cellsEach = shape.layout.length;
        long[] result = new long[cellsEach + (shape.hasBuckets() ? shape.segments * SEGMENT : 0)];
        clear(shape.layout, result, 0);
        for (int stripe = 0; stripe < shape.stripes; stripe++) {
            for (int i = 0; i < cellsEach; i++) {
                char cell = shape.cell(i);
                result[i] = merge(cell, result[i], read(cells, stripe * shape.stride + i, initial(cell), take));
            }
            for (int s = 0; shape.hasBuckets() && s < shape.segments; s++) {
                long[] segment = (long[]) segments[stripe * shape.segments + s];
                for (int i = 0; segment != null && i < SEGMENT; i++) {
                    int at = cellsEach + s * SEGMENT + i;
                    result[at] = merge(shape.cell(at), result[at], read(segment, i, 0, take));
                }
            }
        }
        for (int stripe = 0; ownCells != null && stripe < ownCells.length; stripe++) {
            if (ownCells[stripe] != null) {
                mergeOwn(shape, ownCells[stripe], result, take);
            }
        }
        return result;
    }

    private static void mergeOwn(MapShape shape, Cells ownCells, long[] result, boolean take) {
        int cellsEach = shape.layout.length;
        for (int i = 0; i < cellsEach; i++) {
            char cell = shape.cell(i);
            result[i] = merge(cell, result[i], readOwn(ownCells.cells, cell, i, take));
        }
        for (int s = 0; s < shape.segments; s++) {
            long[] segment = (long[]) ownCells.segments[s];
            for (int i = 0; segment != null && i < SEGMENT; i++) {
                result[cellsEach + s * SEGMENT + i] += readOwn(segment, i, SEGMENT, take);
            }
        }
    }
}
