import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import LifecycleCore
import OrderedCollections
import Records
import ServiceKit

// Apps: installation, transitions, settings, the switcher.
extension LifecycleRoutes {
    func addApps(_ table: inout RouteTable) {
        let path = "/v1/devices/{device}/apps/{app}"
        table.add(
            .put, path, "Installs an app", body: Manifest.self, .status(.created),
            .refuses(.ofDevice(.unsupported(.provisionalAuthorization, on: .ios9)))
        ) { manifest, call in try await app(after: .install(app: call.app, manifest), call) }
        table.add(.get, path, "Returns the state of an app", .refuses(.ofApp()), .example(Example.app)) { call in
            let (record, etag) = try await installed(call)
            return Reply(record, etag: etag)
        }
        table.add(.delete, path, "Uninstalls an app", .refuses(.ofApp())) { call in
            try await commands.submit(.uninstall(app: call.app), call)
        }
        table.add(
            .put, path + "/settings", "Changes the user's settings of an app; missing members keep their value",
            body: AppSettings.self,
            .refuses(
                .ofApp(
                    .restricted, .appNotInUse, .entitlementMissing(.timeSensitiveNotifications),
                    .unsupported(.backgroundAppRefresh, on: .ios6)))
        ) { settings, call in try await app(after: .changeSettings(app: call.app, settings), call) }
        table.add(
            .post, path + "/transitions", "Reports a transition of an app, such as launch or home",
            body: Transition.self,
            .refuses(.ofTransition + [LifecycleRefusal.unsupported(.prewarming, on: .ios13).problem])
        ) { transition, call in try await app(after: .transition(app: call.app, transition.event), call) }
        let entry = "/v1/devices/{device}/app-switcher/{app}"
        table.add(.post, entry, "Taps an app in the switcher", .refuses(.ofTransition)) { call in
            try await app(after: .transition(app: call.app, .open), call)
        }
        table.add(.delete, entry, "Swipes an app away in the switcher", .refuses(.ofTransition)) { call in
            try await app(after: .transition(app: call.app, .swipe), call)
        }
    }
}
