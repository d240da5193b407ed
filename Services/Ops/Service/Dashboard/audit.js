// The page of the audit trail: who did what, to what, when and from where.

import { get, path } from './api.js'
import { changed } from './address.js'
import { $, h, keyed, say, show } from './dom.js'
import { Filters } from './filters.js'
import { dateAndTime, number, plural } from './words.js'

const limit = 100
const actions = ['channel.created', 'channel.removed', 'clock.advanced', 'clock.set', 'content.removed', 'content.stored',
  'credential.refused', 'deadLetter.discarded', 'deadLetter.replayed', 'device.erased', 'deviceToken.revoked',
  'deviceToken.rotated', 'directory.accepted', 'fleetToken.issued', 'fleetToken.revoked', 'incarnation.begun',
  'logLevel.set', 'operatorKeys.reloaded', 'providerKey.created', 'providerKey.removed', 'signingKey.removed',
  'signingKey.rotated', 'upload.removed']
const kinds = {
  operator: 'operator', fleet: 'fleet', device: 'device', provider: 'provider', commandLine: 'command line',
  anonymous: 'unknown caller',
}

export class Audit {
  constructor() {
    this.filters = new Filters($('audit-filters'), [
      { name: 'action', label: 'Action', options: [['', 'all'], ...actions] },
      { name: 'actor', label: 'Actor', kind: 'text', hint: 'all actors' },
      { name: 'subject', label: 'Subject', kind: 'text', hint: 'all subjects' },
      { name: 'since', label: 'Since', kind: 'time' }, { name: 'until', label: 'until', kind: 'time' },
    ])
  }

  open({ query }) {
    this.query = { ...this.filters.read(), cursor: query.cursor }
    keyed($('audit-rows'), [], row => row.id)
    for (const id of ['audit-table', 'audit-pages']) show($(id), false)
    say($('audit-lead'), 'Reading …')
  }

  close() {}

  async refresh(signal) {
    const { query } = this
    const page = await get(path('v1/audit', { ...query, limit }), signal).catch(error => {
      if (error.status !== 400) throw error
      this.filters.refuse(error)
      say($('audit-lead'), 'The service refuses these filters.')
    })
    if (!page || query !== this.query) return
    keyed($('audit-rows'), page.items, row => row.id, make)
    show($('audit-table'), page.items.length > 0)
    say($('audit-lead'), page.items.length > 0
      ? `${plural(page.items.length, 'row', 'rows')}${page.next ? ', and earlier ones' : ''}, newest first. Times are real time in UTC.`
      : Object.values(query).some(Boolean) ? 'No row matches.' : 'No action is recorded yet.')
    show($('audit-pages'), Boolean(page.next || query.cursor))
    show($('audit-first'), Boolean(query.cursor))
    show($('audit-next'), Boolean(page.next))
    $('audit-first').setAttribute('href', changed({ cursor: '' }))
    if (page.next) $('audit-next').setAttribute('href', changed({ cursor: page.next }))
  }
}

function make(row) {
  const details = Object.entries(row.details).map(([name, value]) => `${name} ${[value].flat().join(', ')}`).join('; ')
  const who = row.actor === null ? kinds[row.actorKind] ?? row.actorKind : `${row.actor} (${kinds[row.actorKind] ?? row.actorKind})`
  return h('tr', {},
    h('td', {}, h('time', { datetime: row.at }, dateAndTime(row.at))),
    h('th', { scope: 'row' }, row.action, row.count > 1 ? ` × ${number(row.count)}` : ''),
    h('td', {}, who), h('td', {}, row.subject ?? '–'), h('td', {}, row.service), h('td', {}, row.address ?? '–'),
    h('td', {}, details || '–'))
}
