import Records

/// The event streams: one for the orders of the fleet, and one per device for notifications.
struct Streams: Sendable {
    let client: SuiteClient
    let pool: DevicePool
    let statistics: RunStatistics

    /// Follows the orders of the fleet until cancellation, and resumes with `Last-Event-ID`.
    func followOrders(of fleet: String) async throws(CancellationError) {
        let call = Call(.lifecycle, "GET", "/v1/fleets/{fleet}/orders", [fleet])
        var resume: String?
        var pause = Duration.milliseconds(200)
        while true {
            var last = resume
            var wasOpen = false
            let status = try? await client.stream(.lifecycle, call.path, after: resume) {
                statistics.note { $0.streamsOpened += 1 }
                await pool.hearOrders(true)
            } _: { event in
                wasOpen = true
                last = event.id ?? last
                guard let document = try? JSON(parsing: Array(event.data.utf8)), let order = Order(document) else {
                    return statistics.complain("the order stream sent an invalid order")
                }
                await pool.deliver(order)
            }
            // The log no longer has the position: start again without one.
            resume = status == 410 ? nil : last
            if !Task.isCancelled { await pool.hearOrders(false) }
            judge(status, call)
            pause = try await wait(pause, wasOpen: wasOpen || status == 200)
        }
    }

    /// Follows the notifications of a device until cancellation, while the device has a network.
    func followNotifications(of device: String, _ index: Int) async throws(CancellationError) {
        let call = Call(.push, "GET", "/v1/devices/{device}/notifications", [device])
        var pause = Duration.milliseconds(200)
        while true {
            var status: Int?
            if await pool.isOnline(index) {
                status = try? await client.stream(.push, call.path, after: nil) {
                    statistics.note { $0.streamsOpened += 1 }
                } _: { event in
                    guard let document = try? JSON(parsing: Array(event.data.utf8)),
                        let notification = DeliveredNotification(document)
                    else { return statistics.complain("the stream of push sent an invalid notification") }
                    await pool.deliver(notification, to: index)
                }
                judge(status, call)
            }
            pause = try await wait(pause, wasOpen: status == 200)
        }
    }

    private func judge(_ status: Int?, _ call: Call) {
        guard let status, status != 200, ![429, 503, 504].contains(status) else { return }
        _ = ResponseCheck(client: client, statistics: statistics).outcome(status, .null, nil, of: call)
    }

    private func wait(_ pause: Duration, wasOpen: Bool) async throws(CancellationError) -> Duration {
        do { try await Task.sleep(for: wasOpen ? .milliseconds(200) : pause) } catch { throw CancellationError() }
        return wasOpen ? .milliseconds(200) : min(pause * 2, .milliseconds(1600))
    }
}
