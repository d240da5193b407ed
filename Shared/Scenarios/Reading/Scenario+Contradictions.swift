import Contracts
public import Records

extension Scenario {
    /// The faults that no single member has, with their JSON pointers.
    public var contradictions: [FieldError] {
        var faults = groupFaults + appFaults
        for (index, send) in provider.sends.enumerated() {
            faults += self.faults(of: send).map { FieldError(pointer: "/provider/\(index)\($0.0)", detail: $0.1) }
        }
        for (index, fault) in self.faults.enumerated() {
            faults += self.faults(of: fault).map { FieldError(pointer: "/faults/\(index)\($0.0)", detail: $0.1) }
        }
        for (index, item) in expect.enumerated() {
            faults += self.faults(of: item).map { FieldError(pointer: "/expect/\(index)\($0.0)", detail: $0.1) }
        }
        if faults.isEmpty, ScenarioPlan(self).sends.count == ScenarioPlan.mostSends {
            faults.append(
                FieldError(
                    pointer: "/provider",
                    detail: "must have fewer than \(ScenarioPlan.mostSends) sends in the whole scenario; "
                        + "lengthen every or shorten for"))
        }
        return faults
    }

    private typealias Found = (String, String)

    private var groupFaults: [FieldError] {
        var faults: [FieldError] = []
        let sum = people.reduce(0) { $0 + $1.share.basisPoints }
        if sum != 10_000 {
            faults.append(
                FieldError(
                    pointer: "/people",
                    detail: "must have shares that add up to 100 %, not to \(Double(sum) / 100) %"))
        }
        var names: Set<String> = []
        for (index, group) in people.enumerated() {
            if let name = group.name, !names.insert(name).inserted {
                faults.append(FieldError(pointer: "/people/\(index)/name", detail: "must differ from other groups"))
            }
            if (group.summaryTimes?.items.count ?? 0) > 12 {
                faults.append(FieldError(pointer: "/people/\(index)/summaryTimes", detail: "must be at most 12 times"))
            }
            for (number, opening) in group.habits.opens.enumerated() {
                guard let fault = unknown(app: opening.app) else { continue }
                faults.append(FieldError(pointer: "/people/\(index)/habits/opens/\(number)", detail: fault))
            }
        }
        return faults
    }

    private var appFaults: [FieldError] {
        var ids: Set<String> = []
        var faults: [FieldError] = []
        for (index, app) in apps.enumerated() {
            if !ids.insert(app.id).inserted {
                faults.append(FieldError(pointer: "/apps/\(index)/id", detail: "must differ from other apps"))
            }
            if app.fetchInterval != nil, !app.backgroundModes.contains(.fetch) {
                faults.append(
                    FieldError(
                        pointer: "/apps/\(index)/fetchInterval",
                        detail: "must be left out without the background mode fetch"))
            }
            faults += eventFaults(of: app).map { FieldError(pointer: "/apps/\(index)\($0.0)", detail: $0.1) }
        }
        return faults
    }

    private func eventFaults(of app: ScenarioApp) -> [Found] {
        var faults: [Found] = []
        let isAuthorized = ![.notDetermined, .denied].contains(app.location)
        let needsLocation = "must be left out without location: always, or another authorization"
        if app.visits, !isAuthorized { faults.append(("/visits", needsLocation)) }
        if app.bluetooth != nil, !app.backgroundModes.contains(.bluetoothCentral) {
            faults.append(("/bluetooth", "must be left out without the background mode bluetooth-central"))
        }
        guard let kind = app.activity?.kind else { return faults }
        if kind.needsLocation, !isAuthorized { faults.append(("/activity/kind", needsLocation)) }
        if !kind.modes.contains(where: app.backgroundModes.contains) {
            let modes = kind.modes.map(\.rawValue).joined(separator: " or ")
            faults.append(("/activity/kind", "must be left out without the background mode \(modes)"))
        }
        return faults
    }

