import Contracts
import Machines
import Records
import MachineTesting
import Testing
import Timeline

@Suite struct DeviceFactTests {
    private func read(_ data: some EventData, isRegistered: Bool = true) throws -> DeviceFact? {
        try read(type(of: data).type, data.jsonBytes, isRegistered: isRegistered)
    }

    private func read(_ type: String, _ data: [UInt8], isRegistered: Bool = true) throws -> DeviceFact? {
        let id = DecisionIdentifiers.derived(type)
        let event = Event(
            id: id, source: "lifecycle", type: type, version: 1, key: .device("d"), app: nil, time: .epoch,
            correlation: id, causation: nil, traceparent: nil, data: data)
        return try DeviceFact.read(event, isRegistered: isRegistered) { Counter.Refusal.unreadableEvent($0) }
    }

    @Test func `an unknown device has no facts except its registration`() throws {
        let registration = Registration(profile: .ios15)
        #expect(
            try read(LifecycleEvent.DeviceRegistered(registration: registration), isRegistered: false)
                == .registration(registration))
        let power = LifecycleEvent.DevicePowered(power: .reboot)
        #expect(try read(power, isRegistered: false) == nil)
        #expect(try read(power) == .power(isOn: true))
        #expect(try read(LifecycleEvent.DevicePowered(power: .off)) == .power(isOn: false))
    }

    @Test func `each state of an app is an opening or a transition`() throws {
        #expect(try read(LifecycleEvent.AppLaunched(app: "a", callbacks: [])) == .opening(.active, app: "a"))
        #expect(try read(LifecycleEvent.AppActivated(app: "a", callbacks: [])) == .opening(.active, app: "a"))
        #expect(
            try read(LifecycleEvent.AppResigned(app: "a", callbacks: [], cause: .interrupt))
                == .transition(.inactive, app: "a"))
        #expect(try read(LifecycleEvent.AppSuspended(app: "a")) == .transition(.suspended, app: "a"))
    }

    @Test func `the background of an app that is suspended at once is no fact`() throws {
        var event = LifecycleEvent.AppBackgrounded(app: "a", callbacks: [], cause: .home, taskTime: .seconds(30))
        #expect(try read(event) == .transition(.background, app: "a"))
        event.suspends = true
        #expect(try read(event) == nil)
    }

    @Test func `an event that concerns no other service is no fact`() throws {
        #expect(try read(LifecycleEvent.DeviceSlept()) == nil)
        #expect(try read(LifecycleEvent.AppPrewarmed(app: "a")) == nil)
    }

    @Test func `the event types that every service needs are in the catalogue`() {
        #expect(DeviceFact.types.isSubset(of: LifecycleEvent.catalogue.map(\.type)))
        #expect(DeviceFact.types.count == 14)
    }

    @Test func `an event in memory has the form and the meaning of its logged copy`() throws {
        let id = DecisionIdentifiers.derived("in memory")
        let data = LifecycleEvent.AppSuspended(app: "a")
        let memory = Event(
            id: id, emitted: Emitted(LifecycleEvent.appSuspended(data)), key: .device("d"), time: .epoch,
            correlation: id,
            causation: nil, traceparent: nil)
        let logged = Event(
            id: id, source: "lifecycle", type: LifecycleEvent.AppSuspended.type, version: 1, key: .device("d"),
            app: "a", time: .epoch, correlation: id, causation: nil, traceparent: nil, data: data.jsonBytes)
        #expect(memory.cloudEvent == logged.cloudEvent)
        #expect(memory == logged)
        #expect(memory.emitted != nil && logged.emitted == nil)
        #expect(try LifecycleEvent(memory) == LifecycleEvent(logged))
        #expect(throws: ContractError.unknownType(LifecycleEvent.AppSuspended.type)) { try PushEvent(memory) }
        let other = Event(
            id: id, emitted: Emitted(LifecycleEvent.appSuspended(.init(app: "b"))), key: .device("d"), time: .epoch,
            correlation: id, causation: nil, traceparent: nil)
        #expect(memory != other)
        #expect(
            DecisionIdentifiers.derived("push", following: id) == DecisionIdentifiers.derived("push", id.lowercased))
    }

    @Test func `an unreadable event is refused`() {
        let refusal = #expect(throws: Counter.Refusal.self) { try read("lifecycle.unknown", Array("{}".utf8)) }
        #expect(refusal?.unreadable == .unknownType("lifecycle.unknown"))
    }
}
