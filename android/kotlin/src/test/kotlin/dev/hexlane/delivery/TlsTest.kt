package dev.hexlane.delivery

import dev.hexlane.HexlaneException
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.BeforeEach
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout
import org.junit.jupiter.api.io.TempDir
import java.nio.file.Files
import java.nio.file.Path
import java.security.KeyStore
import javax.net.ssl.HttpsURLConnection
import javax.net.ssl.KeyManagerFactory
import javax.net.ssl.SSLContext
import javax.net.ssl.SSLSocketFactory
import javax.net.ssl.TrustManagerFactory

private val PASSWORD = "changeit".toCharArray()

@Timeout(60)
class TlsTest {
    @TempDir
    lateinit var folder: Path
    private lateinit var context: SSLContext
    private lateinit var server: FaultyServer
    private val usual: SSLSocketFactory = HttpsURLConnection.getDefaultSSLSocketFactory()

    @BeforeEach
    fun start() {
        context = contextOf(selfSigned())
        server = FaultyServer(context.serverSocketFactory, "https")
        val files = mapOf("a.bin" to ByteArray(1000) { 5 })
        val manifest = manifestOf(files)
        server.files["/SM8650/a.bin"] = files.getValue("a.bin")
        server.files["/SM8650/manifest.json"] = manifest.toByteArray()
        server.files["/delivery.json"] = deliveryOf("SM8650", manifest).toByteArray()
    }

    @AfterEach
    fun stop() {
        HttpsURLConnection.setDefaultSSLSocketFactory(usual)
        server.close()
    }

    private fun selfSigned(): KeyStore {
        val path = folder.resolve("keys.p12")
        val keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString()
        val options =
            "-genkeypair -alias a -keyalg EC -dname CN=localhost -ext san=dns:localhost -validity 2 -storetype PKCS12 " +
                "-storepass changeit -keystore $path"
        assertEquals(0, ProcessBuilder(listOf(keytool) + options.split(' ')).inheritIO().start().waitFor())
        return KeyStore.getInstance("PKCS12").apply { Files.newInputStream(path).use { load(it, PASSWORD) } }
    }

    private fun contextOf(store: KeyStore): SSLContext {
        val keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm()).apply { init(store, PASSWORD) }
        val trusted = KeyStore.getInstance("PKCS12").apply { load(null, null) }
        trusted.setCertificateEntry("a", store.getCertificate("a"))
        val trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm()).apply { init(trusted) }
        return SSLContext.getInstance("TLS").apply { init(keys.keyManagers, trust.trustManagers, null) }
    }

    private fun install(): List<Download> =
        runBlocking {
            val options = DownloadOptions(stallMs = 2000).apply { pause = {} }
            ModelDownloader(options).install(listOf(server.url("/delivery.json")), null, folder.resolve("model")).toList()
        }

    @Test
    fun `installs from a server that is trusted`() {
        HttpsURLConnection.setDefaultSSLSocketFactory(context.socketFactory)
        install()
        assertTrue(Files.exists(folder.resolve("model/a.bin")))
    }

    @Test
    fun `a server that is not trusted is refused at once, by name`() {
        val error = assertThrows(HexlaneException.Io::class.java) { install() }
        assertTrue(error.message!!.contains("not trusted"), error.message)
    }

    @Test
    fun `a redirect from https to http is refused`() {
        HttpsURLConnection.setDefaultSSLSocketFactory(context.socketFactory)
        server.fail("/SM8650/a.bin", Fault.Status(302, mapOf("Location" to "http://localhost:1/a.bin")))
        val error = assertThrows(HexlaneException.Usage::class.java) { install() }
        assertTrue(error.message!!.contains("only https"), error.message)
    }
}
