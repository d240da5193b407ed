import Contracts
import Records
import Testing
import Timeline

@testable import Scenarios

struct ScenarioPlanTests {
    private func scenario(_ people: JSON = [["share": 100]], zone: String = "Europe/Berlin", _ more: JSON = [:]) throws
        -> Scenario
    {
        var members: [JSON.Member] = [
            .init("devices", ["count": 100, "timeZone": .string(zone), "seed": 7]), .init("people", people),
            .init("apps", [["id": "a"], ["id": "b"]]), .init("for", "3d"),
        ]
        for member in more.members ?? [] {
            members.removeAll { $0.name == member.name }
            members.append(member)
        }
        return try Scenario(json: .object(members))
    }

    @Test func `shares are met among the first devices`() throws {
        var scenario = try scenario([["share": 70], ["share": 20], ["share": 10]])
        scenario.devices = try DeviceMix(json: ["count": 100, "mix": ["ios26": 60, "ios18": 40], "seed": 7])
        let devices = (0..<100).map(ScenarioPlan(scenario).device)
        for (group, share) in [(0, 70), (1, 20), (2, 10)] {
            #expect(abs(devices.count { $0.group == group } - share) <= 4)
        }
        #expect(abs(devices.count { $0.profile == .ios26 } - 60) <= 4)
        #expect(abs(devices.count { $0.profile == .ios26 && $0.group == 0 } - 42) <= 4)
    }

    @Test func `a device has the same life among more devices, and another with another seed`() throws {
        let people: JSON = [["habits": ["opens": ["10 times 07:00-23:00"]]]]
        var more = try scenario(people)
        let life = Array(ScenarioPlan(more).timeline(of: 7))
        more.devices.count = 10_000
        #expect(Array(ScenarioPlan(more).timeline(of: 7)) == life)
        #expect(Array(ScenarioPlan(more, seed: 8).timeline(of: 7)) != life)
        #expect(life.count { if case .open = $0.action { true } else { false } } > 20)
    }

    @Test func `a day computed alone equals the day of the iteration`() throws {
        let people: JSON = [
            [
                "habits": ["opens": ["5 times 07:00-23:00", "23:50±10m"]], "lowPowerMode": "below 20%",
                "battery": ["drain": "7%"], "forceQuits": "after 50% of uses", "outages": ["times": 3],
                "network": ["commute": "07:30±10m-08:30 lte", "tunnel": "07:45-08:00 none"],
            ]
        ]
        for zone in ["Europe/Berlin", "America/Los_Angeles", "Asia/Kathmandu"] {
            let plan = ScenarioPlan(try scenario(people, zone: zone))
            for index in 0..<10 {
                let timeline = plan.timeline(of: index)
                let whole = Array(timeline)
                #expect(timeline.days.flatMap { timeline.events(onDay: $0) } == whole)
                #expect(zip(whole, whole.dropFirst()).allSatisfy { $0.at <= $1.at })
                #expect(whole.allSatisfy { plan.begin <= $0.at && $0.at < plan.end })
            }
        }
    }

