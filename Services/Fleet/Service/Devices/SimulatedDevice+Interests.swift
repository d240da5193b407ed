import Contracts
import Records
import Scenarios
import Timeline

// The surroundings of the device, and the apps that wait for their events.
extension SimulatedDevice {
    /// The percentage of the times at which a user picks up the device with a new value of the accessory before (our choice).
    static let accessoryShare = 15
    /// The same for a new sample of HealthKit (our choice).
    static let sampleShare = 20

    /// Returns the actions by which the code of an app starts to wait after its launch. Events of places need the
    /// authorization `always`.
    func awaitEvents(of app: Int) -> [Action] {
        let model = apps[app].model
        return model.interests.filter { interest in
            guard has(interest.feature) else { return false }
            switch interest {
            case .visits, .beacons, .monitor, .condition: return apps[app].location == "always"
            case .bluetooth, .health: return true
            case .research: return services.contains(.fetch)
            }
        }.map { .startWaiting(app: model.identifier, $0) }
    }

    /// Returns the events of a user who goes from one place to another. The beacon is at home.
    mutating func move(to phase: Person.Phase) -> [Action] {
        let (old, new) = (place, phase.place)
        guard old != new else { return [] }
        place = new
        let isFirst = old == nil
        var actions: [Action] = []
        if has(.beaconRegions), isFirst || old == .home || new == .home {
            actions.append(.occur(.beacon(isInRange: new == .home)))
        }
        if has(.visits), !isFirst {
            if old != .away { actions.append(.occur(.visit(isArrival: false))) }
            if new != .away { actions.append(.occur(.visit(isArrival: true))) }
        }
        return actions
    }

    /// Returns the events since the user last picked up the device.
    mutating func eventsBeforeUse() -> [Action] {
        var actions: [Action] = []
        for app in apps where app.hasAccessory && random.percent(Self.accessoryShare) {
            actions.append(.occur(.accessory(app: app.model.identifier)))
        }
        let counts = apps.contains { $0.model.interests.contains(.health) }
        if counts, has(.healthDelivery), random.percent(Self.sampleShare) { actions.append(.occur(.sample)) }
        return actions
    }
}

/// The place of a user, as iOS recognizes it.
enum SimulatedPlace: Sendable { case home, work, away }

extension Person.Phase {
    fileprivate var place: SimulatedPlace {
        switch self {
        case .asleep, .atHome: .home
        case .atWork: .work
        case .commuting, .inTunnel: .away
        }
    }
}
