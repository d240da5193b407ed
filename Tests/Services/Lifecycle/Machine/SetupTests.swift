import Contracts
import LifecycleCore
import Machines
import OrderedCollections
import Records
import Testing
import Timeline

@Suite("The setup of a device") struct SetupTests {
    private static let key = AggregateKey.device("d1")

    private func setup(_ profile: ProfileName, _ conditions: ConditionsReport? = nil) -> DeviceSetup {
        DeviceSetup(
            Registration(profile: profile),
            apps: [
                .init("mail", Manifest(), isLaunched: true), .init("news", Manifest(), isLaunched: true),
                .init("maps", Manifest()),
            ], conditions: conditions)
    }

    @Test func `a setup has the events of its single commands, and the last launched app is on screen`() throws {
        var conditions = ConditionsReport()
        conditions.locked = true
        var runtime = InMemoryRuntime<LifecycleMachine>(policy: LifecyclePolicy())
        let events = try runtime.submit(.setUp(setup(.ios18)), to: Self.key, at: .epoch)
        #expect(runtime.state(Self.key).foreground == "news")
        #expect(runtime.state(Self.key).apps["mail"]?.state == .suspended)

        var single = InMemoryRuntime<LifecycleMachine>(policy: LifecyclePolicy())
        var others: [Event] = []
        for command in [
            .register(Registration(profile: .ios18)), .install(app: "mail", Manifest()),
            .install(app: "news", Manifest()), .install(app: "maps", Manifest()),
            .transition(app: "mail", .launch), .transition(app: "news", .launch),
        ] as [LifecycleCommand] { others += try single.submit(command, to: Self.key, at: .epoch) }
        #expect(events.map(\.data) == others.map(\.data))
        #expect(single.state(Self.key).jsonBytes == runtime.state(Self.key).jsonBytes)

        _ = try runtime.submit(.setUp(setup(.ios18, conditions)), to: Self.key, at: .epoch)
        #expect(runtime.state(Self.key).foreground == nil && runtime.state(Self.key).conditions.locked == true)
    }

    @Test func `a repeated setup of an app on screen changes nothing`() throws {
        var runtime = InMemoryRuntime<LifecycleMachine>(policy: LifecyclePolicy())
        let one = DeviceSetup(Registration(profile: .ios18), apps: [.init("mail", Manifest(), isLaunched: true)])
        #expect(try runtime.submit(.setUp(one), to: Self.key, at: .epoch).count == 3)
        #expect(try runtime.submit(.setUp(one), to: Self.key, at: .epoch).isEmpty)
    }

    @Test func `a refused part of a setup refuses the whole setup`() throws {
        var conditions = ConditionsReport()
        conditions.lowPowerMode = true
        var runtime = InMemoryRuntime<LifecycleMachine>(policy: LifecyclePolicy())
        #expect(throws: LifecycleRefusal.self) {
            try runtime.submit(.setUp(setup(.ios7, conditions)), to: Self.key, at: .epoch)
        }
        #expect(runtime.state(Self.key).registration == nil)
    }
}
