import Scenarios
import Testing
import Timeline

@testable import FleetService

@Suite struct PersonTests {
    @Test func `a workday has all phases in order`() {
        var random = SeededRandom(seed: 4)
        let person = Person(&random)
        let midnight = Self.midnight(person, Self.monday)
        var phases: [Person.Phase] = []
        for minute in 0..<1440 {
            let phase = person.phase(at: midnight + .minutes(Int64(minute)))
            if phases.last != phase { phases.append(phase) }
        }
        let way: [Person.Phase] = [.commuting, .inTunnel, .commuting]
        #expect(phases == [.asleep, .atHome] + way + [.atWork] + way + [.atHome, .asleep])
        let sunday = Self.midnight(person, Self.monday + .days(6))
        #expect((0..<1440).allSatisfy { person.phase(at: sunday + .minutes(Int64($0))) != .atWork })
    }

    @Test func `the tunnel has no network and the battery is full in the morning`() {
        var random = SeededRandom(seed: 9)
        let person = Person(&random)
        let midnight = Self.midnight(person, Self.monday)
        func at(_ minute: Int) -> Surroundings {
            person.surroundings(at: midnight + .minutes(Int64(minute)), isLocked: false)
        }
        #expect(at(person.leaves + person.commute / 2).network == .none)
        #expect(at(person.leaves).network == .lte)
        #expect(at(person.wakes).batteryPercent == 100)
        #expect(at(person.sleeps - 1).batteryPercent < 60)
        #expect(at(person.wakes - 1).isCharging && !at(person.wakes).isCharging)
        #expect(at(person.wakes).place == person.home)
    }

    @Test func `the next change is never skipped`() {
        for seed in 1...50 as ClosedRange<UInt64> {
            var random = SeededRandom(seed: seed)
            let person = Person(&random)
            var instant = Self.midnight(person, Self.monday)
            let end = instant + .days(2)
            while instant < end {
                let next = person.nextChange(after: instant)
                #expect(next > instant && next - instant <= .hours(1))
                #expect(person.phase(at: next - .milliseconds(1)) == person.phase(at: instant))
                instant = next
            }
        }
    }

    @Test func `a higher rate makes users faster`() {
        let pace = Pace(begin: .epoch, peopleBegin: .epoch + .hours(8), rate: 60)
        #expect(pace.peopleTime(at: .epoch + .seconds(60)) == .epoch + .hours(9))
        #expect(pace.real(at: .epoch + .hours(9)) == .epoch + .seconds(60))
        #expect(pace.real(.minutes(1)) == .seconds(1))
        #expect(pace.real(.seconds(1), atLeast: .milliseconds(400)) == .milliseconds(400))
    }

    private static let monday = Instant(milliseconds: 1_795_392_000_000)  // 2026-11-23T00:00:00Z

    private static func midnight(_ person: Person, _ utc: Instant) -> Instant { utc - person.timeZone.offset }
}
