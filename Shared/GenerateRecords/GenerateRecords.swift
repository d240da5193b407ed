import Foundation
import PackagePlugin

/// Generates the repeated code of records before a target is compiled. See `RecordGenerator`.
@main struct GenerateRecords: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let module = target.sourceModule else { return [] }
        let generator = try context.tool(named: "RecordGenerator").url
        return try module.sourceFiles(withSuffix: "swift").map(\.url).filter(declaresRecords).map { source in
            let name = source.deletingPathExtension().lastPathComponent + ".records.swift"
            let output = context.pluginWorkDirectoryURL.appending(path: name)
            return .buildCommand(
                displayName: "Generating \(target.name)/\(name)", executable: generator,
                arguments: [source.path, output.path], inputFiles: [source], outputFiles: [output])
        }
    }

    private func declaresRecords(_ source: URL) throws -> Bool {
        let text = try String(contentsOf: source, encoding: .utf8)
        return [": Record", "EventData {", ": EventFamily", ": Machine"].contains { text.contains($0) }
    }
}
