import Foundation
import NIOHTTP1
import Records
import TestSupport
import Testing

/// `deploy/release`, with scripts in place of the executables.
@Suite("Releases", .tags(.processes), .timeLimit(.minutes(5))) struct ReleaseTests {
    private static let script = Repository.file("deploy/release").path
    private static let programs = ["lifecycle", "fetch", "push", "transfer", "ops", "fleet"]

    @Test func `a release has a tarball, a package, a bill of materials and checksums, the same each time`()
        async throws
    {
        let version = try Self.version()
        let registry = try await Self.registry()
        let pinning = ["IMAGE_REGISTRY": registry.url("")]
        try await Self.inFolder { folder in
            let first = folder.appending(path: "first")
            let binaries = try Self.binaries(in: folder, version: version)
            try await Self.run(Self.script, ["--binaries", binaries, "--output", first.path, "--pin-images"], pinning)
            let names = try FileManager.default.contentsOfDirectory(atPath: first.path).sorted()
            let tarball = try #require(names.first { $0.hasSuffix(".tar.gz") })
            let package = try #require(names.first { $0.hasSuffix(".deb") })
            #expect(names.count == 5 && names.allSatisfy { $0.contains(version) }, "\(names)")
            let checked = try await Self.run(
                "/bin/sh", ["-c", "cd '\(first.path)' && sha256sum --check dormouse-\(version).sha256"])
            #expect(checked.filter { $0.hasSuffix(": OK") }.count == 4, "\(checked)")

            let packed = try await Self.run("/bin/tar", ["-tzf", first.appending(path: tarball).path])
            for program in Self.programs { #expect(packed.contains { $0.hasSuffix("/bin/\(program)") }) }
            #expect(packed.contains { $0.hasSuffix("/scenarios/morning-herd.yaml") })
            try await checkPackage(first.appending(path: package).path, version: version)
            try checkImages(first.appending(path: "dormouse-\(version)-images.yml"))
            try checkBill(first.appending(path: "dormouse-\(version).cdx.json"), version: version)

            let second = folder.appending(path: "second")
            try await Self.run(Self.script, ["--binaries", binaries, "--output", second.path, "--pin-images"], pinning)
            for name in names {
                let (one, other) = (first.appending(path: name), second.appending(path: name))
                #expect(try Data(contentsOf: one) == Data(contentsOf: other), "\(name) differs")
            }
        }
    }

    @Test func `a missing or an old executable, and an unknown option, are refused`() async throws {
        try await Self.inFolder { folder in
            let binaries = try Self.binaries(in: folder, version: "0.0.1")
            for (arguments, words) in [
                (["--binaries", binaries], "is not of version"), (["--binaries", folder.path], "has no executable"),
                (["--now"], "unknown option '--now'"), (["--output"], "--output takes a folder"),
                (["--maintainer", "nobody"], "--maintainer takes a name and an address"),
            ] {
                let output = folder.appending(path: "out")
                let process = try ChildProcess.start(
                    Self.script, arguments + (arguments == ["--output"] ? [] : ["--output", output.path]))
                #expect(try await process.exit(within: 60) == .exited(1))
                #expect(process.errors.tail().contains(words), "\(arguments): \(process.errors.tail())")
                #expect(!FileManager.default.fileExists(atPath: output.path))
            }
        }
    }

    @Test func `an image that the registry does not have is named`() async throws {
        let registry = try await Self.registry(without: "grafana/grafana")
        let process = try ChildProcess.start(
            "/usr/bin/env", ["-C", Repository.root.path, "python3", "deploy/lib/images.py"],
            environment: ["IMAGE_REGISTRY": registry.url("")])
        #expect(try await process.exit(within: 60) == .exited(1))
        #expect(process.errors.tail().contains("gives no digest of grafana/grafana:"), "\(process.errors.tail())")
    }

    /// Starts a registry that asks for a token first, as Docker Hub does.
    private static func registry(without missing: String = "?") async throws -> CannedServer {
        try await CannedServer.start { request in
            func answer(_ status: String, _ field: String, _ body: String = "") -> String {
                "HTTP/1.1 \(status)\r\n\(field)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            }
            if request.path.hasPrefix("/token?") { return answer("200 OK", "X: y", #"{"token":"t1"}"#) }
            guard request.headers.first(name: "Authorization") == "Bearer t1" else {
                let challenge = #"Bearer realm="http://\#(request.host)/token",service="registry",scope="pull""#
                return answer("401 Unauthorized", "WWW-Authenticate: \(challenge)")
            }
            guard request.method == "HEAD", !request.path.contains(missing) else {
                return answer("404 Not Found", "X: y")
            }
            let digest = String(repeating: String(request.path.utf8.count % 10), count: 64)
            return answer("200 OK", "Docker-Content-Digest: sha256:\(digest)")
        }
    }

    /// Each image of the Compose file and of the Dockerfile has its tag and a digest.
    private func checkImages(_ file: URL) throws {
        let text = try String(contentsOf: file, encoding: .utf8)
        for (source, pattern) in [
            ("docker-compose.yml", #/\n    image: (\S+)/#), ("deploy/docker/Dockerfile", #/_IMAGE=(\S+)/#),
        ] {
            let images = try String(contentsOf: Repository.file(source), encoding: .utf8).matches(of: pattern)
                .map { String($0.output.1) }.filter { $0 != "dormouse:local" }
            #expect(images.count > 1)
            for image in images {
                let path = "/v2/\(image.contains("/") ? "" : "library/")\(image.replacing(":", with: "/manifests/"))"
                let digest = String(repeating: String(path.utf8.count % 10), count: 64)
                #expect(text.contains("'\(image)@sha256:\(digest)'"), "\(image)")
            }
        }
    }

    private func checkPackage(_ package: String, version: String) async throws {
        let fields = try await Self.run("/usr/bin/dpkg-deb", ["--field", package])
        #expect(fields.contains("Version: \(version)") && fields.contains { $0.hasPrefix("Depends: libpq5") })
        let content = try await Self.run("/usr/bin/dpkg-deb", ["--contents", package])
        let files = content.compactMap { $0.split(separator: " ").last.map(String.init) }
        for program in Self.programs { #expect(files.contains("./usr/lib/dormouse/\(program)")) }
        #expect(content.allSatisfy { $0.contains(" root/root ") })
        for service in ["lifecycle", "fetch", "push", "transfer", "ops", "maintain"] {
            let path = "./lib/systemd/system/dormouse-\(service).service"
            let unit = try await Self.run("/bin/sh", ["-c", "dpkg-deb --fsys-tarfile '\(package)' | tar -xO \(path)"])
            let command = service == "maintain" ? "ops maintain" : "\(service) serve"
            #expect(unit.contains("ExecStart=/usr/lib/dormouse/\(command)"), "\(service)")
            #expect(unit.contains("User=dormouse-\(service)"), "\(service)")
            #expect(!unit.contains { $0.contains("@SERVICE") }, "\(service)")
        }
    }

    /// Each package that Package.swift names is in the bill, with a version and without a commit id. Only BoringSSL has
    /// a whole commit id. The reference of a library that a package or the toolchain contains has a slash.
    private func checkBill(_ file: URL, version: String) throws {
        let bill = try JSON(parsing: Array(Data(contentsOf: file)))
        #expect(bill["bomFormat"] == "CycloneDX" && bill["metadata"]?["component"]?["version"] == .string(version))
        let components = bill["components"]?.items ?? []
        let manifest = try String(contentsOf: Repository.file("Package.swift"), encoding: .utf8)
        let named = manifest.matches(of: /\("[\w-]+\/([\w-]+)", "\d/).map { $0.output.1.lowercased() }
        let names = Set(components.compactMap { $0["name"]?.string })
        #expect(named.count > 10 && Set(named).isSubset(of: names), "\(Set(named).subtracting(names))")
        let packages = components.filter { $0["bom-ref"]?.string?.contains("/") == false }
        #expect(packages.count > 10 && packages.allSatisfy { $0["version"]?.string?.contains(".") == true })
        let commits = components.filter { $0["version"]?.string?.wholeMatch(of: /[0-9a-f]{40}/) != nil }
        #expect(commits.count == 2 && commits.allSatisfy { $0["name"] == "boringssl" })
        #expect(names.isSuperset(of: ["swift", "swift-corelibs-foundation", "libyaml", "zlib"]))
    }

    private static func version() throws -> String {
        let source = try String(contentsOf: Repository.file("Shared/CommandLines/Version.swift"), encoding: .utf8)
        return String(try #require(source.firstMatch(of: /current = "([^"]+)"/)).output.1)
    }

    /// Writes scripts that print a version.
    private static func binaries(in folder: URL, version: String) throws -> String {
        let binaries = folder.appending(path: "binaries")
        try FileManager.default.createDirectory(at: binaries, withIntermediateDirectories: true)
        for program in programs {
            let path = binaries.appending(path: program).path
            try "#!/bin/sh\necho \(program) \(version)\n".write(toFile: path, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }
        return binaries.path
    }

    private static func inFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "release-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    /// Runs a program.
    ///
    /// - Returns: the lines of its output.
    @discardableResult
    private static func run(
        _ program: String, _ arguments: [String], _ environment: [String: String] = [:]
    ) async throws -> [String] {
        let process = try ChildProcess.start(program, arguments, environment: environment)
        let status = try await process.exit(within: 120)
        guard status == .exited(0) else {
            throw Unexpected("\(program) \(arguments): \(status)\n\(process.output.tail())\n\(process.errors.tail())")
        }
        return process.output.lines
    }
}
