-- compatible
CREATE VIEW ops.audit AS
SELECT a.at, a.service, a.actor_kind, a.actor, a.address, a.action, a.subject, a.count, a.details, a.id
FROM bus.audit AS a;
COMMENT ON VIEW ops.audit IS
    'The audit trail: who did what, to what, when and from where. at is real time. A row stands for count equal actions.';
