package btpy.agent;

import btpy.runtime.AgentThread;

/** Calls the transformer in situations in which it weaves nothing, and prints whether it asks for a new search. */
final class Passing {
    private Passing() {
    }

    public static void main(String[] arguments) throws Exception {
        byte[] subject = new byte[8];
        String name = "some/Subject";
        print("other", searchesAfter(new Questions(), "some/Other", subject, false));
        print("agent", searchesAfter(new Questions(), name, subject, true));
        print("own", searchesAfter(new Questions(), "btpy/agent/Late", subject, true));
        print("failed", searchesAfter(new Questions(), name, null, false));
        Questions full = new Questions();
        ClassRecord record = new ClassRecord("some.Subject", null, "boot");
        while (full.ask(record, null, subject, null, false) != null) {
            continue;
        }
        print("full", searchesAfter(full, name, subject, false));
    }

    private static boolean searchesAfter(Questions questions, String name, byte[] bytes, boolean agent) throws Exception {
        Sweeper sweeper = new Sweeper();
        Transformer transformer = new Transformer(new Inventory(), questions, new PrewovenClasses(), null, new Outbox(null), null, sweeper,
            1, false);
        transformer.watch(new Watch(new ClassPattern[] {new ClassPattern(ClassPattern.EXACT, "some.Subject")}));
        Runnable load = () -> transformer.transform(null, name, null, null, bytes);
        Thread thread = agent ? new AgentThread(load, "agent") : new Thread(load);
        thread.start();
        thread.join();
        return sweeper.isDue(System.nanoTime());
    }

    private static void print(String situation, boolean isSearchDue) {
        System.out.println(situation + " " + isSearchDue);
    }
}
