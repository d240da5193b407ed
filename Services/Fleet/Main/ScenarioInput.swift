import ArgumentParser
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
