import Contracts
public import Machines
import OrderedCollections
import Timeline

// Where a wake goes, once it is known what moment would be best for it. Others have their moments already: apps of other devices
// under the ceiling of the suite, apps of this one by the spacing of the device's wakes.
extension Decision<FetchMachine> {
    /// The free moment for a wake of this device that is best for an aim: next to a wake with the same aim, else the last one that
    /// is not after it, else the first one behind it.
    ///
    /// Where documents can't tell moments any more, those are shared.
    ///
    /// - Parameters:
    ///   - earliest: never before this.
    ///   - app, task: whose wake it is; what it holds so far it gives up.
    func place(_ aim: Instant, from earliest: Instant, of app: String, task: String? = nil) -> Instant {
        let others = state.wakes(except: app, task)
        let target = max(earliest, others.first { $0.aim == aim }?.at ?? aim)
        func conflict(_ moment: Instant) -> Instant? {
            others.first { !policy.areCompatible(moment, $0.at) }?.at
        }
        var end = target
        while let moment = moments.last(from: max(earliest, aim - policy.reach), upTo: end) {
            guard let other = conflict(moment) else { return moment }
            end = policy.before(other, moment)
        }
        var start = target
        while true {
            let moment = moments.first(from: start)
            guard moment < Instant.documented.upperBound else { return Instant.documented.upperBound }
            guard let other = conflict(moment) else { return moment }
            start = policy.after(other, moment)
        }
    }
}

extension FetchPolicy {
    /// Whether two wakes of a device are one, or far enough apart.
    func areCompatible(_ one: Instant, _ other: Instant) -> Bool {
        let apart = one < other ? other - one : one - other
        return apart <= Self.coalescing || apart >= deviceSpacing
    }

    /// The next moment to try before one that another wake stands in the way of.
    fileprivate func before(_ other: Instant, _ moment: Instant) -> Instant {
        let next = moment > other + Self.coalescing ? other + Self.coalescing : other - deviceSpacing
        return min(next, moment - .milliseconds(1))
    }

    fileprivate func after(_ other: Instant, _ moment: Instant) -> Instant {
        let next = moment < other - Self.coalescing ? other - Self.coalescing : other + deviceSpacing
        return max(next, moment + .milliseconds(1))
    }
}

extension FetchMachine {
    /// A wake of the device that has its moment, or had it last.
    struct PlannedWake {
        var at: Instant
        /// What would have been best; nil for what is over.
        var aim: Instant?
        var ceiling: Int?
    }

    /// All but the refresh of an app, or one task of it.
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

    public static let holdsMoments = true

    public static func ceiling(_ policy: FetchPolicy) -> Int? { policy.ceiling }

    public var heldMoments: [HeldMoment] {
        wakes().filter { $0.aim != nil }.map { HeldMoment(at: $0.at, ceiling: $0.ceiling) }
    }
}
