import Contracts
import Postgres
import Records
import TestSupport
import Testing

/// The operators' routes of every service with a machine.
@Suite("Operations over HTTP", .tags(.database), .timeLimit(.minutes(5))) struct OperationsTests {
    @Test func `a repeated discard gets the same answer and discards nothing more`() async throws {
        let service = try await CounterService.prepare()
        try await service.run { () async throws in
            let (path, key) = ("/v1/parked/device:d1/discard", ["Idempotency-Key": "k1"])
            #expect(try await service.send("POST", path, nil, key).code == "not_parked")
            try await service.park("d1", at: 1)
            let first = try await service.send("POST", path, nil, key)
            #expect(first.status == 200 && first.json["taken"] == 0)
            try await service.park("d1", at: 2)
            let again = try await service.send("POST", path, nil, key)
            #expect(again.status == 200 && again.body == first.body)
            let conflict = try await service.send("POST", "/v1/parked/device:d1/replay", nil, key)
            #expect(conflict.status == 422 && conflict.code == "idempotency_conflict")
            let wrong = try await service.send("POST", path, nil, ["Idempotency-Key": "not a key"])
            #expect(wrong.status == 400 && wrong.code == "invalid_header")
            #expect(try await service.send("GET", "/v1/dead-letters").json["items"]?.items?.count == 1)
            #expect(try await service.send("POST", path, nil, ["Idempotency-Key": "k2"]).status == 200)
            #expect(try await service.send("GET", "/v1/dead-letters").json["items"]?.items == [])
        }
        await service.pool.close()
    }

    @Test(arguments: [true, false]) func `dead letters are listed page by page`(inFirst isFirst: Bool) async throws {
        let service = try await CounterService.prepare()
        try await service.pool.withConnection {
            try await $0.script("UPDATE bus.incarnation SET id = 'ba9876543210', is_first = \(isFirst)")
        }
        try await service.run { () async throws in
            for device in ["d1", "d2", "d.3"] { for offset in 1...2 { try await service.park(device, at: offset) } }
            let all = try await service.send("GET", "/v1/dead-letters").json
            #expect(all["items"]?.items?.count == 6 && all["next"] == .null)
            var found: [JSON] = []
            var query = "?limit=4"
            while true {
                let page = try await service.send("GET", "/v1/dead-letters" + query).json
                found += page["items"]?.items ?? []
                guard let next = page["next"]?.string else { break }
                #expect(next.hasPrefix("ba9876543210.") == !isFirst, "\(next)")
                query = "?limit=4&cursor=" + next
            }
            #expect(found == all["items"]?.items)
            for wrong in ["?limit=0", "?limit=x", "?cursor=1", "?cursor=a:b:c"] {
                #expect(try await service.send("GET", "/v1/dead-letters" + wrong).code == "invalid_query", "\(wrong)")
            }
            let gone = try await service.send("GET", "/v1/dead-letters?cursor=0123456789ab.1:1:device:d.3")
            #expect(gone.status == 410 && gone.code == "earlier_incarnation", "\(gone)")
        }
        await service.pool.close()
    }

    @Test func `more replicas than partitions are all ready`() async throws {
        let service = try await CounterService.prepare(partitions: 1)
        let second = try service.replica()
        try await service.run { () async throws in
            // `run` calls its body when the replica is ready.
            try await second.run { () async throws in
                let owners = Statement("SELECT DISTINCT owner FROM bus.cursors WHERE owner IS NOT NULL")
                #expect(try await service.pool.execute(Query(owners)).count == 1)
                #expect(try await service.send("GET", "/readyz").status == 200)
            }
        }
        await service.pool.close()
    }
}

extension CounterService {
    /// Inserts a dead letter whose event is not in the log.
    fileprivate func park(_ device: String, at offset: Int) async throws {
        let key = AggregateKey.device(device)
        let place = Parameter.int4(Int32(key.partition(of: 4)))
        _ = try await pool.execute([
            Query(
                Statement(
                    """
                    INSERT INTO bus.dead_letters (partition, consumer, key, log_offset, reason)
                    VALUES ($1, 'counter', $2, $3, 'test')
                    """), [place, .text(key.description), .int(offset)]),
            Query(
                Statement("UPDATE bus.cursors SET parked = parked + 1 WHERE partition = $1 AND consumer = 'counter'"),
                [place]),
        ])
    }
}
