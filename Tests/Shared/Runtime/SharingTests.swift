import Postgres
import Runtime
import TestSupport
import Testing

/// The part of a process in the assignment of partitions, which its readiness reports.
@Suite(.timeLimit(.minutes(5))) struct SharingTests {
    @Test func `a replica without a partition takes part in the assignment`() async throws {
        let bench = try await RuntimeBench()
        // One replica more than partitions.
        try await bench.running { first in
            try await bench.running { second in
                try await bench.running { third in
                    try await bench.running { fourth in
                        try await eventuallyTrue { try await bench.owners() == [1, 1, 1, 1] }
                        try await bench.running { fifth in
                            try await eventuallyTrue { await fifth.sharesPartitions }
                            try await eventuallyTrue { await fifth.ownedPartitions == 0 }
                            for replica in [first, second, third, fourth] {
                                try await eventuallyTrue { await replica.sharesPartitions }
                            }
                        }
                    }
                }
            }
        }
        await bench.pool.close()
    }

    @Test func `a replica that is disconnected for the term of the leases does not take part`() async throws {
        let bench = try await RuntimeBench()
        let proxy = try await TCPProxy.start(port: bench.cluster.port)
        let url = bench.cluster.tcpURL(database: bench.database, port: proxy.port)
        try await bench.running(url: url) { runtime in
            try await eventuallyTrue { await runtime.sharesPartitions }
            proxy.refuse(true)
            try await proxy.cutAll()
            try await eventuallyTrue { await !runtime.sharesPartitions }
            proxy.refuse(false)
            try await eventuallyTrue { await runtime.sharesPartitions }
        }
        await bench.pool.close()
    }
}
