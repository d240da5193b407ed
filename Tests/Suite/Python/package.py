"""Makes the files of a release, and checks them on a clean root of Debian: the package, its units, its removal.

Usage: package.py [--binaries FOLDER | --files FOLDER] [--libraries FOLDER]

It installs the package in a root that `mmdebstrap` makes, in the suite of the distribution of this machine, and follows
README.Debian. No systemd runs there, so it starts the services itself as their unit files say. The root is in memory
(1 to 2 GB), in namespaces of its own, and has no network after the downloads: no process and no file of it remains.
Prints a line for each step. Without root rights, unshare, mmdebstrap or lintian it prints "skipped: …". Ends with
status 1 and the faults if there are any.
"""
import argparse
import difflib
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import roles
from cleanroot import Arguments, Root, Service, end_with_caller, enter, go_offline, is_possible, run

parser = argparse.ArgumentParser(description="Checks the release files, and the Debian package on a clean root.")
parser.add_argument("--binaries", type=os.path.abspath, help="packages these executables instead of building them")
parser.add_argument("--files", type=os.path.abspath, help="checks these release files instead of making them")
parser.add_argument(
    "--libraries", type=os.path.abspath,
    help="copies the shared libraries of this folder into the root, for executables that load the Swift runtime")
parser.add_argument("--inside", help=argparse.SUPPRESS)
parser.add_argument("--begun", type=float, default=time.monotonic(), help=argparse.SUPPRESS)
options = parser.parse_args()

checkout = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = ["lifecycle", "fetch", "push", "transfer", "ops", "fleet"]
PORTS = {"ops": 8080, "lifecycle": 8081, "fetch": 8082, "push": 8083, "transfer": 8084}
# What the executables contain beside packages, by the package that has the sources.
INSIDE = {
    "swift-crypto/boringssl", "swift-crypto/xkcp", "swift-nio/llhttp", "swift-nio-extras/zlib",
    "swift-nio-ssl/boringssl", "toolchain/swift", "toolchain/swift-corelibs-foundation",
    "toolchain/swift-corelibs-libdispatch", "toolchain/swift-foundation", "toolchain/swift-foundation-icu",
    "yams/libyaml",
}
# Each has a unit and a user.
UNITS = [*PORTS, "maintain"]
# Folders with the state of other packages; srv has the files of the release.
OTHERS = ["dev", "proc", "run", "sys", "srv", "var/cache/apt", "var/lib/postgresql", "var/log/postgresql"]
# The backups that each change of the users leaves, with the names of removed users.
BACKUPS = ["etc/passwd-", "etc/group-", "etc/shadow-", "etc/gshadow-"]
faults = []


def say(text):
    print(f"{time.monotonic() - options.begun:7.1f} s  {text}", flush=True)


def expect(holds, text):
    if not holds:
        faults.append(text)
        say(f"FAULT: {text}")


# The files


def make_files(folder):
    if options.files:
        shutil.copytree(options.files, folder)
        return
    say("making the release files")
    binaries = ["--binaries", options.binaries] if options.binaries else []
    with subprocess.Popen(
            [checkout / "deploy/release", "--output", folder, *binaries], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True) as release:
        try:
            text = release.communicate()[0]
        except BaseException:
            # The compiler is in the same group of processes.
            os.killpg(release.pid, signal.SIGTERM)
            raise
    if release.returncode != 0:
        raise SystemExit(f"deploy/release: status {release.returncode}\n{text[-3000:]}")


