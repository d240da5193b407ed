import NIOHTTP1
import Records
import Testing

extension Story {
    /// The live stream, the pages, the timeline and the causes show the same events.
    func lookBack() async throws {
        let events = try await events()
        try await tail.waitFor(events.count, "the live tail")
        #expect(tail.items == events, "the live stream has the events of the log in order")
        for service in SuiteService.writers {
            #expect(events.contains { $0["source"]?.string == "/\(service.rawValue)" })
        }

        let timeline =
            try await suite.call(
                .GET, .ops, "/v1/devices/phone/timeline?order=oldest&limit=1000"
            ).json["items"]?.items ?? []
        #expect(timeline.map { $0["event"] } == events.map { $0["id"] })
        #expect(timeline.allSatisfy { $0["summary"]?.string?.isEmpty == false })

        for service in SuiteService.writers { try await travel(through: events, of: service.rawValue) }

        try await lookAtCauses(
            of: "fetch.refresh.started", are: ["fetch.refresh.due", "lifecycle.app.woken"], effects: [])
        try await lookAtCauses(
            of: "lifecycle.app.woken", named: "push",
            are: ["push.notification.received", "push.notification.delivered", "push.wake.requested"],
            effects: ["push.wake.granted"])
        #expect(try await suite.call(.GET, .ops, "/v1/dead-letters").json["items"]?.items == [])
        let check = try await suite.call(.GET, .ops, "/v1/log/check?folds=100").json
        #expect(check["dense"]?.bool == true && check["sound"]?.bool == true, "\(check)")
        #expect(check["folds"]?.items?.map { $0["checked"]?.int ?? 0 }.allSatisfy { $0 > 0 } == true)
        try await readTheFeedWithAnothersLibrary(events.count)
        compareActors(events)
        try await compareStatistics()
        try await compareMetrics()
    }

    /// The event of a command names its sender. One that follows from an event, or from a deadline, names nobody.
    private func compareActors(_ events: [JSON]) {
        var actors: [String: Set<String>] = [:]
        for event in events {
            let actor = event["actor"]?.string
            #expect(actor == nil || event["causationid"] == nil, "\(event)")
            actors[event["type"]?.string ?? "", default: []].insert(actor ?? "none")
        }
        #expect(actors["lifecycle.device.registered"] == ["operator:alice"])
        #expect(actors["lifecycle.app.launched"] == ["device:phone"])
        #expect(actors["push.notification.received"] == ["team:TEAMTEAM01"])
        #expect(actors["fetch.refresh.due"] == ["none"] && actors["lifecycle.app.woken"] == ["none"])
        #expect(Set(actors.values.joined()) == ["none", "operator:alice", "device:phone", "team:TEAMTEAM01"])
    }

    /// Reads the state of a service at the position and at the time of each of its events.
    private func travel(through events: [JSON], of service: String) async throws {
        let own = events.filter { $0["source"]?.string == "/\(service)" }
        let path = "/v1/devices/phone/state?service=\(service)"
        for (index, event) in own.enumerated() where index % 5 == 0 || index == own.count - 1 {
            let place = "\(event["partition"]?.int ?? -1):\(event["offset"]?.string ?? "")"
            let then = try await suite.call(.GET, .ops, "\(path)&at=\(place)").json
            #expect(then["events"]?.int == index + 1 && then["position"]?.string == place)
            let time = try #require(event["time"]?.string)
            let later = try await suite.call(.GET, .ops, "\(path)&at=\(time)").json
            // All times have the same format, so text order is time order.
            #expect(later["events"]?.int == own.count { ($0["time"]?.string ?? "") <= time })
            #expect(later["time"]?.string == time)
        }
        #expect(try await suite.call(.GET, .ops, path).json["events"]?.int == own.count)
    }

    /// Checks the causes of the first event of a type: they cross services and have one correlation id.
    private func lookAtCauses(
        of type: String, named reason: String? = nil, are causes: Set<String>, effects: Set<String>
    ) async throws {
        let first = try await events(type).first { reason == nil || $0["data"]?["reason"]?.string == reason }
        let id = try #require(first?["id"]?.string)
        let chain = try await suite.call(.GET, .ops, "/v1/events/\(id)/causes").json
        let before = chain["causes"]?.items ?? []
        let after = chain["effects"]?.items ?? []
        func types(_ events: [JSON]) -> Set<String> { Set(events.compactMap { event in event["type"]?.string }) }
        #expect(!before.isEmpty && types(before).isSubset(of: causes), "\(before)")
        #expect(types(after).isSuperset(of: effects), "\(after)")
        #expect((before + after).allSatisfy { $0["correlationid"] == first?["correlationid"] })
    }
}
