package dev.hexlane

import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicInteger

/**
 * A native object that lives until it was closed and nobody uses it any more: closing never waits, and nothing that
 * still runs finds its object freed.
 */
internal class Handle(
    private val name: String,
    private val pointer: Long,
    private val free: (Long) -> Unit,
) {
    private val users = AtomicInteger(1) // the owner is one, until close
    private val closed = AtomicBoolean(false)

    inline fun <T> use(block: (Long) -> T): T {
        enter()
        try {
            return block(pointer)
        } finally {
            leave()
        }
    }

    /** Like [use], where a closed object is no failure: null. */
    inline fun <T> useIfOpen(block: (Long) -> T): T? = if (tryEnter()) runAndLeave(block) else null

    /** `last` is the object's last call, if it is not closed yet; nothing enters after it. */
    fun close(last: (Long) -> Unit = {}) {
        if (!closed.compareAndSet(false, true)) return
        last(pointer)
        leave()
    }

    private inline fun <T> runAndLeave(block: (Long) -> T): T =
        try {
            block(pointer)
        } finally {
            leave()
        }

    private fun tryEnter(): Boolean {
        while (true) {
            val now = users.get()
            if (closed.get() || now == 0) return false
            if (users.compareAndSet(now, now + 1)) return true
        }
    }

    private fun enter() {
        if (!tryEnter()) throw HexlaneException.Usage("the $name is closed", remedy = "Make a new one")
    }

    private fun leave() {
        if (users.decrementAndGet() == 0) free(pointer)
    }
}
