import LifecycleCore
import MachineTesting
import Records
import Testing
import Traces

@testable import LifecycleService

/// The document of the app switcher.
@Suite struct SwitcherTests {
    @Test func `the switcher shows no difference between suspended and background apps`() throws {
        let trace = try Trace(
            "switcher",
            [
                "source": ["kind": "choice", "note": "one app of each kind"], "profile": "ios15",
                "apps": ["background": [:], "suspended": [:]],
                "steps": [
                    ["at": 0, "do": "launch", "app": "background", "events": ["app.launched"]],
                    ["at": 1, "do": "beginTask", "app": "background", "with": [:], "events": ["task.begun"]],
                    [
                        "at": 2, "do": "launch", "app": "suspended",
                        "events": ["app.backgrounded", "app.launched"],
                    ],
                    [
                        "at": 2, "do": "home", "app": "suspended",
                        "states": ["background": "background", "suspended": "suspended"],
                        "events": ["app.backgrounded", "app.suspended"],
                    ],
                ],
            ])
        let entries = Page<SwitcherEntry>(switcher: try LifecycleMachine.play(trace).state).items
        #expect(entries.map(\.app) == ["suspended", "background"])
        #expect(entries.allSatisfy { $0.processAlive })
        let unnamed = entries.map { entry in
            var entry = entry
            entry.app = ""
            return entry.jsonBytes
        }
        #expect(unnamed.first == unnamed.last)
    }
}
