import Logging
import Records
import ServiceKit
import Telemetry
import Testing

@Suite struct ConfigurationTests {
    private func read(
        _ arguments: [String], _ environment: [String: String] = [:], dotEnv: String = ""
    ) throws -> ServiceConfiguration {
        let request = try ServiceConfiguration.read(
            service: "naps", port: 8099, more: [.number("APNS_PORT", 8443, 0...65535, "port of providers")],
            arguments: arguments, environment: environment, dotEnv: dotEnv)
        guard case .run(let configuration) = request else { throw ConfigurationError("help") }
        return configuration
    }

    @Test func `flags override the environment, then the env file, then the defaults`() throws {
        let file = "# ours\nexport PORT=1\nPARTITIONS=\"8\"\nHOST=0.0.0.0\nOTHER=x\n"
        let environment = ["PORT": "2", "PARTITIONS": "4", "LOG_LEVEL": ""]
        let configuration = try read(["--port=3", "--virtual-time"], environment, dotEnv: file)
        #expect(configuration.port == 3)
        #expect(configuration.partitions == 4)
        #expect(configuration.host == "0.0.0.0")
        #expect(configuration.logLevel == .info)
        #expect(configuration.isVirtualTime)
        #expect(!configuration.isInsecure)
        #expect(configuration.number("APNS_PORT") == 8443)
        #expect(configuration.shutdownTimeout == .seconds(10))
    }

    @Test(arguments: [
        (["--prot", "1"], "--prot is not an option; --help lists them"),
        (["--port"], "--port needs a value"),
        (["--port", "1", "--port", "2"], "--port is given twice"),
        (["--port", "eighty"], "PORT (--port) must be a number from 0 to 65535"),
        (["--log-format", "xml"], "LOG_FORMAT (--log-format) must be one of json, pretty, auto"),
        (
            ["--insecure-dev", "--host", "0.0.0.0"],
            "INSECURE_DEV (--insecure-dev) is for loopback only: HOST must be 127.0.0.1, ::1 or localhost"
        ),
    ])
    func `an invalid setting is reported in one line with its name`(_ arguments: [String], _ line: String) {
        #expect(throws: ConfigurationError(line)) { try read(arguments) }
    }

    @Test func `invalid credentials and slow bodies are limited by default`() throws {
        let configuration = try read([])
        #expect(configuration.failedCredentials == 20)
        #expect(configuration.bodyRate == 500)
    }

    @Test func `a missing secret file is reported with the name of its setting`() throws {
        let configuration = try read(["--operator-key-file", "/nowhere/keys"])
        #expect(throws: ConfigurationError("OPERATOR_KEY_FILE: cannot read the file that it names")) {
            try configuration.operatorKeys()
        }
    }

    @Test func `the help text and the Markdown table list the same settings`() throws {
        let request = try ServiceConfiguration.read(service: "naps", port: 8099, arguments: ["-h"], environment: [:])
        guard case .help(let text) = request else { throw ConfigurationError("no help") }
        let table = ServiceConfiguration.markdown(port: 8099)
        for setting in ServiceConfiguration.settings(port: 8099) {
            #expect(text.contains("  \(setting.flag) "))
            #expect(table.contains("| `\(setting.name)` | `\(setting.flag)` |"))
        }
    }
}

@Suite struct LogOutputTests {
    @Test func `log lines are JSON with sorted members and without secrets`() throws {
        let lines = LogLines()
        var logger = Logger(label: "naps") { LogOutput(label: $0, level: .info, format: .json, write: lines.append) }
        logger[metadataKey: "deviceToken"] = "abc"
        logger.info(
            "connect to postgresql://me:hunter2@db/x with Bearer abc",
            metadata: ["count": "\(3)", "nested": ["password": "hunter2", "ok": "yes"]])
        logger.debug("not this")
        let line = try #require(lines.all.first)
        #expect(lines.all.count == 1 && line.hasSuffix("}\n") && !line.contains("hunter2") && !line.contains("abc"))
        let json = try JSON(parsing: Array(line.dropLast().utf8))
        let names = json.members?.map(\.name)
        #expect(names == ["count", "deviceToken", "level", "message", "nested", "service", "time"])
        #expect(json["message"] == "connect to postgresql://me:[redacted]@db/x with Bearer [redacted]")
        #expect(json["nested"]?["ok"] == "yes")
    }

    @Test func `a line end in a message can't forge a log line`() {
        let lines = LogLines()
        let logger = Logger(label: "naps") { LogOutput(label: $0, level: .info, format: .pretty, write: lines.append) }
        logger.info("first\nsecond")
        #expect(lines.all.first?.hasSuffix("first\\nsecond\n") == true)
    }
}
