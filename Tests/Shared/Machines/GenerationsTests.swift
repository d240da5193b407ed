import Contracts
import Foundation
import MachineTesting
import Records
import Testing
import Timeline

@Suite("Generations of iOS") struct GenerationsTests {
    /// The first and the last profile with each feature, written down without the table. Nil: the feature has not ended.
    private static let spans: [(Feature, ProfileName, ProfileName?)] = [
        (.alertWaitsForHandler, .ios6, .ios12), (.allowOnce, .ios13, nil), (.backgroundActivitySession, .ios17, nil),
        (.appSwitcherSnapshots, .ios7, nil),
        (.backgroundAppRefresh, .ios7, nil),
        (.backgroundFetch, .ios7, nil), (.backgroundSessions, .ios7, nil), (.backgroundTaskScheduler, .ios13, nil),
        (.beaconRegions, .ios7, nil), (.locationMonitors, .ios17, nil), (.reducedAccuracy, .ios15, nil),
        (.bluetoothAfterRestart, .ios12, nil), (.bluetoothRestoration, .ios7, nil),
        (.broadcastChannels, .ios18, nil), (.callReporting, .ios13, nil),
        (.cancellationReasons, .ios9, nil), (.sharedContainers, .ios9, nil),
        (.complicationPushes, .ios9, nil), (.continuedProcessingTasks, .ios26, nil), (.controlPushes, .ios18, nil),
        (.criticalAlerts, .ios12, nil), (.ephemeralAuthorization, .ios15, nil),
        (.earliestBeginDate, .ios12, nil), (.expensiveNetworkAccess, .ios13, nil),
        (.fileProviderPushes, .ios12, nil), (.healthDelivery, .ios9, nil), (.healthResearchTasks, .ios17, nil),
        (.doNotDisturb, .ios6, .ios13), (.focus, .ios15, nil), (.scheduledSummary, .ios15, nil),
        (.interruptionLevels, .ios15, nil), (.liveActivities, .ios16, nil),
        (.locationFlag, .ios9, nil),
        (.locationPushes, .ios15, nil), (.lowDataMode, .ios13, nil), (.lowPowerMode, .ios9, nil),
        (.informationalResponses, .ios17, nil),
        (.newsstand, .ios6, .ios7), (.notificationActions, .ios9, nil),
        (.notificationServiceExtension, .ios12, nil), (.textInputActions, .ios9, nil), (.prewarming, .ios15, nil),
        (.processingAfterForceQuit, .ios18, nil),
        (.provisionalAuthorization, .ios12, nil),
        (.pushToStart, .ios17, nil), (.pushToTalk, .ios16, nil), (.refreshSwitchEndsActivities, .ios7, .ios12),
        (.regionsAfterForceQuit, .ios9, nil), (.resumableUploads, .ios17, nil),
        (.scenes, .ios13, nil), (.silentNotifications, .ios7, nil), (.tasksNeedAwakeDevice, .ios7, nil),
        (.uiInBackgroundKills, .ios6, .ios6),
        (.userNotificationCenter, .ios12, nil), (.visits, .ios9, nil), (.voipPushes, .ios9, nil),
        (.voipSockets, .ios6, .ios7),
        (.widgetPushes, .ios26, nil),
    ]

    @Test func `each feature has its first and its last profile`() {
        #expect(Set(Self.spans.map(\.0)) == Set(Feature.allCases))
        for (feature, first, last) in Self.spans {
            let holders = ProfileName.allCases.filter { Generations.standard[$0].has(feature) }
            let span = ProfileName.allCases.filter { $0 >= first && $0 <= last ?? .ios26 }
            #expect(holders == span, "\(feature)")
        }
    }

    @Test(arguments: [
        (ProfileName.ios6, 600.0), (.ios7, 180), (.ios9, 180), (.ios12, 180), (.ios13, 30), (.ios15, 30), (.ios16, 30),
        (.ios17, 30), (.ios18, 30), (.ios26, 30),
    ])
    func `background tasks have 600, 180 or 30 seconds`(_ name: ProfileName, _ seconds: Double) {
        #expect(Generations.standard[name][.backgroundTasks] == .seconds(seconds))
    }

    @Test func `a limit needs its feature`() {
        #expect(Generations.standard[.ios6].limit(of: .fetchHandler) == nil)
        #expect(Generations.standard[.ios7].limit(of: .fetchHandler) == .seconds(30.0))
        #expect(Generations.standard[.ios12].limit(of: .refreshTask) == nil)
        #expect(Generations.standard[.ios9].limit(of: .newsstandHandler) == nil)
    }

    @Test func `the documentation has every row of the table`() throws {
        let page = try String(
            contentsOf: Repository.file("Shared/Documentation.docc/Generations.md"), encoding: .utf8)
        let lines = Set(page.split(separator: "\n").map(String.init))
        let features = Feature.allCases.map { feature in
            let span = feature.span
            let versions = [span.since, span.until].map { $0.map { "\($0)" } ?? "–" }
            return "| `\(feature.rawValue)` | \(span.title) | \(versions.joined(separator: " | ")) |"
        }
        let limits = TimeLimit.allCases.map { limit in
            let cells = ProfileName.allCases.map { name in
                Generations.standard[name].limit(of: limit).map { "\(Int($0.seconds))" } ?? "–"
            }
            return "| `\(limit.rawValue)` | \(cells.joined(separator: " | ")) |"
        }
        let profiles = "| name | \(ProfileName.allCases.map(\.rawValue).joined(separator: " | ")) |"
        #expect(Set(features + limits + [profiles]).subtracting(lines).isEmpty)
        #expect(lines.count { $0.hasPrefix("| `") } == features.count + limits.count)
    }

