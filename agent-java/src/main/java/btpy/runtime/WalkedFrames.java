package btpy.runtime;

import java.util.Iterator;
import java.util.function.Function;
import java.util.stream.Stream;

/** Frames found by {@code StackWalker} (JDK 9 and later). Lines are looked up only for new stacks. */
final class WalkedFrames extends Frames implements Function<Stream<StackWalker.StackFrame>, Frames> {
    private static final StackWalker WALKER = StackWalker.getInstance();

    private final StackWalker.StackFrame[] frames;

    private final FrameFilter filter;
    /** Of the frames that the filter keeps, the number that are needed after the next such frame. */
    private int remainingFrames;

    private WalkedFrames(int most, FrameFilter filter, int index) {
        super(most);
        this.frames = new StackWalker.StackFrame[most];
        this.filter = filter;
        this.remainingFrames = index;
    }

    static Frames walk(int most, FrameFilter filter, int index) {
        return WALKER.walk(new WalkedFrames(most, filter, index));
    }

    @Override
    public Frames apply(Stream<StackWalker.StackFrame> stream) {
        boolean top = true;
        for (Iterator<StackWalker.StackFrame> i = stream.iterator(); count < most && i.hasNext(); ) {
            StackWalker.StackFrame frame = i.next();
            String className = frame.getClassName();
            top = top && isOwn(className);
            if (!top) {
                frames[count] = frame;
                add(className, frame.getMethodName(), frame.getByteCodeIndex());
                if (filter != null && !filter.skips(className) && remainingFrames-- == 0) {
                    break;
                }
            }
        }
        return this;
    }

    @Override
    void keep(int from, int to) {
        super.keep(from, to);
        frames[to] = frames[from];
    }

    @Override
    int line(int frame) {
        return Math.max(frames[frame].getLineNumber(), 0);
    }
}
