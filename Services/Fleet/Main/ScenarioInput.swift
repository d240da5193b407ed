import ArgumentParser
import Contracts
import FleetService
import Foundation
import Records
import ScenarioFiles
import Scenarios
import Simulation

/// A scenario file for a simulation.
enum ScenarioInput {
    /// The exit status for a scenario file with faults.
    static let badFile: Int32 = 2

    /// Reads a scenario.
    ///
    /// - Parameter change: changes the scenario, for example by options.
    /// - Throws: an exit status if the file has faults, which are printed, or contradicts itself after the change.
    static func read(_ file: String, _ change: (inout Scenario) -> Void) throws -> Scenario {
        guard let data = FileManager.default.contents(atPath: file) else { throw FleetError("cannot read \(file)") }
        var scenario: Scenario
        do {
            scenario = try ScenarioFile.read(data)
        } catch {
            throw refusal(of: file, error.faults.map(\.description))
        }
        change(&scenario)
        let faults = SimulationRun.faults(of: scenario)
        guard faults.isEmpty else { throw refusal(of: file, faults.map { "\($0.pointer) \($0.detail)" }) }
        return scenario
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

    /// Creates a directory and those that contain it.
    static func makeDirectory(_ path: String) throws -> URL {
        let url = URL(filePath: path, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url
    }

    /// Prints the faults of the file.
    private static func refusal(of file: String, _ faults: [String]) -> ExitCode {
        for fault in faults { FileHandle.standardError.write(Data("\(file):\(fault)\n".utf8)) }
        return ExitCode(badFile)
    }
}