    private func unknown(app: String?) -> String? {
        guard let app, !apps.contains(where: { $0.id == app }) else { return nil }
        return "must name an app of the scenario, such as \(apps.first?.id ?? "")"
    }

    private func unknown(_ audience: Audience) -> String? {
        guard case .group(let name) = audience, !people.contains(where: { $0.name == name }) else { return nil }
        return "must name a group of the scenario"
    }

    private func faults(of send: Send) -> [Found] {
        var faults: [Found] = []
        if let fault = unknown(app: send.app) { faults.append(("/app", fault)) }
        if let fault = unknown(send.to) { faults.append(("/to", fault)) }
        if send.send == .silent, send.priority == 10 {
            faults.append(("/priority", "must be 5 for a silent push, as APNs requires"))
        }
        if send.interruptionLevel != nil, send.send != .alert, send.send != .alertWithContent {
            faults.append(("/interruptionLevel", "is valid only for an alert"))
        }
        let app = apps.first { $0.id == send.app } ?? apps.first
        if send.send == .voip, unknown(app: send.app) == nil, app?.backgroundModes.contains(.voip) == false {
            faults.append(("/send", "must be sent to an app with the background mode voip"))
        }
        if send.send == .pushToTalk, unknown(app: send.app) == nil, app?.backgroundModes.contains(.pushToTalk) == false
        {
            faults.append(("/send", "must be sent to an app with the background mode push-to-talk"))
        }
        if send.every == nil, send.until != .endOfDay { faults.append(("/until", "is valid only with every")) }
        if send.until.sinceMidnight < send.at.time.middle.sinceMidnight {
            faults.append(("/until", "must not be before at"))
        }
        return faults
    }

    private func faults(of fault: Fault) -> [Found] {
        var faults: [Found] = []
        guard let kind = fault.kind else {
            return [("", "must name exactly one kind of fault: " + Fault.kinds.joined(separator: ", "))]
        }
        if kind.lasts, fault.duration == nil { faults.append(("/for", "is required for this kind of fault")) }
        if let fault = unknown(fault.to) { faults.append(("/to", fault)) }
        if let fault = unknown(app: fault.crash) { faults.append(("/crash", fault)) }
        if let fault = unknown(app: fault.neverReturns) { faults.append(("/neverReturns", fault)) }
        return faults
    }

    private func faults(of item: Expectation) -> [Found] {
        var faults: [Found] = []
        if let fault = unknown(app: item.app) { faults.append(("/app", fault)) }
        let hasLimits = item.atLeast != nil || item.atMost != nil
        if !hasLimits, item.percentiles.isEmpty {
            faults.append(("", "must have a limit: atLeast, atMost, p50, p90, p95 or p99"))
        }
        if item.what == .contentAgeAtOpening, hasLimits {
            faults.append(("/what", "must have percentiles as limits, such as p90: 45m"))
        }
        if !item.what.hasDuration, !item.percentiles.isEmpty {
            faults.append(("/what", "must have no percentiles: \(item.what.rawValue) has no duration"))
        }
        if !item.what.hasDuration || item.what == .contentAgeAtOpening, item.within != nil {
            faults.append(("/within", "must be left out for \(item.what.rawValue)"))
        } else if item.within != nil, !hasLimits {
            faults.append(("/within", "must be left out without atLeast and atMost"))
        }
        if item.of == .delivered, !item.what.isOfPushes || item.what == .pushesNeverArrived {
            faults.append(("/of", "must be left out for \(item.what.rawValue)"))
        }
        let hasShare = [item.atLeast, item.atMost].contains { if case .share = $0 { true } else { false } }
        if hasShare,
            item.what == .wakes || item.what == .wakesRefused || item.what == .kills
                || item.what == .refreshes && item.within == nil
        {
            faults.append(("/what", "must have a number as limit, because all cases of \(item.what.rawValue) count"))
        }
        return faults
    }
}
