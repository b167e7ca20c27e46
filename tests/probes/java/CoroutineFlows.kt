import java.util.concurrent.Executors
import kotlin.coroutines.Continuation
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.coroutines.intrinsics.COROUTINE_SUSPENDED
import kotlin.coroutines.intrinsics.intercepted
import kotlin.coroutines.intrinsics.suspendCoroutineUninterceptedOrReturn
import kotlin.coroutines.resume
import kotlin.coroutines.startCoroutine
import kotlin.coroutines.suspendCoroutine
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.GlobalScope
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.async
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.buffer
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.flowOn
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield

/** The coroutines of Kotlin, on their own threads and on those of others. */
val scope = CoroutineScope(Dispatchers.Default)

fun later(task: Runnable) = HandingOver.later(1, task)

suspend fun called(work: Runnable) {
    delay(1)
    work.run()
    nested(work)
    work.run()
}

suspend fun nested(work: Runnable) {
    work.run()
    suspendCoroutine<Int> { continuation -> later { continuation.resume(1) } }
    work.run()
}

fun main() {
    val requests = HandingOver()
    requests.kind("launch", 1) { work -> scope.launch { work.run() } }
    requests.kind("launch lazily", 1) { work ->
        val job = scope.launch(start = CoroutineStart.LAZY) { work.run() }
        later { job.start() }
    }
    requests.kind("async", 3) { work ->
        scope.launch {
            val one = async { work.run(); 1 }
            val two = async(Dispatchers.IO) { delay(2); work.run(); 2 }
            one.await() + two.await()
            work.run()
        }
    }
    requests.kind("delay", 5) { work -> scope.launch { repeat(5) { delay(1); work.run() } } }
    requests.kind("withContext", 3) { work ->
        scope.launch {
            withContext(Dispatchers.IO) { work.run(); delay(1); work.run() }
            work.run()
        }
    }
    requests.kind("functions", 4) { work -> scope.launch { called(work) } }
    requests.kind("runBlocking", 2) { work ->
        runBlocking {
            launch { delay(1); work.run() }
            work.run()
        }
    }
    requests.kind("unconfined", 3) { work ->
        scope.launch(Dispatchers.Unconfined) {
            work.run()
            delay(1)
            work.run()
            suspendCoroutine<Int> { continuation -> later { continuation.resume(1) } }
            work.run()
        }
    }
    requests.kind("intercepted", 1) { work ->
        scope.launch(Dispatchers.Unconfined) {
            suspendCoroutineUninterceptedOrReturn<Int> { continuation ->
                val intercepted = continuation.intercepted()
                later { intercepted.resume(1) }
                COROUTINE_SUSPENDED
            }
            work.run()
        }
    }
    requests.kind("no dispatcher", 2) { work ->
        val job: suspend () -> Unit = {
            work.run()
            suspendCoroutine<Int> { continuation -> later { continuation.resume(1) } }
            work.run()
        }
        job.startCoroutine(Continuation(EmptyCoroutineContext) {})
    }
    requests.kind("undispatched", 2) { work ->
        scope.launch(start = CoroutineStart.UNDISPATCHED) { work.run(); yield(); work.run() }
    }
    val dispatcher = Executors.newFixedThreadPool(3).asCoroutineDispatcher()
    requests.kind("executor", 2) { work -> scope.launch(dispatcher) { delay(1); work.run(); yield(); work.run() } }
    requests.kind("channel", 4) { work ->
        val channel = Channel<Int>()
        scope.launch { for (number in channel) work.run() }
        scope.launch { channel.send(1); channel.send(2); work.run(); channel.send(3); channel.close() }
    }
    val shared = Channel<Runnable>()
    GlobalScope.launch { for (job in shared) job.run() }
    requests.kind("shared channel", 1) { work -> scope.launch { shared.send(Runnable {}); work.run() } }
    val mutex = Mutex()
    requests.kind("mutex", 1) { work -> scope.launch { mutex.withLock { yield(); work.run() } } }
    requests.kind("flow", 7) { work ->
        scope.launch {
            flow { repeat(3) { work.run(); emit(it) } }.flowOn(Dispatchers.IO).buffer(1).collect { work.run() }
            work.run()
        }
    }
    requests.kind("timeout", 2) { work ->
        scope.launch { withTimeout(5000) { coroutineScope { launch { delay(1); work.run() } } }; work.run() }
    }
    requests.serve()
}
