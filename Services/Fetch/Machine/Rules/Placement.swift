import Contracts
public import Machines
import OrderedCollections
import Timeline

// Reserves a time for a wake once its best time is known. Other devices have reserved times under the limit of the suite,
// and other apps of the device have times that need spacing.
extension Decision<FetchMachine> {
    /// Returns the best free time for a wake with an aim, and releases the former reservation of the app or task.
    ///
    /// The best time is next to a wake with the same aim. Otherwise it is the last free time up to the aim, and
    /// otherwise the first one after it.
    ///
    /// The last time that documents can express can be shared.
    func place(_ aim: Instant, from earliest: Instant, of app: String, task: String? = nil) -> Instant {
        let others = state.wakes(except: app, task)
        let target = max(earliest, others.first { $0.aim == aim }?.at ?? aim)
        func conflict(_ moment: Instant) -> Instant? {
            others.first { !policy.areCompatible(moment, $0.at) }?.at
        }
        var end = target
        while let moment = slots.last(from: max(earliest, aim - policy.reach), upTo: end) {
            guard let other = conflict(moment) else { return moment }
            end = policy.before(other, moment)
        }
        var start = target
        while true {
            let moment = slots.first(from: start)
            guard moment < Instant.documented.upperBound else { return Instant.documented.upperBound }
            guard let other = conflict(moment) else { return moment }
            start = policy.after(other, moment)
        }
    }
}

extension FetchPolicy {
    /// Whether two wakes of a device count as one or are far enough apart.
    func areCompatible(_ one: Instant, _ other: Instant) -> Bool {
        let apart = one < other ? other - one : one - other
        return apart <= Self.coalescing || apart >= deviceSpacing
    }

    /// Returns the next time to try before a time that conflicts with another wake.
    fileprivate func before(_ other: Instant, _ moment: Instant) -> Instant {
        let next = moment > other + Self.coalescing ? other + Self.coalescing : other - deviceSpacing
        return min(next, moment - .milliseconds(1))
    }

    /// Returns the next time to try after a time that conflicts with another wake.
    fileprivate func after(_ other: Instant, _ moment: Instant) -> Instant {
        let next = moment < other - Self.coalescing ? other - Self.coalescing : other + deviceSpacing
        return max(next, moment + .milliseconds(1))
    }
}

extension FetchMachine {
    /// A planned wake of the device, or its last wake.
    struct PlannedWake {
        var at: Instant
        /// The best time; nil for the last wake.
        var aim: Instant?
        var ceiling: Int?
    }

    /// Returns all wakes except the refresh of an app or one of its tasks.
    func wakes(except excluded: String? = nil, _ excludedTask: String? = nil) -> [PlannedWake] {
        var wakes: [PlannedWake] = wokenAt.map { [PlannedWake(at: $0)] } ?? []
        func add(_ at: Instant?, _ aim: Instant?, _ ceiling: Int?) {
            if let at { wakes.append(PlannedWake(at: at, aim: aim ?? at, ceiling: ceiling)) }
        }
        let known = known
        wakes.reserveCapacity(known.count + 1)
        for (index, name) in apps.keys.enumerated() {
            if name != excluded || excludedTask != nil {
                add(known[index].wait?.at, known[index].wait?.aim, known[index].wait?.ceiling)
            }
            for (identifier, task) in known[index].tasks where name != excluded || identifier != excludedTask {
                add(task.wait?.at, task.wait?.aim, task.wait?.ceiling)
            }
        }
        return wakes
    }

    public static func ceiling(_ policy: FetchPolicy) -> Int? { policy.ceiling }

    public var reservedSlots: [ReservedSlot] {
        let apps = known
        var slots: [ReservedSlot] = []
        for index in apps.indices {
            if let at = apps[index].wait?.at {
                slots.append(ReservedSlot(at: at, ceiling: apps[index].wait?.ceiling))
            }
            for task in apps[index].tasks.values {
                if let at = task.wait?.at { slots.append(ReservedSlot(at: at, ceiling: task.wait?.ceiling)) }
            }
        }
        return slots
    }
}
