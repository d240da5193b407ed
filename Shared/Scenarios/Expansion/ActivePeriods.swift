import Timeline

/// The periods of a device that can be active on a day, with the times that the device draws for each day.
struct ActivePeriods {
    private struct Span {
        var begin: Instant
        var end: Instant

        func contains(_ instant: Instant) -> Bool { begin <= instant && instant < end }
    }

    private var charging: [Span] = []
    private var focus: [Span] = []
    private var lowPower: [Span] = []
    private var networks: [(span: Span, network: NetworkText)] = []
    private var outages: [Span] = []
    private let usual: NetworkText

    /// - Parameter day: the day. Periods that began on the two days before reach into it, and into its first instant.
    init(_ world: DeviceWorld, around day: Int) {
        let group = world.group
        usual = group.network.usual
        for begun in (day - 2)...day {
            for (item, period) in group.charging.items.enumerated() {
                if let span = Self.span(of: period, begun, item, world) { charging.append(span) }
            }
            for (item, rule) in (group.lowPowerMode?.items ?? []).enumerated() {
                guard case .during(let period) = rule else { continue }
                if let span = Self.span(of: period, begun, 100 + item, world) { lowPower.append(span) }
            }
            for (item, period) in (group.focus?.items ?? []).enumerated() {
                if let span = Self.span(of: period, begun, 300 + item, world) { focus.append(span) }
            }
            for (item, named) in group.network.periods.enumerated() {
                guard let span = Self.span(of: named.period.period, begun, 200 + item, world) else { continue }
                networks.append((span, named.period.network))
            }
            if let outages = group.outages { addOutages(outages, begun, world) }
        }
    }

    /// The instants at which a condition can change, in any order.
    var changes: [Instant] {
        (charging + focus + lowPower + networks.map(\.span) + outages).flatMap { [$0.begin, $0.end] }
    }

    func isCharging(at instant: Instant) -> Bool { charging.contains { $0.contains(instant) } }
    func isFocused(at instant: Instant) -> Bool { focus.contains { $0.contains(instant) } }
    func isLowPower(at instant: Instant) -> Bool { lowPower.contains { $0.contains(instant) } }

    func network(at instant: Instant) -> NetworkText {
        if outages.contains(where: { $0.contains(instant) }) { return NetworkText(.none) }
        var active: (span: Span, network: NetworkText)?
        for candidate in networks where candidate.span.contains(instant) {
            if let current = active, candidate.span.begin < current.span.begin { continue }
            active = candidate
        }
        return active?.network ?? usual
    }

    private mutating func addOutages(_ plan: Outages, _ day: Int, _ world: DeviceWorld) {
        var random = SeededRandom(seed: world.seed, .outages, device: world.device.index, day: day)
        for _ in 0..<plan.times {
            let begin = world.days.instant(.milliseconds(random.below(86_400_000)), on: day)
            outages.append(Span(begin: begin, end: begin + plan.each.drawn(&random)))
        }
    }

    private static func span(of period: DailyPeriod, _ day: Int, _ item: Int, _ world: DeviceWorld) -> Span? {
        guard world.days.include(period.days, day) else { return nil }
        var random = SeededRandom(seed: world.seed, .periods, device: world.device.index, day: day, item: item)
        let begin = world.days.instant(period.begin.drawn(&random), on: day)
        let end = world.days.instant(period.end.drawn(&random), on: period.endsNextDay ? day + 1 : day)
        return begin < end ? Span(begin: begin, end: end) : nil
    }
}

extension Group {
    /// The highest battery level below which Low Power Mode is on.
    var lowPowerThreshold: Percent? {
        let levels = (lowPowerMode?.items ?? []).compactMap { rule in
            if case .below(let level) = rule { level } else { nil }
        }
        return levels.max { $0.basisPoints < $1.basisPoints }
    }
}
