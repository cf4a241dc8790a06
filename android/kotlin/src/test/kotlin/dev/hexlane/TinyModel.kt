package dev.hexlane

import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonArray
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonObject
import java.nio.file.Path
import kotlin.io.path.copyTo
import kotlin.io.path.createDirectories
import kotlin.io.path.createTempDirectory
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.writeText

/** A tiny LLaMA with a token for every byte, converted once by the real program. */
object TinyModel {
    private val binary: String = System.getProperty("hexlane.binary")
    private val folder: Path = createTempDirectory("hexlane-kotlin")

    val path: String by lazy { convert().toString() }

    /** What the command line answers. */
    fun ofTheCommandLine(
        prompt: String,
        tokens: Int,
    ): JsonObject {
        val out = run("run", path, "--backend", "cpu", "-p", prompt, "-n", "$tokens", "--json")
        return Json.parseToJsonElement(out).jsonObject
    }

    private fun convert(): Path {
        val model = (folder / "model").createDirectories()
        val checkpoint = Path.of(System.getProperty("hexlane.testdata"), "checkpoints/llama-gqa")
        checkpoint.listDirectoryEntries().forEach { it.copyTo(model / it.fileName.toString()) }
        (model / "tokenizer.json").writeText(byteTokenizer().toString())
        (model / "tokenizer_config.json").writeText(CONFIG)
        val options = arrayOf("--quant", "w8a16", "--context", "256", "--prefill-rows", "16")
        run("convert", "$model", "-o", "${folder / "package"}", *options)
        return folder / "package"
    }

    private fun run(vararg arguments: String): String {
        val process =
            ProcessBuilder(binary, *arguments)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start()
        val out = process.inputStream.readBytes().decodeToString()
        check(process.waitFor() == 0) { "hexlane ${arguments.joinToString(" ")} failed" }
        return out
    }

    private operator fun Path.div(name: String): Path = resolve(name)

    private const val CONFIG =
        """{"chat_template": "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"}"""
}

private fun byteTokenizer(): JsonObject {
    val byteLevel =
        buildJsonObject {
            put("type", "ByteLevel")
            put("add_prefix_space", false)
        }
    return buildJsonObject {
        put("version", "1.0")
        put("added_tokens", buildJsonArray {})
        put("normalizer", JsonPrimitive(null as String?))
        put("pre_tokenizer", byteLevel)
        put("post_processor", JsonPrimitive(null as String?))
        put("decoder", byteLevel)
        putJsonObject("model") {
            put("type", "BPE")
            put("vocab", buildJsonObject { for (byte in 0..255) put(byteLevelCharacter(byte), byte) })
            put("merges", buildJsonArray {})
        }
    }
}

// GPT-2's printable stand-in for a byte: itself where it is printable, else the next from 256 on.
private fun byteLevelCharacter(byte: Int): String {
    fun printable(b: Int) = b in 33..126 || b in 161..172 || b in 174..255
    if (printable(byte)) return byte.toChar().toString()
    return (256 + (0 until byte).count { !printable(it) }).toChar().toString()
}
