import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPKit

/// The alarm of a handler with several deadlines.
@Suite struct AlarmTests {
    private final class Handler {
        var alarm = Alarm()
        var calls: [NIODeadline] = []

        func set(by seconds: UInt64, on loop: EmbeddedEventLoop) {
            let bound = NIOLoopBound(self, eventLoop: loop)
            alarm.set(by: .uptimeNanoseconds(seconds * 1_000_000_000), on: loop) {
                bound.value.alarm.hasRung()
                bound.value.calls.append(loop.now)
            }
        }

        /// The whole seconds of the calls.
        var seconds: [UInt64] { calls.map { $0.uptimeNanoseconds / 1_000_000_000 } }
    }

    @Test func `a deadline that moves back leaves the first call`() {
        let (loop, handler) = (EmbeddedEventLoop(), Handler())
        for time in [UInt64(10), 20, 30] { handler.set(by: time, on: loop) }
        loop.advanceTime(by: .seconds(9))
        #expect(handler.seconds.isEmpty)
        loop.advanceTime(by: .seconds(100))
        #expect(handler.seconds == [10])
    }

    @Test func `a deadline that comes earlier moves the call`() {
        let (loop, handler) = (EmbeddedEventLoop(), Handler())
        handler.set(by: 10, on: loop)
        handler.set(by: 5, on: loop)
        loop.advanceTime(by: .seconds(100))
        #expect(handler.seconds == [5])
    }

    @Test func `after a call the next one can be set`() {
        let (loop, handler) = (EmbeddedEventLoop(), Handler())
        handler.set(by: 10, on: loop)
        loop.advanceTime(by: .seconds(10))
        handler.set(by: 30, on: loop)
        loop.advanceTime(by: .seconds(100))
        #expect(handler.seconds == [10, 30])
    }

    @Test func `a cancelled alarm does not call`() {
        let (loop, handler) = (EmbeddedEventLoop(), Handler())
        handler.set(by: 10, on: loop)
        handler.alarm.cancel()
        loop.advanceTime(by: .seconds(100))
        #expect(handler.seconds.isEmpty)
        handler.set(by: 200, on: loop)
        loop.advanceTime(by: .seconds(100))
        #expect(handler.seconds == [200])
    }
}