def check_files(folder):
    sums = next(folder.glob("*.sha256"))
    checked = run("sha256sum", "--check", "--strict", sums.name, check=False, cwd=folder)
    named = {line.removesuffix(": OK") for line in checked.splitlines() if line.endswith(": OK")}
    wrong = {path.name for path in folder.iterdir()} - {sums.name} ^ named
    expect(not wrong, f"the checksums of {wrong} are missing or wrong: {checked}")
    say(f"checksums: {len(named)} files")

    components = json.loads(next(folder.glob("*.cdx.json")).read_text())["components"]
    listed = {entry["bom-ref"]: entry["version"] for entry in components}
    packages = {name.split("@")[0]: version for name, version in listed.items() if "/" not in name}
    pins = json.loads((checkout / "Package.resolved").read_text())["pins"]
    resolved = {pin["identity"]: pin["state"]["version"] for pin in pins}
    expect(packages == resolved, f"the bill of materials has other packages: {packages.items() ^ resolved.items()}")
    needed = re.findall(r'^    \("[\w-]+/([\w-]+)", "\d', (checkout / "Package.swift").read_text(), re.MULTILINE)
    missing = {name.lower() for name in needed} - packages.keys()
    expect(needed and not missing, f"the bill of materials lacks {missing}")
    say(f"bill of materials: {len(packages)} packages, among them the {len(needed)} of Package.swift")
    others = {name.split("@")[0]: version for name, version in listed.items() if "/" in name}
    expect(set(others) == INSIDE, f"the bill of materials has other libraries: {set(others) ^ INSIDE}")
    unknown = {name for name, version in others.items() if not re.match(r"[0-9a-f.]{5}", version)}
    expect(not unknown, f"the bill of materials has no version of {unknown}")
    expect(len(components) == len(listed), "the bill of materials lists something twice")
    overrides = (checkout / "deploy/debian/lintian-overrides").read_text()
    embedded = set(re.findall("embedded-library (\\S+)", overrides))
    names = {entry["name"] for entry in components}
    expect(embedded and embedded <= names, f"the bill of materials lacks {embedded - names} of lintian-overrides")
    say(f"bill of materials: {len(others)} libraries of C and of the Swift runtime")

    # Executables that load the Swift runtime contain its folder.
    suppressed = ["--suppress-tags", "custom-library-search-path"] if options.libraries else []
    as_root = ["--allow-root"] if os.geteuid() == 0 else []
    complaints = run(
        "lintian", "--fail-on", "error,warning", *as_root, *suppressed, next(folder.glob("*.deb")), check=False)
    expect(not complaints.strip(), f"lintian: {complaints}")
    say("lintian: finished")


# The root


def check_programs():
    """Installs the package with its dependencies alone; runs the executables of package and tarball; purges."""
    root.apt("install", package)
    version = root.run("dpkg-query", "--show", "--showformat=${Version}", "dormouse")
    tarball = next((root / "srv").glob("*.tar.gz"))
    run("tar", "-C", root / "srv", "-xzf", tarball)
    folder = "/srv/" + tarball.name.removesuffix(".tar.gz")
    for program in PROGRAMS:
        for words in [["dormouse", program], [f"{folder}/bin/{program}"]]:
            answer = root.run(*words, "--version", check=False).strip()
            expect(answer == f"{program} {version}", f"{' '.join(words)} --version: {answer}")
    root.apt("purge", "dormouse")
    say(f"executables of the package and of the tarball: version {version}")


def complaints_of_systemd(path):
    """The complaints about a unit, without those about other units of the root, and about manuals: man is missing."""
    text = root.run("systemd-analyze", "verify", "--man=no", path, check=False)
    return [line for line in text.splitlines() if "dormouse" in line]


def check_units():
    folder = root / "lib/systemd/system"
    units = sorted(path.name for path in folder.glob("dormouse*"))
    for name in units:
        complaints = complaints_of_systemd(f"/lib/systemd/system/{name}")
        expect(not complaints, f"systemd-analyze verify {name}: {complaints}")
        for kind, place in re.findall(r"(man:|file://)(\S+)", (folder / name).read_text()):
            page = re.fullmatch(r"(.+)\((.)\)", place)
            file = f"usr/share/man/man{page[2]}/{page[1]}.{page[2]}.gz" if kind == "man:" else place
            expect((root / file).exists(), f"{name} names {kind}{place}, which is missing")
    # The check must find faults: an unknown setting, and a missing program.
    unit = (folder / "dormouse-push.service").read_text()
    for wrong in [unit + "Unknown=yes\n", unit.replace("ExecStart=", "ExecStart=/missing")]:
        (root / "srv/dormouse-wrong.service").write_text(wrong)
        expect(complaints_of_systemd("/srv/dormouse-wrong.service"), "systemd-analyze accepts a wrong unit")
    say(f"units: {', '.join(units)}")


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else ""


