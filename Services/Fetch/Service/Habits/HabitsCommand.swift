import ArgumentParser
import Contracts
import Foundation
import Timeline

/// `fetch habits`: simulates what users' habits lead to, prints it as a table, and draws it.
struct HabitsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "habits",
        abstract: "Simulates what background fetches a user's habits lead to.",
        usage: "fetch habits [--open <hh:mm>]... [--svg <file>] [options]",
        discussion: """
            Lives through some days in virtual time with the same rules as `fetch serve`, in a second or so and \
            without a database. Without --open it shows two users side by side, an early one and a late one. The \
            numbers are of the last 7 days; the days before are for learning.

            The device lies locked while it is not in use, and on its charger from 23:00 to 06:30. All settings are \
            the defaults of `fetch serve`, but for the ceiling of wakes over the whole suite, which falls away: there \
            is one device.
            """)

    @Option(
        help: .init("A time at which the user opens the app; any number of them.", valueName: "hh:mm"),
        transform: time)
    var open: [TimeOfDay] = []
    @Option(
        help: .init("The same at weekends; without any of them weekends are like weekdays.", valueName: "hh:mm"),
        transform: time)
    var openWeekend: [TimeOfDay] = []
    @Option(help: .init("Openings vary by up to so many minutes, both ways.", valueName: "minutes"))
    var spreadMinutes = 10
    @Option(help: .init("How many days to simulate, from a Monday on.", valueName: "number"))
    var days = 14
    @Option(
        help: .init("The app's minimum fetch interval: minimum, or a number of seconds.", valueName: "interval"),
        transform: interval)
    var interval = FetchInterval.minimum
    @Option(
        help: .init("What the app's handler reports: newData, noData or failed.", valueName: "word"), transform: word)
    var result = WakeResult.newData
    @Option(help: .init("The seconds that the handler takes; from 30 on it is killed at 30.", valueName: "number"))
    var seconds = 2.0
    @Option(help: .init("What the handler loads.", valueName: "number"))
    var bytes = 80_000
    @Option(help: .init("The device's zone, as Europe/Berlin; UTC without it.", valueName: "name"), transform: zone)
    var timeZone: String?
    @Option(help: .init("The same seed varies the openings in the same way.", valueName: "number"))
    var seed: UInt64 = 1
    @Option(help: .init("Draws openings against fetches by hour of day into this file.", valueName: "file"))
    var svg: String?

    func validate() throws {
        guard openWeekend.isEmpty || !open.isEmpty else {
            throw ValidationError("--open-weekend goes with --open: give the weekdays' times too")
        }
        guard open.count <= 48, openWeekend.count <= 48 else {
            throw ValidationError("--open and --open-weekend can be given 48 times at most")
        }
        try Self.hold((0...720).contains(spreadMinutes), "--spread-minutes must be from 0 to 720")
        try Self.hold((1...365).contains(days), "--days must be from 1 to 365")
        try Self.hold((0...3600).contains(seconds), "--seconds must be from 0 to 3600")
        try Self.hold((0...1_000_000_000).contains(bytes), "--bytes must be from 0 to 1000000000")
    }

    func run() throws {
        let outcomes = try devices.map { try HabitSimulation.run($0) }
        FileHandle.standardOutput.write(Data(HabitTable.text(outcomes).utf8))
        guard let svg else { return }
        guard FileManager.default.createFile(atPath: svg, contents: Data(HabitPlot(outcomes).svg.utf8)) else {
            throw HabitsFailed("cannot write the picture to \(svg): name a file in a folder that is there and yours")
        }
    }

    /// What is simulated: the user that is described, else the two that show a difference.
    var devices: [HabitualDevice] {
        guard open.isEmpty else {
            return [device("user", open, weekends: openWeekend.isEmpty ? nil : openWeekend)]
        }
        return [
            device("early", [TimeOfDay(6, 45), TimeOfDay(12, 15)]),
            device("late", [TimeOfDay(9, 30), TimeOfDay(18, 0), TimeOfDay(22, 30)]),
        ]
    }

    private func device(_ name: String, _ times: [TimeOfDay], weekends: [TimeOfDay]? = nil) -> HabitualDevice {
        let habit = Habit(times: times, weekends: weekends, spread: .minutes(Int64(spreadMinutes)))
        let answer = HabitualAnswer(result: result, elapsed: .seconds(seconds), bytes: bytes)
        let app = HabitualApp(name: name, habit: habit, interval: interval, answer: answer)
        return HabitualDevice(name: name, timeZone: timeZone, apps: [app], days: days, seed: seed)
    }
}

/// What kept the command from its work, in one line that says what to do.
struct HabitsFailed: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
