import ArgumentParser
import FleetService
import Foundation
import Records
import UnixSignals

/// The output of a run: a progress line on a terminal, else a line every 5 s, then the summary.
enum Terminal {
    static func show(_ activity: some Activity, summary file: String?) async throws {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await progress(of: activity, isTerminal: isTerminal) }
            await activity.live {
                for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) { return }
            }
            group.cancelAll()
        }
        if isTerminal { write("\r\u{1B}[2K") }
        let counts = activity.statistics.counts
        write(Report.summary(counts, states: await activity.states(), elapsed: activity.elapsed) + "\n")
        if let file {
            guard FileManager.default.createFile(atPath: file, contents: Data(counts.document.bytes)) else {
                throw FleetError("cannot write the summary to \(file)")
            }
        }
        if !counts.isGood || counts.devices == 0 { throw ExitCode(Fleet.failed) }
    }

    private static func progress(of activity: some Activity, isTerminal: Bool) async {
        let duration = activity.options.duration
        while (try? await Task.sleep(for: isTerminal ? .milliseconds(500) : .seconds(5))) != nil {
            let elapsed = activity.elapsed
            let line = Report.line(
                activity.statistics.counts, states: await activity.states(), elapsed: elapsed, of: duration)
            guard isTerminal else {
                write(line + "\n")
                continue
            }
            write("\r\u{1B}[2K" + Report.bar(line, elapsed: elapsed, of: duration, width: width))
        }
    }

    private static var width: Int {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    // Bypasses the buffer of `print`, so that lines reach files and pipes at once.
    static func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}