def settings():
    """The settings with their owners and modes, as lines."""
    lines = []
    for path in sorted((root / "etc/dormouse").rglob("*")):
        status = path.stat()
        lines.append(f"{path.name} {status.st_uid}:{status.st_gid} {status.st_mode:o} {digest(path)}")
    return lines


def state():
    """The settings, the roles, and the content of the databases, as lines."""
    lines = settings()
    names = sql("SELECT datname FROM pg_database WHERE NOT datistemplate AND datname <> 'postgres' ORDER BY 1").split()
    dumps = [["pg_dump", name] for name in names]
    for words in [["pg_dumpall", "--globals-only", "--no-role-passwords"], *dumps]:
        # Newer versions write a random word here.
        lines += [line for line in root.as_postgres(*words).splitlines() if not re.match(r"\\(un)?restrict ", line)]
    return lines


def sql(text, database="postgres"):
    """Runs statements as the superuser of PostgreSQL; returns their rows."""
    return root.as_postgres("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", f"--dbname={database}", "--command", text)


def expect_no_change(before, words):
    changes = list(difflib.unified_diff(before, state(), "before", "after", n=0, lineterm=""))
    expect(not changes, f"{words} changes: " + "\n".join(changes[:20]))


def check_setup():
    sql("ALTER SYSTEM SET log_min_duration_statement = 0")
    sql("SELECT pg_reload_conf()")
    with Arguments() as arguments:
        root.run("dormouse-setup")
    sql("ALTER SYSTEM RESET log_min_duration_statement")
    sql("SELECT pg_reload_conf()")
    once = state()
    root.run("dormouse-setup")
    expect_no_change(once, "the second dormouse-setup")
    say(f"dormouse-setup: twice, with {len(once)} lines of settings and database")
    rows = sql(roles.QUERY)
    expect(not roles.fault(rows), roles.fault(rows))
    say(f"roles: {len(roles.NAMES)} without the rights of a superuser")
    logs = [path.read_text(errors="replace") for path in (root / "var/log/postgresql").glob("*.log")]
    expect(any("ALTER USER dormouse PASSWORD 'SCRAM" in log for log in logs), "the log of PostgreSQL has no statements")
    for path in (root / "etc/dormouse/secrets").iterdir():
        secret = path.read_text()
        expect(not any(secret in log for log in logs), f"the log of PostgreSQL has {path.name}")
        expect(not any(secret in words for words in arguments.found), f"the arguments of a process have {path.name}")
    say(f"passwords: not in the log of PostgreSQL, nor in {len(arguments.found)} lists of arguments")


def check_other_database():
    """A database that --database names stays the one of later runs. Settings of the services count for setup too."""
    before, file = state(), root / "etc/dormouse/dormouse.env"
    own = re.search("=(.*)", (root / "etc/dormouse/maintain.database.env").read_text())[1]
    text = file.read_text()
    sql("CREATE ROLE other LOGIN CREATEROLE PASSWORD 'word'; GRANT pg_read_all_stats, pg_signal_backend TO other")
    sql("CREATE DATABASE other OWNER other")
    # The cluster has the roles of another installation, so these need another prefix.
    file.write_text(text + "PARTITIONS=8\nROLE_PREFIX='other'\n")
    url = re.sub("//.*@(.*)/dormouse", r"//other:word@\1/other", own)
    answer = root.run("dormouse-setup", "--database", url)
    expect("changes from dormouse@" in answer and "word" not in answer, f"dormouse-setup --database says: {answer}")
    once = state()
    answer = root.run("dormouse-setup")
    expect("changes" not in answer, f"dormouse-setup without --database says: {answer}")
    expect_no_change(once, "dormouse-setup without --database")
    expect(sql("SELECT count(*) FROM bus.partitions", "other").strip() == "8", "dormouse-setup ignores PARTITIONS")
    for name in PORTS:
        answer = Service.check(root, name)
        expect(not answer, f"{name} check, with PARTITIONS and ROLE_PREFIX: {answer}")
    file.write_text(text)
    root.run("dormouse-setup", "--database", own)
    sql("DROP DATABASE other")
    for name in sql("SELECT rolname FROM pg_roles WHERE rolname ~ '^other' ORDER BY 1 DESC").split():
        sql(f"DROP ROLE {name}")
    expect_no_change(before, "dormouse-setup --database with the former URL")
    say("dormouse-setup --database: stays the database of later runs")


