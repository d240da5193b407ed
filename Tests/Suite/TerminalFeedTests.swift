import Foundation
import TestSupport
import Testing

/// The feed of `deploy/up`, with events from a file.
@Suite("The feed in the terminal", .tags(.processes), .timeLimit(.minutes(1))) struct TerminalFeedTests {
    private static func event(_ type: String, _ subject: String, _ data: String) -> String {
        let service = type.split(separator: ".")[0]
        return #"{"data":\#(data),"datacontenttype":"application/json","id":"x","source":"/\#(service)","#
            + #""specversion":"1.0","subject":"device:\#(subject)","time":"2026-11-21T07:40:01.500Z","type":"\#(type)"}"#
    }

    private static let events = [
        event("lifecycle.app.woken", "phone/com.example.mail", #"{"reason":"push"}"#),
        event("push.presence.changed", "phone/com.example.mail", #"{"app":"com.example.mail","state":"background"}"#),
        event("lifecycle.wake.refused", "phone/com.example.mail", #"{"reason":"push","refusal":"lowPowerMode"}"#),
        event("push.notification.held", "phone/com.example.mail", #"{"status":"Held – Silent Budget"}"#),
        event("fetch.refresh.scheduled", "phone/com.example.mail", #"{"blockers":["battery","lowPowerMode"]}"#),
        event(
            "transfer.progress.made", "phone/com.example.mail",
            #"{"totalBytesExpectedToWrite":9,"totalBytesWritten":3}"#),
        event("lifecycle.app.terminated", "phone/com.example.mail", #"{"code":"0x8badf00d","reason":"launchTimeout"}"#),
        event("fetch.conditions.changed", "phone", #"{"locked":true}"#),
        event("lifecycle.device.slept", "phone", "{}"),
        event("push.throttle.changed", "phone", #"{"note":"\u001b[31m"}"#),
    ]

    /// Returns the lines that the script prints for the events.
    private func lines(raw: Bool, width: Int) async throws -> [String] {
        let script = """
            set -euo pipefail
            for part in output sentences feed; do source "$1/$part.sh"; done
            declare -A totals=()
            raw=\(raw) feed_width=\(width) told_at=-100
            measure_terminal() { :; }
            shift
            for event in "$@"; do take_event "$event"; done
            tell_totals
            tell_totals
            """
        let process = try ChildProcess.start(
            "/bin/bash", ["-c", script, "feed", Repository.file("deploy/lib").path] + Self.events,
            environment: ["LC_ALL": "C.UTF-8"])
        #expect(try await process.exit() == .exited(0), "\(process.errors.tail())")
        return process.output.lines
    }

    @Test func `each event is one sentence, and echoes are hidden`() async throws {
        let lines = try await lines(raw: false, width: 200)
        let about = "07:40:01 phone            mail           "
        #expect(
            lines.dropLast().map { $0.replacing(about, with: "") } == [
                "App was woken for push", "Wake was refused: low power mode", "Push is held: Silent Budget",
                "Refresh waits: battery, low power mode", "Received 3 bytes of 9",
                "App ended: launch timeout (0x8badf00d)",
                "07:40:01 phone                           Device went to sleep",
                "07:40:01 phone                           Throttle changed",
            ])
        #expect(
            lines.last
                == "10 s: 10 events (2 echoes hidden), 0 pushes sent, 0 arrived, 1 waiting, 0 ended; 1 wakes, 1 refused; "
                + "0 refreshes; 0 transfers; 1 apps ended")
    }

    @Test func `lines fit the terminal`() async throws {
        let lines = try await lines(raw: false, width: 62)
        #expect(lines.count == 9 && lines.allSatisfy { $0.count <= 62 }, "\(lines)")
        #expect(lines.contains { $0.hasSuffix("Refresh waits: batter") })
    }

    @Test func `raw events are JSON, one a line`() async throws {
        let lines = try await lines(raw: true, width: 62)
        #expect(lines == Self.events)
    }
}
