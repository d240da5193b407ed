import Foundation
import TestSupport
import Testing

/// The client for test suites in Python, as its users install it.
@Suite(.tags(.database, .processes, .stockClient), .serialized, .timeLimit(.minutes(15))) struct PythonClientTests {
    @Test func `the client and its example are typed`() async throws {
        try await PythonClient.using { client in
            let mypy = try await client.run(["mypy", "--cache-dir", client.path("mypy")])
            #expect(mypy.last?.hasPrefix("Success: no issues found in") == true, "\(mypy)")
            let pyright = try await client.run(["basedpyright", "--pythonpath", client.interpreter])
            #expect(pyright.last == "0 errors, 0 warnings, 0 notes", "\(pyright)")
        }
    }

    @Test func `the client needs only httpx`() async throws {
        try await PythonClient.using { client in
            let script =
                "import importlib.metadata as m; print([r for r in m.requires('dormouse') if 'extra' not in r])"
            let requirements = try await client.run(script: script)
            #expect(requirements == ["['httpx>=0.27']"])
        }
    }

    @Test func `the tests of the client pass against a running suite`() async throws {
        try await PythonClient.using { client in
            try await Installation.using { installation in
                let up = try installation.up(["--detach", "--no-fleet", "--virtual-time"])
                #expect(try await up.exit(within: 400) == .exited(0), "\(up.output.tail()) \(up.errors.tail())")
                let endpoints = installation.folder.appendingPathComponent("endpoints.json").path
                try await client.expectTests(["--dormouse-endpoints=\(endpoints)"], atLeast: 100)
            }
        }
    }

    @Test func `the tests of the example pass against a suite of their own`() async throws {
        try await PythonClient.using { client in
            let binaries = ChildProcess.product("")
            try await client.expectTests(["--dormouse-binaries=\(binaries)"], of: "example", atLeast: 9)
            // The plugin has removed the data of its suite, after `deploy/down`.
            let remains = try FileManager.default.contentsOfDirectory(atPath: client.path("tmp"))
                .filter { $0.hasPrefix("dormouse-") }
            #expect(remains.isEmpty, "\(remains)")
        }
    }
}

/// An installation of `deploy/python` in a folder of its own, beside third-party packages that tests share.
private struct PythonClient {
    private static let packages = [
        "hatchling==1.33.0", "httpx[http2]==0.28.1", "pytest==9.2.0", "mypy==2.4.1", "basedpyright==1.40.2",
        "aioapns==4.0", "tuspy==1.1.0", "PyJWT[crypto]==2.15.1",
    ]
    private static let project = Repository.file("deploy/python").path

    let interpreter: String
    private let folder: String

    /// Runs a body with an installation, and removes it afterwards.
    static func using(_ body: (PythonClient) async throws -> Void) async throws {
        let python = try await PythonEnvironment.make(packages)
        // Short, because the suite has its sockets below.
        let folder = "/tmp/py-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder + "/tmp", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let client = PythonClient(interpreter: python.interpreter, folder: folder)
        let options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--no-input"]
        try await client.run(["pip", "install"] + options + ["--target", client.path("packages"), project])
        try await body(client)
    }

    func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// Runs a module of Python in the folder of the project.
    ///
    /// - Returns: the lines of its output.
    /// - Throws: ``Unexpected`` with the output if its exit status is not 0.
    @discardableResult
    func run(_ arguments: [String], in subfolder: String = "", within seconds: Double = 300) async throws -> [String] {
        try await start(["-m"] + arguments, in: subfolder, within: seconds)
    }

    /// Runs a script in the folder of the project.
    func run(script: String) async throws -> [String] { try await start(["-c", script], in: "", within: 60) }

    /// Runs the tests in a folder of the project, and expects that all pass and none is skipped.
    func expectTests(_ options: [String], of subfolder: String = "", atLeast count: Int) async throws {
        let lines = try await run(["pytest", "-p", "no:cacheprovider"] + options, in: subfolder, within: 600)
        let summary = lines.last ?? ""
        let passed = summary.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        #expect(passed >= count && summary.contains(" passed"), "\(lines.suffix(20))")
        #expect(!summary.contains("skipped"), "\(summary)")
    }

    private func start(_ arguments: [String], in subfolder: String, within seconds: Double) async throws -> [String] {
        let environment = [
            "PYTHONPATH": path("packages"), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": path("tmp"), "DATABASE_URL": "",
            "DORMOUSE_ENDPOINTS": "", "DORMOUSE_CHECKOUT": "", "DORMOUSE_BINARIES": "",
        ]
        let process = try ChildProcess.start(
            "/bin/sh",
            ["-c", #"cd "$1" && shift && exec "$@""#, "sh", "\(Self.project)/\(subfolder)", interpreter]
                + arguments, environment: environment)
        let status = try await process.exit(within: seconds)
        guard status == .exited(0) else {
            throw Unexpected("\(arguments): \(status)\n\(process.output.tail(60))\n\(process.errors.tail(20))")
        }
        return process.output.lines
    }
}
