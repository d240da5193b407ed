import Foundation
import TestSupport
import Testing

/// The compiler specializes the generic runtime for each machine when it builds the services. It can't do so for a function
/// with a key path of a generic type, nor for what that function calls: the whole batch then runs unspecialized.
@Suite struct KeyPathLintTests {
    @Test(arguments: ["Runtime", "Machines"])
    func `no function has a key path`(_ module: String) throws {
        let folder = Repository.root.appending(path: "Shared/\(module)")
        var files = 0
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            guard file.pathExtension == "swift" else { continue }
            files += 1
            for line in keyPaths(in: try String(contentsOf: file, encoding: .utf8)) {
                #expect(Bool(false), "\(file.lastPathComponent): \(line)")
            }
        }
        #expect(files > 5)
    }

    @Test(arguments: [
        ("let all = rows.map(\\.key)", 1), ("rows.contains(where: \\.isOpen)", 1), ("rows.map { $0.key }", 0),
        ("/// The key path `\\.key`.", 0), ("\"the key \\(row.key)\"", 0),
    ])
    func `a key path is found`(_ line: String, _ count: Int) { #expect(keyPaths(in: line).count == count) }

    private func keyPaths(in source: String) -> [Substring] {
        source.split(separator: "\n").filter { !$0.contains(/^\s*\/\//) && $0.contains(/[(: ]\\[A-Z\w]*\.\w/) }
    }
}
