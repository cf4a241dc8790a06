package dev.hexlane

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.onEach
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.serialization.json.int
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonPrimitive
import org.junit.jupiter.api.AfterAll
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestInstance
import org.junit.jupiter.api.Timeout

private const val PROMPT = "Ünïcode and 🙂, twice sixteen tokens."

@Timeout(60)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class GenerateTest {
    private val model = runBlocking { Hexlane.loadModel(TinyModel.path, LoadOptions(backend = "cpu")) }

    @AfterAll
    fun close() = model.close()

    private suspend fun Session.slowly(options: GenerateOptions): List<Generation> {
        val events = generate(PROMPT, options)
        return events.onEach { delay(3) }.toList()
    }

    private fun List<Generation>.ids() = filterIsInstance<Generation.Tokens>().flatMap { it.ids }

    private fun List<Generation>.text() = filterIsInstance<Generation.Tokens>().joinToString("") { it.text }

    @Test
    fun `gives the tokens and text of the command line`() =
        runBlocking {
            val wanted = TinyModel.ofTheCommandLine(PROMPT, 24)
            val got = model.newSession().use { it.generate(PROMPT, GenerateOptions(maxTokens = 24)).toList() }
            assertEquals(wanted.getValue("tokens").jsonArray.map { it.jsonPrimitive.int }, got.ids())
            assertEquals(wanted.getValue("text").jsonPrimitive.content, got.text())
        }

    @Test
    fun `reports the prompt and ends with reason and statistics`() =
        runBlocking {
            val got = model.newSession().use { it.generate(PROMPT, GenerateOptions(maxTokens = 5)).toList() }
            val prompt = got.filterIsInstance<Generation.Prompt>().last()
            assertEquals(prompt.total, prompt.done)
            val done = got.last() as Generation.Done
            assertEquals(FinishReason.LENGTH, done.reason)
            assertEquals(5, done.statistics.generatedTokens)
            assertEquals(prompt.total, done.statistics.promptTokens)
            assertTrue(done.statistics.firstTokenSeconds > 0)
        }

    @Test
    fun `tells what was loaded`() {
        assertEquals("llama", model.info.architecture)
        assertEquals("cpu", model.info.variant)
        assertEquals(256, model.info.context)
        assertEquals(listOf("cpu"), model.info.backends)
        assertTrue(Hexlane.version.isNotEmpty())
    }

    @Test
    fun `text comes back as it went, whatever the script`() {
        val text = "naïve 漢字 🙂👩‍👩‍👧 \u0000 end"
        assertEquals(text, model.decode(model.encode(text)))
    }

    @Test
    fun `a slow collector gets all text`() =
        runBlocking {
            val options = GenerateOptions(maxTokens = 40)
            val fast = model.newSession().use { it.generate(PROMPT, options).toList() }
            val slow = model.newSession().use { it.slowly(options) }
            assertEquals(fast.text(), slow.text())
            assertEquals(fast.ids(), slow.ids())
        }

    @Test
    fun `a cancelled collector frees the session for the next`() =
        runBlocking {
            model.newSession().use { session ->
                val job = launch { session.generate(PROMPT, GenerateOptions(ignoreEos = true)).collect { delay(1) } }
                delay(20)
                job.cancelAndJoin()
                session.rewind(0)
                assertEquals(2, session.generate(PROMPT, GenerateOptions(maxTokens = 2)).toList().ids().size)
            }
        }

    @Test
    fun `a collector that takes only the first event ends the generation`() =
        runBlocking {
            model.newSession().use { session ->
                session.generate(PROMPT).first()
                session.rewind(0)
            }
        }

    @Test
    fun `the callback form stops when it is told to`() {
        model.newSession().use { session ->
            var seen = 0
            session.generate(PROMPT, GenerateOptions(ignoreEos = true)) { event ->
                if (event is Generation.Tokens) seen += event.ids.size
                seen < 3
            }
            assertTrue(seen >= 3)
            assertTrue(session.position > 0)
        }
    }

    @Test
    fun `an exception of the callback comes out and ends the generation`() {
        model.newSession().use { session ->
            val thrown =
                assertThrows(IllegalStateException::class.java) {
                    session.generate(PROMPT, GenerateOptions()) { error("mine") }
                }
            assertEquals("mine", thrown.message)
            session.rewind(0)
        }
    }

    @Test
    fun `a second generation meanwhile is refused`() =
        runBlocking {
            model.newSession().use { session ->
                session.generate(PROMPT, GenerateOptions(ignoreEos = true)) {
                    assertThrows(HexlaneException.Usage::class.java) { session.rewind(0) }
                    false
                }
            }
        }

    @Test
    fun `sessions of one model run on several threads and give the same`() =
        runBlocking {
            val answers =
                List(4) {
                    async(Dispatchers.IO) {
                        model.newSession().use { it.generate(PROMPT, GenerateOptions(maxTokens = 30)).toList().ids() }
                    }
                }.awaitAll()
            assertEquals(1, answers.toSet().size)
        }

    @Test
    fun `a chat runs only what is new`() =
        runBlocking {
            model.newSession().use { session ->
                val options = GenerateOptions(maxTokens = 4, ignoreEos = true)
                val first = listOf(Message("user", "Hello 🙂"))
                val answer = session.chat(first, options).toList()
                val next = first + Message("assistant", "ok") + Message("user", "more")
                val second = session.chat(next, options).toList().last() as Generation.Done
                val whole = model.encode(model.renderChat(next), addSpecialTokens = false).size
                val shared = model.encode(model.renderChat(first), addSpecialTokens = false).size
                assertEquals(4, answer.ids().size)
                assertTrue(second.statistics.promptTokens <= whole - shared)
            }
        }

    @Test
    fun `closing while it generates ends it and frees it afterwards`() =
        runBlocking {
            val session = model.newSession()
            val job =
                launch(Dispatchers.Default) {
                    try {
                        session.generate(PROMPT, GenerateOptions(ignoreEos = true)).collect { delay(1) }
                    } catch (_: HexlaneException.Cancelled) {
                        // While it was at the prompt.
                    }
                }
            delay(15)
            session.close()
            job.join()
            assertThrows(HexlaneException.Usage::class.java) { session.rewind(0) }
            session.close()
        }

    @Test
    fun `a timeout cancels like any coroutine`() {
        val thrown =
            assertThrows(CancellationException::class.java) {
                runBlocking {
                    model.newSession().use { session ->
                        withTimeout(30) {
                            while (true) {
                                session.rewind(0)
                                session.generate(PROMPT, GenerateOptions(ignoreEos = true)).collect { }
                            }
                        }
                    }
                }
            }
        assertTrue(thrown.message!!.contains("30"))
    }
}
