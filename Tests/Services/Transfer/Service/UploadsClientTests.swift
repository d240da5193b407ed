import Foundation
import TestSupport
import Testing

/// Uploads with independent clients.
@Suite(.tags(.database, .processes, .stockClient), .serialized) struct StockUploadClients {
    static let packages = ["tuspy==1.1.0", "h11==0.16.0", "aiotus==1.1.0"]

    /// Uploads files of several sizes in chunks. After the first chunk a new client continues with the URL alone.
    private static let tuspy = #"""
        import hashlib, os, sys, tempfile, urllib.request
        from tusclient import client
        base = sys.argv[1]
        for size in [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1]:
            data = os.urandom(size)
            with tempfile.NamedTemporaryFile() as file:
                file.write(data)
                file.flush()
                for chunk, checked in [(400_000, False), (1 << 24, True)]:
                    tus = client.TusClient(base + "/files")
                    first = tus.uploader(file.name, chunk_size=chunk, upload_checksum=checked,
                                         metadata={"filename": "film"})
                    first.upload(stop_at=min(size, chunk) or None)
                    later = client.TusClient(base + "/files").uploader(file.name, chunk_size=chunk, url=first.url)
                    assert later.offset == min(size, chunk), later.offset
                    later.upload()
                    kept = urllib.request.urlopen(first.url).read()
                    assert hashlib.sha256(kept).digest() == hashlib.sha256(data).digest(), size
            print(size)
        """#

    @Test func `tuspy uploads and resumes`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let python = try await PythonEnvironment.make(Self.packages)
        let lines = try await python.run("-c", [Self.tuspy, "http://127.0.0.1:\(replica.port)"], within: 120)
        #expect(lines == ["0", "1", "1048575", "1048576", "1048577"])
    }

    /// Uploads files of several sizes, and one of four parts, over connections that are cut.
    private static let aiotus = #"""
        import aiohttp, aiotus, asyncio, functools, hashlib, io, random, sys
        files, seed = sys.argv[1] + "/files", int(sys.argv[2])
        many = aiotus.RetryConfiguration(retry_attempts=30, max_retry_period_seconds=0)
        metadata = {"filename": "Фильм".encode(), "draft": None}

        async def main():
            make = random.Random(seed).randbytes
            async with aiohttp.ClientSession() as session:
                async def check(url, data):
                    assert await aiotus.metadata(url, session) == metadata
                    async with session.get(url) as kept:
                        assert hashlib.sha256(await kept.read()).digest() == hashlib.sha256(data).digest()
                    print(len(data))
                upload = functools.partial(aiotus.upload, client_session=session, config=many, chunksize=300_000)
                for size in [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1]:
                    data = make(size)
                    await check(await upload(files, io.BytesIO(data), metadata), data)
                parts = [make(size) for size in (1 << 20, 0, 1, (1 << 20) + 1)]
                url = await aiotus.upload_multiple(
                    files, [io.BytesIO(part) for part in parts], metadata, session, many, chunksize=300_000)
                await check(url, b"".join(parts))

        asyncio.run(main())
        """#

    @Test func `aiotus uploads, resumes and concatenates`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let python = try await PythonEnvironment.make(Self.packages)
        try await propertyTest(count: 1) { generator in
            // Each cut is after the head of a creation, and all rations together are less than the uploads.
            let rations = (0..<12).map { _ in Int.random(in: 1000...400_000, using: &generator) }
            let seed = "\(UInt32.random(in: 0...UInt32.max, using: &generator))"
            try await RationedProxy.with(to: replica.port, rations: rations, .toServer) { proxy in
                let arguments = [Self.aiotus, "http://127.0.0.1:\(proxy.port)", seed]
                let lines = try await python.run("-c", arguments, within: 120)
                try #require(lines == ["0", "1", "1048575", "1048576", "1048577", "2097154"])
                try #require(proxy.connections.count > rations.count, "it was cut")
            }
        }
    }

    /// h11 is strict and refuses invalid HTTP/1.1.
    private static let h11 = #"""
        import h11, socket, sys
        host, port = "127.0.0.1", int(sys.argv[1])
        link = socket.create_connection((host, port))
        http = h11.Connection(h11.CLIENT)
        def hear():
            while True:
                event = http.next_event()
                if event is h11.NEED_DATA:
                    http.receive_data(link.recv(65536))
                else:
                    return event
        for turn in range(2):
            link.sendall(http.send(h11.Request(method="POST", target="/uploads", headers=[
                ("Host", host), ("Content-Length", "10"), ("Upload-Complete", "?1"),
                ("Upload-Draft-Interop-Version", "8")])))
            interim = hear()
            assert isinstance(interim, h11.InformationalResponse), interim
            assert interim.status_code == 104, interim
            told = dict(interim.headers)
            assert told[b"upload-draft-interop-version"] == b"8", told
            link.sendall(http.send(h11.Data(data=b"0123456789")) + http.send(h11.EndOfMessage()))
            final = hear()
            assert isinstance(final, h11.Response) and final.status_code == 201, final
            assert dict(final.headers)[b"location"] == told[b"location"], final
            assert dict(final.headers)[b"upload-complete"] == b"?1", final
            while not isinstance(hear(), h11.EndOfMessage):
                pass
            http.start_next_cycle()
            print(interim.reason.decode())
        """#

    @Test func `h11 reads the interim response`() async throws {
        let (suite, replica) = try await UploadsSuite.start()
        defer { suite.stop(replica) }
        let python = try await PythonEnvironment.make(Self.packages)
        let lines = try await python.run("-c", [Self.h11, "\(replica.port)"])
        #expect(lines == ["Upload Resumption Supported", "Upload Resumption Supported"])
    }
}
