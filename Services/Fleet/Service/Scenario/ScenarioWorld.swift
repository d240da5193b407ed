import Scenarios

/// The values that all devices of a run share.
struct ScenarioWorld: Sendable {
    let plan: ScenarioPlan
    /// The prefix of the names of devices, and the name of their fleet.
    let fleet: String
    let client: SuiteClient
    let statistics: RunStatistics
    let run: String
    let provider: ScenarioProvider?
    let tokens: TokenList
    let streams: NotificationStreams
    let recorder: any ScenarioRecorder

    /// Whether faults of the scenario kill `push`.
    var killsPush: Bool { plan.kills.contains { $0.service == .push } }

    func has(_ service: ServiceName) -> Bool { client.endpoints.services[service] != nil }

    /// Returns the identifier of a device of the run.
    static func name(of device: Int, fleet: String) -> String {
        let digits = String(device)
        return "\(fleet)-" + String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }
}