def readable(user, paths):
    """The files that a user can read, in all groups of the user."""
    script = 'for file; do cat "$file" >/dev/null 2>&1 && echo "$file"; done; :'
    words = ["setpriv", "--reuid", user, "--regid", user, "--init-groups", "sh", "-c", script, "sh", *paths]
    return set(root.run(*words).split())


def check_users():
    """Each unit has its own user, who reads the settings and secrets of this service alone."""
    users = {}
    for name in UNITS:
        text = (root / f"lib/systemd/system/dormouse-{name}.service").read_text()
        users[name] = dict(re.findall(r"^(User|Group)=(.*)$", text, re.MULTILINE))
        expect(users[name] == {"User": f"dormouse-{name}", "Group": f"dormouse-{name}"}, f"{name}: {users[name]}")
    numbers = [root.run("id", "--user", user["User"]).strip() for user in users.values()]
    expect("0" not in numbers and len(set(numbers)) == len(UNITS), f"users of the units: {numbers}")
    folder = root / "etc/dormouse"
    paths = [f"/etc/dormouse/{path.relative_to(folder)}" for path in sorted(folder.rglob("*")) if path.is_file()]
    for name in UNITS:
        wanted = {"/etc/dormouse/dormouse.env"}
        if name in PORTS:
            own = [f"{name}.env", f"{name}.database.env", f"secrets/database-{name}", "operator-keys"]
            wanted |= {f"/etc/dormouse/{file}" for file in own}
        found = readable(users[name]["User"], paths)
        expect(found == wanted, f"the user of {name} reads {found - wanted} and does not read {wanted - found}")
    # The check must find a fault.
    secret = root / "etc/dormouse/secrets/database-push"
    mode = secret.stat().st_mode
    secret.chmod(0o644)
    found = readable(users["ops"]["User"], paths)
    expect("/etc/dormouse/secrets/database-push" in found, "the check of the users finds no readable secret")
    secret.chmod(mode)
    say(f"users: {len(users)}, each with the secrets of its service alone, among {len(paths)} files")


def check_data():
    """The files of a service belong to its user, and no other user can enter their folder."""
    for name in PORTS:
        folder = root / f"var/lib/dormouse/{name}"
        user = int(root.run("id", "--user", f"dormouse-{name}"))
        owners = {path.lstat().st_uid for path in [folder, *folder.rglob("*")]}
        expect(owners == {user}, f"{folder} has files of {owners}, not of {user} alone")
        expect(folder.stat().st_mode & 0o007 == 0, f"other users can enter {folder}")
    say(f"data: owned by the users of {', '.join(PORTS)}")


def start_services():
    folder = pathlib.Path(options.inside)
    services = {name: Service(root, name, folder / f"{name}.log", PORTS.get(name)) for name in UNITS}
    for service in services.values():
        service.wait_ready()
    say(f"ready: {', '.join(PORTS)}")
    return services


def stop_services(services):
    for service in services.values():
        for fault in service.stop():
            expect(False, fault)
    say("all services stopped")


