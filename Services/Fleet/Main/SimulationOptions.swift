import ArgumentParser
import Foundation
import Scenarios
import Timeline

/// What `fleet simulate` and `fleet compare` replace in a scenario, and the threads.
struct SimulationOptions: ParsableArguments {
    @Option(help: "Replaces the seed. A comparison takes the seed of its first scenario for both.")
    var seed: UInt64?
    @Option(help: "Replaces the number of devices.")
    var devices: Int?
    @Option(help: "Replaces the duration of the scenario, in days.")
    var days: Int?
    @Option(help: "The number of threads. The result does not depend on it.")
    var threads = ProcessInfo.processInfo.activeProcessorCount

    func validate() throws {
        if let devices, !(1...100_000).contains(devices) { throw ValidationError("--devices must be 1 to 100000") }
        if let days, !(1...366).contains(days) { throw ValidationError("--days must be 1 to 366") }
        if !(1...256).contains(threads) { throw ValidationError("--threads must be 1 to 256") }
    }

    /// Changes a scenario as the options say. The seed is not a part of it.
    func change(_ scenario: inout Scenario) {
        if let devices { scenario.devices.count = devices }
        if let days { scenario.duration = TimeSpan(.days(Int64(days))) }
    }
}
