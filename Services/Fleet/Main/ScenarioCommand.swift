import ArgumentParser
import FleetService
import Foundation
import Records
import ScenarioFiles
import Scenarios

/// The commands about scenario files.
struct ScenarioCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scenario", abstract: "Checks scenario files, and prints their schema.",
        subcommands: [Check.self, Schema.self])

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the faults of a scenario file, with line and column, or a summary.")

        /// The exit status for a file with faults.
        private static let badFile: Int32 = 2

        @Argument(help: "The file: YAML or JSON.")
        var file: String

        func run() throws {
            guard let data = FileManager.default.contents(atPath: file) else {
                throw FleetError("cannot read \(file)")
            }
            do {
                print(ScenarioFile.summary(of: try ScenarioFile.read(data)))
            } catch {
                for fault in error.faults { FileHandle.standardError.write(Data("\(file):\(fault)\n".utf8)) }
                throw ExitCode(Self.badFile)
            }
        }
    }

    struct Schema: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the JSON schema (2020-12) of scenario files, for editors.")

        func run() {
            FileHandle.standardOutput.write(Data(ScenarioReader.schema.bytes + [0x0A]))
        }
    }
}
