import Foundation
import TestSupport
import Testing

/// The builds of `deploy/up` and their output, with a fake compiler that records its arguments.
@Suite("deploy/up builds", .tags(.processes), .timeLimit(.minutes(5))) struct BuildTests {
    private static let call = "build -c release -debug-info-format none for suite"

    @Test func `one call builds all products after a source changes`() async throws {
        let checkout = try Checkout()
        let first = try await checkout.build("lifecycle", "push")
        #expect(first.status == .exited(0))
        #expect(first.built == ["package resolve for suite", Self.call])
        // The progress of the compiler is a line; its other output is unchanged.
        for words in [
            "Building the suite (release; the first build takes 10 to 20 minutes on 2 cores)",
            "    77 % ", "  Compiling Push", "[7/x] a line of a source", "built in .build/release",
        ] {
            #expect(first.lines.contains { $0.contains(words) }, "\(words)")
        }
        #expect(!first.lines.contains { $0.contains("[7/9]") })
        // A second start has nothing to build, and prints nothing.
        let second = try await checkout.build("lifecycle", "push")
        #expect(second.status == .exited(0) && second.built.isEmpty && second.lines.isEmpty)

        let source = checkout.folder.appendingPathComponent("Services/Push/Push.swift")
        try checkout.age()
        try "changed".write(to: source, atomically: false, encoding: .utf8)
        #expect(try await checkout.build("lifecycle", "push").built == [Self.call])
        try checkout.age()
        try FileManager.default.removeItem(at: source)
        #expect(try await checkout.build("push").built == [Self.call])
        try FileManager.default.removeItem(at: checkout.executable("push"))
        #expect(try await checkout.build("lifecycle", "push").built == [Self.call])
        try FileManager.default.removeItem(at: checkout.folder)
    }

    /// A first build on two cores had 1,282 steps: 426 s for all but the last 25, and 660 s for these.
    @Test(arguments: [(0, 1282, 0), (1257, 1282, 39), (1282, 1282, 100), (3, 4, 75)])
    func `the last steps of a first build count as much as they take`(step: Int, of steps: Int, percent: Int)
        async throws
    {
        let script = "source \"$0\"; percent_of \(step) \(steps)"
        let shell = try ChildProcess.start(
            "/usr/bin/env", ["bash", "-c", script, Repository.file("deploy/lib/build.sh").path])
        #expect(try await shell.exit() == .exited(0), "\(shell.errors.tail())")
        #expect(shell.output.tail() == "\(percent)")
    }

    @Test func `a source that changes during the build is built again`() async throws {
        let checkout = try Checkout()
        #expect(
            try await checkout.build("push", environment: ["CHANGES": "Services/Push/Push.swift"]).built.last
                == Self.call)
        #expect(try await checkout.build("push").built == [Self.call])
        #expect(try await checkout.build("push").built.isEmpty)
        try FileManager.default.removeItem(at: checkout.folder)
    }

    @Test func `only a debug build has debug information`() async throws {
        let checkout = try Checkout()
        let built = try await checkout.build("push", configuration: "debug")
        #expect(built.status == .exited(0) && built.built.last == "build -c debug for suite", "\(built)")
        #expect(try await checkout.build("push").built == [Self.call])
        try FileManager.default.removeItem(at: checkout.folder)
    }

    @Test func `a failed build ends the start and shows the whole error`() async throws {
        let checkout = try Checkout()
        let failed = try await checkout.build("lifecycle", "push", environment: ["FAULT": "yes"])
        #expect(failed.status == .exited(1))
        #expect(failed.built.last == Self.call)
        #expect(failed.lines.suffix(3) == ["Push.swift:1:5: error: wrong", " 1 | let", "   |  `- error: wrong"])
        #expect(failed.errors.last?.hasSuffix("the build failed; see above") == true)
        #expect(try await checkout.build("lifecycle", "push").built == [Self.call])
        try FileManager.default.removeItem(at: checkout.folder)
    }
}

/// A folder with sources, the scripts and a fake compiler.
private struct Checkout {
    struct Outcome {
        let status: TestSupport.ExitStatus
        /// The arguments of the compiler.
        let built: [String]
        let lines: [String]
        let errors: [String]
    }

    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("build-\(UUID().uuidString.prefix(8))")
        for path in ["Services/Push", "Shared", "compiler"] {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(path), withIntermediateDirectories: true)
        }
        for path in ["Package.swift", "Services/Push/Push.swift"] {
            try "".write(to: folder.appendingPathComponent(path), atomically: true, encoding: .utf8)
        }
        let compiler = folder.appendingPathComponent("compiler/swift")
        try """
        #!/bin/bash
        set -euo pipefail
        echo "$* for $DORMOUSE_BUILD" >>compiler/asked
        if [[ $1 == package ]]; then touch Package.resolved; exit; fi
        echo '[7/9] Compiling Push'
        echo '[7/x] a line of a source'
        if [[ -n ${FAULT:-} ]]; then
            printf 'Push.swift:1:5: error: wrong\\n 1 | let\\n' >&2
            printf '   |  `- error: wrong' >&2
            exit 1
        fi
        if [[ -n ${CHANGES:-} ]]; then touch "$CHANGES"; fi
        # The call is `build -c CONFIGURATION …`.
        mkdir -p ".build/$3"
        for product in lifecycle push; do
            printf '#!/bin/true\\n' >".build/$3/$product"
            chmod +x ".build/$3/$product"
        done
        """.write(to: compiler, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: compiler.path)
    }

    func executable(_ product: String) -> URL { folder.appendingPathComponent(".build/release/\(product)") }

    /// Moves all files an hour into the past.
    func age() throws {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        for path in paths {
            let file = folder.appendingPathComponent(path).path
            let date = try FileManager.default.attributesOfItem(atPath: file)[.modificationDate] as? Date
            try FileManager.default.setAttributes(
                [.modificationDate: (date ?? Date()) - 3600], ofItemAtPath: file)
        }
    }

    func build(
        _ products: String..., configuration: String = "release", environment: [String: String] = [:]
    ) async throws -> Outcome {
        let asked = folder.appendingPathComponent("compiler/asked")
        let before = (try? String(contentsOf: asked, encoding: .utf8)) ?? ""
        let lib = Repository.file("deploy/lib").path
        let script = """
            set -euo pipefail
            cd "$1"; lib=$2; configuration=$3; shift 3
            for part in output packages build; do source "$lib/$part.sh"; done
            build "$configuration" "$@"
            """
        let path = folder.appendingPathComponent("compiler").path + ":/usr/bin:/bin"
        let process = try ChildProcess.start(
            "/bin/bash", ["-c", script, "build", folder.path, lib, configuration] + products,
            environment: environment.merging(["PATH": path]) { $1 })
        let status = try await process.exit()
        let after = (try? String(contentsOf: asked, encoding: .utf8)) ?? ""
        return Outcome(
            status: status, built: after.dropFirst(before.count).split(separator: "\n").map(String.init),
            lines: process.output.lines, errors: process.errors.lines)
    }
}
