import Contracts
import Records
import Testing

@testable import Scenarios

struct ScenarioReaderTests {
    @Test func `an app has the members of a manifest`() throws {
        let app = try #require(ScenarioApp.schema["properties"])
        for member in try #require(Manifest.schema["properties"]?.members) {
            #expect(app[member.name] != nil, "\(member.name)")
        }
    }

    @Test func `the nearest name is proposed`() {
        #expect(MemberNames.hint(for: "shar", ["share", "habits"]) == ": did you mean share?")
        #expect(MemberNames.hint(for: "chargign", ["charging", "habits"]) == ": did you mean charging?")
        #expect(MemberNames.hint(for: "colour", ["share", "habits"]) == ": known are habits, share")
    }

    @Test func `the names of nested members come from the schema`() {
        let schema = ScenarioReader.schema
        #expect(MemberNames.known(at: ["provider", "0"], in: schema).contains("collapseID"))
        #expect(MemberNames.known(at: ["people", "0", "habits"], in: schema) == ["opens", "stay"])
    }

    @Test func `a written scenario reads as the same scenario`() throws {
        var scenario = Scenario(devices: DeviceMix(count: 3), apps: [ScenarioApp(id: "a")])
        scenario.provider = .external
        #expect(try Scenario(jsonBytes: scenario.jsonBytes) == scenario)
        var binary = BinaryWriter()
        scenario.write(to: &binary)
        var reader = BinaryReader(binary.bytes)
        #expect(Scenario.read(from: &reader) == scenario)
    }
}
