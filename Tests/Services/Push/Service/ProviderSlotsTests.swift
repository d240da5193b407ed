import TestSupport
import Testing

@testable import PushService

struct ProviderSlotsTests {
    private let slots = ProviderSlots(limit: 4)

    /// Takes a slot until `end` fires.
    private func take(_ provider: String, _ begun: Signal<Void>, until end: Signal<Void>) async throws(APNsReason) {
        try await slots.hold(provider) { () async throws(APNsReason) -> Void in
            begun.fire(())
            try? await end.value()
        }
    }

    @Test func `a provider has half of the slots, and a full process refuses all`() async throws {
        let end = Signal<Void>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            func hold(_ provider: String) async throws {
                let begun = Signal<Void>()
                group.addTask { try await take(provider, begun, until: end) }
                try await begun.value()
            }
            try await hold("team:A")
            try await hold("team:A")
            await #expect(throws: APNsReason.serviceUnavailable) {
                try await slots.hold("team:A") { () async throws(APNsReason) -> Void in }
            }
            try await hold("team:B")
            try await hold("certificate:com.example.news")
            await #expect(throws: APNsReason.serviceUnavailable, "all slots are taken") {
                try await slots.hold("team:C") { () async throws(APNsReason) -> Void in }
            }
            end.fire(())
            try await group.waitForAll()
        }
        try await slots.hold("team:A") { () async throws(APNsReason) -> Void in }
    }

    @Test func `a refused request frees its slot`() async throws {
        for _ in 0..<5 {
            await #expect(throws: APNsReason.badDeviceToken) {
                try await slots.hold("team:A") { () async throws(APNsReason) -> Void in throw .badDeviceToken }
            }
        }
    }
}
