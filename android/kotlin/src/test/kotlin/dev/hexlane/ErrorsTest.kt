package dev.hexlane

import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertInstanceOf
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout

@Timeout(60)
class ErrorsTest {
    private fun <T> withSession(block: suspend (Session) -> T): T =
        runBlocking {
            Hexlane.loadModel(TinyModel.path, LoadOptions(backend = "cpu")).use { model ->
                model.newSession().use { block(it) }
            }
        }

    @Test
    fun `a missing package is said with its path`() {
        val error =
            assertThrows(HexlaneException.NotFound::class.java) { runBlocking { Hexlane.loadModel("/nowhere/ü") } }
        assertTrue(error.message!!.contains("/nowhere/ü"), error.message)
    }

    @Test
    fun `an unknown backend lists those there are`() {
        val error =
            assertThrows(HexlaneException.Usage::class.java) {
                runBlocking { Hexlane.loadModel(TinyModel.path, LoadOptions(backend = "npu")) }
            }
        assertTrue(error.want.contains("cpu"))
        assertTrue(error.remedy.isNotEmpty())
    }

    @Test
    fun `a prompt that is too long says by how much`() {
        withSession { session ->
            val error = runCatching { session.generate("x".repeat(300)).toList() }.exceptionOrNull()
            assertInstanceOf(HexlaneException.InvalidInput::class.java, error)
            assertTrue(error!!.message!!.contains("44 tokens too long"), error.message)
        }
    }

    @Test
    fun `options out of range are named`() {
        withSession { session ->
            val error = runCatching { session.generate("x", GenerateOptions(topP = 2f)).toList() }.exceptionOrNull()
            assertInstanceOf(HexlaneException.Usage::class.java, error)
            assertTrue(error!!.message!!.contains("top_p"), error.message)
        }
    }

    @Test
    fun `closed objects are refused by name`() {
        val model = runBlocking { Hexlane.loadModel(TinyModel.path) }
        model.close()
        model.close()
        val error = assertThrows(HexlaneException.Usage::class.java) { model.newSession() }
        assertEquals("the model is closed. Make a new one", error.message)
    }

    @Test
    fun `every code has its class`() {
        val parts = List(5) { "part $it".toByteArray() }
        val classes =
            (1..10).map { NativeErrors.toException(it, parts[0], parts[1], parts[2], parts[3], parts[4]).javaClass }
        assertEquals(10, classes.toSet().size)
        assertEquals(HexlaneException.Usage::class.java, classes.first())
        assertEquals(HexlaneException.Cancelled::class.java, classes.last())
    }

    @Test
    fun `a message has all parts that there are`() {
        assertEquals("a (at b): want c, got d. e", HexlaneException.Io("a", "b", "c", "d", "e").message)
        assertEquals("a: got d", HexlaneException.Io("a", got = "d").message)
        assertEquals("a", HexlaneException.Io("a").message)
    }
}
