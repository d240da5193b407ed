import Contracts
import LifecycleCore
import Machines
import OrderedCollections
import Testing
import Timeline

/// Explanations and refusals name the reading that decided.
@Suite struct ReadingTests {
    private static let key = AggregateKey.device("d")

    /// Returns a device with an app, after some commands.
    private static func runtime(
        _ policy: LifecyclePolicy, _ manifest: Manifest, _ commands: LifecycleCommand...
    ) throws -> InMemoryRuntime<LifecycleMachine> {
        var runtime = InMemoryRuntime<LifecycleMachine>(policy: policy)
        try runtime.submit(.register(Registration(profile: .ios18)), to: key, at: .epoch)
        try runtime.submit(.install(app: "a", manifest), to: key, at: .epoch)
        for command in commands { try runtime.submit(command, to: key, at: .epoch) }
        return runtime
    }

    private static func policy(_ rule: DisputedRule, _ reading: Reading) throws -> LifecyclePolicy {
        let file = #"{"readings": {"\#(rule.rawValue)": "\#(reading.rawValue)"}}"#
        return LifecyclePolicy(generations: try Generations(overriding: Array(file.utf8)))
    }

    @Test(arguments: Reading.allCases)
    func `explain names the reading for an app that exits on suspend`(reading: Reading) throws {
        let policy = try Self.policy(.exitsOnSuspend, reading)
        let runtime = try Self.runtime(
            policy, Manifest(exitsOnSuspend: true), .transition(app: "a", .launch), .transition(app: "a", .home))
        let explanation = try #require(runtime.state(Self.key).explain("a", at: .epoch, policy))
        #expect(explanation.state == (reading == .document ? .suspended : .notRunning))
        #expect(explanation.readings.contains(RuleReading(reading: reading, rule: .exitsOnSuspend)))
        #expect(explanation.because.contains("exitsOnSuspend is as in the source document") == (reading == .document))
    }

    @Test func `explain names no reading for an app that no disputed rule concerns`() throws {
        let runtime = try Self.runtime(LifecyclePolicy(), Manifest(), .transition(app: "a", .launch))
        #expect(runtime.state(Self.key).explain("a", at: .epoch, LifecyclePolicy())?.readings == [])
    }

    @Test func `the refusal of a background task names the reading`() throws {
        var runtime = try Self.runtime(
            LifecyclePolicy(), Manifest(exitsOnSuspend: true), .transition(app: "a", .launch))
        let refusal = #expect(throws: LifecycleRefusal.self) {
            try runtime.submit(.beginTask(app: "a", TaskRequest()), to: Self.key, at: .epoch)
        }
        #expect(refusal?.code == "invalid_task")
        #expect(refusal?.description.contains("The rule exitsOnSuspend is as in Apple's documentation.") == true)
    }

    @Test(arguments: Reading.allCases)
    func `the refusal of an opening names the reading that emptied the switcher`(reading: Reading) throws {
        let policy = try Self.policy(.appSwitcher, reading)
        var runtime = try Self.runtime(
            policy, Manifest(), .transition(app: "a", .launch), .transition(app: "a", .crash))
        guard reading == .document else {
            try runtime.submit(.transition(app: "a", .open), to: Self.key, at: .epoch)
            return #expect(runtime.state(Self.key).apps["a"]?.state == .active)
        }
        let refusal = #expect(throws: LifecycleRefusal.self) {
            try runtime.submit(.transition(app: "a", .open), to: Self.key, at: .epoch)
        }
        #expect(refusal?.code == "illegal_transition")
        #expect(refusal?.description.contains("The rule appSwitcher is as in the source document.") == true)
    }

    @Test func `the refusal of an activity names the reading`() throws {
        let policy = try Self.policy(.backgroundAppRefresh, .document)
        var manifest = Manifest()
        manifest.backgroundModes = [.audio]
        var runtime = try Self.runtime(
            policy, manifest, .changeSettings(app: "a", AppSettings(backgroundRefresh: .off)),
            .transition(app: "a", .launch), .beginTask(app: "a", TaskRequest()), .transition(app: "a", .home))
        let refusal = #expect(throws: LifecycleRefusal.self) {
            try runtime.submit(.startActivity(app: "a", .audio, ActivityRequest()), to: Self.key, at: .epoch)
        }
        #expect(refusal?.code == "activity_not_allowed")
        #expect(refusal?.description.contains("The rule backgroundAppRefresh is as in the source document.") == true)
    }
}
