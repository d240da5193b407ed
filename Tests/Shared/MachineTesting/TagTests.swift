import Foundation
import MachineTesting
import Testing

/// Compares the tags of suites with the fixtures that they use, in the sources.
@Suite struct TagTests {
    /// The types and programs that need more than the build, by tag.
    private static let roots = [
        "database": ["PrivateCluster", "Attack"], "processes": ["ChildProcess", "SpawnedProcess", "Attack"],
        "browser": ["Browser"], "stockClient": ["PythonEnvironment", "Downloader", "/usr/bin/curl", "/usr/sbin/nginx"],
    ]

    private static let folders =
        (["Tests/Shared", "Tests/Golden"] + children(of: "Tests/Services")).flatMap(children)
        // This target names the fixtures, but cannot use them.
        .filter { $0 != "Tests/Shared/MachineTesting" } + ["Tests/Doors", "Tests/Suite"]

    private static func children(of folder: String) -> [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: Repository.file(folder).path)
        return (names ?? []).sorted().map { "\(folder)/\($0)" }
    }

    @Test(arguments: folders) func `each suite has a tag for everything that it needs`(_ folder: String) throws {
        let sources = try TestSources([folder, "Tests/Support"])
        let border = Set(Self.roots.values.joined())
        for (tag, roots) in Self.roots {
            let needing = sources.names(thatNeed: roots, border: border)
            for suite in sources.suites where needing.contains(suite.name) && !suite.tags.contains(tag) {
                Issue.record("\(suite.file): \(suite.name) needs the tag .\(tag)")
            }
        }
    }

    @Test func `a suite needs the tag of a fixture of its fixture`() throws {
        let sources = try TestSources(["Tests/Suite", "Tests/Support"])
        let needing = sources.names(thatNeed: ["PrivateCluster"], border: ["PrivateCluster"])
        #expect(needing.isSuperset(of: ["RunningSuite", "StoryTests", "RoleTests"]))
        #expect(!needing.contains("DeploymentTests"))
    }
}
