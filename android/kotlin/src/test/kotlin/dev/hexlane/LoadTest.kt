package dev.hexlane

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout
import org.junit.jupiter.api.io.TempDir
import java.nio.file.Path
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.CountDownLatch
import kotlin.io.path.exists

@Timeout(60)
class LoadTest {
    private val cpu = LoadOptions(backend = "cpu")

    @Test
    fun `tells its phases in order on a native thread`() =
        runBlocking {
            val phases = CopyOnWriteArrayList<LoadPhase>()
            val threads = CopyOnWriteArrayList<Thread>()
            Hexlane
                .loadModel(TinyModel.path, cpu) {
                    phases.add(it.phase)
                    threads.add(Thread.currentThread())
                    assertTrue(it.done <= it.total)
                }.close()
            assertEquals(LoadPhase.entries, phases.distinct())
            assertFalse(Thread.currentThread() in threads)
            assertTrue(threads.all { it.isDaemon })
        }

    @Test
    fun `a cancelled coroutine ends the load`() =
        runBlocking {
            val started = CompletableDeferred<Unit>()
            val goOn = CountDownLatch(1)
            var outcome: Result<Model>? = null
            val loading =
                launch {
                    outcome =
                        runCatching {
                            Hexlane.loadModel(TinyModel.path, cpu) {
                                started.complete(Unit)
                                goOn.await()
                            }
                        }
                }
            started.await()
            loading.cancel()
            goOn.countDown()
            loading.cancelAndJoin()
            assertTrue(outcome?.exceptionOrNull() is CancellationException)
        }

    @Test
    fun `what the listener throws ends the load and comes out`() {
        val thrown =
            assertThrows(IllegalStateException::class.java) {
                runBlocking { Hexlane.loadModel(TinyModel.path, cpu) { error("no") } }
            }
        assertEquals("no", thrown.message)
    }

    @Test
    fun `refusals come as typed exceptions`() {
        assertThrows(HexlaneException.NotFound::class.java) { runBlocking { Hexlane.loadModel("/absent", cpu) } }
        val npu = LoadOptions(backend = "htp")
        assertThrows(HexlaneException.Unsupported::class.java) { runBlocking { Hexlane.loadModel(TinyModel.path, npu) } }
    }

    @Test
    fun `files are checked once with a cache folder`(
        @TempDir folder: Path,
    ) = runBlocking {
        val cache = folder.resolve("cache")
        val options = LoadOptions(backend = "cpu", cacheDir = "$cache")
        repeat(2) { Hexlane.loadModel(TinyModel.path, options).close() }
        assertTrue(cache.resolve("checked_files.json").exists())
    }

    @Test
    fun `warming up and trimming change no token`() =
        runBlocking {
            Hexlane.loadModel(TinyModel.path, cpu).use { model ->
                model.newSession().use { session ->
                    suspend fun answer() =
                        session
                            .generate("Once", GenerateOptions(maxTokens = 8))
                            .toList()
                            .filterIsInstance<Generation.Tokens>()
                            .flatMap { it.ids }
                    val wanted = answer()
                    session.rewind(0)
                    model.warmUp()
                    TrimLevel.entries.forEach(model::trim)
                    assertEquals(wanted, answer())
                }
            }
        }
}
