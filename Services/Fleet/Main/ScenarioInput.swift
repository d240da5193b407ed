import ArgumentParser
import Contracts
import FleetService
import Foundation
import Records
import Reports
import ScenarioFiles
import Scenarios
import Simulation

/// Reads scenario files for the commands that run them.
enum ScenarioInput {
    /// The exit status for a file with faults.
    static let badFile: Int32 = 2

    /// Reads a scenario.
    ///
    /// - Parameters:
    ///   - faults: returns what else the changed scenario must not have.
    ///   - change: changes the scenario by options.
    /// - Throws: an exit status if the file has faults before or after the change. They are printed, each with its line
    ///   and column.
    static func read(
        _ file: String, refusing faults: (Scenario) -> [FieldError] = { _ in [] }, _ change: (inout Scenario) -> Void
    ) throws -> Scenario {
        guard let data = FileManager.default.contents(atPath: file) else { throw FleetError("cannot read \(file)") }
        do {
            return try ScenarioFile.read(data, changing: change, refusing: faults)
        } catch {
            throw refusal(of: file, error.faults.map(\.description))
        }
    }

    /// Reads the table of generations, which a file overrides: the given one, or else that of `PROFILES_FILE`.
    ///
    /// - Throws: an exit status if the file has faults, which are printed.
    static func generations(_ profiles: String?) throws -> Generations {
        let named = profiles ?? ProcessInfo.processInfo.environment["PROFILES_FILE"]
        guard let path = named, !path.isEmpty else { return .standard }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw FleetError("cannot read the profiles \(path)")
        }
        do throws(DocumentError) {
            return try Generations(overriding: Array(data))
        } catch {
            throw refusal(of: path, error.faults.map { "\($0.pointer) \($0.detail)" })
        }
    }

    /// Prints the faults of a file.
    static func refusal(of file: String, _ faults: [String]) -> ExitCode {
        for fault in faults { FileHandle.standardError.write(Data("\(file):\(fault)\n".utf8)) }
        return ExitCode(badFile)
    }
}

/// The files of a report: `report.html`, `report.json` and `pushes.csv`.
enum ReportFiles {
    /// Creates a directory and those that contain it.
    static func makeDirectory(_ path: String) throws -> URL {
        let url = URL(filePath: path, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url
    }

    /// Writes the files, and prints where the page is.
    static func write(_ report: Reports.Report, to directory: URL) throws {
        try Data(report.jsonBytes).write(to: directory.appending(path: "report.json"))
        try Data(report.pushesCSV.utf8).write(to: directory.appending(path: "pushes.csv"))
        let page = directory.appending(path: "report.html")
        try Data(ReportPage().html(report).utf8).write(to: page)
        Terminal.write("  report: \(page.path)\n")
    }
}
