import Contracts
import EventLog
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import LifecycleCore
import Machines
import Records
import Runtime
import ServiceKit
import Synchronization

// Many devices of a fleet at once.
extension LifecycleRoutes {
    func addFleets(_ table: inout RouteTable) {
        table.add(
            .post, "/v1/fleets/{fleet}/devices",
            "Sets up the devices of the lines: registers, installs apps, launches them, reports conditions",
            .lines(DeviceSetupLine.self), .text(.lines(example: Example.setupLines))
        ) { call in
            let fleet = try await entered(call)
            return try await batches.answer(call, DeviceSetupLine.self) { line, number in
                try await setUp(line, number, in: fleet, call)
            }
        }
        table.add(
            .patch, "/v1/fleets/{fleet}/conditions",
            "Reports the same conditions of all devices of a fleet, or in lines those of each device",
            .document(ConditionsReport.self), .lines(ConditionsLine.self),
            .text(.lines(example: Example.conditionsLines))
        ) { call in
            let fleet = try await entered(call)
            guard LineBatches.isBatch(call.request) else { return try await changeAll(of: fleet, call) }
            return try await batches.answer(call, ConditionsLine.self) { line, number in
                try await commands.submit(
                    .updateConditions(line.conditions), of: (number, line), in: fleet, call
                ) { aggregate, _ in DeviceLineDocument(line.device, aggregate) }
            }
        }
    }

    /// Returns the fleet in the path, if the caller may change its devices.
    func entered(_ call: Call) async throws -> String {
        let fleet = try call.identifier("fleet")
        try call.context.requireCaller(.operate).requireFleet(fleet)
        try await commands.waitForPosition(call)
        return fleet
    }

    /// The token is created after the commit, as at the registration of a single device.
    private func setUp(
        _ line: DeviceSetupLine, _ number: Int, in fleet: String, _ call: Call
    ) async throws -> LineAnswer {
        let isNew = Mutex(false)
        let setup = try line.setup(in: fleet)
        var answer = try await commands.submit(.setUp(setup), of: (number, line), in: fleet, call, registers: true) {
            aggregate, events in
            // A repeated batch decides again.
            isNew.withLock { $0 = events.contains(where: \.isRegistration) }
            return DeviceLineDocument(line.device, aggregate)
        }
        guard isNew.withLock({ $0 }) else { return answer }
        let token = try await tokens.device(line.device, fleet: fleet, position: answer.position?.offset ?? 0)
        answer.status = .created
        answer.members.append(JSON.Member("token", .string(token)))
        return answer
    }

    private func changeAll(of fleet: String, _ call: Call) async throws -> Response {
        let report: ConditionsReport = try await call.document()
        var pages = FleetPages(of: fleet, in: tail.partitions)
        return try await batches.answer(
            call, devices: { try await pages.next(commands.runtime.states) },
            { device in
                try await commands.submit(.updateConditions(report), to: device, in: fleet, call) { aggregate, _ in
                    DeviceLineDocument(device, aggregate)
                }
            })
    }
}

/// The devices of a fleet, in pages.
struct FleetPages {
    let fleet: String
    private let partitions: Int
    private var partition = 0
    private var last: AggregateKey?

    init(of fleet: String, in partitions: Int) {
        self.fleet = fleet
        self.partitions = partitions
    }

    /// Returns the next devices, by partition and name; nil after the last ones.
    mutating func next(_ states: StoredStates<LifecycleMachine>) async throws -> [String]? {
        guard partition < partitions else { return nil }
        let page = try await states.page(of: partition, mentioning: fleet, after: last)
        last = page.last
        if last == nil { partition += 1 }
        return page.states.filter { $0.state.registration?.fleet == fleet }.compactMap(\.key.device)
    }
}
