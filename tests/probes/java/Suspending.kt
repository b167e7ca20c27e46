import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

/** Suspend functions that last longer than they run. */
class Suspending {
    suspend fun place(order: Int): Int {
        busy(order, 5)
        delay(50)
        quote(order, "inside")
        if (order % 2 == 0) delay(30)
        return order + price(order)
    }

    suspend fun price(order: Int): Int {
        delay(10)
        quote(order, "inside")
        return order
    }

    /** Does not suspend. */
    suspend fun free(order: Int): Int {
        quote(order, "inside")
        if (order < 0) delay(10)
        return order
    }

    fun busy(order: Int, milliseconds: Int) {
        val end = System.nanoTime() + milliseconds * 1_000_000
        while (System.nanoTime() < end) {
            Thread.onSpinWait()
        }
    }

    fun quote(order: Int, where: String) {
        Thread.yield()
    }
}

fun main() {
    val shop = Suspending()
    println("ready")
    readln()
    runBlocking(Dispatchers.Default) {
        for (order in 1..37) {
            launch {
                shop.quote(order, "outside")
                shop.place(order)
                shop.quote(order, "outside")
                delay(5)
                shop.quote(order, "outside")
                shop.free(order)
                shop.quote(order, "outside")
                shop.place(order)
                shop.quote(order, "outside")
            }
        }
    }
    println("done")
    readlnOrNull()
}