def check_services(services):
    text = root.run(
        "dormouse", "fleet", "run", "--devices=20", "--for=20s", "--rate=60",
        *[f"--{name}=http://127.0.0.1:{port}" for name, port in PORTS.items()],
        "--operator-key-file=/etc/dormouse/secrets/operator-key", "--apns=https://127.0.0.1:2197",
        "--ca=/var/lib/dormouse/push/apns/ca.pem", "--pushes-per-minute=60", check=False)
    say("fleet: " + " ".join(text.split()[-28:]))
    expect("PASSED" in text and re.search(r"\berrors +0\b", text), f"the fleet had errors: {text[-1000:]}")
    key = (root / "etc/dormouse/secrets/operator-key").read_text()
    status, answer = services["ops"].get("/v1/log/check", Authorization=f"Bearer {key}")
    expect(status == 200 and json.loads(answer).get("sound") is True, f"the log is not sound: {status} {answer}")
    say("log: sound")


def with_version(version):
    """Makes a package of the same files with another version; returns its path in the root."""
    tree = root / "srv/other-version"
    run("dpkg-deb", "--raw-extract", root / package, tree)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub("^Version: .*", f"Version: {version}", control.read_text(), flags=re.MULTILINE))
    # The executables for tests are large, so nothing is compressed.
    run("dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, root / f"srv/dormouse-{version}.deb")
    shutil.rmtree(tree)
    return f"/srv/dormouse-{version}.deb"


def update(path):
    """Installs a package as on a machine with systemd, where `migrate` has to give a role its password again.

    Returns the output, and a line for each restart: its arguments, and whether the role has its password by then.
    """
    restarts, shim = root / "srv/restarts", root / "usr/local/sbin/deb-systemd-invoke"
    restarts.write_text("")
    query = "SELECT rolpassword IS NOT NULL FROM pg_authid WHERE rolname = 'dormouse_dashboards'"
    words = f'runuser -u postgres -- psql -XAtq --dbname=postgres --command "{query}"'
    shim.write_text(f'#!/bin/sh\necho "$* $({words})" >>/srv/restarts\n')
    shim.chmod(0o755)
    # The package looks for this folder.
    (root / "run/systemd/system").mkdir(parents=True)
    output = root.run("dpkg", "--install", path)
    (root / "run/systemd/system").rmdir()
    shim.unlink()
    installed = root.run("dpkg-query", "--show", "--showformat=${Status}", "dormouse")
    expect(installed == "install ok installed", f"after the installation of {path}: {installed}")
    return output, restarts.read_text().splitlines()


def check_update(services):
    """An update runs `migrate`, then restarts the services. If it can't, it restarts nothing and says so."""
    before, lose_password = settings(), "ALTER ROLE dormouse_dashboards PASSWORD NULL"
    version = root.run("dpkg-query", "--show", "--showformat=${Version}", "dormouse")
    sql(lose_password)
    output, restarts = update(with_version(f"{version}+1"))
    expect(restarts == ["try-restart dormouse.target t"], f"the update restarts: {restarts}\n{output[-1000:]}")
    expect(settings() == before, "the update changes the settings")
    for name, service in services.items():
        status = service.get("/readyz")[0] if service.port else 200
        is_serving = status == 200 and service.process.poll() is None
        expect(is_serving, f"{name} stopped, or answered {status}, after the update")
    stop_services(services)
    stop_services(start_services())
    say("update: migrations, then a restart")

    # This migration can be applied twice.
    sql("DELETE FROM ops.migrations WHERE name = 'erasures'", "dormouse")
    root.run("service", "postgresql", "stop")
    output, restarts = update(with_version(f"{version}+2"))
    expect(not restarts, f"the update restarts without migrations: {restarts}")
    wanted = "the tables are not updated, and the services are not restarted"
    expect(wanted in output and "dormouse-setup &&" in output, f"the update without a database says: {output[-1000:]}")
    expect(settings() == before, "the update without a database changes the settings")
    root.run("service", "postgresql", "start")
    expect("lacks" in Service.check(root, "ops"), "the test removed no migration")
    root.run("dormouse-setup")
    expect(not Service.check(root, "ops"), f"after dormouse-setup: {Service.check(root, 'ops')}")
    say("update without a database: no restart, the reason, and the remedy")

    # `migrate` of an older version would refuse newer tables.
    sql(lose_password)
    output, restarts = update(package)
    expect(restarts == ["try-restart dormouse.target f"], f"the return to {version}: {restarts}\n{output[-1000:]}")
    expect(settings() == before, f"the return to {version} changes the settings")
    root.run("dormouse-setup")
    say("return to the older version: a restart without migrations")


def files():
    """The paths of the root without those of other packages, and the digests of the settings."""
    found = {}
    for folder, names, leaves in os.walk(root.path):
        place = pathlib.Path(folder).relative_to(root.path)
        names[:] = [name for name in names if str(place / name) not in OTHERS]
        for path in [place / name for name in names + leaves]:
            found[str(path)] = digest(root.path / path) if path.parts[0] == "etc" else ""
    return {path: found[path] for path in found if path not in BACKUPS}


def in_cluster():
    """The databases and the roles of PostgreSQL."""
    query = "SELECT 'database ' || datname FROM pg_database UNION ALL SELECT 'role ' || rolname FROM pg_roles"
    return set(root.as_postgres("psql", "-XAt", "--dbname=postgres", "--command", query).splitlines())


def check_purge(files_before, cluster_before):
    guide = (root / "usr/share/doc/dormouse/README.Debian").read_text()
    root.apt("purge", "dormouse")
    left = sorted({path for path, _ in files().items() ^ files_before.items()})
    expect(not left, f"files differ after the purge: {left}")
    say(f"purged; these remain, as README.Debian says: {', '.join(sorted(in_cluster() - cluster_before))}")
    commands = re.search(r"remove them too.*?\n\n((?: {7}.*\n)+)", guide, re.DOTALL)
    if commands:
        root.run("sh", "-euc", commands[1])
    left = in_cluster() - cluster_before
    expect(not left, f"the commands of README.Debian leave {left}")
    say("database and roles: removed by the commands of README.Debian")


def inside():
    """Checks the package in the root."""
    shutil.copytree(pathlib.Path(options.inside, "files"), root / "srv", dirs_exist_ok=True)
    root.apt("update")
    root.apt("install", "--download-only", package, "postgresql", "systemd")
    say(f"clean root: {root.suite}")
    go_offline()
    check_programs()
    root.apt("install", "postgresql", "systemd")
    root.run("service", "postgresql", "start")
    before = files(), in_cluster()
    root.apt("install", package)
    check_units()
    check_setup()
    check_other_database()
    check_users()
    root.run("systemctl", "enable", "dormouse.target")
    services = start_services()
    check_services(services)
    check_update(services)
    check_data()
    check_purge(*before)
    root.run("service", "postgresql", "stop")
    pathlib.Path(options.inside, "faults").write_text(json.dumps(faults))


def outside(temporary):
    """Makes and checks the release files, then runs this script again inside of new namespaces."""
    os.chmod(temporary, 0o755)
    make_files(pathlib.Path(temporary, "files"))
    check_files(pathlib.Path(temporary, "files"))
    libraries = ["--libraries", options.libraries] if options.libraries else []
    status = enter(sys.executable, __file__, "--inside", temporary, "--begun", str(options.begun), *libraries)
    if status != 0:
        raise SystemExit(status)
    faults.extend(json.loads(pathlib.Path(temporary, "faults").read_text()))


if options.inside:
    end_with_caller()
    root = Root(pathlib.Path(options.inside, "root"), options.libraries)
    package = f"/srv/{next(pathlib.Path(options.inside, 'files').glob('*.deb')).name}"
    inside()
    os._exit(0)
if not is_possible() or not shutil.which("lintian"):
    print("skipped: no root rights, no unshare, or no mmdebstrap and lintian")
    raise SystemExit(0)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, frame: sys.exit(128 + number))
with tempfile.TemporaryDirectory(prefix="dormouse-package-") as temporary:
    outside(temporary)
if faults:
    raise SystemExit("\n".join(faults))
say("no faults")
