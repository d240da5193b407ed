"""The roles of Dormouse in a PostgreSQL cluster, for compose.py and package.py."""

NAMES = ["dormouse", *(f"dormouse_{name}" for name in ("lifecycle", "fetch", "push", "transfer", "ops", "dashboards"))]
# Each role, and whether it has the rights of a superuser. A member of a superuser can become that one.
QUERY = """
    SELECT role.rolname || ' ' ||
        (role.rolsuper OR role.rolbypassrls OR bool_or(pg_has_role(role.oid, other.oid, 'MEMBER')))
    FROM pg_roles AS role, pg_roles AS other
    WHERE role.rolname ~ '^dormouse' AND other.rolsuper
    GROUP BY role.rolname, role.rolsuper, role.rolbypassrls
"""


def fault(output):
    """Returns what is wrong with the lines that the query prints; None if all roles exist and none has such rights."""
    found = dict(line.split() for line in output.splitlines() if line.startswith("dormouse"))
    if found != {name: "false" for name in NAMES}:
        return f"the roles, and whether they have the rights of a superuser: {found}"
    return None