    @Test func `a fixed day is as written`() throws {
        let people: JSON = [
            [
                "habits": ["opens": ["07:30 a for 2m", "08:00 b for 1h", "08:30 a for 1m"]],
                "forceQuits": "after each use", "charging": "00:00-06:00",
                "battery": ["atStart": "50%", "charge": "10%", "drain": "1%"],
                "network": ["tunnel": "07:40-08:10 none", "commute": "07:30-08:30 lte"],
            ]
        ]
        let plan = ScenarioPlan(try scenario(people, zone: "UTC", ["for": "1d", "start": "2026-11-23"]))
        let lines = plan.timeline(of: 0).map { "\($0.at.description.dropFirst(11).prefix(8)) \($0.action)" }
        #expect(plan.timeline(of: 0).initial.isCharging)
        #expect(
            lines == [
                "01:00:00 battery(level: 60%, isCharging: true)", "02:00:00 battery(level: 70%, isCharging: true)",
                "03:00:00 battery(level: 80%, isCharging: true)", "04:00:00 battery(level: 90%, isCharging: true)",
                "05:00:00 battery(level: 100%, isCharging: true)", "06:00:00 battery(level: 100%, isCharging: false)",
                "07:30:00 network(lte)", "07:30:00 open(app: 0)", "07:32:00 home", "07:32:03 forceQuit(app: 0)",
                "07:40:00 network(none)", "08:00:00 open(app: 1)", "08:10:00 network(lte)", "08:30:00 network(wifi)",
                "08:30:00 open(app: 0)", "08:31:00 home", "08:31:03 forceQuit(app: 0)",
                "16:00:00 battery(level: 90%, isCharging: false)",
            ])
    }

    @Test func `the person of a device goes by its clock, also if it is wrong`() throws {
        // Before the fault, in the skipped 20 minutes, during it, and in the repeated 20 minutes after it.
        let opens: JSON = ["07:50 a for 1m", "08:10 a for 1m", "10:00 a for 1m", "12:10 a for 1m", "12:30 a for 1m"]
        let faults: JSON = [["at": "08:00", "for": "4h", "clockSkew": "20m"]]
        let plan = ScenarioPlan(
            try scenario([["habits": ["opens": opens]]], zone: "UTC", ["for": "1d", "faults": faults]))
        let opened = plan.timeline(of: 0).filter { $0.action == .open(app: 0) }
        let times = opened.map { String($0.at.description.dropFirst(11).prefix(5)) }
        #expect(times == ["07:50", "08:00", "09:40", "11:50", "12:30"])

        let early: JSON = [["at": "00:00", "for": "4h", "clockSkew": "20m"]]
        let night = ScenarioPlan(
            try scenario([["habits": ["opens": ["00:10 a for 1m"]]]], zone: "UTC", ["for": "2d", "faults": early]))
        let first = night.timeline(of: 0).filter { $0.action == .open(app: 0) }
        #expect(first.map { ($0.at - night.begin).seconds } == [0, 86_400], "no opening moves to the day before")
    }

    @Test func `Low Power Mode follows the battery`() throws {
        let people: JSON = [
            [
                "battery": ["atStart": "30%", "drain": "10%"], "charging": "day 1 05:00-06:00",
                "lowPowerMode": "below 20%",
            ]
        ]
        let plan = ScenarioPlan(try scenario(people, zone: "UTC", ["for": "8h"]))
        let modes = plan.timeline(of: 0).filter { if case .lowPowerMode = $0.action { true } else { false } }
        #expect(modes.map { ($0.at - plan.begin).milliseconds } == [3_600_001, 18_000_000])
    }

    @Test func `a scenario begins at local midnight, also when summer time ends`() throws {
        let plan = ScenarioPlan(try scenario([["habits": ["opens": ["12:00 a"]]]], ["start": "2026-10-24"]))
        let opens = plan.timeline(of: 0).filter { $0.action == .open(app: 0) }
        #expect(plan.begin == Instant("2026-10-23T22:00:00Z"))
        #expect(
            opens.map(\.at.description) == [
                "2026-10-24T10:00:00.000Z", "2026-10-25T11:00:00.000Z", "2026-10-26T11:00:00.000Z",
            ])
    }

    @Test func `a device in another zone lives by its own clock`() throws {
        var scenario = try scenario([["habits": ["opens": ["12:00 a"]]]], zone: "UTC")
        scenario.devices.timeZone = try Mix(json: ["Asia/Tokyo": 40, "UTC": 60])
        let plan = ScenarioPlan(scenario)
        let index = try #require((0..<20).first { plan.device($0).timeZone.name == "Asia/Tokyo" })
        let opens = plan.timeline(of: index).filter { $0.action == .open(app: 0) }
        #expect(opens.map { ($0.at - plan.begin).milliseconds / 3_600_000 } == [3, 27, 51])
    }

    @Test func `sends repeat until their end and reach their audience`() throws {
        let more: JSON = [
            "provider": [
                ["at": "08:00", "every": "2h", "until": "12:00", "send": "silent"],
                ["at": "day 2 09:00", "send": "alert", "to": "20%", "over": "10m"],
                ["at": "day 3 09:00", "send": "alert", "to": "group late"],
            ]
        ]
        let plan = ScenarioPlan(
            try scenario([["share": 50, "name": "early"], ["share": 50, "name": "late"]], zone: "UTC", more))
        #expect(plan.sends.map(\.item) == [0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0])
        let pushes = (0..<100).map { plan.pushes(to: $0) }
        #expect((10...30).contains(pushes.count { $0.contains { $0.item == 1 } }))
        #expect(
            pushes.indices.allSatisfy { index in
                pushes[index].contains { $0.item == 2 } == (plan.device(index).group == 1)
            })
        #expect(Set(pushes.flatMap { $0.filter { $0.item == 1 }.map(\.at) }).count > 5)
    }

    @Test func `devices update once, and only to a newer generation`() throws {
        let more: JSON = [
            "devices": [
                "count": 50, "mix": ["ios18": 50, "ios26": 50],
                "updates": [["at": "03:00±1h", "to": "ios26", "share": "50%"]],
            ], "for": "10d",
        ]
        let plan = ScenarioPlan(try scenario([["share": 100]], zone: "UTC", more))
        for index in 0..<50 {
            let updates = plan.timeline(of: index).filter { if case .update = $0.action { true } else { false } }
            #expect(updates.count <= 1)
            #expect(plan.device(index).profile == .ios18 || updates.isEmpty)
        }
        #expect((0..<50).contains { !plan.timeline(of: $0).filter { $0.action == .update(to: .ios26) }.isEmpty })
    }
}
