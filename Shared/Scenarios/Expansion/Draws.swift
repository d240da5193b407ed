public import Timeline

extension SpreadSpan {
    /// Returns a random duration.
    public func drawn(_ random: inout SeededRandom) -> Interval {
        .milliseconds(middle.interval.milliseconds + random.difference(spread.interval.milliseconds))
    }
}

extension SpreadTime {
    /// Returns a random time since local midnight, within the day.
    func drawn(_ random: inout SeededRandom) -> Interval {
        let time = middle.sinceMidnight.milliseconds + random.difference(spread.interval.milliseconds)
        return .milliseconds(min(max(time, 0), 86_400_000))
    }
}

extension Handler {
    /// Returns how long a call of the handler takes, and how it ends.
    public func outcome(_ random: inout SeededRandom) -> (takes: Interval, result: HandlerResult) {
        let takes = takes.drawn(&random)
        return (takes, result.value(at: random.next()))
    }
}

extension NotificationHabits {
    /// Returns the time after which the person opens a shown notification; nil if the person ignores it.
    public func opening(_ random: inout SeededRandom) -> Interval? {
        random.holds(opened) ? after.drawn(&random) : nil
    }
}
