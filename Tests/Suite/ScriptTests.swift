import Foundation
import TestSupport
import Testing

/// The signals of the deploy scripts.
@Suite(.timeLimit(.minutes(1))) struct SignalTests {
    private static let library = Repository.file("deploy/lib/output.sh").path

    /// Without care, bash 5.2 reports a syntax error in the trap, and goes on.
    @Test(arguments: ["TERM", "INT"]) func `a signal before a command substitution is not lost`(_ signal: String)
        async throws
    {
        let script = """
            source "$0"
            on_signals 'echo the action; exit 99' TERM INT
            trap 'echo the end' EXIT
            # The first substitution sends the signal, and bash sees it when it reads the second one.
            [[ a == "$(kill -\(signal) $$)" || b == "$(echo c)" ]]
            echo lost
            """
        let shell = try ChildProcess.start("/usr/bin/env", ["bash", "-c", script, Self.library])
        #expect(try await shell.exit() == .exited(99), "\(shell.errors.tail())")
        #expect(shell.output.lines == ["the action", "the end"])
        #expect(shell.errors.lines.isEmpty)
    }

    @Test func `a signal during a command is not lost`() async throws {
        let script = """
            source "$0"
            on_signals 'exit 99' TERM
            (sleep 0.1; kill -TERM $$) &
            while :; do sleep 0.05; done
            """
        let shell = try ChildProcess.start("/usr/bin/env", ["bash", "-c", script, Self.library])
        #expect(try await shell.exit() == .exited(99), "\(shell.errors.tail())")
    }
}
