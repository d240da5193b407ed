import Contracts
import Foundation
import Records
import Testing
import Timeline

@testable import ScenarioFiles
@testable import Scenarios

struct ScenarioFileTests {
    private func faults(_ text: String) -> [String] {
        do {
            _ = try ScenarioFile.read(text.utf8)
            return []
        } catch { return error.faults.map(\.description) }
    }

    private let good = "devices: {count: 3}\napps: [{id: a}]\n"

    @Test func `two lines are a scenario`() throws {
        let scenario = try ScenarioFile.read(good.utf8)
        #expect(scenario.devices.count == 3)
        #expect(scenario.duration.interval == .days(1))
    }

    @Test func `a change that contradicts the file is a fault with its position`() throws {
        let changed = try ScenarioFile.read(good.utf8, changing: { $0.devices.count = 7 })
        #expect(changed.devices.count == 7)
        let text = good + "provider: external\n"
        func fault(_ scenario: Scenario) -> [FieldError] {
            scenario.provider == .external ? [FieldError(pointer: "/provider", detail: "must be a list")] : []
        }
        let error = #expect(throws: ScenarioFaults.self) {
            try ScenarioFile.read(text.utf8, refusing: { fault($0) })
        }
        #expect(error?.faults.map(\.description) == ["3:11: /provider must be a list, found \"external\""])
        _ = try ScenarioFile.read(
            text.utf8, changing: { $0.provider = .sends([]) }, refusing: { fault($0) })
    }

    @Test func `JSON is a scenario too`() throws {
        let scenario = try ScenarioFile.read(#"{"devices": {"count": 3}, "apps": [{"id": "a"}], "for": "2d"}"#.utf8)
        #expect(scenario.duration.interval == .days(2))
    }

    @Test func `a file with faults gives all of them, with positions and found values`() {
        let text = """
            devices: {count: 0, mix: {ios26: 60, ios99: 40}}
            people:
              - {shar: 100, charging: nightly}
            apps:
              - id: a
                handler: {takes: 4, result: newDat}
            provider: [{at: 7am, send: loud}]
            colour: red
            """
        #expect(
            faults(text) == [
                "1:18: /devices/count must be from 1 to 100000, found \"0\"",
                "1:45: /devices/mix/ios99 must be one of \(ProfileName.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")), found \"40\"",
                "3:6: /people/0/shar is not a known member: did you mean share?",
                "3:27: /people/0/charging must be \(DailyPeriod.form), found \"nightly\"",
                "6:22: /apps/0/handler/takes must be \(SpreadSpan.form), found \"4\"",
                "6:33: /apps/0/handler/result must be one of \"newData\", \"noData\", \"failed\", \"neverReturns\", \"crashes\", found \"newDat\"",
                "7:17: /provider/0/at must be \(DailyTime.form), found \"7am\"",
                "7:28: /provider/0/send must be one of \"alert\", \"silent\", \"alertWithContent\", \"pushToTalk\", \"voip\", found \"loud\"",
                "8:1: /colour is not a known member: known are apps, devices, expect, faults, for, lateAfter, name, people, provider, rates, start",
            ])
    }

    @Test func `a missing member has the position of its object`() {
        #expect(faults("devices: {}\napps: [{id: a}]") == ["1:10: /devices/count is required"])
    }

    @Test func `members that contradict each other are faults`() {
        let text =
            good + """
                people: [{share: 60, name: x}, {share: 30, name: x, habits: {opens: [07:00 nobody]}}]
                provider:
                  - {at: "09:00", send: silent, priority: 10, until: "08:00", to: group y}
                  - {at: "09:00", send: voip, app: b}
                faults: [{at: "07:00"}, {at: "07:00", reboot: true, crash: b}, {at: "07:00", kill: push}]
                expect: [{what: refreshes}, {what: content age at opening, atLeast: 3}]
                """
        #expect(
            faults(text).map { $0.prefix { $0 != "," } } == [
                "3:9: /people must have shares that add up to 100 %",
                "3:50: /people/1/name must differ from other groups",
                "3:70: /people/1/habits/opens/0 must name an app of the scenario",
                "5:43: /provider/0/priority must be 5 for a silent push",
                "5:54: /provider/0/until is valid only with every",
                "5:54: /provider/0/until must not be before at",
                "5:67: /provider/0/to must name a group of the scenario",
                "6:36: /provider/1/app must name an app of the scenario",
                "7:10: /faults/0 must name exactly one kind of fault: clockSkew",
                "7:25: /faults/1 must name exactly one kind of fault: clockSkew",
                "7:64: /faults/2/for is required for this kind of fault",
                "8:10: /expect/0 must have a limit: atLeast", "8:36: /expect/1/what must have percentiles as limits",
            ])
    }

    @Test(arguments: [
        ("what: kills, atMost: 5%", "/what"), ("what: wakes refused, atLeast: 5%", "/what"),
        ("what: refreshes, atLeast: 90%", "/what"), ("what: kills, p90: 1m", "/what"),
        ("what: pushes never arrived, p90: 1m", "/what"), ("what: kills, atMost: 3, within: 1m", "/within"),
        ("what: content age at opening, p90: 1h, within: 1m", "/within"),
        ("what: alerts shown, p90: 1h, within: 1m", "/within"), ("what: kills, atMost: 3, of: delivered", "/of"),
        ("what: pushes never arrived, atMost: 3, of: delivered", "/of"),
    ])
    func `an expectation has no limit without effect`(expectation: String, member: String) {
        let found = faults(good + "expect: [{\(expectation)}]")
        #expect(found.count == 1)
        #expect(found.first?.contains("/expect/0\(member) must ") == true)
    }

    @Test func `an app has no fetch interval without the mode fetch`() {
        let found = faults("devices: {count: 3}\napps: [{id: a, fetchInterval: minimum}]")
        #expect(found.first?.contains("/apps/0/fetchInterval must be left out") == true)
        #expect(faults("devices: {count: 3}\napps: [{id: a, backgroundModes: [fetch], fetchInterval: never}]") == [])
    }

    @Test(arguments: [
        ("visits: true", "/visits", "location: always"), ("bluetooth: {times: 3}", "/bluetooth", "bluetooth-central"),
        ("activity: {kind: audio}", "/activity/kind", "mode audio"),
        ("activity: {kind: location}", "/activity/kind", "location: always"),
    ])
    func `an app needs an authorization or a mode for its events`(member: String, name: String, why: String) {
        let found = faults("devices: {count: 1}\napps: [{id: a, \(member)}]\n")
        #expect(found.contains { $0.contains("/apps/0\(name) must ") && $0.contains(why) }, "\(found)")
    }

    @Test func `a push of Push to Talk needs its mode`() {
        let found = faults(good + "provider: [{at: \"09:00\", send: pushToTalk}]")
        #expect(found.first?.contains("/provider/0/send must be sent to an app with the background mode") == true)
    }

    @Test func `a scenario with too many sends is refused with the reason`() {
        let text = good + "for: 30d\nprovider: [{at: '00:00', every: 10s, send: silent}]"
        #expect(faults(text).first?.contains("lengthen every or shorten for") == true)
    }

    @Test func `a file that is no YAML has the position of its fault`() {
        #expect(faults("devices: {count: 3\napps: ]").first?.hasPrefix("2:") == true)
        #expect(faults("") == ["1:1: the file must not be empty"])
        #expect(faults("a: 1\na: 2").first?.contains("each member once: a") == true)
        #expect(faults("- 1").first == "1:1: the file must be an object, not an array, found an array")
    }

    @Test func `anchors, deep nesting and large files are refused`() {
        #expect(faults("a: &x 1\nb: *x").contains { $0.contains("anchors") })
        let bomb = (1...9).reduce("a0: &a0 [x, x]\n") { text, level in
            text + "a\(level): &a\(level) [\(Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", "))]\n"
        }
        #expect(faults(bomb) == ["1:1: the file must not use anchors (&) and aliases (*)"])
        #expect(
            faults(String(repeating: "[", count: 900) + String(repeating: "]", count: 900)).first?.contains(
                "nest at most 32") == true)
        #expect(faults(String(repeating: "[", count: 200_000)).first?.contains("must be YAML") == true)
        #expect(faults(String(repeating: "- ", count: 100_000)).first?.contains("must be YAML") == true)
        #expect(
            faults(String(repeating: "#", count: 300_000)).first?.contains("must have at most 262144 bytes") == true)
        #expect(faults("a: \u{0}").first?.contains("U+0000") == true)
    }

    @Test func `random documents never trap the reader`() throws {
        var random = SeededRandom(seed: 3)
        var files: [[UInt8]] = []
        for name in Self.names { files.append([UInt8](try Self.bytes(of: name))) }
        let pieces = [
            "*a", "&a ", "{", "}", "[", "]", ": ", "- ", "\n", "  ", "'", "\"", "#", "|", ">", "!!binary ", "%", "@",
            "\t",
            "999999999999999999999", "-1", ".inf", "null", "\u{FEFF}", "🦫", "? ", "--- ", "...", "<<: ",
        ]
        for _ in 0..<3000 {
            var bytes = random.pick(files)
            for _ in 0..<random.number(1...6) {
                let at = random.number(0...(bytes.count - 1))
                switch random.number(0...3) {
                case 0: bytes.remove(at: at)
                case 1: bytes[at] = UInt8(random.number(0...255))
                case 2: bytes.insert(contentsOf: Array(random.pick(pieces).utf8), at: at)
                default: bytes.removeSubrange(at..<min(bytes.count, at + random.number(1...40)))
                }
                if bytes.isEmpty { bytes = [0x20] }
            }
            guard let scenario = try? ScenarioFile.read(bytes) else { continue }
            let plan = ScenarioPlan(scenario)
            _ = (Array(plan.timeline(of: 0).prefix(200)), plan.pushes(to: 1))
        }
    }

    private static let names = [
        "commuter-tunnel", "force-quitter", "holiday-roaming", "low-battery-day", "morning-herd", "new-os-rollout",
        "silent-push-flood", "two-gigabytes-on-a-train",
    ]

    private static func bytes(of name: String) throws -> Data {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        return try Data(contentsOf: root.appending(path: "deploy/scenarios/\(name).yaml"))
    }

    @Test(arguments: names)
    func `a ready scenario is short, reads, and gives each device a life`(name: String) throws {
        let bytes = try Self.bytes(of: name)
        #expect(bytes.count { $0 == 0x0A } < 40)
        let plan = ScenarioPlan(try ScenarioFile.read(bytes))
        #expect(!plan.sends.isEmpty || plan.scenario.apps.contains { !$0.transfers.isEmpty })
        #expect(!plan.scenario.expect.isEmpty)
        for index in 0..<5 {
            #expect(
                plan.timeline(of: index).contains { if case .open = $0.action { true } else { false } }
                    || name == "new-os-rollout")
        }
        #expect(try Scenario(jsonBytes: plan.scenario.jsonBytes) == plan.scenario)
    }

    @Test func `a device of the morning herd has ten openings and twenty pushes a day`() throws {
        let plan = ScenarioPlan(try ScenarioFile.read(Self.bytes(of: "morning-herd")))
        for index in 0..<20 {
            let opens = plan.timeline(of: index).count { if case .open = $0.action { true } else { false } }
            #expect(opens >= 70)
            #expect(plan.pushes(to: index).count >= 140)
        }
        #expect(plan.scenario.apps.count == 3)
    }

    @Test func `the lives of devices are equal on every machine`() throws {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325  // FNV-1a
        for name in Self.names {
            let plan = ScenarioPlan(try ScenarioFile.read(Self.bytes(of: name)))
            for index in 0..<10 {
                var lines = plan.timeline(of: index).map { "\($0.at) \($0.action)" }
                lines += plan.pushes(to: index).map { "\($0.at) \($0.item)" }
                for byte in lines.joined(separator: "\n").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            }
        }
        #expect(String(hash, radix: 16) == "5f0797904e344ee5")
    }

    @Test func `the page about scenario files names every member`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        let page = try String(
            contentsOf: root.appending(path: "Shared/Documentation.docc/Scenarios.md"), encoding: .utf8)
        for name in Self.members(of: ScenarioReader.schema) {
            #expect(page.contains("`\(name)`"), "\(name)")
        }
    }

    @Test func `the example of the page is a scenario`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        let page = try String(
            contentsOf: root.appending(path: "Shared/Documentation.docc/Scenarios.md"), encoding: .utf8)
        let example = try #require(page.split(separator: "```yaml\n").dropFirst().first?.split(separator: "```").first)
        #expect(try ScenarioFile.read(example.utf8).people.count == 3)
    }

    private static func members(of schema: JSON) -> Set<String> {
        var names: Set<String> = []
        for member in schema["properties"]?.members ?? [] {
            names.insert(member.name)
            names.formUnion(members(of: member.value))
        }
        for part in (schema["anyOf"]?.items ?? [])
            + [schema["items"], schema["additionalProperties"]].compactMap(\.self)
        {
            names.formUnion(members(of: part))
        }
        return names
    }
}
