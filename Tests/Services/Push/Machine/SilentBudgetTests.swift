import Contracts
import PushCore
import Testing
import Timeline

@Suite struct SilentBudgetTests {
    @Test func `the silent budget depends on the day and on the last use of the app`() {
        let policy = PushPolicy(partitions: 4)
        let now = Instant(milliseconds: 1_750_000_000_000)
        let (today, midnight) = (20_254, Instant(milliseconds: 20_255 * 86_400_000))
        var device = PushMachine()
        var app = PushedApp()
        app.usedAt = now - .hours(1)
        #expect(device.silentLeft(of: app, at: now, policy) == 3)
        device.day = today
        device.spentToday = policy.silentDaily - 1
        #expect(device.silentLeft(of: app, at: now, policy) == 1)
        device.spentToday = policy.silentDaily
        #expect(device.silentLeft(of: app, at: now, policy) == 0)
        #expect(device.silentAvailability(of: app, at: now, policy) == midnight)
        #expect(device.silentLeft(of: app, at: midnight, policy) == 3)
        device.spentToday = 0
        app.usedAt = now - policy.longUnused
        #expect(device.silentLeft(of: app, at: now, policy) == 0)
        #expect(device.silentAvailability(of: app, at: now, policy) == nil)
    }

    @Test func `a negative number of spent notifications counts as none`() {
        let policy = PushPolicy(partitions: 4)
        let now = Instant(milliseconds: 1_750_000_000_000)
        var device = PushMachine()
        device.apply(
            .budgetChanged(
                .init(app: nil, charged: false, day: 20_254, fullAt: .epoch, notification: "n", spentToday: .min)),
            at: now)
        var app = PushedApp()
        app.usedAt = now - .hours(1)
        #expect(device.silentLeft(of: app, at: now, policy) == 3)
        #expect(device.spentToday == 0)
    }
}
