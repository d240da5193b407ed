import Contracts
import Timeline

// The events of a person and a device apart from the use of apps: visits of places, events of accessories, samples.
extension DevicePerson {
    /// Returns the happenings of a day in any order.
    func happenings(onDay day: Int) -> [DeviceEvent] {
        var events: [DeviceEvent] = []
        for (item, period) in (group.visits?.items ?? []).enumerated() {
            events += visit(period, item, onDay: day)
        }
        for (item, app) in scenario.apps.enumerated() {
            if let plan = app.bluetooth {
                events += times(plan.times, .accessories, item, onDay: day, .accessory(app: item))
            }
            if let plan = app.health {
                events += times(plan.times, .samples, item, onDay: day, .healthSample(plan.sampleType))
            }
        }
        return events
    }

    /// Returns the arrival and the departure of a visit that fall on a day. It may have begun on the day before.
    private func visit(_ period: DailyPeriod, _ item: Int, onDay day: Int) -> [DeviceEvent] {
        var events: [DeviceEvent] = []
        for begun in [day - 1, day] where days.include(period.days, begun) {
            var random = SeededRandom(seed: seed, .places, device: device.index, day: begun, item: item)
            let begin = days.instant(period.begin.drawn(&random), on: begun)
            let end = days.instant(period.end.drawn(&random), on: period.endsNextDay ? begun + 1 : begun)
            guard begin < end else { continue }
            events.append(DeviceEvent(at: begin, action: .visit(.arrival)))
            events.append(DeviceEvent(at: end, action: .visit(.departure)))
        }
        let today = days.begin(of: day)..<days.begin(of: day + 1)
        return events.filter { today.contains($0.at) }
    }

    private func times(
        _ count: Int, _ purpose: RandomPurpose, _ item: Int, onDay day: Int, _ action: DeviceAction
    ) -> [DeviceEvent] {
        var random = SeededRandom(seed: seed, purpose, device: device.index, day: day, item: item)
        let begin = days.begin(of: day)
        let length = (days.begin(of: day + 1) - begin).milliseconds
        return (0..<count).map { _ in DeviceEvent(at: begin + .milliseconds(random.below(length)), action: action) }
    }
}
