import Logging
import Records
import ServiceKit
import Telemetry
import Testing

@Suite struct ConfigurationTests {
    /// The settings of all services, and one of a service.
    private struct Settings {
        let common: ServiceConfiguration
        let providerPort: Int

        init(_ reader: SettingsReader) {
            common = ServiceConfiguration(reader, port: 8099)
            providerPort = reader.number("APNS_PORT", 8443, 0...65535, "port of providers")
        }
    }

    private func readAll(
        _ arguments: [String], _ environment: [String: String] = [:], dotEnv: String = ""
    ) throws -> Settings {
        let request = try SettingsReader.read(
            service: "naps", arguments: arguments, environment: environment, dotEnv: dotEnv, Settings.init)
        guard case .run(let settings) = request else { throw ConfigurationError("help") }
        return settings
    }

    private func read(_ arguments: [String]) throws -> ServiceConfiguration { try readAll(arguments).common }

    @Test func `flags override the environment, then the env file, then the defaults`() throws {
        let file = "# ours\nexport PORT=1\nPARTITIONS=\"8\"\nHOST=0.0.0.0\nOTHER=x\n"
        let environment = ["PORT": "2", "PARTITIONS": "4", "LOG_LEVEL": ""]
        let settings = try readAll(["--port=3", "--virtual-time"], environment, dotEnv: file)
        let configuration = settings.common
        #expect(configuration.port == 3)
        #expect(configuration.partitions == 4)
        #expect(configuration.host == "0.0.0.0")
        #expect(configuration.logLevel == .info)
        #expect(configuration.isVirtualTime)
        #expect(!configuration.isInsecure)
        #expect(settings.providerPort == 8443)
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

    @Test func `the help text lists each setting that is read, with its range and default`() throws {
        let request = try SettingsReader.read(
            service: "naps", arguments: ["-h"], environment: [:], Settings.init)
        guard case .help(let text) = request else { throw ConfigurationError("no help") }
        #expect(text.hasPrefix("Usage: naps [serve|migrate|check] [options]\n"))
        let reader = SettingsReader()
        _ = Settings(reader)
        #expect(reader.settings.count == 35)
        #expect(text.hasSuffix("port of providers (0 to 65535, default 8443)"))
        #expect(text.contains("auto is pretty on a terminal, else json (json|pretty|auto, default auto)\n"))
        for setting in reader.settings {
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("  \(setting.flag) ") })
            #expect(line.contains(setting.summary))
            if let standard = setting.standard { #expect(line.hasSuffix("default \(standard))")) }
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

    @Test func `the log level changes for all copies of a logger but one with its own level`() {
        let (lines, threshold) = (LogLines(), LogThreshold(.info))
        let logger = Logger(label: "naps") {
            LogOutput(label: $0, threshold: threshold, format: .json, write: lines.append)
        }
        var own = logger
        own.logLevel = .warning
        logger.debug("hidden")
        #expect(threshold.set(.debug) == .info && logger.logLevel == .debug)
        logger.debug("shown")
        own.debug("hidden")
        #expect(threshold.set(.error) == .debug)
        logger.warning("hidden")
        own.warning("own")
        let messages = lines.all.compactMap { try? JSON(parsing: Array($0.utf8))["message"]?.string }
        #expect(messages == ["shown", "own"])
        for level in Logger.Level.allCases {
            threshold.set(level)
            #expect(threshold.level == level)
        }
    }

    @Test func `a line end in a message can't forge a log line`() {
        let lines = LogLines()
        let logger = Logger(label: "naps") { LogOutput(label: $0, level: .info, format: .pretty, write: lines.append) }
        logger.info("first\nsecond")
        #expect(lines.all.first?.hasSuffix("first\\nsecond\n") == true)
    }
}
