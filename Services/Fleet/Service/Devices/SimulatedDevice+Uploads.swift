import Contracts
import Records
import Scenarios
import Timeline

// Uploads of videos: an app stores a file and uploads it in its background session. Its user pauses some uploads.
extension SimulatedDevice {
    /// The percentage of uploads that users pause, where resumable uploads exist (our choice).
    static let pausing = 50
    /// The most videos of a device in a run. Complete uploads stay on the disk of the suite (our choice).
    static let mostUploads = 3

    mutating func wantUpload(_ app: Int, at now: Instant, stay: Interval) {
        guard apps[app].model.uploads, canTransfer, apps[app].uploads < Self.mostUploads else { return }
        drop(app) { $0 == .upload }
        schedule(.upload, of: app, at: now + stay / 4)
    }

    mutating func upload(_ app: Int) -> [Action] {
        apps[app].uploads += 1
        let name = apps[app].model.identifier
        return [.openSession(app: name), .storeFile(app: name), .upload(app: name)]
    }

    /// Lets the user pause a new upload.
    mutating func considerPause(of app: Int, _ document: JSON, at now: Instant) {
        guard has(.resumableUploads), let task = document["task"]?.int, random.percent(Self.pausing) else { return }
        schedule(.pauseUpload(task), of: app, in: .milliseconds(20)...(.milliseconds(600)), after: now)
    }

    /// Continues a paused upload later. An upload without a resource at its server has no resume data.
    mutating func paused(_ app: Int, _ document: JSON, at now: Instant) {
        guard let data = document["error"]?["resumeData"]?.string else { return }
        schedule(.continueUpload(data), of: app, in: .milliseconds(200)...(.seconds(1)), after: now)
    }
}
