package btpy.runtime;

/** A recorded call stack; equal stacks of a session are one object. */
public final class Stack {
    /** As shipped; 0: the table was full, the stack has no definition. */
    final int id;
    final int hash;
    /** Binary names. */
    final String[] classes;
    final String[] methods;
    /** What tells frames of one method apart: bytecode index, or the complement of the line where only that is known. */
    final int[] positions;
    /** 0 where there is none. */
    final int[] lines;
    /** Set by the drain thread; others may see it late, which costs a search and nothing else. */
    boolean shipped;

    Stack(int id, int hash, String[] classes, String[] methods, int[] positions, int[] lines) {
        this.id = id;
        this.hash = hash;
        this.classes = classes;
        this.methods = methods;
        this.positions = positions;
        this.lines = lines;
    }

    /** {@code Class.method:line}, or null past the end. */
    String frame(int index) {
        if (index < 0 || index >= classes.length) {
            return null;
        }
        String place = classes[index].concat(".").concat(methods[index]);
        return lines[index] > 0 ? place.concat(":").concat(Integer.toString(lines[index])) : place;
    }
}
