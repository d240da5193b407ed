import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import LifecycleMachine
import OrderedCollections
import Records

// Apps: installation, transitions, settings, the switcher.
extension LifecycleRoutes {
    func addApps(_ table: inout RouteTable) {
        let app = "/v1/devices/{device}/apps/{app}"
        table.add(
            .put, app, "Installs an app", access: .caller, request: Manifest.self, response: AppDocument.self,
            status: .created, problems: .ofDevice()
        ) { request, context in
            let manifest = try await request.document(as: Manifest.self)
            return try await submit(request, context, status: .created) { .install(app: $0, manifest) }
        }
        table.add(
            .get, app, "Returns the state of an app", access: .caller, response: InstalledApp.self, problems: .ofApp(),
            example: Example.app
        ) { request, context in
            let (record, etag) = try await installed(request, context)
            return Response(record, etag: etag)
        }
        table.add(
            .delete, app, "Uninstalls an app", access: .caller, status: .noContent, problems: .ofApp()
        ) { try await submit($0, $1, status: .noContent) { .uninstall(app: $0) } }
        table.add(
            .put, app + "/settings", "Changes the user's settings of an app; missing members keep their value",
            access: .caller, request: AppSettings.self, response: AppDocument.self, problems: .ofApp(.restricted)
        ) { request, context in
            let settings = try await request.document(as: AppSettings.self)
            return try await submit(request, context) { .changeSettings(app: $0, settings) }
        }
        table.add(
            .post, app + "/transitions", "Reports a transition of an app, such as launch or home", access: .caller,
            request: Transition.self, response: AppDocument.self,
            problems: .ofTransition + [LifecycleRefusal.unsupportedOnProfile(.ios7).problem]
        ) { request, context in
            let event = try await request.document(as: Transition.self).event
            return try await submit(request, context) { .transition(app: $0, event) }
        }
        let entry = "/v1/devices/{device}/app-switcher/{app}"
        table.add(
            .post, entry, "Taps an app in the switcher", access: .caller, response: AppDocument.self,
            problems: .ofTransition
        ) { try await submit($0, $1) { .transition(app: $0, .open) } }
        table.add(
            .delete, entry, "Swipes an app away in the switcher", access: .caller, response: AppDocument.self,
            problems: .ofTransition
        ) { try await submit($0, $1) { .transition(app: $0, .swipe) } }
    }
}
