import ArgumentParser
import CommandLines
import Contracts
import Foundation
import Timeline

/// Simulates the refreshes of users with certain habits, and prints and draws the results.
@main
struct HabitsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "habits",
        abstract: "Simulates the background fetches of a user with certain habits.",
        usage: "habits [--open <hh:mm>]... [--svg <file>] [options]",
        discussion: """
            Simulates some days of virtual time with the rules of `fetch serve`, in about a second and without a \
            database. Without --open it compares two users, an early one and a late one. The numbers are of the last \
            7 days. The machine learns on the days before.

            The device is locked while it is not in use, and it is on its charger from 23:00 to 06:30. All settings \
            have the defaults of `fetch serve`. Only the limit of wakes per second does not apply, because there is \
            one device.
            """)

    @Option(
        help: .init("A time at which the user opens the app. Repeat the option for more times.", valueName: "hh:mm"),
        transform: time)
    var open: [TimeOfDay] = []
    @Option(
        help: .init("The same at weekends. By default, weekends have the times of weekdays.", valueName: "hh:mm"),
        transform: time)
    var openWeekend: [TimeOfDay] = []
    @Option(help: .init("The maximum deviation of an opening, in both directions.", valueName: "minutes"))
    var spreadMinutes = 10
    @Option(help: .init("The number of days to simulate, from a Monday.", valueName: "number"))
    var days = 14
    @Option(
        help: .init("The minimum fetch interval: minimum, or a number of seconds.", valueName: "interval"),
        transform: interval)
    var interval = FetchInterval.minimum
    @Option(
        help: .init("The result of the handler: newData, noData or failed.", valueName: "word"), transform: word)
    var result = WakeResult.newData
    @Option(help: .init("The seconds that the handler runs. It is killed after 30.", valueName: "number"))
    var seconds = 2.0
    @Option(help: .init("The number of bytes that the handler loads.", valueName: "number"))
    var bytes = 80_000
    @Option(
        help: .init("The time zone, such as Europe/Berlin. The default is UTC.", valueName: "name"), transform: zone)
    var timeZone: String?
    @Option(help: .init("The seed of the variation. The same seed gives the same openings.", valueName: "number"))
    var seed: UInt64 = 1
    @Option(help: .init("A file for a picture of fetches and openings by hour of day.", valueName: "file"))
    var svg: String?

    static func main() async { await runAndExit(as: "habits") }

    func validate() throws {
        guard openWeekend.isEmpty || !open.isEmpty else {
            throw ValidationError("--open-weekend needs --open: give the times of weekdays too")
        }
        guard open.count <= 48, openWeekend.count <= 48 else {
            throw ValidationError("--open and --open-weekend are limited to 48 times each")
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
            throw HabitsFailed("cannot write the picture to \(svg): choose a file in a writable folder")
        }
    }

    /// The simulated devices: that of the described user, or those of two different users.
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

/// A failure of the command, in one line with the remedy.
struct HabitsFailed: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
