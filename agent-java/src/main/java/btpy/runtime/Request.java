package btpy.runtime;

/** What a handler asked of the event thread, in its place among the records. */
public final class Request {
    public static final int PRINT_MAP = 0;
    public static final int EXIT = 1;
    public static final int SEND = 2;
    public static final int FLUSH = 1 << 14;

    /** {@link #PRINT_MAP}, {@link #EXIT} or {@link #SEND}. */
    public final int kind;
    public final int template;
    /** −1 for a map. */
    public final int probe;
    /** 0 for a map. */
    public final int site;
    /** Exit code or event id. */
    public final int argument;
    /** Maps to be shown together: id, and {@link #FLUSH} when what is in it is taken. */
    public final int[] maps;
    /** System.nanoTime of the asking thread. */
    public final long nanos;

    Request(int kind, int template, int probe, int site, int argument, int[] maps, long nanos) {
        this.kind = kind;
        this.template = template;
        this.probe = probe;
        this.site = site;
        this.argument = argument;
        this.maps = maps;
        this.nanos = nanos;
    }
}