    @Test func `a lack names the version of iOS`() {
        #expect(
            Generations.standard[.ios6].lack(of: .backgroundFetch)
                == "The profile ios6 has no background fetch, which came with iOS 7.")
        #expect(
            Generations.standard[.ios9].lack(of: .newsstand)
                == "The profile ios9 has no Newsstand, which ended with iOS 8.")
    }

    @Test func `a document changes some features and limits and keeps the others`() throws {
        let document = #"{"ios15":{"features":{"prewarming":false},"limits":{"backgroundTasks":25}}}"#
        let table = try Generations(overriding: Array(document.utf8))
        #expect(table[.ios15][.backgroundTasks] == .seconds(25.0) && !table[.ios15].has(.prewarming))
        #expect(
            table[.ios15].lack(of: .prewarming)
                == "The profile ios15 has no prewarming: the profiles of this deployment remove it.")
        #expect(table[.ios15][.launch] == .seconds(20.0) && table[.ios15].has(.lowPowerMode))
        #expect(table[.ios13] == Generations.standard[.ios13])
    }

    @Test func `a document can give a generation a feature with its limits`() throws {
        let document = #"{"ios12":{"features":{"backgroundTaskScheduler":true}}}"#
        let profile = try Generations(overriding: Array(document.utf8))[.ios12]
        #expect(profile.limit(of: .refreshTask) == .seconds(30.0))
    }

    @Test func `without a document all disputed rules are read as on iOS`() {
        #expect(DisputedRule.allCases.allSatisfy { Generations.standard[$0] == .apple })
    }

    @Test(arguments: DisputedRule.allCases)
    func `a document switches one reading`(_ rule: DisputedRule) throws {
        let document = #"{"readings":{"\#(rule.rawValue)":"document"}}"#
        let table = try Generations(overriding: Array(document.utf8))
        #expect(DisputedRule.allCases.filter { table[$0] == .document } == [rule])
        let back = document.replacing("document", with: "apple")
        #expect(try Generations(overriding: Array(back.utf8)) == .standard)
    }

    @Test func `without Background App Refresh activities end by the document`() throws {
        // The readings count first, wherever they stand: a feature of a generation overrides them.
        let document = """
            {"ios26":{"features":{"refreshSwitchEndsActivities":false}},"readings":{"backgroundAppRefresh":"document"}}
            """
        let table = try Generations(overriding: Array(document.utf8))
        let holders = ProfileName.allCases.filter { table[$0].has(.refreshSwitchEndsActivities) }
        #expect(holders == [.ios7, .ios9, .ios12, .ios13, .ios15, .ios16, .ios17, .ios18])
    }

    @Test func `the documentation has every disputed rule`() throws {
        let page = try String(contentsOf: Repository.file("Shared/Documentation.docc/Readings.md"), encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }
        #expect(rows.map { String($0.dropFirst(3).prefix { $0 != "`" }) } == DisputedRule.allCases.map(\.rawValue))
    }

    @Test(arguments: [
        (#"{"ios15":{"limits":{"backgroundTask":25}}}"#, "/ios15/limits/backgroundTask"),
        (#"{"ios15":{"limits":{"backgroundTasks":0}}}"#, "/ios15/limits/backgroundTasks"),
        (#"{"ios15":{"limits":{"backgroundTasks":86401}}}"#, "/ios15/limits/backgroundTasks"),
        (#"{"ios15":{"limits":{"backgroundTasks":1e300}}}"#, "/ios15/limits/backgroundTasks"),
        (#"{"ios15":{"limits":{"backgroundTasks":"25"}}}"#, "/ios15/limits/backgroundTasks"),
        (#"{"ios15":{"features":{"prewarming":1}}}"#, "/ios15/features/prewarming"),
        (#"{"ios15":{"features":{"prewarm":true}}}"#, "/ios15/features/prewarm"),
        (#"{"ios15":{"features":{"tasksNeedAwakeDevice":false}}}"#, "/ios15/features/tasksNeedAwakeDevice"),
        (#"{"ios15":{"backgroundTasks":25}}"#, "/ios15/backgroundTasks"),
        (#"{"ios15":{"limits":[]}}"#, "/ios15/limits"),
        (#"{"readings":{"resource":"document"}}"#, "/readings/resource"),
        (#"{"readings":{"resourceTimeout":"documents"}}"#, "/readings/resourceTimeout"),
        (#"{"readings":{"resourceTimeout":true}}"#, "/readings/resourceTimeout"),
        (#"{"readings":["resourceTimeout"]}"#, "/readings"),
        (#"{"ios15":5}"#, "/ios15"), (#"{"ios14":{}}"#, "/ios14"), ("[]", ""), ("{", ""),
    ])
    func `a fault of a document is reported with its pointer`(_ document: String, _ pointer: String) {
        let error = #expect(throws: DocumentError.self) { try Generations(overriding: Array(document.utf8)) }
        #expect(error?.faults.map(\.pointer) == [pointer])
    }
}
